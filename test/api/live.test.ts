import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exampleOf } from '../../contract/examples.ts';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { TransferService } from '../../sdk/client.ts';
import { operatorKey as operatorKeyBody, programKey, withSecret } from '../harness/keys.ts';
import { requireNoTables } from '../harness/postgres/stock-postgres.ts';
import {
  beforeMoment,
  embeddedServerOf,
  runCommand,
  type ServiceProcess,
  type ServiceSettings,
  startInVain,
  startService,
  temporaryDirectory,
  waitFor,
} from '../harness/process.ts';
import { type RawRequest, type RawResponse, sendRaw } from '../harness/raw-request.ts';
import { expectBalancedBooks, refusalOf, useService } from '../harness/service.ts';

const TRANSFERS = '/api/v0.1/core/transfer';

/**
 * Returns the warnings and errors in a service's log, except warnings about a slow database, which a busy machine
 * causes.
 */
function complaintsOf(service: ServiceProcess): readonly object[] {
  type Line = { readonly level: number; readonly reason?: string; readonly cause?: string };
  const isOfSlowMachine = ({ reason, cause }: Line): boolean =>
    reason === 'database_silent' || /timeout|canceling statement|responds on no connection/i.test(cause ?? '');
  const lines = service.errors().split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Line).filter((line) => line.level > 30 && !isOfSlowMachine(line));
}

const SANDBOX_OPERATIONS = OPERATION_IDS.filter((id) => OPERATIONS[id].reach === 'sandbox');

