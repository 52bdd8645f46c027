import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exampleOf } from '../../contract/examples.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { includesScope, KEY_SCOPES, type KeyScope, PROGRAM_SCOPES } from '../../contract/scope.ts';
import { TransferService } from '../../sdk/client.ts';
import { findKeys } from '../../server/store/key.ts';
import { readKeyParts } from '../../server/subjects/keys/authenticate.ts';
import { withSecret } from '../harness/keys.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import {
  beforeMoment,
  embeddedServerOf,
  runCommand,
  type ServiceProcess,
  type ServiceSettings,
  startService,
  temporaryDirectory,
  waitFor,
} from '../harness/process.ts';
import { type RawResponse, sendRaw } from '../harness/raw-request.ts';
import { refusalOf } from '../harness/service.ts';

const TRANSFERS = OPERATIONS.list_transfers.path;

/** Two live processes on one ledger. */
let directories: Awaited<ReturnType<typeof temporaryDirectory>>[];
let first: ServiceProcess;
let second: ServiceProcess;
let environment: ServiceSettings;
let operator: TransferService;
let programId = '';
/** The output of operator-key, without the key itself. */
let grant = '';

const as = (key: string, service = first) =>
  new TransferService({ baseUrl: service.url, key, maxRetries: 0, timeoutMilliseconds: 120_000 });
const ask = (service: ServiceProcess, key: string, path = TRANSFERS): Promise<RawResponse> =>
  sendRaw(service.url, { method: 'GET', path, headers: { Authorization: `Bearer ${key}` } });
const wait = (time_ms: number) => new Promise((done) => setTimeout(done, time_ms));

beforeAll(async () => {
  directories = await Promise.all([ledgerDirectory(), temporaryDirectory(), temporaryDirectory()]);
  const [own, other] = directories;
  // No test reaches these limits, even on a fast machine.
  const rates = { RATE_LIMIT_PER_ADDRESS: '999999', RATE_LIMIT_PER_KEY: '999999' };
  environment = { MODE: 'live', DATA_DIR: own?.path ?? '', SUPPORT_CONTACT: 'help@bank.test', ...rates };
  const { output, errors } = await runCommand(['operator-key', 'create', '--name', 'first'], environment);
  grant = errors;
  first = await startService(environment);
  const { databaseUrl } = await embeddedServerOf(own?.path ?? '');
  second = await startService({ ...environment, DATABASE_URL: databaseUrl, DATA_DIR: other?.path ?? '' });
  operator = as(output.trim());
  programId = (await operator.programs.create({ name: 'Shop', currency: 'USD' })).program_id;
});
afterAll(async () => {
  await second?.stop();
  await first?.stop();
  for (const { remove } of directories) await remove();
});

const newKey = (scopes: KeyScope[] = [...PROGRAM_SCOPES], more: object = {}) =>
  withSecret(operator.keys.create({ name: 'of the test', program_id: programId, scopes, ...more }));

/** Codes of responses that do not reveal whether the key is valid. */
const UNDECIDED: ReadonlySet<unknown> = new Set(['service_unavailable', 'unknown_list_transfers']);

/** Waits until every process refuses the key, because a process remembers a key for a second. */
const untilRefused = (key: string, services = [first, second]) =>
  waitFor('the key to be refused', async () => {
    const responses = await Promise.all(services.map((service) => ask(service, key)));
    return responses.every(({ status }) => status === 401);
  });

/** Creates a key that has just expired. */
async function newExpiredKey(): ReturnType<typeof newKey> {
  const made = await beforeMoment((moment) => newKey(undefined, { expires_at: moment.toISOString() }), 300);
  await untilRefused(made.key);
  return made;
}

/** Returns how many keys the database finds for a key that a caller sent. */
async function countFound(key: string): Promise<number> {
  const parts = readKeyParts(key);
  if (parts === undefined) throw new Error('this is not a key');
  const { databaseUrl } = await embeddedServerOf(directories[0]?.path ?? '');
  const database = new pg.Client(databaseUrl);
  await database.connect();
  try {
    const { text, values } = findKeys([parts]);
    return (await database.query(text, [...values])).rows.length;
  } finally {
    await database.end();
  }
}

