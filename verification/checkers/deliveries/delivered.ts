import pg from 'pg';
import { pause, type Tally } from '../../campaign.ts';
import type { Owner, Webhook } from '../../environments/processes/receiver/owner.ts';
import type { Receiver } from '../../environments/processes/receiver/run-receiver.ts';
import { timelineOf } from '../../generators/events/attacked-ledger.ts';
import type { Timeline } from '../events/event-books.ts';
import { type Expectation, notAccepted, wantedOf } from './judge.ts';

/** The longest time that webhooks may take to catch up after the last request, in milliseconds. */
const DELIVERED_WITHIN = 180_000;

/** The maximum number of deliveries repeated after a kill, because no outcome is stored: the webhook's concurrency. */
const MAX_IN_FLIGHT = 10;

/** The webhooks of a ledger and their receiver. */
export type Delivering = { readonly owner: Owner; readonly receiver: Receiver; readonly connection: pg.ClientConfig };

export function expectationOf({ name, order, payload, types, after }: Webhook): Expectation {
  return { name, order, payload, types, after, maxInFlight: MAX_IN_FLIGHT };
}

/**
 * Waits until everything in `due` is accepted. Failed deliveries are retried immediately instead of in minutes or hours.
 * Reports a violation at `where` if the wait takes too long.
 */
export async function untilDelivered(
  { owner, receiver, connection }: Delivering,
  tally: Tally,
  where: string,
  due: ReadonlyMap<string, Timeline>,
): Promise<void> {
  const names = owner.webhooks.map(({ name }) => name);
  const from = performance.now();
  for (;;) {
    await owner.enable(names);
    const waiting = await makeDue(connection);
    const records = await owner.records();
    const deliveries = await receiver.read();
    const behind = owner.webhooks.filter((webhook) => {
      const wanted = wantedOf(expectationOf(webhook), timelineOf(webhook.programId, due));
      const { backlog = 1 } = records.get(webhook.name) ?? {};
      return backlog > 0 || notAccepted(deliveries.get(webhook.name) ?? [], wanted).length > 0;
    });
    if (waiting === 0 && behind.length === 0) return tally.time('delivered', performance.now() - from);
    if (performance.now() - from > DELIVERED_WITHIN) {
      const described = behind.map(({ name }) => {
        const { status, position, backlog } = records.get(name) ?? {};
        return `${name} (${status}, at ${position}, ${backlog} events behind)`;
      });
      return tally.violate(where, [`${waiting} deliveries wait. Webhooks that are behind: ${described.join(', ')}`]);
    }
    await pause(200);
  }
}

/** Makes all retries due. Returns the number of stored deliveries. */
async function makeDue(connection: pg.ClientConfig): Promise<number> {
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Deliverers reload a webhook when its revision has been raised.
    await client.query(
      `with retried as (
          update webhook_delivery set next_at = now() where next_at > now() + interval '1 second' returning webhook_id
        ), probed as (
          update webhook_state set next_probe_at = now() where next_probe_at > now() + interval '1 second'
          returning webhook_id
        )
        update webhook set revision = revision + 1
        where webhook_id in (select webhook_id from retried union select webhook_id from probed)`,
    );
    const { rows } = await client.query('select count(*)::integer as count from webhook_delivery');
    return rows[0]?.count;
  } finally {
    await client.end().catch(() => undefined);
  }
}
