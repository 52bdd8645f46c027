import { TRANSFER_CHECKS, type TransferCheck } from '../../../domain/transfers/transfer-checks.ts';
import { NOT_EVALUATED } from '../../../domain/transfers/transfer-view.ts';
import { ExaminedAccounts } from '../../../server/subjects/transfers/examined-accounts.ts';
import { Memory } from '../../../server/subjects/transfers/memory.ts';
import { type Meaning, type Meanings, NOTHING, timeOf } from '../store/meaning.ts';
import type { StoredRow } from '../store/parameters.ts';
import type { Transaction } from '../store/transaction.ts';
import { change, findingIn, meaning, type NamedMistake, run } from './make.ts';

/** A change of a check of transfers. */
function changeCheck(name: string, changed: Partial<TransferCheck>): () => () => void {
  return () => {
    const check = TRANSFER_CHECKS.find((one) => one.name === name);
    if (check === undefined) throw new Error(`there is no check ${name}`);
    const before = { ...check };
    Object.assign(check, changed);
    return () => {
      for (const member of Object.keys(changed)) Reflect.deleteProperty(check, member);
      Object.assign(check, before);
    };
  };
}

/** The statements that read the rules of one program or of several, with changed rows. */
function readingRules(changed: (row: StoredRow, transaction: Transaction) => StoredRow): Meanings {
  const readChanged = (name: string): Meaning =>
    function* (transaction, sent) {
      const rows = yield* run(name, transaction, sent);
      return rows.map((row) => changed(row, transaction));
    };
  return Object.fromEntries(['read_program_rules', 'read_rules_of_programs'].map((name) => [name, readChanged(name)]));
}

/** Holds that end, and transfers that are due later. */
export const DUE: readonly NamedMistake[] = [
  {
    name: 'the row of a hold stays when the hold has ended',
    seed: 3,
    statements: { delete_holds: () => NOTHING },
  },
  {
    name: 'a scheduled transfer is held to no limit of a period when it is due',
    seed: 3,
    make: changeCheck('period_limits', { onlyWhenMade: true }),
  },
  {
    name: 'a transfer that is due is read before its accounts',
    seed: 2,
    statements: {
      read_transfers_for_change: (transaction, sent) =>
        meaning('read_transfers_for_change')(
          findingIn(transaction, 'transfer', (row) =>
            row.scheduled_for === null ? row : { ...row, status: 'scheduled', outcome: 'open' },
          ),
          sent,
        ),
    },
  },
  {
    name: 'a decision has the time of a moment before it',
    seed: 1,
    statements: readingRules((row) => ({ ...row, now: (row.now as bigint) - 500n })),
  },
];

/** Limits. */
export const LIMITS: readonly NamedMistake[] = [
  {
    name: 'what is added to a counter that exists is not written',
    seed: 3,
    statements: { update_counters: () => NOTHING },
  },
  {
    name: 'a group hands on to the next what was counted before it',
    seed: 91,
    make: change(
      Memory.prototype,
      'keep',
      (keep) =>
        function (this: Memory, account, days) {
          keep.call(this, account, this.days(account.accountId) ?? days);
        },
    ),
  },
  {
    name: 'what a hold gives back is taken from the day on which it ends',
    seed: 3,
    make: change(
      ExaminedAccounts.prototype,
      'count',
      (count) =>
        function (this: ExaminedAccounts, counted, calendar) {
          count.call(this, { ...counted, dayStart: calendar.day.start }, calendar);
        },
    ),
  },
  {
    name: 'the time of a decision belongs to another day than the one that it counts on',
    seed: 6545,
    statements: readingRules((row, { clock }) => ({ ...row, now: BigInt(Math.round(clock())) })),
  },
  {
    name: 'what a card may have is not compared',
    seed: 26,
    make: changeCheck('maximum_balance', { examine: () => NOT_EVALUATED }),
  },
];

/** The switch. */
export const SWITCH: readonly NamedMistake[] = [
  {
    name: 'a change of the switch waits for nobody',
    seed: 39,
    statements: { hold_switch: () => NOTHING },
  },
  {
    name: 'transfers do not share the switch',
    seed: 39,
    statements: {
      share_switch_and_lock_names: meaning('lock_names'),
      share_switch_and_lock_free_names: (transaction, { values: [hashes] }) =>
        (hashes as bigint[]).map((hash) => ({ hash, held: transaction.tryLock(`name ${hash}`) })),
    },
  },
  {
    name: 'a scheduled transfer is made although its scope is disabled',
    seed: 16,
    statements: { find_due_transfers: findAllDue },
    make: changeCheck('service_enabled', { onlyWhenMade: true }),
  },
];

/** Card programs and their funds. */
export const PROGRAM_CHANGES: readonly NamedMistake[] = [
  {
    name: 'a change of a program does not lock the funds that its event shows',
    seed: 11,
    statements: { lock_all_funding: () => NOTHING },
  },
  {
    name: 'a change of a program does not raise the versions of its funds',
    seed: 313,
    statements: { raise_funding_versions: () => NOTHING },
  },
  {
    name: 'a deposit is added to funds that it has not locked',
    seed: 19,
    statements: {
      lock_funding_accounts: (transaction, { values: [programId] }) =>
        transaction.scan('account', ({ owner_id, kind }) => owner_id === programId && kind !== 'card'),
    },
  },
  {
    name: 'nobody is told that a withdrawal has made the funds low',
    seed: 753,
    statements: { read_funding_threshold: () => [{ funding_low_threshold: null }] },
  },
];

/** Everything due, even in disabled scopes. */
function findAllDue(transaction: Transaction): readonly StoredRow[] {
  const isDue = (row: StoredRow): boolean =>
    row.status === 'scheduled' && timeOf(row.scheduled_for) <= transaction.clock();
  return transaction.scan('transfer', isDue);
}