describe('an API key', () => {
  test('has a prefix, a public part, 256 random bits and a checksum, is shown once and stored as a hash', async () => {
    const made = await newKey();
    expect(made.key).toMatch(/^ts_[0-9a-f]{16}_[0-9a-f]{64}[0-9a-f]{8}$/);
    expect(made.shown_as).toBe(`${made.key.slice(0, 19)}_…`);
    const list = JSON.stringify(await operator.keys.list({ limit: 100 }));
    expect(list).toContain(made.shown_as);
    expect(list).not.toContain(made.key.slice(20, 84));
    const others = new Set<string>();
    for (let count = 0; count < 20; count += 1) others.add((await newKey()).key.slice(20, 84));
    expect(others.size).toBe(20);
  });

  test('has a checksum that detects any mistyped digit', async () => {
    const { key } = await newKey();
    expect(readKeyParts(key)).toBeDefined();
    for (let at = 0; at < key.length; at += 1) {
      const digit = key[at] === '0' ? '1' : '0';
      expect(readKeyParts(key.slice(0, at) + digit + key.slice(at + 1)), `digit ${at}`).toBeUndefined();
    }
    const swapped = key.replace(/(.)(?!\1)(.)$/, '$2$1');
    if (swapped !== key) expect(readKeyParts(swapped)).toBeUndefined();
  });

  test('is refused like an unknown key if its public part is known but its secret is wrong', async () => {
    const [working, revoked] = [await newKey(), await newKey()];
    const expired = await newExpiredKey();
    await operator.keys.revoke(revoked.key_id);
    const secret = randomBytes(32).toString('hex');
    const withSecret = (publicPart: string) =>
      `ts_${publicPart}_${secret}${crc32(`${publicPart}_${secret}`).toString(16).padStart(8, '0')}`;
    const answerTo = async (key: string) => {
      expect(readKeyParts(key)).toBeDefined();
      const { status, headers, fields } = await ask(first, key);
      // These headers can differ between any two responses. The rate limit, for example, counts down.
      const { 'request-id': requestId, date, ratelimit, ...others } = headers;
      for (const header of [requestId, date, ratelimit]) expect(header).toBeTypeOf('string');
      return { status, headers: others, fields };
    };
    const unknown = await answerTo(withSecret(randomBytes(8).toString('hex')));
    expect(unknown.fields).toMatchObject({ Status: 401, Code: 'unauthenticated' });
    expect(unknown.fields.Message).toContain('The API key is unknown.');
    for (const { key } of [working, revoked, expired]) {
      expect(await answerTo(withSecret(key.slice(3, 19)))).toEqual(unknown);
    }
    // In both cases, the database finds no key, so the timing is the same as for an unknown key.
    expect(await countFound(withSecret(working.key.slice(3, 19)))).toBe(0);
    expect(await countFound(working.key)).toBe(1);
    expect((await ask(first, working.key)).status).toBe(200);
  });
});

