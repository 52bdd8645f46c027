import { Places } from '../../server/background/delivery/endpoint/places.ts';
import { Chain } from '../../server/commit/chain.ts';
import { Contention } from '../../server/commit/contention.ts';
import { LockingPath } from '../../server/commit/locking-path.ts';
import { Database } from '../../server/store/connection/database.ts';
import { LookedAccounts } from '../../server/subjects/transfers/looked-accounts.ts';
import type { Mistake } from './schedule.ts';
import { STATEMENTS } from './statements/statements.ts';
import { type Meaning, NOTHING } from './store/meaning.ts';
import type { StoredRow } from './store/parameters.ts';
import type { Transaction } from './store/transaction.ts';

/**
 * A mistake that the simulation has to find. `seed` is that of a schedule that finds it, which is tried first: others are
 * only run when the simulation has changed since.
 */
export type NamedMistake = Mistake & { readonly name: string; readonly seed: number };

/** A change of a method of the service. */
function change<Of extends object, Name extends keyof Of>(of: Of, name: Name, changed: (before: Of[Name]) => Of[Name]) {
  return (): (() => void) => {
    const before = of[name];
    of[name] = changed(before);
    return () => {
      of[name] = before;
    };
  };
}

/** What a statement means without a mistake. */
function meaning(name: string): Meaning {
  const found = STATEMENTS[name];
  if (found === undefined) throw new Error(`there is no statement ${name}`);
  return found;
}

/** The guard of chains. */
const GUARD: readonly NamedMistake[] = [
  {
    name: 'a chained group writes accounts that have changed since its decision',
    seed: 2,
    statements: { update_accounts_if_unchanged: meaning('update_accounts') },
  },
  {
    name: 'a chained refusal is believed whatever it was decided on',
    seed: 185,
    statements: { check_accounts_unchanged: () => NOTHING },
  },
  {
    name: 'what locks accounts does not raise their versions',
    seed: 29,
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
    name: 'a transfer that changes without its accounts does not raise their versions',
    seed: 463,
    make: change(LookedAccounts.prototype, 'raiseVersion', () => () => undefined),
  },
  {
    name: 'a change of a card does not raise the version of its account',
    seed: 6,
    statements: {
      *update_card(transaction, { values: [status, , , , , , updated_at, , cardId] }) {
        yield* transaction.update('card', String(cardId), (card) => ({ ...card, status, updated_at }));
        return NOTHING;
      },
    },
  },
  {
    name: 'a transfer that a group in flight changes is read as if it did not',
    seed: 71,
    make: change(Chain.prototype, 'concerns', () => () => false),
  },
];

/** Locks, names, stored responses and the fence. */
const COMMIT: readonly NamedMistake[] = [
  {
    name: 'accounts are read before they are locked',
    seed: 3,
    statements: {
      lock_accounts_of_cards: meaning('read_accounts_of_cards_and_transfers'),
      lock_accounts_of_cards_and_transfers: meaning('read_accounts_of_cards_and_transfers'),
    },
  },
  {
    name: 'the names of keys and references are not locked',
    seed: 494,
    statements: { share_switch_and_lock_names: () => NOTHING },
  },
  {
    name: 'responses are not stored under their keys',
    seed: 99,
    statements: { insert_stored_responses: () => NOTHING },
  },
  {
    name: 'a lost COMMIT is taken for one that never was',
    seed: 7,
    make: change(Database.prototype, 'settle', () => async () => 'abandoned' as const),
  },
  {
    name: 'a lost COMMIT is taken for one that was',
    seed: 10,
    make: change(Database.prototype, 'settle', () => async () => 'committed' as const),
  },
  {
    name: 'a lost COMMIT is looked up without a fence',
    seed: 212,
    statements: {
      abandon_batch: () => NOTHING,
      look_up_batch: (transaction, { values: [batchId] }) => [
        { abandoned: transaction.find('write_batch', String(batchId)) === undefined, replicated: null },
      ],
    },
  },
  {
    name: 'a group whose COMMIT was lost is answered as committed',
    seed: 10,
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
    name: 'items whose locks others hold are forgotten',
    seed: 111,
    make: change(Contention.prototype, 'takeTurn', () => () => new Promise(() => undefined)),
  },
];

