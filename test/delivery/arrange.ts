import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { fromWireId } from '../../domain/identifier.ts';
import {
  type CreateWebhookBody,
  type NewWebhookRecord,
  TransferService,
  type WebhookRecord,
} from '../../sdk/client.ts';
import { embeddedServerOf, type ServiceProcess, waitFor } from '../harness/process.ts';
import { useOwnService, useService } from '../harness/service.ts';
import type { Receiver } from './receiver.ts';

/** A service and its database, for the tests of webhooks. */
export type World = {
  readonly service: ServiceProcess & { readonly directory: string };
  readonly client: TransferService;
  /** Runs SQL with all privileges, for example to change times instead of waiting for hours. */
  readonly sql: (text: string, ...values: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
};

/** Uses the service that test files share, or a separate one if `apart` gives a reason. */
export function useWorld(apart?: string): () => World {
  const service = apart === undefined ? useService() : useOwnService(apart);
  let database: pg.Client | undefined;
  beforeAll(async () => {
    const { databaseUrl } = await embeddedServerOf(service().directory);
    database = await connect(databaseUrl);
  });
  afterAll(() => database?.end());
  return () => ({
    service: service(),
    client: service().client,
    sql: async (text, ...values) => (await database?.query(text, [...values]))?.rows ?? [],
  });
}

/** Opens a connection. If its server ends, the test continues. */
export async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

let programs = 0;

/** Creates a card program with a card and a client. The program's first event is the creation of the card. */
export async function newProgram({ service }: { readonly service: ServiceProcess }) {
  programs += 1;
  const options = { baseUrl: service.url, timeoutMilliseconds: 120_000 };
  // On a busy machine, the service refuses requests. This client retries them with their keys.
  const operator = new TransferService({ ...options, maxRetries: 10 });
  const name = `program ${programs}`;
  const { program_id: programId } = await operator.programs.create({ name, currency: 'USD' });
  const client = new TransferService({ ...options, programId, maxRetries: 0 });
  const patient = new TransferService({ ...options, programId, maxRetries: 10 });
  await operator.deposits.create(programId, { amount: 1_000_000 });
  const { card_id: cardId } = await patient.cards.create();
  // The relay gives positions a moment after the commit.
  const created = async () => (await patient.events.list({ type: 'card.created' })).data;
  await waitFor('the position of the card', async () => (await created()).length > 0);
  const start = await headOf(patient);
  let made = 0;
  return {
    programId,
    client,
    cardId,
    /** The position before the first event of {@link transfer}. */
    start,
    /** Creates `count` transfers with one event each, and returns the last position. */
    transfer: async (count: number): Promise<number> => {
      let newest: string | undefined;
      for (let index = 0; index < count; index += 1) {
        ({ transfer_id: newest } = await patient.transfers.create({ card_id: cardId, amount: 1 }));
      }
      made += count;
      // Reading the last position is not enough, because webhook events also have positions.
      await waitFor('the positions of events', async () => {
        const [event] = (await patient.events.list({ type: 'transfer.*', limit: 1 })).data;
        return event !== undefined && 'transfer_id' in event.data && event.data.transfer_id === newest;
      });
      return start + made;
    },
  };
}

export type Program = Awaited<ReturnType<typeof newProgram>>;

/** Returns the position of a card program's newest event, or 0 if it has none. */
export async function headOf(client: TransferService): Promise<number> {
  const [newest] = (await client.events.list({ limit: 1 })).data;
  return newest?.position ?? 0;
}

/** Creates a webhook that begins after the program's start, and deletes it at the end of the test. */
export async function createWebhook(
  program: Program,
  { url }: Pick<Receiver, 'url'>,
  body: Partial<CreateWebhookBody> = {},
): Promise<NewWebhookRecord> {
  const webhook = await program.client.webhooks.create({ url, after: program.start, ...body });
  onTestFinished(async () => void (await program.client.webhooks.delete(webhook.webhook_id).catch(() => undefined)));
  return webhook;
}

/** Waits until a webhook meets the condition, and returns the webhook. */
export async function webhookWhen(
  { client }: { readonly client: TransferService },
  webhookId: string,
  condition: (webhook: WebhookRecord) => boolean,
): Promise<WebhookRecord> {
  let webhook = await client.webhooks.get(webhookId);
  await waitFor('the state of a webhook', async () => {
    webhook = await client.webhooks.get(webhookId);
    return condition(webhook);
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(webhook)}`);
  });
  return webhook;
}

export function innerId(webhookId: string): string {
  const id = fromWireId('wh', webhookId);
  if (id === undefined) throw new Error(`${webhookId} is not the id of a webhook`);
  return id;
}

/**
 * Makes a webhook's next probe or retry due now instead of in minutes or hours. `also` sets other columns of its state
 * to SQL expressions, for example to simulate earlier failures.
 */
export async function makeDue(
  { sql }: World,
  webhookId: string,
  also: Readonly<Record<string, string>> = {},
): Promise<void> {
  const id = innerId(webhookId);
  await sql('begin');
  // Changes the webhook first, as a request does, so that an outcome stored in between does not undo the other changes.
  await sql('update webhook set revision = revision + 1 where webhook_id = $1', id);
  // Then changes the webhook's state, before the rows of its events. The reverse order could deadlock with the writer
  // of outcomes.
  const values = Object.entries({ next_probe_at: 'clock_timestamp()', ...also });
  const assignments = values.map(([column, value]) => `${column} = ${value}`).join(', ');
  await sql(`update webhook_state set ${assignments} where webhook_id = $1`, id);
  await sql(`update webhook_delivery set next_at = clock_timestamp() where webhook_id = $1 and state = 'waiting'`, id);
  await sql('commit');
}

/** Waits until the delivery loop has read all changes made before this call. */
export async function untilChangesCount({ sql }: Pick<World, 'sql'>): Promise<void> {
  const lastLook = async () => String((await sql('select max(seen_at)::text as at from webhook_worker'))[0]?.at);
  for (let count = 0; count < 2; count += 1) {
    const before = await lastLook();
    await waitFor('reading the changes', async () => (await lastLook()) !== before);
  }
}

/** Expects that each of the positions arrived once, in this order. */
export function expectInOrder({ positions }: Receiver, first: number, last: number): void {
  expect(positions).toEqual(Array.from({ length: last - first + 1 }, (_, index) => first + index));
}
