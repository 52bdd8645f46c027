import { randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { TObject } from 'typebox';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import type { SchemaShape } from '../../../contract/schema-parts.ts';
import { guardedFields } from '../../../contract/schema-parts.ts';
import { partsOf } from '../../fixtures/operations.ts';
import { thingsOf } from '../../fixtures/service-things.ts';
import { sendUntilServed } from '../../harness/client/patience.ts';
import { operatorKey, withSecret } from '../../harness/keys.ts';
import { connect } from '../../harness/ledger.ts';
import { ledgerDirectory } from '../../harness/ledger-directory.ts';
import { STOCK_BINARIES } from '../../harness/postgres/stock-postgres.ts';
import { embeddedServerOf, type ServiceProcess, startService, temporaryDirectory } from '../../harness/process.ts';
import { type RawResponse, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks } from '../../harness/service.ts';

type Sent = { readonly id?: string; readonly body?: object | undefined };

// Leaves out the erasure of a person, because it changes earlier responses about that person
// (test/security/people.test.ts).
const SUBJECTS = OPERATION_IDS.filter(
  (id) => (OPERATIONS[id] as Operation).errors.includes('idempotency_key_exists') && id !== 'erase_person',
);

/**
 * Returns a body with the same meaning in a different form: with explicit defaults, amounts as strings, and null or {}
 * for omitted fields.
 */
function inOtherWords(operation: OperationId, body: object | undefined): object | undefined {
  const schema: TObject | undefined = OPERATIONS[operation].body;
  if (schema === undefined || body === undefined) return body;
  const refused = guardedFields(schema);
  const other: Record<string, unknown> = { ...body };
  for (const [name, shape] of Object.entries(schema.properties as Record<string, SchemaShape>)) {
    const sent = other[name];
    if (shape['x-amount'] === true && typeof sent === 'number') other[name] = String(sent);
    else if (sent === undefined && shape['x-default'] !== undefined) other[name] = shape['x-default'];
    else if (sent === undefined && refused[name] === undefined) {
      other[name] = shape.type === 'object' && shape.properties === undefined ? {} : null;
    }
  }
  return other;
}

/** The table to which each operation adds a row, in addition to the audit log. */
const MADE: Readonly<Partial<Record<OperationId, string>>> = {
  create_transfer: 'transfer',
  reverse_transfer: 'reversal',
  create_card: 'card',
  create_program: 'program',
  create_key: 'api_key',
  roll_key: 'api_key',
  create_deposit: 'funding_movement',
  create_withdrawal: 'funding_movement',
};

/** Returns a new request to the operation. */
async function ask(operation: OperationId): Promise<Sent> {
  const { params, body } = await partsOf(operation, thingsOf(first.client));
  const [id] = Object.values(params);
  return { body, ...(id && { id }) };
}

const newKey = async (): Promise<string> => (await ask('revoke_key')).id ?? '';

/** Both services need the same key for webhook secrets. */
const webhookKey = { WEBHOOK_KEY: randomBytes(32).toString('base64') };

let directory: Awaited<ReturnType<typeof ledgerDirectory>>;
let ownDirectory: Awaited<ReturnType<typeof temporaryDirectory>>;
let database: pg.Client;
/** The first service owns the database server. The second one starts after the requests in {@link early}. */
let first: ServiceProcess;
let second: ServiceProcess;
/** An operator's headers. The audit log records some actions only if an operator performed them. */
let ofOperator: Readonly<Record<string, string>> = {};
const webhooksKept = new Set<string>();
const early = new Map<OperationId, { readonly key: string; readonly sent: Sent; readonly response: RawResponse }>();

beforeAll(async () => {
  directory = await ledgerDirectory();
  ownDirectory = await temporaryDirectory();
  first = await startService({ ...webhookKey, DATA_DIR: directory.path });
  const { databaseUrl } = await embeddedServerOf(directory.path);
  database = await connect({ connectionString: databaseUrl });
  const { key: operator } = await withSecret(first.client.keys.create(operatorKey('operator of the test')));
  ofOperator = { Authorization: `Bearer ${operator}`, 'Program-Id': DEMO_PROGRAM };
  for (const operation of SUBJECTS) {
    const [key, sent] = [randomUUID(), await ask(operation)];
    early.set(operation, { key, sent, response: await send(first, operation, key, sent) });
  }
  for await (const { webhook_id } of first.client.operatorWebhooks.listAll()) webhooksKept.add(webhook_id);
  second = await startService({ ...webhookKey, DATABASE_URL: databaseUrl, DATA_DIR: ownDirectory.path });
});

afterEach(async () => {
  const { sandbox, operatorWebhooks } = first.client;
  await sandbox.moveClock({ seconds_ahead: 0 });
  // Deletes the test's webhooks, because operators can have only a few.
  for await (const { webhook_id } of operatorWebhooks.listAll())
    if (!webhooksKept.has(webhook_id)) await operatorWebhooks.delete(webhook_id);
});

afterAll(async () => {
  await expectBalancedBooks(first);
  await database.end();
  await second.stop();
  await first.stop();
  await ownDirectory.remove();
  await directory.remove();
});

function send(
  service: ServiceProcess,
  operation: OperationId,
  key: string,
  { id = '', body }: Sent,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawResponse> {
  const { method, path } = OPERATIONS[operation];
  return sendRaw(service.url, {
    method,
    path: path.replace(/\{.*\}/, id),
    headers: { 'Idempotency-Key': key, ...headers },
    body,
  });
}

/** Returns how often the operation was executed. */
async function count(operation: OperationId): Promise<readonly number[]> {
  const made = MADE[operation];
  const { rows } = await database.query<{ audited: string; made: string }>(
    `select count(*) as audited, ${made === undefined ? 'count(*)' : `(select count(*) from ${made})`} as made
      from audit_entry where action = $1`,
    [operation],
  );
  return rows.flatMap(({ audited, made: all }) => [Number(audited), Number(all)]);
}

const once = (before: readonly number[]): readonly number[] => before.map((number) => number + 1);

const isReplay = ({ headers }: RawResponse): boolean => headers['idempotent-replayed'] === 'true';

/** The fields that only the first response has. */
const SECRETS = { key: /^ts_/, secret: /^whsec_/ };

/** Fails unless `again` is a replay of `made`, without the secret. */
function expectReplay(again: RawResponse, made: RawResponse): void {
  const [name, form] = Object.entries(SECRETS).find(([one]) => `${one}_omitted` in made.fields) ?? [];
  expect([again.status, again.headers.location]).toEqual([made.status, made.headers.location]);
  expect([isReplay(made), isReplay(again)]).toEqual([false, true]);
  expect(again.headers['original-request-id']).toBe(made.headers['request-id']);
  if (name === undefined) {
    expect(again.text).toBe(made.text);
    return;
  }
  const omitted = `${name}_omitted`;
  expect(made.fields).toMatchObject({ [name]: expect.stringMatching(form ?? ''), [omitted]: null });
  expect(again.fields).toEqual({
    ...made.fields,
    [name]: null,
    [omitted]: expect.stringMatching(/not stored|first response only/),
  });
}

test('requires an idempotency key in every POST that creates or changes something, with a few exceptions', () => {
  const without = OPERATION_IDS.filter((id) => {
    const { method, idempotency } = OPERATIONS[id];
    return method === 'POST' && idempotency === 'none';
  });
  // These are the exceptions. Each row of a batch has its own key. The token of a session is not stored, and an unused
  // session ends anyway. A stopped database cannot store a key. An attempt, a break or an approval can end only once, and a
  // comparison can be cut over only once. A notice has an id, and a line of a file has a number.
  expect(without.sort()).toEqual([
    'add_compared_cards',
    'add_move_in_lines',
    'add_settlement_lines',
    'approve_change',
    'close_break',
    'create_session',
    'create_transfer_batch',
    'cut_over',
    'receive_notice',
    'reject_change',
    'resolve_attempt',
    'sign_in_as',
    'start_database',
    'stop_database',
    'undo_move_in',
    'withdraw_change',
  ]);
});

describe.each(SUBJECTS)('%s with a key', (operation) => {
  const sendKeyed = (service: ServiceProcess, key: string, sent: Sent): Promise<RawResponse> =>
    send(service, operation, key, sent, OPERATIONS[operation].audit === 'operator' ? ofOperator : {});

  test('executes twenty sequential requests once', async () => {
    const [key, sent] = [randomUUID(), await ask(operation)];
    const before = await count(operation);
    const made = await sendKeyed(first, key, sent);
    expect(made.status).toBe(OPERATIONS[operation].status);
    for (let time = 1; time < 20; time += 1) {
      expectReplay(await sendKeyed(time % 2 === 0 ? first : second, key, sent), made);
    }
    expect(await count(operation)).toEqual(once(before));
  });

  test('executes twenty concurrent requests to two processes once', async () => {
    const [key, sent] = [randomUUID(), await ask(operation)];
    const before = await count(operation);
    const services = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? first : second));
    const responses = await Promise.all(
      services.map((service) => sendUntilServed(() => sendKeyed(service, key, sent))),
    );
    const [made, ...others] = responses.filter((response) => !isReplay(response));
    expect(others).toEqual([]);
    for (const response of responses) if (response !== made && made !== undefined) expectReplay(response, made);
    expect(await count(operation)).toEqual(once(before));
  });

  test('refuses a different request with a 422, and the request has no effect', async () => {
    const [key, sent] = [randomUUID(), await ask(operation)];
    const made = await sendKeyed(first, key, sent);
    const other = await ask(operation);
    const before = await count(operation);
    const refused = await sendKeyed(second, key, other);
    expect(refused.fields).toMatchObject({ Status: 422, Code: 'idempotency_key_exists', Type: 'Request Error' });
    expect(refused.headers['original-request-id']).toBe(made.headers['request-id']);
    expectReplay(await sendKeyed(first, key, sent), made);
    expect(await count(operation)).toEqual(before);
    expect((await sendKeyed(first, randomUUID(), other)).status).toBe(OPERATIONS[operation].status);
  });

  test('replays the same request with a body written differently', async () => {
    const [key, sent] = [randomUUID(), await ask(operation)];
    const before = await count(operation);
    const made = await sendKeyed(first, key, sent);
    expectReplay(await sendKeyed(second, key, { ...sent, body: inOtherWords(operation, sent.body) }), made);
    expect(await count(operation)).toEqual(once(before));
    // The service compares the meaning of the bodies, so the reverse order also works.
    const [other, wordy] = [randomUUID(), await ask(operation)];
    const long = await sendKeyed(first, other, { ...wordy, body: inOtherWords(operation, wordy.body) });
    expectReplay(await sendKeyed(second, other, wordy), long);
  });

  test('replays the first response from a process that was started later', async () => {
    const { key = '', sent = {}, response } = early.get(operation) ?? {};
    if (response === undefined) throw new Error('nothing was sent before the second service started');
    expectReplay(await sendKeyed(second, key, sent), response);
  });

  test('refuses an invalid key with a 400', async () => {
    const refused = await sendKeyed(first, 'a b', await ask(operation));
    expect(refused.fields).toMatchObject({ Status: 400, Code: 'invalid_idempotency_key' });
  });
});

