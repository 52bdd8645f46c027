import { toWireId } from '../../../domain/identifier.ts';
import type { ReadEvent } from '../../environments/memory/read-event.ts';
import type { StoredRow } from '../../environments/memory-store/parameters.ts';
import { JudgeOfRows } from './judge-of-accounts.ts';

/** Checks webhooks and their cursors. */
export class JudgeOfWebhooks extends JudgeOfRows {
  /** The positions that the receiver of each webhook has received. */
  readonly #delivered = new Map<string, Set<number>>();
  /** The cursor of each webhook after the last request about it. The events up to it need no further delivery. */
  readonly #passedOver = new Map<string, bigint>();
  /** The cursor of each webhook. */
  readonly #cursors = new Map<string, bigint>();

  /** Called when a receiver has received the event with this position. */
  onDelivered(webhookId: string, position: number): void {
    const delivered = this.#delivered.get(webhookId) ?? new Set<number>();
    this.#delivered.set(webhookId, delivered.add(position));
  }

  /** Compares a stored webhook with the events and audit entries that were written with it. */
  compare(row: StoredRow, events: readonly ReadEvent[]): void {
    const key = String(row.webhook_id);
    const id = toWireId('wh', key);
    const cursor = row.cursor as bigint;
    const status = this.books.webhooks.get(id)?.status;
    const isEqual = row.status === status || (row.status === 'paused' && status === 'enabled');
    if (!isEqual) this.say(`${id} is ${row.status} instead of ${status}`);
    if (cursor < (this.#cursors.get(key) ?? 0n)) this.say(`the cursor of ${id} went back to ${cursor}`);
    this.#cursors.set(key, cursor);
    const head = (this.tables.newest('event_head', String(row.program_id))?.position ?? 0n) as bigint;
    if (cursor > head) this.say(`the cursor of ${id} has passed the last event, ${head}`);
    const own = events.filter(({ event }) => event.subject_id === id);
    for (const { event, record } of own) {
      if (record.status === row.status && record.position === Number(cursor)) continue;
      const said = `${record.status} at ${record.position}`;
      this.say(`${event.type ?? event.action} of ${id} says ${said}, but the row ${row.status} at ${cursor}`);
    }
    // A request has set the cursor, or left it unchanged.
    if (own.length > 0) this.#passedOver.set(key, cursor);
    else this.#compareCursor(row);
  }

  #compareCursor({ webhook_id, shard, cursor, ahead, written_by, written_epoch }: StoredRow): void {
    const held = this.tables.newest('webhook_shard', String(shard));
    if (held?.owner !== written_by || held?.epoch !== written_epoch) {
      this.say(`a process moved a cursor of the shard ${shard}, which it had lost`);
    }
    const delivered = this.#delivered.get(String(webhook_id));
    const isDelivered = (position: number): boolean => delivered?.has(position) === true;
    const first = Number(this.#passedOver.get(String(webhook_id)) ?? 0n) + 1;
    for (let position = first; position <= Number(cursor); position += 1) {
      if (!isDelivered(position)) this.say(`the cursor of a webhook has passed ${position}, which was not delivered`);
    }
    for (const [, from, to] of String(ahead).matchAll(/\[(\d+),(\d+)\)/g)) {
      for (let position = Math.max(Number(from), first); position < Number(to); position += 1) {
        if (!isDelivered(position)) this.say(`${position} is settled, but was not delivered`);
      }
    }
  }
}