/** The relay. */
const RELAY: readonly NamedMistake[] = [
  { name: 'the relay takes no lock', seed: 8, statements: { hold_relay: () => NOTHING } },
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
    name: 'the relay goes on after the last time that it has numbered',
    seed: 2,
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
    seed: 16,
    statements: {
      relay_events: (transaction, sent) =>
        meaning('relay_events')(
          scanningWith(transaction, (row) => ({ ...row, moment: 0 })),
          sent,
        ),
    },
  },
  {
    name: 'several events of a program take one position',
    seed: 3,
    statements: {
      fence_batch: (transaction, { rows, values: [batchId, at, programIds, counts] }) => {
        const ones = (counts as number[] | null)?.map(() => 1) ?? null;
        return meaning('fence_batch')(transaction, { rows, values: [batchId, at, programIds, ones] });
      },
    },
  },
];

/** The delivery to webhooks. */
const DELIVERY: readonly NamedMistake[] = [
  {
    name: 'a process that has lost a shard moves its cursors',
    seed: 8,
    statements: {
      *move_webhook_cursors(transaction, { rows, values: [owner] }) {
        for (const { webhook_id, epoch, cursor, ahead } of rows('sent')) {
          const written = { cursor, ahead, written_by: owner, written_epoch: epoch };
          yield* transaction.update('webhook_state', String(webhook_id), (row) => ({ ...row, ...written }));
        }
        return rows('sent').map(({ webhook_id }) => ({ webhook_id }));
      },
    },
  },
  {
    name: 'a cursor passes what is in flight',
    seed: 4,
    make: () => {
      const passed = Object.getOwnPropertyDescriptor(Places.prototype, 'passed') ?? {};
      Object.defineProperty(Places.prototype, 'passed', {
        configurable: true,
        get(this: Places) {
          return this.readTo;
        },
      });
      return () => Object.defineProperty(Places.prototype, 'passed', passed);
    },
  },
];

/** The handlers of webhooks beside their delivery. */
const WEBHOOKS: readonly NamedMistake[] = [
  {
    name: 'a webhook that is changed is not locked',
    seed: 3,
    statements: { lock_webhook: () => [{}] },
  },
  {
    name: 'the health of a webhook is stored although a request has changed it',
    seed: 11,
    statements: {
      *store_webhook_health(transaction, { rows, values }) {
        const revised = rows('sent').map((row) => ({
          ...row,
          revision: transaction.find('webhook', String(row.webhook_id))?.revision,
        }));
        return yield* run('store_webhook_health', transaction, { rows: () => revised, values });
      },
    },
  },
  {
    name: 'a cursor is moved back behind what a request has passed over',
    seed: 639,
    statements: {
      *move_webhook_cursors(transaction, sent) {
        const moved = yield* run('move_webhook_cursors', transaction, sent);
        for (const { webhook_id, cursor } of sent.rows('sent')) {
          if (!moved.some((row) => row.webhook_id === webhook_id)) continue;
          yield* transaction.update('webhook_state', String(webhook_id), (row) => ({ ...row, cursor }));
        }
        return moved;
      },
    },
  },
  {
    name: 'a change of a webhook does not raise its version',
    seed: 11,
    statements: {
      *update_webhook(transaction, { values }) {
        yield* transaction.update('webhook', String(values[10]), (row) => ({ ...row, updated_at: values[9] }));
        return NOTHING;
      },
    },
  },
];

/** A transaction that finds other rows than there are. */
function scanningWith(transaction: Transaction, change: (row: StoredRow) => StoredRow): Transaction {
  return new Proxy(transaction, {
    get(target, name: keyof Transaction) {
      if (name === 'scan') {
        return (...of: Parameters<Transaction['scan']>) => target.scan(...of).map(change);
      }
      const found = target[name];
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

function* run(name: string, ...of: Parameters<Meaning>) {
  const found = meaning(name)(...of);
  return 'next' in found ? yield* found : found;
}

/** Mistakes of the commit path, the relay, the delivery and the handlers of webhooks. Each of them must be found. */
export const MISTAKES: readonly NamedMistake[] = [...GUARD, ...COMMIT, ...RELAY, ...DELIVERY, ...WEBHOOKS];
