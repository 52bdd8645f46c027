import type { EventType } from '../../../domain/event.ts';
import { transact } from '../../commit/transaction.ts';
import type { Database } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { type HeldShard, lockShards, toHeldShards } from '../../store/webhooks/shard.ts';
import { noteFailingTold, raiseRevision, readRevision } from '../../store/webhooks/state.ts';
import {
  cancelReplay,
  disableWebhook,
  lockWebhook,
  readWebhook,
  toWebhookDetails,
} from '../../store/webhooks/webhook.ts';
import { toWebhookRecord } from '../../subjects/webhooks/record.ts';
import type { Notice } from './judge.ts';

const TIMEOUT_MILLISECONDS = 5_000;

/** The revision of the webhook that a notice is about, and the process that delivers to the webhook. */
export type NoticeTarget = {
  readonly webhookId: string;
  readonly revision: number;
  readonly held: HeldShard;
  readonly owner: string;
};

/**
 * Writes webhook.failing, or disables a webhook and writes webhook.disabled, in a separate transaction. Returns whether it did
 * so. Does nothing if a request has changed the webhook, if another process now delivers to the webhook, or if the notice was
 * already given.
 */
export async function giveNotice(
  database: Database,
  { webhookId, revision, held, owner }: NoticeTarget,
  notice: Notice,
): Promise<boolean> {
  const deadline = performance.now() + TIMEOUT_MILLISECONDS;
  const load = {
    shard: lockShards({ owner, shards: [held.shard] }),
    lock: lockWebhook(webhookId, null),
    clock: READ_SWITCH,
    version: readRevision(webhookId),
    webhook: readWebhook(webhookId, null),
  };
  return transact(database, deadline, load, ({ shard, clock, version, webhook: [row] }, batchId) => {
    const nothing = { result: false, writes: [], readsOnly: true };
    const isHeld = toHeldShards(shard).some(({ epoch }) => epoch === held.epoch);
    if (!isHeld || row === undefined || Number(version[0]?.revision) !== revision) return nothing;
    const before = toWebhookDetails(row);
    if (before.status === 'disabled') return nothing;
    if (notice === 'failing' && (before.failingSince === null || version[0]?.is_failing_told === true)) return nothing;
    const { now } = toSwitchReading(clock);
    const eventOf = (type: EventType, after: typeof before) => {
      const record = toWebhookRecord(after);
      const { programId } = after;
      return insertEvents(
        batchId,
        [{ type, programId, subjectId: record.webhook_id, payload: JSON.stringify(record) }],
        now,
      );
    };
    if (notice === 'failing') {
      return { result: true, writes: [eventOf('webhook.failing', before), noteFailingTold(webhookId)] };
    }
    const statusReason = notice === 'gone' ? 'gone' : 'failing';
    const after = { ...before, status: 'disabled', statusReason, nextProbeAt: null } as const;
    const writes = [
      eventOf('webhook.disabled', after),
      disableWebhook(webhookId, statusReason),
      cancelReplay(webhookId, new Date(now)),
      raiseRevision(webhookId),
    ];
    return { result: true, writes };
  });
}