describe('live mode on an empty directory', () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let service: ServiceProcess;
  let operatorKey = '';
  let environment: ServiceSettings;
  const programs = { first: '', second: '' };
  const keys = { first: '', second: '' };

  const as = (key: string, programId?: string) =>
    new TransferService({ baseUrl: service.url, key, programId, maxRetries: 0, timeoutMilliseconds: 120_000 });
  const send = (raw: RawRequest): Promise<RawResponse> => sendRaw(service.url, raw);
  const get = (path: string, headers: Readonly<Record<string, string>>) => send({ method: 'GET', path, headers });
  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

  beforeAll(async () => {
    directory = await temporaryDirectory();
    environment = { MODE: 'live', DATA_DIR: directory.path, SUPPORT_CONTACT: 'help@bank.test' };
  });
  afterAll(async () => {
    await service?.stop();
    await directory?.remove();
  });

  test('does not start without a schema or an operator key, and names the command to run', async (context) => {
    requireNoTables(context);
    const bare = await startInVain(environment);
    expect(bare.exitCode).toBe(1);
    expect(bare.errors).toContain('npx transfer-service migrate');
    const migrated = await runCommand(['migrate'], environment);
    expect(migrated).toMatchObject({ exitCode: 0, output: expect.stringContaining('0001_ledger') });
    const keyless = await startInVain(environment);
    expect(keyless.exitCode).toBe(1);
    expect(keyless.errors).toContain('npx transfer-service operator-key create --name');
    expect(keyless.errors).not.toMatch(/\n\s+at /);
    const noContact = await startInVain({ ...environment, SUPPORT_CONTACT: '' });
    expect(noContact.errors).toContain('SUPPORT_CONTACT is not set');
  });

  test('starts after operator-key create, which prints only the key on standard output', async () => {
    const made = await runCommand(['operator-key', 'create', '--name', 'first operator'], environment);
    expect(made.exitCode).toBe(0);
    expect(made.output).toMatch(/^ts_[0-9a-f]{16}_[0-9a-f]{72}\n$/);
    operatorKey = made.output.trim();
    service = await startService(environment);
    expect(service.output()).toContain('live mode');
    expect(complaintsOf(service)).toEqual([]);
    expect(service.output()).not.toContain('card_active');
    expect(service.output()).not.toContain(operatorKey);
    for (const name of ['first', 'second'] as const) {
      const { program_id } = await as(operatorKey).programs.create({ name, currency: 'USD' });
      programs[name] = program_id;
      await as(operatorKey).deposits.create(program_id, { amount: 10_000 });
      keys[name] = (await withSecret(as(operatorKey).keys.create(programKey(`shop ${name}`, program_id)))).key;
      await as(keys[name]).cards.create({ card_id: `card-of-${name}` });
    }
  });

  test.each([
    ['none', {}],
    ['an empty header', { Authorization: '' }],
    ['another scheme', { Authorization: 'Basic dXNlcjpwYXNz' }],
    ['nonsense', { Authorization: 'Bearer nonsense' }],
    ['a scheme without a key', { Authorization: 'Bearer' }],
    ['a well-formed key that was never created', { Authorization: `Bearer ts_${'0'.repeat(16)}_${'0'.repeat(72)}` }],
  ])('responds to %s with a 401 that explains the scheme', async (_, headers) => {
    const response = await get(TRANSFERS, headers);
    expect(response.fields).toMatchObject({ Status: 401, Code: 'unauthenticated', Type: 'Request Error' });
    expect(response.fields.Message).toContain('Bearer <key>');
    expect(response.headers['www-authenticate']).toMatch(/^Bearer /);
    const money = await send({ headers, body: { amount: 1, card_id: 'card-of-first' } });
    expect([money.status, money.headers['money-moved']]).toEqual([401, 'no']);
  });

  test('distinguishes a mistyped key from an unknown key, and treats a key with a changed public part as unknown', async () => {
    const last = operatorKey.endsWith('0') ? '1' : '0';
    const mistyped = await get(TRANSFERS, bearer(`${operatorKey.slice(0, -1)}${last}`));
    expect(mistyped.status).toBe(401);
    expect(mistyped.fields.Message).toContain('misspelled');
    const [, secret = ''] = /_([0-9a-f]{72})$/.exec(keys.first) ?? [];
    const spliced = await get(TRANSFERS, bearer(`${operatorKey.slice(0, 20)}${secret}`));
    expect(spliced.status).toBe(401);
    for (const { text } of [mistyped, spliced]) expect(text).not.toContain(secret.slice(0, 20));
  });

  test('accepts the scheme in upper and lower case', async () => {
    const response = await get('/api/v0.1/core/card/card-of-first', { Authorization: `bearer ${keys.first}` });
    expect(response.status).toBe(200);
  });

  test('refuses revoked and expired keys', async () => {
    const operator = as(operatorKey);
    const revoked = await withSecret(operator.keys.create(programKey('to be revoked', programs.first)));
    expect((await as(revoked.key).cards.list()).data.length).toBe(1);
    await operator.keys.revoke(revoked.key_id);
    const expired = await beforeMoment((soon) => {
      const expires_at = soon.toISOString();
      return withSecret(operator.keys.create({ ...programKey('for a moment', programs.first), expires_at }));
    }, 500);
    for (const [key, word] of [
      [revoked.key, 'revoked'],
      [expired.key, 'expired'],
    ] as const) {
      const response = async () => (await get(TRANSFERS, bearer(key))).fields;
      await waitFor(`the key to be ${word}`, async () => (await response()).Status === 401);
      expect(await response()).toMatchObject({ Code: 'unauthenticated', Message: expect.stringContaining(word) });
    }
  });

  test('responds to requests about cards and transfers of another program as if they did not exist', async () => {
    const [mine, other] = [as(keys.first), as(keys.second)];
    const { transfer_id } = await other.transfers.create(
      { amount: 5, card_id: 'card-of-second', reference: 'theirs' },
      { idempotencyKey: 'theirs' },
    );
    const compare = async (call: (id: string) => Promise<unknown>, foreign: string, missing: string, code: string) => {
      const [one, none] = [await refusalOf(call(foreign)), await refusalOf(call(missing))];
      expect(one).toMatchObject({ Code: code, Status: 404 });
      expect(one.Message.replaceAll(foreign, '*')).toBe(none.Message.replaceAll(missing, '*'));
      const telling = (refusal: typeof one) =>
        [...refusal.headers].filter(([name]) => !['request-id', 'date', 'content-length'].includes(name));
      expect(telling(one)).toEqual(telling(none));
    };
    const missingTransfer = `tr_${transfer_id.slice(3).split('').reverse().join('')}`;
    await compare((id) => mine.transfers.get(id), transfer_id, missingTransfer, 'transfer_not_found');
    await compare((id) => mine.cards.get(id), 'card-of-second', 'card-of-nobody', 'card_not_found');
    const load = (card_id: string) => mine.transfers.create({ amount: 1, card_id });
    await compare(load, 'card-of-second', 'card-of-nobody', 'card_not_found');
    const type = 'card_to_card';
    const steal = (destination_card_id: string) =>
      mine.transfers.create({ amount: 1, card_id: 'card-of-first', type, destination_card_id });
    await compare(steal, 'card-of-second', 'card-of-nobody', 'card_not_found');
    expect((await mine.transfers.list({ idempotency_key: 'theirs' })).data).toEqual([]);
    expect((await mine.transfers.list({ reference: 'theirs' })).data).toEqual([]);
    expect((await mine.transfers.list({ card_id: 'card-of-second' })).data).toEqual([]);
    expect((await mine.cards.list()).data.map(({ card_id }) => card_id)).toEqual(['card-of-first']);
    const same = { amount: 5, card_id: 'card-of-first', reference: 'theirs' };
    expect((await mine.transfers.create(same, { idempotencyKey: 'theirs' })).response.replayed).toBe(false);
  });

  test('refuses a program key on operator routes and for other programs', async () => {
    const mine = as(keys.first);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => mine.trialBalance.get(),
      () => mine.programs.get(programs.first),
      () => mine.keys.create(operatorKeyBody('more')),
      () => mine.switch.change({ disabled: true, reason: 'x' }),
      () => mine.deposits.create(programs.first, { amount: 1 }),
    ];
    for (const call of calls) expect(await refusalOf(call())).toMatchObject({ Code: 'forbidden', Status: 403 });
    const other = await refusalOf(mine.cards.list({}, { programId: programs.second }));
    const missing = await refusalOf(mine.cards.list({}, { programId: 'prog_missing' }));
    expect([other.Code, other.Message]).toEqual(['forbidden', missing.Message]);
    expect((await mine.cards.list({}, { programId: programs.first })).data.length).toBe(1);
  });

  test('requires an operator key to name the program', async () => {
    const body = { amount: 1, card_id: 'card-of-first' };
    const refused = await refusalOf(as(operatorKey).transfers.create(body));
    expect(refused).toMatchObject({ Code: 'create_transfer_schema', Status: 400, moneyMoved: 'no' });
    expect(refused.Message).toContain("'Program-Id'");
    expect(await refusalOf(as(operatorKey).cards.list())).toMatchObject({ Code: 'list_cards_schema' });
    expect(await refusalOf(as(operatorKey, 'prog_x').cards.list())).toMatchObject({ Code: 'program_not_found' });
    expect((await as(operatorKey, programs.first).transfers.create(body)).program_id).toBe(programs.first);
  });

  test.each(SANDBOX_OPERATIONS)('does not have the sandbox route %s', async (id) => {
    const { path, body } = exampleOf(id);
    const nothing = '/api/v0.1/sandbox/nothing';
    for (const headers of [{}, bearer(operatorKey), bearer(keys.first)]) {
      for (const method of [OPERATIONS[id].method, 'GET', 'OPTIONS']) {
        const responseTo = async (asked: string) => {
          const response = await send({ method, path: asked, headers, ...(method === 'POST' ? { body } : {}) });
          // These headers can differ between any two responses. The rate limit, for example, counts down.
          const { date, ratelimit, 'request-id': requestId, 'content-length': length, ...others } = response.headers;
          for (const header of [date, ratelimit, requestId, length]) expect(header).toBeTypeOf('string');
          return { status: response.status, headers: others, text: response.text.replaceAll(asked, '*') };
        };
        const response = await responseTo(path);
        expect(response.text).toContain('"Code":"route_not_found"');
        expect(response.status).toBe(404);
        expect(response).toEqual(await responseTo(nothing));
      }
    }
  });

  test('does not check Host and Origin of a request that has a key', async () => {
    const strangers = { Host: 'bank.test', Origin: 'https://bank.test', 'Sec-Fetch-Site': 'cross-site' };
    expect((await get(TRANSFERS, { ...bearer(keys.first), ...strangers })).status).toBe(200);
    expect((await get(TRANSFERS, strangers)).fields.Code).toBe('unauthenticated');
  });

  test('stores no secret in the database', async () => {
    const { databaseUrl } = await embeddedServerOf(directory.path);
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      const { rows: tables } = await client.query<{ name: string }>(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = current_schema()",
      );
      let dump = '';
      for (const { name } of tables) {
        const { rows } = await client.query<{ row: string }>(`select content::text as row from ${name} as content`);
        dump += rows.map(({ row }) => `${name} ${row}\n`).join('');
      }
      const made = [operatorKey, keys.first, keys.second];
      expect(dump.match(/^\w+\.api_key /gm)?.length).toBeGreaterThanOrEqual(made.length);
      for (const key of made) {
        const [, publicPart = '', secret = ''] = /^ts_([0-9a-f]{16})_([0-9a-f]{64})/.exec(key) ?? [];
        expect(dump).toContain(publicPart);
        expect(dump).not.toContain(secret);
        expect(dump).not.toContain(Buffer.from(secret).toString('hex'));
      }
    } finally {
      await client.end();
    }
  });

  test('responds with a 500 or a 503, never a 401, if it cannot look up a key because the database is down', async () => {
    const operator = as(operatorKey);
    // These keys were never used, so no process has them in memory.
    const fresh: string[] = [];
    for (let count = 0; count < 20; count += 1) {
      fresh.push((await withSecret(operator.keys.create(programKey(`spare ${count}`, programs.first)))).key);
    }
    process.kill((await embeddedServerOf(directory.path)).processId, 'SIGKILL');
    const responses = await Promise.all(fresh.map((key) => get(TRANSFERS, bearer(key))));
    for (const { status, fields } of responses) {
      // On a slow machine, the service may refuse some requests before it looks up their keys.
      const unanswered = ['500 unknown_list_transfers', '503 service_unavailable'];
      if (status !== 200) expect(unanswered).toContain(`${fields.Status} ${fields.Code}`);
    }
    for (const key of fresh) {
      await waitFor('the database to be back', async () => (await get(TRANSFERS, bearer(key))).status === 200);
    }
  });

  test('warns once about unencrypted HTTP on a network interface', async () => {
    expect(service.errors()).not.toContain('clear_text');
    const { databaseUrl } = await embeddedServerOf(directory.path);
    const other = await temporaryDirectory();
    try {
      const open = await startService({
        ...environment,
        HOST: '0.0.0.0',
        DATA_DIR: other.path,
        DATABASE_URL: databaseUrl,
      });
      await open.stop();
      const WARN = 40;
      const expected = {
        level: WARN,
        event: 'clear_text',
        hosts: ['0.0.0.0'],
        msg: expect.stringContaining('without TLS'),
      };
      expect(complaintsOf(open)).toEqual([expect.objectContaining(expected)]);
    } finally {
      await other.remove();
    }
  });

  test('has balanced books at the end, and stops cleanly', async () => {
    await expectBalancedBooks({ ...service, client: as(operatorKey) });
    expect(await service.stop()).toBe(0);
  });
});