describe('scopes', () => {
  test('operator-key create creates a key with every scope in every card program', async () => {
    const [made] = (await operator.keys.list({ limit: 100 })).data.filter(({ name }) => name === 'first');
    expect(made).toMatchObject({ program_id: null, scopes: KEY_SCOPES });
    expect(grant).toContain('all card programs');
    expect(grant).toContain(KEY_SCOPES.join(', '));
  });

  test('a rolled key keeps its scopes and programs', async () => {
    const narrow = await newKey(['errors:read']);
    expect(await operator.keys.roll(narrow.key_id)).toMatchObject({ scopes: ['errors:read'], program_id: programId });
    const wide = await operator.keys.create({ name: 'reads all', scopes: ['cards:read'], all_programs: true });
    expect(await operator.keys.roll(wide.key_id)).toMatchObject({ scopes: ['cards:read'], program_id: null });
  });

  test('a key of a card program cannot have the operator scope', async () => {
    const refused = await refusalOf(newKey(['transfers:read', 'operator']));
    expect(refused).toMatchObject({ Code: 'create_key_schema', field: '/scopes' });
    expect(refused.Message).toContain("'operator'");
  });

  test('every operation has a scope that a key can have, except those about the caller and those for connectors', () => {
    for (const id of OPERATION_IDS.filter((known) => !['caller', 'connector'].includes(OPERATIONS[known].reach))) {
      const { scope, reach } = OPERATIONS[id];
      expect(KEY_SCOPES, id).toContain(scope);
      // Keys of a card program can have the scopes of operations within a program, and no others.
      expect(
        PROGRAM_SCOPES.some((known) => known === scope),
        id,
      ).toBe(reach === 'program');
    }
  });

  test.each(KEY_SCOPES)(
    'the operations of %s accept a key with this scope, and refuse a key with all other scopes',
    async (scope) => {
      const keyWith = async (scopes: KeyScope[]) =>
        (await withSecret(operator.keys.create({ name: scope, scopes, all_programs: true }))).key;
      // Tries the scope itself, and each scope that includes it.
      const enough = KEY_SCOPES.filter((known) => includesScope([known], scope));
      const others = KEY_SCOPES.filter((known) => !enough.includes(known));
      const [opening, closed] = [await Promise.all(enough.map((one) => keyWith([one]))), await keyWith(others)];
      const ofScope = OPERATION_IDS.filter(
        (id) => OPERATIONS[id].scope === scope && OPERATIONS[id].reach !== 'sandbox',
      );
      for (const id of ofScope) {
        // The service checks the media type after the credentials, and before it does anything else.
        for (const key of opening) expect((await tryOperation(id, key)).fields.Code, id).not.toBe('forbidden');
        const { fields } = await tryOperation(id, closed);
        expect(fields, id).toMatchObject({ Status: 403, Code: 'forbidden', Type: 'Request Error' });
        expect(fields.Message).toContain(`needs the scope '${scope}'`);
        expect(fields.Message).toContain(`This key has: ${others.join(', ')}.`);
      }
    },
  );

  test('an operation without a scope is open to every key', async () => {
    const made = operator.keys.create({ name: 'narrow', scopes: ['events:read'], all_programs: true });
    const { key } = await withSecret(made);
    const open = OPERATION_IDS.filter((id) => OPERATIONS[id].scope === null && OPERATIONS[id].reach !== 'sandbox');
    for (const id of open) {
      expect((await tryOperation(id, key)).fields.Code, id).not.toBe('forbidden');
    }
  });

  test('a program key cannot use operator operations', async () => {
    const { key } = await newKey([...PROGRAM_SCOPES]);
    const response = await ask(first, key, OPERATIONS.list_keys.path);
    expect(response.fields.Message).toBe(
      "This operation needs the scope 'operator:read', which only operator keys can have. " +
        `This key has: ${PROGRAM_SCOPES.join(', ')}.`,
    );
  });

  /** Calls the operation in a way that changes nothing, even if the key may use it. */
  function tryOperation(id: OperationId, key: string): Promise<RawResponse> {
    const { method, path } = exampleOf(id);
    const type = OPERATIONS[id].body === undefined ? {} : { 'Content-Type': 'text/xml' };
    const headers = { Authorization: `Bearer ${key}`, 'Program-Id': 'prog_none', ...type };
    const body = OPERATIONS[id].body === undefined ? {} : { body: '<a/>' };
    return sendRaw(first.url, { method, path: path.replace(/(key|program|transfer)_[^/]+/, 'x'), headers, ...body });
  }
});

describe('a key ends', () => {
  test('in every process within a second of its revocation, even under load', async () => {
    const made = await newKey();
    let revokedAt = Number.POSITIVE_INFINITY;
    type Seen = { readonly sentAt: number; readonly response: RawResponse };
    const hammers = [first, first, second, second].map((service) => ({ service, seen: [] as Seen[] }));
    const hammer = async ({ service, seen }: (typeof hammers)[number]): Promise<void> => {
      // Only requests sent after that second prove anything, so even a slow machine must send ten of them.
      for (let late = 0; late < 10; ) {
        const sentAt = performance.now();
        const response = await ask(service, made.key);
        // A busy machine refuses some requests before it checks the key, or cannot check it in time.
        if (UNDECIDED.has(response.fields.Code)) continue;
        if (sentAt > revokedAt + 1000) late += 1;
        seen.push({ sentAt, response });
      }
    };
    const revokeUnderLoad = async (): Promise<void> => {
      await waitFor('every caller to be accepted', async () => hammers.every(({ seen }) => seen.length >= 10));
      await operator.keys.revoke(made.key_id);
      revokedAt = performance.now();
    };
    await Promise.all([revokeUnderLoad(), ...hammers.map(hammer)]);
    for (const { seen } of hammers) {
      const [letIn, refused] = [200, 401].map((is) => seen.filter(({ response }) => response.status === is));
      expect(letIn?.length).toBeGreaterThan(0);
      expect(refused?.length).toBeGreaterThan(0);
      expect(seen.length).toBe((letIn?.length ?? 0) + (refused?.length ?? 0));
      for (const { response } of refused ?? []) {
        expect(response.fields).toMatchObject({ Code: 'unauthenticated', Message: expect.stringContaining('revoked') });
      }
      const late = letIn?.filter(({ sentAt }) => sentAt > revokedAt + 1000).map(({ sentAt }) => sentAt - revokedAt);
      expect(late).toEqual([]);
    }
  });

  test('at its expiry, by the clock of the database', async () => {
    const { key, expires_at } = await beforeMoment(async (moment) => {
      const made = await newKey(undefined, { expires_at: moment.toISOString() });
      expect((await ask(second, made.key)).status).toBe(200);
      return made;
    });
    await waitFor('the key to expire', async () => Date.now() >= Date.parse(expires_at ?? ''));
    for (const service of [first, second]) {
      expect((await ask(service, key)).fields).toMatchObject({
        Status: 401,
        Message: expect.stringContaining('has expired'),
      });
    }
  });
});

