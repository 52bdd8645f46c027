import { Chain } from '../../../server/commit/chain.ts';
import { Contention } from '../../../server/commit/contention.ts';
import { LockingPath } from '../../../server/commit/locking-path.ts';
import { Database } from '../../../server/store/connection/database.ts';
import { ExaminedAccounts } from '../../../server/subjects/transfers/examined-accounts.ts';
import { NOTHING } from '../../environments/memory-store/meaning.ts';
import { change, meaning, type NamedMistake, run, scanningWith } from './make.ts';

/** Mistakes in the guard of chains. */
export const GUARD: readonly NamedMistake[] = [
  {
    name: 'a chained group overwrites accounts that changed after its decision',
    seed: 3,
    statements: { update_accounts_if_unchanged: meaning('update_accounts') },
  },
  {
    name: 'a chained refusal is sent even if its accounts have changed',
    seed: 851,
    statements: { check_accounts_unchanged: () => NOTHING },
  },
  {
    name: 'a write under locks does not raise the versions of accounts',
    seed: 114,
    statements: {
      *update_accounts(transaction, { rows }) {
        for (const { account_id, balance, held, incoming, sequence } of rows('sent')) {
          const written = { balance, held, incoming, sequence };
          yield* transaction.update('account', String(account_id), (row) => ({ ...row, ...written }));
        }
        return NOTHING;
      },
    },
  },
  {
    name: 'a change of only a transfer does not raise the versions of its accounts',
    seed: 1055,
    make: change(ExaminedAccounts.prototype, 'raiseVersion', () => () => undefined),
  },
  {
    name: 'a change of a card does not raise the version of its account',
    seed: 8,
    statements: {
      *update_card(transaction, { values: [status, , , , , , updated_at, , cardId] }) {
        yield* transaction.update('card', String(cardId), (card) => ({ ...card, status, updated_at }));
        return NOTHING;
      },
    },
  },
  {
    name: 'a transfer is read while a group in flight changes it',
    seed: 426,
    make: change(Chain.prototype, 'concerns', () => () => false),
  },
];

/** Mistakes about locks, names, stored responses and the fence. */
export const COMMIT: readonly NamedMistake[] = [
  {
    name: 'accounts are read before they are locked',
    seed: 25,
    statements: {
      lock_accounts_of_cards: meaning('read_accounts_of_cards_and_transfers'),
      lock_accounts_of_cards_and_transfers: meaning('read_accounts_of_cards_and_transfers'),
    },
  },
  {
    name: 'the names of keys and references are not locked',
    seed: 4523,
    statements: {
      share_switch_and_lock_names: (transaction, { rows }) =>
        meaning('share_switch_and_lock_names')(transaction, { rows, values: [[]] }),
    },
  },
  {
    name: 'responses are not stored under their keys',
    seed: 333,
    statements: { insert_stored_responses: () => NOTHING },
  },
  {
    name: 'a lost COMMIT is always treated as failed',
    seed: 38,
    make: change(Database.prototype, 'settle', () => async () => 'abandoned' as const),
  },
  {
    name: 'a lost COMMIT is always treated as committed',
    seed: 4,
    make: change(Database.prototype, 'settle', () => async () => 'committed' as const),
  },
  {
    name: 'a lost COMMIT is looked up without a fence',
    seed: 248,
    statements: {
      abandon_batch: () => NOTHING,
      look_up_batch: (transaction, { values: [batchId] }) => [
        { abandoned: transaction.find('write_batch', String(batchId)) === undefined, replicated: null },
      ],
    },
  },
  {
    name: 'a group with a lost COMMIT gets the responses of a committed one',
    seed: 4,
    make: change(
      LockingPath.prototype,
      'settle',
      () =>
        async function (this: LockingPath<never, never, never>, group, _id, lost) {
          this.resolve(group as never, lost.result as never);
        },
    ),
  },
  {
    name: 'requests are forgotten if another process holds their locks',
    seed: 7,
    make: change(Contention.prototype, 'takeTurn', () => () => new Promise(() => undefined)),
  },
];

/** Mistakes of the relay. */
export const RELAY: readonly NamedMistake[] = [
  { name: 'the relay takes no lock', seed: 40, statements: { hold_relay: () => NOTHING } },
  {
    name: 'the relay marks nothing',
    seed: 1,
    statements: {
      *relay_events(transaction, sent) {
        const rows = yield* run('relay_events', transaction, sent);
        for (const { batch_id } of transaction.scan('write_batch', () => true)) {
          yield* transaction.update('write_batch', String(batch_id), (row) => ({
            ...row,
            relayed: row.events_at === null,
          }));
        }
        return rows;
      },
    },
  },
  {
    name: 'the relay skips events from before the last time that it has numbered',
    seed: 3,
    statements: {
      *relay_events(transaction, sent) {
        const moments = transaction
          .scan('write_batch', (row) => row.relayed === true)
          .map((row) => row.moment as number);
        const last = Math.max(Number.NEGATIVE_INFINITY, ...moments);
        for (const row of transaction.scan(
          'write_batch',
          ({ relayed, moment }) => relayed === false && (moment as number) < last,
        )) {
          yield* transaction.update('write_batch', String(row.batch_id), (one) => ({ ...one, relayed: true }));
        }
        return yield* run('relay_events', transaction, sent);
      },
    },
  },
  {
    name: 'transactions are numbered in the order of their ids',
    seed: 26,
    statements: {
      relay_events: (transaction, sent) =>
        meaning('relay_events')(
          scanningWith(transaction, (row) => ({ ...row, moment: timeInId(String(row.batch_id)) })),
          sent,
        ),
    },
  },
  {
    name: 'several events of a program share one position',
    seed: 6,
    statements: {
      fence_batch: (transaction, { rows, values: [batchId, at, programIds, counts] }) => {
        const ones = (counts as number[] | null)?.map(() => 1) ?? null;
        return meaning('fence_batch')(transaction, { rows, values: [batchId, at, programIds, ones] });
      },
    },
  },
];

/** The time in a UUID of version 7, in milliseconds since 1970, and its first 12 random bits as the fraction. */
function timeInId(id: string): number {
  const digits = id.replaceAll('-', '');
  return Number.parseInt(digits.slice(0, 12), 16) + Number.parseInt(digits.slice(13, 16), 16) / 4096;
}
