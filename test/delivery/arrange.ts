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

/** A service, its database, and what the tests of webhooks do with both. */
export type World = {
  readonly service: ServiceProcess & { readonly directory: string };
  readonly client: TransferService;
  /** Runs SQL with all rights: it moves what would take hours. */
  readonly sql: (text: string, ...values: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
};

/** The service that files share; one of the file's own where it says why. */
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

/** A plain connection, which survives the end of its server. */
export async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

let programs = 0;

/** A client of a card program of its own, with a card, whose first event is the card's creation. */
export async function newProgram({ service }: { readonly service: ServiceProcess }) {
  programs += 1;
  const options = { baseUrl: service.url, timeoutMilliseconds: 120_000 };
  // Whatever a busy machine refuses here is asked for again, with its key.
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
    /** The position after which the events of {@link transfer} come. */
    start,
    /** Makes one event for each transfer; returns the last position. */
    transfer: async (count: number): Promise<number> => {
      let newest: string | undefined;
      for (let index = 0; index < count; index += 1) {
        ({ transfer_id: newest } = await patient.transfers.create({ card_id: cardId, amount: 1 }));
      }
      made += count;
      // Not any event at that position: those of webhooks have positions, too.
      await waitFor('the positions of events', async () => {
        const [event] = (await patient.events.list({ type: 'transfer.*', limit: 1 })).data;
        return event !== undefined && 'transfer_id' in event.data && event.data.transfer_id === newest;
      });
      return start + made;
    },
  };
}

export type Program = Awaited<ReturnType<typeof newProgram>>;

/** The position of the newest event of a card program; 0 if it has none. */
export async function headOf(client: TransferService): Promise<number> {
  const [newest] = (await client.events.list({ limit: 1 })).data;
  return newest?.position ?? 0;
}

/** Creates a webhook for what comes after the program's start, and deletes it at the end of the test. */
export async function createWebhook(
  program: Program,
  { url }: Pick<Receiver, 'url'>,
  body: Partial<CreateWebhookBody> = {},
): Promise<NewWebhookRecord> {
  const webhook = await program.client.webhooks.create({ url, after: program.start, ...body });
  onTestFinished(async () => void (await program.client.webhooks.delete(webhook.webhook_id).catch(() => undefined)));
  return webhook;
}

/** Waits until a webhook is as it should be, and returns it. */
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

/** The inner UUID of a webhook. */
export function innerId(webhookId: string): string {
  const id = fromWireId('wh', webhookId);
  if (id === undefined) throw new Error(`${webhookId} is no id of a webhook`);
  return id;
}

/**
 * Makes the next probe or retry of a webhook due now, instead of in minutes or hours. `also` are other columns of its
 * state and their values in SQL: how its deliveries are to have gone.
 */
export async function makeDue(
  { sql }: World,
  webhookId: string,
  also: Readonly<Record<string, string>> = {},
): Promise<void> {
  const id = innerId(webhookId);
  await sql('begin');
  // As a request does: first the webhook, so that no outcome that is stored meanwhile undoes the rest.
  await sql('update webhook set revision = revision + 1 where webhook_id = $1', id);
  // Then its state, before the rows of its events: in the other order, this and the writer of outcomes could deadlock.
  const values = Object.entries({ next_probe_at: 'clock_timestamp()', ...also });
  const assignments = values.map(([column, value]) => `${column} = ${value}`).join(', ');
  await sql(`update webhook_state set ${assignments} where webhook_id = $1`, id);
  await sql(`update webhook_delivery set next_at = clock_timestamp() where webhook_id = $1 and state = 'waiting'`, id);
  await sql('commit');
}

/** Waits until whoever delivers has looked for changes, from the beginning of a look to its end. */
export async function untilChangesCount({ sql }: Pick<World, 'sql'>): Promise<void> {
  const lastLook = async () => String((await sql('select max(seen_at)::text as at from webhook_worker'))[0]?.at);
  for (let count = 0; count < 2; count += 1) {
    const before = await lastLook();
    await waitFor('a look for changes', async () => (await lastLook()) !== before);
  }
}

/** Expects what arrived to be each of the positions once, in this order. */
export function expectInOrder({ positions }: Receiver, first: number, last: number): void {
  expect(positions).toEqual(Array.from({ length: last - first + 1 }, (_, index) => first + index));
}