describe('rolling', () => {
  test('leaves both keys working with the same scopes until the old one ends', async () => {
    const { old, made, previous_until } = await beforeMoment(async (moment) => {
      const previous_until = moment.toISOString();
      const old = await newKey(['cards:read', 'transfers:read']);
      const made = await withSecret(operator.keys.roll(old.key_id, { previous_until }));
      expect(made).toMatchObject({ name: old.name, program_id: programId, scopes: old.scopes, expires_at: null });
      for (const key of [old.key, made.key]) {
        for (const service of [first, second]) expect((await ask(service, key)).status).toBe(200);
      }
      return { old, made, previous_until };
    });
    const listed = (await operator.keys.list({ limit: 100 })).data.find(({ key_id }) => key_id === old.key_id);
    expect(listed).toMatchObject({ replaced_by: made.key_id, expires_at: previous_until });
    await waitFor('the old key to end', async () => Date.now() >= Date.parse(previous_until));
    for (const service of [first, second]) {
      expect((await ask(service, old.key)).status).toBe(401);
      expect((await ask(service, made.key)).status).toBe(200);
    }
  });

  test('ends the old key after a day by default, and never later than before', async () => {
    const endless = await newKey();
    await operator.keys.roll(endless.key_id);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const short = await newKey(undefined, { expires_at });
    const next = await operator.keys.roll(short.key_id, { previous_until: '2100-01-01T00:00:00Z' });
    const { data } = await operator.keys.list({ limit: 100 });
    const of = (id: string) => Date.parse(data.find(({ key_id }) => key_id === id)?.expires_at ?? '');
    expect(Math.abs(of(endless.key_id) - Date.now() - 86_400_000)).toBeLessThan(60_000);
    expect(of(short.key_id)).toBe(Date.parse(expires_at));
    expect(Math.abs(of(next.key_id) - Date.now() - 3_600_000)).toBeLessThan(60_000);
  });

  test('is refused for a rolled, revoked or expired key, or with an expiry time in the past', async () => {
    const [rolled, revoked, other] = [await newKey(), await newKey(), await newKey()];
    const successor = await operator.keys.roll(rolled.key_id);
    await operator.keys.revoke(revoked.key_id);
    const expired = await newExpiredKey();
    for (const [call, text] of [
      [() => operator.keys.roll(rolled.key_id), successor.key_id],
      [() => operator.keys.roll(revoked.key_id), 'was revoked'],
      [() => operator.keys.roll(expired.key_id), 'has expired'],
      [() => operator.keys.roll(other.key_id, { previous_until: '2001-01-01T00:00:00Z' }), 'not in the future'],
      [() => operator.keys.roll(other.key_id, { expires_at: '2001-01-01T00:00:00Z' }), 'not in the future'],
    ] as const) {
      const refused = await refusalOf(call());
      expect(refused).toMatchObject({ Code: 'roll_key_schema', Status: 400 });
      expect(refused.Message).toContain(text);
    }
    expect(await refusalOf(operator.keys.roll('key_missing'))).toMatchObject({ Code: 'key_not_found' });
    expect((await ask(first, other.key)).status).toBe(200);
  });
});

