import { TRANSFER_CHECKS, type TransferCheck } from '../../../domain/transfers/transfer-checks.ts';
import { NOT_EVALUATED, type TransferView } from '../../../domain/transfers/transfer-view.ts';
import { Books } from '../../../server/subjects/transfers/decide.ts';
import { ExaminedAccounts } from '../../../server/subjects/transfers/examined-accounts.ts';
import { Memory } from '../../../server/subjects/transfers/memory.ts';
import { calendarAt } from '../../../test/harness/local-time.ts';
import { type Meaning, type Meanings, NOTHING, timeOf } from '../../environments/memory-store/meaning.ts';
import type { StoredRow } from '../../environments/memory-store/parameters.ts';
import type { Transaction } from '../../environments/memory-store/transaction.ts';
import { change, findingIn, meaning, type NamedMistake, run } from './make.ts';

/** Replaces parts of a check of transfers. */
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

/** The statements that read the rules of one or several programs, with changed rows. */
function readingRules(changed: (row: StoredRow, transaction: Transaction) => StoredRow): Meanings {
  const readChanged = (name: string): Meaning =>
    function* (transaction, sent) {
      const rows = yield* run(name, transaction, sent);
      return rows.map((row) => changed(row, transaction));
    };
  return Object.fromEntries(['read_program_rules', 'read_rules_of_programs'].map((name) => [name, readChanged(name)]));
}

/** Changes the rules of programs that a new transfer sees. */
function blind(changed: (view: TransferView) => Partial<TransferView['rules']>): () => () => void {
  return change(Books.prototype, 'view', (before) => {
    return function (this: Books, request) {
      const view = before.call(this, request);
      return { ...view, rules: { ...view.rules, ...changed(view) } };
    };
  });
}

/** Mistakes about holds that end, and about scheduled transfers. */
export const DUE: readonly NamedMistake[] = [
  {
    name: 'the row of an ended hold is not deleted',
    seed: 1,
    statements: { delete_holds: () => NOTHING },
  },
  {
    name: 'the limits of periods do not apply to a scheduled transfer when it is due',
    seed: 3,
    make: changeCheck('period_limits', { onlyWhenMade: true }),
  },
  {
    name: 'a due transfer is read before its accounts',
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
    name: 'the time of a decision is half a second early',
    seed: 1,
    statements: readingRules((row) => ({ ...row, now: (row.now as bigint) - 500n })),
  },
];

/** Mistakes about limits. */
export const LIMITS: readonly NamedMistake[] = [
  {
    name: 'days begin at midnight in UTC',
    ...{ seed: 2, isStory: true },
    make: blind(({ now }) => ({ calendar: calendarAt(now, 'UTC') })),
  },
  {
    name: 'the limits of a program apply to its cards in a different currency',
    ...{ seed: 32, isStory: true },
    make: blind(({ card, rules }) => ({ currency: card?.currency ?? rules.currency })),
  },
  {
    name: 'an addition to an existing counter is not written',
    seed: 1,
    statements: { update_counters: () => NOTHING },
  },
  {
    name: 'a group passes the counters from before its own changes to the next group',
    seed: 171,
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
    name: 'a released hold lowers the counter of the wrong day',
    seed: 1,
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
    name: 'a decision counts on a different day from its time',
    seed: 364,
    statements: readingRules((row, { clock }) => ({ ...row, now: BigInt(Math.round(clock())) })),
  },
  {
    name: 'the maximum balance of a card is not checked',
    seed: 3,
    make: changeCheck('maximum_balance', { examine: () => NOT_EVALUATED }),
  },
];

/** Mistakes about the switch. */
export const SWITCH: readonly NamedMistake[] = [
  {
    name: 'a change of the switch does not wait for transfers',
    seed: 63,
    statements: { hold_switch: () => NOTHING },
  },
  {
    name: 'transfers do not take the shared lock of the switch',
    seed: 63,
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

/** Mistakes about card programs and their funds. */
export const PROGRAM_CHANGES: readonly NamedMistake[] = [
  {
    name: 'a change of a program does not lock the funding accounts that its event shows',
    seed: 113,
    statements: { lock_all_funding: () => NOTHING },
  },
  {
    name: 'a change of a program does not raise the versions of its funding accounts',
    seed: 123,
    statements: { raise_funding_versions: () => NOTHING },
  },
  {
    name: 'a deposit changes funding accounts without locking them',
    seed: 19,
    statements: {
      lock_funding_accounts: (transaction, { values: [programId, currency] }) =>
        transaction.scan('account', (row) => row.owner_id === programId && row.currency === currency),
    },
  },
  {
    name: 'a withdrawal that makes the funds low sends no event',
    seed: 115,
    statements: { read_funding_threshold: () => [{ funding_low_threshold: null }] },
  },
];

/** Finds all due transfers, even in disabled scopes. */
function findAllDue(transaction: Transaction): readonly StoredRow[] {
  const isDue = (row: StoredRow): boolean =>
    row.status === 'scheduled' && timeOf(row.scheduled_for) <= transaction.clock();
  return transaction.scan('transfer', isDue);
}