describe('storage', () => {
  const card = { card_id: `own-${randomUUID()}` };

  test('keeps a 409, but no response that the caller can correct', async () => {
    const [key, taken] = [randomUUID(), { body: { ...card, currency: 'USD' } }];
    const bad = await send(first, 'create_card', key, { body: { currency: 'XXX' } });
    expect([bad.status, isReplay(bad)]).toEqual([400, false]);
    expect((await send(first, 'create_card', key, taken)).status).toBe(201);
    const other = randomUUID();
    const refused = await send(first, 'create_card', other, taken);
    expect([refused.fields.Code, isReplay(refused)]).toEqual(['duplicate_card', false]);
    const again = await send(second, 'create_card', other, taken);
    expect([again.text, again.headers['error-field'], isReplay(again)]).toEqual([refused.text, '/card_id', true]);
    const missing = randomUUID();
    expect((await send(first, 'roll_key', missing, { id: 'key_missing', body: {} })).status).toBe(404);
    const rolled = await send(first, 'roll_key', missing, { id: await newKey(), body: {} });
    expect([rolled.status, isReplay(rolled)]).toEqual([201, false]);
  });

  test('stores no failure', async () => {
    const [key, sent] = [randomUUID(), { body: { name: randomUUID(), currency: 'USD' } }];
    await first.database.stop();
    try {
      expect((await send(first, 'create_program', key, sent)).fields.Code).toBe('unknown_create_program');
    } finally {
      await first.database.start();
      await database.end();
      database = await connect({ connectionString: (await embeddedServerOf(directory.path)).databaseUrl });
    }
    const made = await send(first, 'create_program', key, sent);
    expect([made.status, isReplay(made)]).toEqual([201, false]);
  });

  test('stores no secret of a created or rolled key', async () => {
    const [made, rolled] = [randomUUID(), randomUUID()];
    const create = { body: { name: 'secret', scopes: ['cards:read'], all_programs: true } };
    const created = await send(first, 'create_key', made, create);
    const roll = { id: String(created.fields.key_id), body: {} };
    const next = await send(first, 'roll_key', rolled, roll);
    expectReplay(await send(first, 'create_key', made, create), created);
    expectReplay(await send(first, 'roll_key', rolled, roll), next);
    const dump = await dumpOf(database);
    for (const { fields } of [created, next]) {
      const [, publicPart = '-', secret = '-'] = /^ts_([0-9a-f]{16})_([0-9a-f]{64})/.exec(String(fields.key)) ?? [];
      expect(dump).toContain(publicPart);
      for (const text of [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret, 'hex').toString('base64')]) {
        expect(dump).not.toContain(text);
      }
    }
    // The key was not rolled again: the key from the first response is still the latest.
    const { data } = await first.client.keys.list();
    expect(data.find(({ key_id }) => key_id === next.fields.key_id)?.replaced_by).toBeNull();
  });
});

