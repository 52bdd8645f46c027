import type pg from 'pg';
import { TransferService, type WebhookRecord } from '../../../sdk/client.ts';
import { onConnection } from '../../../test/harness/ledger.ts';
import type { Subscription } from '../../checkers/deliveries/checker.ts';
import type { Conduct, Receiver } from '../../environments/processes/receiver.ts';
import type { Programs } from './callers.ts';

/** A webhook to create, and the behavior of its receiver. */
export type Endpoint = Pick<Subscription, 'name' | 'order' | 'payload' | 'types'> & {
  /** The source of its events: one of the two card programs, or all programs by number. */
  readonly source: keyof Programs | 'all';
  readonly conduct: Conduct;
  /** Periods with a different behavior. They begin and end at a share of the ledger's kills. */
  readonly outages: readonly { readonly from: number; readonly to: number; readonly conduct: Conduct }[];
  /** Whether the test rolls its secret midway. */
  readonly isRolled: boolean;
};

/** An endpoint with parallel order and full payloads that accepts everything, unless `more` says otherwise. */
export const endpoint = (name: string, source: Endpoint['source'], more: Partial<Endpoint> = {}): Endpoint => ({
  name,
  source,
  order: 'parallel',
  payload: 'full',
  types: null,
  conduct: { kind: 'good' },
  outages: [],
  isRolled: false,
  ...more,
});

/** A webhook that was created. */
type Webhook = Endpoint & Subscription & { readonly webhookId: string };

/** The maximum number of deliveries repeated after a kill, because no outcome is stored: the webhook's concurrency. */
const MAX_IN_FLIGHT = 10;

/** A client that repeats requests with their keys until the service is back after a kill. */
const clientOf = (baseUrl: string, programId?: string) => new TransferService({ baseUrl, programId, maxRetries: 20 });

/** The webhooks of a ledger, with an owner who rolls their secrets and enables paused ones. */
export class Webhooks {
  readonly receiver: Receiver;
  readonly all: readonly Webhook[];
  readonly #url: () => string;

  private constructor(receiver: Receiver, all: readonly Webhook[], url: () => string) {
    this.receiver = receiver;
    this.all = all;
    this.#url = url;
  }

  /** Creates the webhooks. `url` returns the address of a running service. */
  static async create(
    endpoints: readonly Endpoint[],
    programs: Programs,
    receiver: Receiver,
    url: () => string,
  ): Promise<Webhooks> {
    const all: Webhook[] = [];
    for (const endpoint of endpoints) {
      const { name, source, order, payload, types } = endpoint;
      const programId = source === 'all' ? undefined : programs[source];
      const client = clientOf(url(), programId);
      const resource = programId === undefined ? client.operatorWebhooks : client.webhooks;
      const body = { url: `${receiver.url}/${name}`, order, payload, ...(types === null ? {} : { types }) };
      const { webhook_id: webhookId, position: after, secret } = await untilShown(() => resource.create(body));
      receiver.addSecret(name, secret);
      all.push({ ...endpoint, webhookId, after, programId, maxInFlight: MAX_IN_FLIGHT });
    }
    return new Webhooks(receiver, all, url);
  }

  /** Makes receivers fail or recover as planned for this share of the kills, and enables the webhooks of working receivers. */
  async conduct(share: number): Promise<number> {
    const working = this.all.filter(({ name, conduct, outages }) => {
      const outage = outages.find(({ from, to }) => share >= from && share < to);
      this.receiver.conduct(name, outage?.conduct ?? conduct);
      return outage === undefined;
    });
    return this.#enable(working, await this.#records());
  }

  /** Rolls the secrets of the webhooks with `isRolled`. Both secrets sign from then on. */
  async roll(): Promise<void> {
    for (const { name, webhookId } of this.all.filter(({ isRolled }) => isRolled)) {
      const { operatorWebhooks } = clientOf(this.#url());
      const { secret } = await untilShown(() => operatorWebhooks.rollSecret(webhookId));
      this.receiver.addSecret(name, secret);
    }
  }

  /**
   * Makes failed deliveries due now instead of in minutes or hours, and enables all webhooks. Returns a description of
   * everything that waits for delivery, or undefined if nothing does.
   */
  async hurry(connection: pg.ClientConfig): Promise<string | undefined> {
    const records = await this.#records();
    await this.#enable(this.all, records);
    const behind = this.all.map(({ webhookId }) => records.get(webhookId)).filter((record) => record?.backlog !== 0);
    // Counts the retries after the backlogs were read, because a failed event leaves the backlog and waits for a retry.
    const waiting = await makeDue(connection);
    if (waiting === 0 && behind.length === 0) return undefined;
    const described = behind.map((record) => `${record?.url} (${record?.status}, ${record?.backlog} events behind)`);
    return `${waiting} deliveries wait. Webhooks that are behind: ${described.join(', ')}`;
  }

  /**
   * Enables paused webhooks, as an owner does when the receiver works again. Returns their number. A failed request is not
   * repeated, because the next call does the same.
   */
  async #enable(webhooks: readonly Webhook[], records: ReadonlyMap<string, WebhookRecord>): Promise<number> {
    const paused = webhooks.filter(({ webhookId }) => records.get(webhookId)?.status === 'paused');
    const { operatorWebhooks } = clientOf(this.#url());
    let enabled = 0;
    for (const { webhookId } of paused) {
      enabled += await operatorWebhooks.update(webhookId, { status: 'enabled' }).then(
        () => 1,
        () => 0,
      );
    }
    return enabled;
  }

  async #records(): Promise<ReadonlyMap<string, WebhookRecord>> {
    const { data } = await clientOf(this.#url()).operatorWebhooks.list({ limit: 100 });
    return new Map(data.map((record) => [record.webhook_id, record]));
  }
}

/** Sends a request until its response has the secret. A replay has none, so the next request has a different key. */
async function untilShown<Made extends { readonly secret: string | null }>(send: () => Promise<Made>) {
  for (;;) {
    const made = await send();
    if (made.secret !== null) return { ...made, secret: made.secret };
  }
}

/** Makes all retries and probes due. Returns the number of stored deliveries. */
function makeDue(connection: pg.ClientConfig): Promise<number> {
  return onConnection(connection, async (client) => {
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
  });
}
