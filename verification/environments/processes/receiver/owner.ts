import type { WebhookRecord } from '../../../../contract/webhooks/records.ts';
import { type RawRequest, type RawResponse, sendRaw } from '../../../../test/harness/raw-request.ts';
import { pause } from '../../../campaign.ts';
import type { Programs } from '../../../generators/events/programs.ts';
import { ENDPOINTS, type Endpoint } from './endpoints.ts';
import type { Receiver } from './run-receiver.ts';

const CORE = '/api/v0.1/core/webhook';
const OPERATOR = '/api/v0.1/operator/webhook';

/** The longest time until a request succeeds, in milliseconds. */
const DONE_WITHIN = 60_000;

/** A webhook that the owner created. */
export type Webhook = Endpoint & {
  readonly webhookId: string;
  /** The webhook gets the events after this position or number. */
  readonly after: number;
  /** The program's id on the wire; undefined for all programs. */
  readonly programId: string | undefined;
};

/** The owner of the webhooks: creates them, rolls their secrets, and enables paused ones. */
export class Owner {
  readonly webhooks: readonly Webhook[];
  readonly #receiver: Receiver;
  readonly #url: () => string;

  private constructor(webhooks: readonly Webhook[], receiver: Receiver, url: () => string) {
    this.webhooks = webhooks;
    this.#receiver = receiver;
    this.#url = url;
  }

  /** Creates all webhooks. `url` returns the address of a running service. */
  static async start(
    programs: Programs,
    receiver: Receiver,
    url: () => string,
    endpoints: readonly Endpoint[] = ENDPOINTS,
  ): Promise<Owner> {
    const webhooks: Webhook[] = [];
    for (const endpoint of endpoints) {
      const { name, source, order, payload, types } = endpoint;
      const programId = source === 'all' ? undefined : programs[source];
      const made = await send(url(), {
        path: programId === undefined ? OPERATOR : CORE,
        headers: programId === undefined ? {} : { 'Program-Id': programId },
        body: { url: `${receiver.url}/${name}`, order, payload, ...(types === null ? {} : { types }) },
      });
      const {
        webhook_id: webhookId,
        position: after,
        secret,
      } = made.fields as Record<string, string> & {
        position: number;
      };
      await receiver.addSecret(name, secret ?? '');
      webhooks.push({ ...endpoint, webhookId: webhookId ?? '', after, programId });
    }
    return new Owner(webhooks, receiver, url);
  }

  /** Rolls the secrets of the webhooks with `isRolled`. Both secrets sign from then on. */
  async roll(): Promise<void> {
    for (const { name, webhookId, isRolled } of this.webhooks) {
      if (!isRolled) continue;
      const rolled = await send(this.#url(), { path: `${OPERATOR}/${webhookId}/roll-secret`, body: {} });
      await this.#receiver.addSecret(name, String(rolled.fields.secret));
    }
  }

  /** Enables the paused webhooks among `names`, as an owner does when the receiver works again. Returns their number. */
  async enable(names: readonly string[]): Promise<number> {
    const records = await this.records();
    const paused = this.webhooks.filter(({ name }) => names.includes(name) && records.get(name)?.status === 'paused');
    for (const { webhookId } of paused)
      await send(this.#url(), { method: 'PATCH', path: `${OPERATOR}/${webhookId}`, body: { status: 'enabled' } });
    return paused.length;
  }

  async records(): Promise<ReadonlyMap<string, WebhookRecord>> {
    const { fields } = await send(this.#url(), { method: 'GET', path: `${OPERATOR}?limit=100` });
    const { data } = fields as unknown as { readonly data: readonly WebhookRecord[] };
    return new Map(
      this.webhooks.flatMap(({ name, webhookId }) =>
        data.filter((record) => record.webhook_id === webhookId).map((record) => [name, record] as const),
      ),
    );
  }
}

/** Sends a request until it succeeds. It may take effect twice. */
async function send(url: string, raw: RawRequest): Promise<RawResponse> {
  for (const end = performance.now() + DONE_WITHIN; ; ) {
    const response = await sendRaw(url, raw).catch((error: Error) => error);
    if (!(response instanceof Error) && response.status < 300) return response;
    const problem = response instanceof Error ? response.message : response.text;
    const isHopeless = !(response instanceof Error) && response.status < 500;
    if (isHopeless || performance.now() > end) throw new Error(`${raw.method ?? 'POST'} ${raw.path}: ${problem}`);
    await pause(100);
  }
}