/** Returns every row of every table as text. */
async function dumpOf(client: pg.Client): Promise<string> {
  const { rows: tables } = await client.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = current_schema()",
  );
  const rows: string[] = [];
  for (const { name } of tables) {
    const content = await client.query<{ row: string }>(`select content::text as row from ${name} as content`);
    rows.push(...content.rows.map(({ row }) => row));
  }
  return rows.join('\n');
}

describe('the scope of a key', () => {
  test('is the card program for cards, and the whole service for actions that any operator can perform', async () => {
    const key = randomUUID();
    const { program_id } = await first.client.programs.create({ name: 'Other', currency: 'USD' });
    const cards = [{}, { 'Program-Id': program_id }].map((headers) =>
      send(first, 'create_card', key, { body: {} }, headers),
    );
    const made = await Promise.all(cards);
    expect(made.map((response) => [response.status, isReplay(response)])).toEqual([
      [201, false],
      [201, false],
    ]);
    const operator = await first.client.keys.create({ name: 'operator', scopes: ['operator'], all_programs: true });
    const sent = { body: { name: 'Shared', currency: 'USD' } };
    const program = await send(first, 'create_program', key, sent);
    const bearer = { Authorization: `Bearer ${operator.key}` };
    expectReplay(await send(second, 'create_program', key, sent, bearer), program);
  });

  test('is the operation: with one key, each operation creates one record', async () => {
    const key = randomUUID();
    for (const operation of SUBJECTS) {
      const response = await send(first, operation, key, await ask(operation));
      expect([response.status, isReplay(response)], operation).toEqual([OPERATIONS[operation].status, false]);
    }
  });

  test('is named by a sandbox if another operation of the card program has used the key', async () => {
    const key = randomUUID();
    const warned = async (operation: OperationId, sent: Sent) =>
      (await send(first, operation, key, sent)).headers['idempotency-key-reused'];
    const load = { body: { amount: 1, card_id: 'card_active' } };
    const funds = { id: DEMO_PROGRAM, body: { amount: 1 } };
    expect(await warned('explain_transfer', load)).toBeUndefined();
    expect(await warned('create_transfer', load)).toBeUndefined();
    expect(await warned('create_transfer', load)).toBeUndefined();
    expect(await warned('create_deposit', funds)).toBe('create_transfer');
    expect(await warned('create_withdrawal', funds)).toBe('create_transfer, create_deposit');
    expect(await warned('create_transfer', load)).toBe('create_deposit, create_withdrawal');
  });
});

