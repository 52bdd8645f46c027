import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shareSwitchAndLockNames } from '../../server/store/locks.ts';
import { connect } from '../harness/ledger.ts';
import { runCommand, type ServiceProcess, startService } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { usePostgres } from '../harness/use-ledger.ts';

// Tests two services in two schemas of one database, each with its own DATA_DIR.

const SCHEMAS = ['alpha', 'beta'] as const;
type Schema = (typeof SCHEMAS)[number];

const { directory, embedded } = await usePostgres();
const services = new Map<Schema, ServiceProcess>();

const settingsOf = (schema: Schema) => ({
  DATABASE_URL: embedded.url,
  DATABASE_SCHEMA: schema,
  DATA_DIR: join(directory, schema),
});
const serviceOf = (schema: Schema): ServiceProcess => {
  const service = services.get(schema);
  if (service === undefined) throw new Error(`the service ${schema} was not started`);
  return service;
};

beforeAll(async () => {
  // Both start at the same time, find an empty database and try to create the roles.
  await Promise.all(SCHEMAS.map(async (schema) => services.set(schema, await startService(settingsOf(schema)))));
});
afterAll(async () => {
  for (const service of services.values()) await service.stop();
});

const send = async (schema: Schema, key: string) => {
  const body = { amount: 7, card_id: 'card_active' };
  return sendRaw(serviceOf(schema).url, { body, headers: { 'Idempotency-Key': key } });
};

async function query(text: string): Promise<readonly Record<string, unknown>[]> {
  const client = await connect({ ...embedded.connection, user: 'postgres' });
  const { rows } = await client.query(text).finally(() => client.end());
  return rows;
}

test("the same keys move money once in each service, and rows are only in the service's own schema", async () => {
  const keys = Array.from({ length: 25 }, (_, number) => `key-${number}`);
  const made = new Set<unknown>();
  const before = await Promise.all(SCHEMAS.map((schema) => serviceOf(schema).client.cards.get('card_active')));
  for (const replies of await Promise.all(
    [...keys, ...keys].flatMap((key) => SCHEMAS.map((schema) => send(schema, key))),
  )) {
    expect(replies.status).toBe(201);
    made.add(replies.fields.transfer_id);
  }
  expect(made.size).toBe(keys.length * SCHEMAS.length);
  for (const [index, schema] of SCHEMAS.entries()) {
    const { client } = serviceOf(schema);
    expect((await client.cards.get('card_active')).balance).toBe((before[index]?.balance ?? 0) + 7 * keys.length);
    expect(await client.trialBalance.get()).toMatchObject({ balanced: true });
    expect(await query(`select count(*)::int from ${schema}.transfer where idempotency_key like 'key-%'`)).toEqual([
      { count: keys.length },
    ]);
  }
  const outside = await query(`select relname from pg_class where relnamespace = 'public'::regnamespace`);
  expect(outside).toEqual([]);
  const partitions = await query(`select relnamespace::regnamespace::text as schema, count(*)::int from pg_class
    where relname ~ '^(event|error)_[0-9]{4}_[0-9]{2}(_[0-9]{2})?$' group by 1 order by 1`);
  expect(partitions).toEqual([
    { schema: 'alpha', count: 12 },
    { schema: 'beta', count: 12 },
  ]);
});

test('the switch of one service does not affect the other', async () => {
  const underWay = await connect(embedded.connection);
  const disable = (disabled: boolean) =>
    sendRaw(serviceOf('alpha').url, {
      method: 'POST',
      path: '/api/v0.1/operator/switch',
      body: { disabled, ...(disabled ? { reason: 'a test' } : {}) },
    });
  try {
    // Runs the first statement of every transfer in a long transaction.
    const { text, values } = shareSwitchAndLockNames([], 'wait');
    await underWay.query('begin; set local search_path = alpha');
    await underWay.query(text, [...values]);
    expect((await disable(true)).status).toBe(503);
    await underWay.query('rollback; begin; set local search_path = beta');
    await underWay.query(text, [...values]);
    expect((await disable(true)).status).toBe(200);
    expect((await send('alpha', 'while-disabled')).status).toBe(424);
    expect((await send('beta', 'while-disabled')).status).toBe(201);
  } finally {
    await underWay.end();
  }
  expect((await disable(false)).status).toBe(200);
  expect((await send('alpha', 'while-disabled')).status).toBe(201);
});

test('commands use the schema from their settings', async () => {
  await Promise.all(
    SCHEMAS.map(async (schema) => {
      const made = await runCommand(['operator-key', 'create', '--name', schema], settingsOf(schema));
      expect(made).toMatchObject({ exitCode: 0, output: expect.stringMatching(/^ts_/) });
      expect(await query(`select name from ${schema}.api_key`)).toEqual([{ name: schema }]);
      const shown = await runCommand(['config'], settingsOf(schema));
      expect(shown.output).toContain(`\nDATABASE_SCHEMA=${schema}\n`);
      const books = await runCommand(['verify-books'], settingsOf(schema));
      expect(JSON.parse(books.output)).toMatchObject({ balanced: true });
    }),
  );
});
