import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, startServer, type TestServer } from '../harness/ledger.ts';
import { requireNoTables } from '../harness/postgres/stock-postgres.ts';
import { type ServiceProcess, startService, waitFor } from '../harness/process.ts';
import { useDirectory } from '../harness/service.ts';

const HOUR = 3_600_000;
const ROUNDS = 6;
const PRELOAD = new URL('../harness/wrong-clock.ts', import.meta.url).href;

let server: TestServer;
const directory = await useDirectory();
/** Three services: the first with a correct clock, the second three hours slow, the third three hours fast. */
let services: readonly ServiceProcess[] = [];
/** The period from just before the first request to just after the last one, by the database's clock. */
let period: { readonly created_from: string; readonly created_to: string };

const card = `card-${randomUUID()}`;
const cards: string[] = [];
const transfers: string[] = [];
const reversals: string[] = [];
const errors: string[] = [];

async function start(hours: number, more: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  const { host, port, user, database } = server.connection;
  return startService({
    DATABASE_URL: `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`,
    DATA_DIR: `${directory.path}/${hours}`,
    ...(hours === 0 ? {} : { NODE_OPTIONS: `--import=${PRELOAD}`, WRONG_CLOCK_HOURS: String(hours) }),
    ...more,
  });
}

async function databaseTime(): Promise<string> {
  const client = await connect(server.connection);
  const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now');
  await client.end();
  return rows[0]?.now.toISOString() ?? '';
}

beforeAll(async () => {
  server = await startServer();
  services = await Promise.all([0, -3, 3].map((hours) => start(hours)));
  const [first] = services;
  await first?.client.cards.create({ card_id: card });
  const created_from = await databaseTime();
  for (let round = 0; round < ROUNDS; round += 1) for (const { client } of services) await makeOneOfEach(client);
  // Ensures that the period ends after the millisecond of the last request.
  await new Promise((resolve) => setTimeout(resolve, 2));
  period = { created_from, created_to: await databaseTime() };
});

afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await server.stop();
});

async function makeOneOfEach(client: ServiceProcess['client']): Promise<void> {
  cards.unshift((await client.cards.create({})).card_id);
  const { transfer_id } = await client.transfers.create({ amount: 100, card_id: card });
  transfers.unshift(transfer_id);
  reversals.unshift((await client.transfers.reverse(transfer_id, { amount: 1 })).reversal_id);
  const refused = await client.transfers.create({ amount: 1, card_id: 'card_lost' }).catch((error: unknown) => error);
  errors.unshift((refused as { readonly requestId: string }).requestId);
}

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Returns the values of one column of an export, newest first. The export itself is oldest first. */
async function columnOf(chunks: AsyncIterable<string>, name: string): Promise<readonly string[]> {
  const text = (await all(chunks)).join('');
  const [head = '', ...lines] = text.trimEnd().split('\r\n');
  const column = head.split(',').indexOf(name);
  return lines.map((line) => line.split(',')[column] ?? '').reverse();
}

function expectNewestFirst(items: readonly { readonly created_at: string }[]): void {
  const times = items.map(({ created_at }) => created_at);
  expect(times).toEqual(times.toSorted().reverse());
}

/** Returns the time that an id of the API contains. */
function timeOf(id: string): string {
  return new Date(Number.parseInt(id.slice(id.indexOf('_') + 1).slice(0, 12), 16)).toISOString();
}

const moved = (time: string, by: number): string => new Date(Date.parse(time) + by).toISOString();

const CLOCKS = ['right', 'three hours slow', 'three hours fast'] as const;

describe.each(CLOCKS)('requests to the process whose clock is %s', (which) => {
  const client = (): ServiceProcess['client'] => {
    const service = services[CLOCKS.indexOf(which)];
    if (service === undefined) throw new Error('there is no such service');
    return service.client;
  };
  /**
   * Returns the periods before and after the tested one. Each is wider than any clock's error, and nothing was created
   * in either.
   */
  const periodsAround = () => [
    { created_from: moved(period.created_from, -4 * HOUR), created_to: period.created_from },
    { created_from: period.created_to, created_to: moved(period.created_to, 4 * HOUR) },
  ];

  test('list_transfers returns exactly the transfers of a period, newest first', async () => {
    const found = await all(client().transfers.listAll({ ...period, card_id: card, limit: 7 }));
    expect(found.map(({ transfer_id }) => transfer_id)).toEqual(transfers);
    expectNewestFirst(found);
    for (const { transfer_id, created_at } of found) expect(timeOf(transfer_id)).toBe(created_at);
    for (const around of periodsAround()) {
      expect(await all(client().transfers.listAll({ ...around, card_id: card }))).toEqual([]);
    }
  });

  test('export_transfers and export_postings contain exactly the transfers of a period', async () => {
    const exported = await client().transfers.export({ ...period, card_id: card });
    expect(await columnOf(exported, 'transfer_id')).toEqual(transfers);
    const postings = await client().cards.exportPostings(card, period);
    expect((await columnOf(postings, 'reversal_id')).filter((id) => id !== '')).toEqual(reversals);
    for (const around of periodsAround()) {
      expect(await columnOf(await client().transfers.export({ ...around, card_id: card }), 'transfer_id')).toEqual([]);
    }
  });

  test('list_postings shows the postings of the period, newest first', async () => {
    const found = await all(client().cards.postingsAll(card, { ...period, limit: 7 }));
    expect(found.filter(({ reversal_id }) => reversal_id === null).map(({ transfer_id }) => transfer_id)).toEqual(
      transfers,
    );
    expect(found).toHaveLength(2 * transfers.length);
    expectNewestFirst(found);
    for (const around of periodsAround()) expect(await all(client().cards.postingsAll(card, around))).toEqual([]);
  });

  test('list_cards returns the cards by creation time, newest first', async () => {
    const found = await all(client().cards.listAll({ limit: 7 }));
    expect(found.slice(0, cards.length).map(({ card_id }) => card_id)).toEqual(cards);
    expectNewestFirst(found);
  });

  test('list_errors returns every error of a period, newest first', async () => {
    // An error gets its time before the first database query, so the time can be early by the duration of a request.
    const nearly = { from: moved(period.created_from, -5000), to: moved(period.created_to, 5000) };
    const query = { created_from: nearly.from, created_to: nearly.to, code: 'card_lost', limit: 7 };
    await waitFor(
      'every error is recorded',
      async () => (await all(client().errors.listAll(query))).length >= errors.length,
    );
    const found = await all(client().errors.listAll(query));
    expect(new Set(found.map(({ request_id }) => request_id))).toEqual(new Set(errors));
    expectNewestFirst(found);
  });
});

test('logs that the clock of a process is wrong', async () => {
  const [right, ...wrong] = services.map((service) => service.output());
  expect(right).not.toContain('"event":"clock"');
  for (const output of wrong) expect(output).toMatch(/"event":"clock","aheadMilliseconds":-?10[78]\d{5}/);
});

test('creates partitions for the days of the database clock, even if the clock of the process is a year slow at the first start', async (context) => {
  requireNoTables(context);
  const schema = 'of_a_slow_clock';
  const service = await start(-365 * 24, { DATABASE_SCHEMA: schema });
  const client = await connect(server.connection);
  try {
    const { rows } = await client.query<{ name: string; day: string }>(
      `select relname as name, to_char(clock_timestamp() at time zone 'UTC', 'YYYY_MM_DD') as day
        from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = '${schema}.event'::regclass order by relname`,
    );
    expect(rows.map(({ name }) => name)).toContain(`event_${rows[0]?.day}`);
  } finally {
    await client.end();
    await service.stop();
  }
});