test('replays the creation of a key that has expired in the meantime', async () => {
  const key = randomUUID();
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const sent = { body: { name: 'for an hour', scopes: ['cards:read'], all_programs: true, expires_at } };
  const made = await send(first, 'create_key', key, sent);
  await first.client.sandbox.moveClock({ seconds_ahead: 7200 });
  try {
    expect((await send(first, 'create_key', randomUUID(), sent)).fields.Code).toBe('create_key_schema');
    expectReplay(await send(first, 'create_key', key, sent), made);
  } finally {
    await first.client.sandbox.moveClock({ seconds_ahead: 0 });
  }
});

test('a late replay does not undo later changes', async () => {
  const [disable, roll, keyId] = [randomUUID(), randomUUID(), await newKey()];
  const disabled = { body: { disabled: true, reason: 'maintenance' } };
  const made = await send(first, 'change_switch', disable, disabled);
  await first.client.switch.change({ disabled: false });
  expectReplay(await send(first, 'change_switch', disable, disabled), made);
  expect((await first.client.switch.get()).data.filter((setting) => setting.disabled)).toEqual([]);
  const rolled = await send(first, 'roll_key', roll, { id: keyId, body: {} });
  await first.client.keys.revoke(String(rolled.fields.key_id));
  expectReplay(await send(first, 'roll_key', roll, { id: keyId, body: {} }), rolled);
});

test.each<[OperationId, Sent]>([
  ['list_cards', {}],
  ['update_card', { id: 'card_active', body: { holder_reference: 'x' } }],
  ['create_transfer_batch', { body: { transfers: [{ amount: 1, card_id: 'card_active', idempotency_key: 'row' }] } }],
  // start_database and stop_database are refused if the database does not belong to the sandbox, as when the tests run
  // on stock binaries.
  ...(STOCK_BINARIES === undefined ? [['start_database', {}] satisfies [OperationId, Sent]] : []),
])('%s ignores an idempotency key and reports that it was ignored', async (operation, sent) => {
  for (const key of ['one', 'not a key']) {
    const response = await send(first, operation, key, sent);
    expect([response.status, response.headers['ignored-headers']]).toEqual([200, 'Idempotency-Key']);
  }
  const { method, path } = OPERATIONS[operation];
  const silent = await sendRaw(first.url, { method, path: path.replace(/\{.*\}/, sent.id ?? ''), body: sent.body });
  expect(silent.headers['ignored-headers']).toBeUndefined();
});