describe('background records', () => {
  test('contain the last use of a key, written once for many uses on two processes', async () => {
    const made = await newKey();
    const lastUse = async () =>
      (await operator.keys.list({ limit: 100 })).data.find(({ key_id }) => key_id === made.key_id)?.last_used_at ??
      null;
    expect(await lastUse()).toBeNull();
    const before = Date.now();
    await Promise.all([first, second].flatMap((service) => Array.from({ length: 10 }, () => ask(service, made.key))));
    await waitFor('the use to be written', async () => (await lastUse()) !== null);
    const noted = await lastUse();
    expect(Date.parse(noted ?? '')).toBeGreaterThanOrEqual(before);
    expect(Date.parse(noted ?? '')).toBeLessThanOrEqual(Date.now());
    // A process writes all uses together. Once it has written the use of another key, it has written every use of this
    // key.
    const others = await Promise.all([newKey(), newKey()]);
    await Promise.all([first, second].map((service) => ask(service, made.key)));
    await Promise.all([first, second].map((service, index) => ask(service, others[index]?.key ?? '')));
    const isUsed = async (id: string) =>
      (await operator.keys.list({ limit: 100 })).data.some(({ key_id, last_used_at }) => key_id === id && last_used_at);
    await waitFor('later uses to be written', async () => {
      const used = await Promise.all(others.map(({ key_id }) => isUsed(key_id)));
      return used.every(Boolean);
    });
    expect(await lastUse()).toBe(noted);
  });

  test('contain refused credentials without their text, aggregated and written before the process stops', async () => {
    const { key, key_id, shown_as } = await newKey(['events:read']);
    const wrong = `${key.slice(0, 83)}${key.endsWith('0') ? '1' : '0'}`;
    const extra = await startService({
      ...environment,
      DATABASE_URL: (await embeddedServerOf(directories[0]?.path ?? '')).databaseUrl,
      DATA_DIR: directories[2]?.path ?? '',
    });
    for (let count = 0; count < 30; count += 1) await ask(extra, wrong);
    await ask(extra, 'hunter2');
    await ask(extra, key);
    await operator.keys.revoke(key_id);
    // A process remembers a valid key for a second.
    await wait(1100);
    await ask(extra, key);
    await extra.stop();
    const { data: all } = await operator.audit.list({ action: 'refuse_credential', limit: 100 });
    // Other tests also sent refused credentials. If a minute has more than twenty kinds, they are summed up as various.
    const data = all.filter(
      ({ subject_id, details }) => (subject_id === shown_as || subject_id === null) && details.reason !== 'various',
    );
    // On a slow machine, a minute can end before the last refusal. Later refusals are then summed up in another row.
    const counts = new Map<string, number>();
    for (const { actor, subject_id, details } of data) {
      const what = JSON.stringify([actor, subject_id, details.reason]);
      counts.set(what, (counts.get(what) ?? 0) + Number(details.count));
    }
    const sums = [...counts].map(([what, count]) => [...JSON.parse(what), count]);
    expect(data.length).toBeLessThan(30);
    expect(sums).toEqual(
      expect.arrayContaining([
        ['anonymous', shown_as, 'mistyped', 30],
        ['anonymous', null, 'mistyped', 1],
        ['anonymous', shown_as, 'no scope transfers:read', 1],
        ['anonymous', shown_as, 'revoked', 1],
      ]),
    );
    expect(JSON.stringify(data)).not.toContain('hunter2');
    expect(JSON.stringify(data)).not.toContain(key.slice(20, 40));
    for (const { details } of data) expect(details.address).toMatch(/127\.0\.0\.1$/);
  });
});

describe('the command line', () => {
  test('verifies the audit log against a noted head', async () => {
    const { databaseUrl } = await embeddedServerOf(directories[0]?.path ?? '');
    const host = { ...environment, DATABASE_URL: databaseUrl, DATA_DIR: directories[1]?.path ?? '' };
    const whole = await runCommand(['audit', 'verify'], host);
    expect(whole).toMatchObject({ exitCode: 0, output: expect.stringContaining('The audit log is intact.') });
    expect(whole.output).toContain('removed at the end, pass a hash that you noted earlier with --expect.');
    const [, position = '', head = ''] = /^position: ([1-9]\d*)\nhead: +([0-9a-f]{64})$/m.exec(whole.output) ?? [];
    await newKey();
    const grown = await runCommand(['audit', 'verify', '--expect', head], host);
    expect(grown).toMatchObject({ exitCode: 0, output: expect.stringContaining('It contains the expected entry.') });
    expect(grown.output).not.toContain('--expect');
    // The services add their own entries at the end of each minute.
    const [, later] = /^position: ([1-9]\d*)$/m.exec(grown.output) ?? [];
    expect(Number(later)).toBeGreaterThan(Number(position));
    const other = await runCommand(['audit', 'verify', '--expect', 'f'.repeat(64)], host);
    expect(other.exitCode).toBe(1);
    expect(other.output).toContain('the log was truncated or rewritten');
    const typo = await runCommand(['audit', 'verify', '--expect', 'abc'], host);
    expect(typo).toMatchObject({ exitCode: 1, errors: expect.stringContaining('64 hex digits') });
    expect((await operator.audit.list({ action: 'create_key', limit: 100 })).data.at(-1)?.actor).toBe('host');
  });
});