describe('a sandbox without keys responds only to its own machine', () => {
  const running = useService();
  const CARD = '/api/v0.1/core/card/card_active';
  const get = (headers: Readonly<Record<string, string>>) =>
    sendRaw(running().url, { method: 'GET', path: CARD, headers });

  test.each<Record<string, string>>([
    { Host: 'evil.example' },
    { Host: 'localhost.evil.example:8080' },
    { Host: '127.0.0.1.evil.example' },
    { Host: '192.0.2.1:8080' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://localhost.evil.example' },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'X-Forwarded-For': '203.0.113.9' },
    { 'X-Forwarded-For': '127.0.0.1' },
    { 'x-forwarded-for': '' },
    { 'X-Forwarded-Proto': 'https' },
    { 'X-Forwarded-Host': 'localhost' },
    { 'X-FORWARDED-SERVER': 'localhost' },
    { Forwarded: 'for=203.0.113.9' },
    { 'X-Real-IP': '203.0.113.9' },
    { Via: '1.1 proxy' },
    { 'CF-Connecting-IP': '203.0.113.9' },
    { Host: '127.0.0.1:8080', Origin: 'http://127.0.0.1:8080', 'X-Forwarded-For': '203.0.113.9' },
  ])('refuses %j', async (headers) => {
    const response = await get(headers);
    expect(response.fields).toMatchObject({ Status: 403, Code: 'forbidden', Type: 'Request Error' });
    const money = await sendRaw(running().url, { headers, body: { amount: 1, card_id: 'card_active' } });
    expect([money.fields.Code, money.headers['money-moved']]).toEqual(['forbidden', 'no']);
    const form = { ...headers, 'Content-Type': 'text/plain' };
    expect((await sendRaw(running().url, { headers: form, body: '{}' })).fields.Code).toBe('forbidden');
  });

  test.each<Record<string, string>>([
    { Host: 'localhost' },
    { Host: 'LOCALHOST:8080' },
    { Host: '[::1]:8080' },
    { Host: '127.0.0.1' },
    { Origin: 'http://localhost:3000' },
    { Origin: 'http://127.0.0.1:8080', 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
  ])('accepts %j', async (headers) => {
    expect((await get(headers)).status).toBe(200);
  });

  test('requires a key for operator routes through a proxy', async () => {
    const list = (headers: Readonly<Record<string, string>>) =>
      sendRaw(running().url, { method: 'GET', path: '/api/v0.1/operator/key', headers });
    const forwarded = { Host: `127.0.0.1:${new URL(running().url).port}`, 'X-Forwarded-For': '203.0.113.9' };
    expect((await list({ Host: forwarded.Host })).status).toBe(200);
    const refused = await list(forwarded);
    expect(refused.fields).toMatchObject({ Status: 403, Code: 'forbidden', Type: 'Request Error' });
    expect(refused.fields.Message).toContain('. Send an API key.');
    const { key } = await running().client.keys.create(operatorKeyBody('behind a proxy'));
    expect((await list({ ...forwarded, Authorization: `Bearer ${key}` })).status).toBe(200);
  });

  test('refuses an invalid key, and binds a valid key to its program', async () => {
    expect((await get({ Authorization: 'Bearer nonsense' })).fields.Code).toBe('unauthenticated');
    const { client } = running();
    const { program_id } = await client.programs.create({ name: 'Other', currency: 'USD' });
    const { key } = await client.keys.create(programKey('shop', program_id));
    expect((await get({ Authorization: `Bearer ${key}` })).fields.Code).toBe('card_not_found');
  });
});
