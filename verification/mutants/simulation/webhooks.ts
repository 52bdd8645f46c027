import { Places } from '../../../server/background/delivery/endpoint/places.ts';
import { NOTHING } from '../../environments/memory-store/meaning.ts';
import { type NamedMistake, run } from './make.ts';

/** Mistakes in the delivery to webhooks. */
export const DELIVERY: readonly NamedMistake[] = [
  {
    name: 'a process moves the cursors of a shard that it has lost',
    seed: 84,
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
    name: 'a cursor passes events that are in flight',
    seed: 2,
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

/** Mistakes in the handlers of webhooks. */
export const WEBHOOKS: readonly NamedMistake[] = [
  {
    name: 'a change of a webhook does not lock it',
    seed: 34,
    statements: { lock_webhook: () => [{}] },
  },
  {
    name: 'the health of a webhook is stored although a request has changed it',
    seed: 16,
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
    name: 'a cursor moves back to events that a request has skipped',
    seed: 289,
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
    seed: 16,
    statements: {
      *update_webhook(transaction, { values }) {
        yield* transaction.update('webhook', String(values[10]), (row) => ({ ...row, updated_at: values[9] }));
        return NOTHING;
      },
    },
  },
];
