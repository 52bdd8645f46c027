import { execFile, execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { readConfiguration, showConfiguration } from '../../server/foundation/configuration/configuration.ts';
import { StartupProblem } from '../../server/foundation/startup-problem.ts';
import { openDatabase } from '../../server/host/open-database.ts';
import { programKey, withSecret } from '../harness/keys.ts';
import {
  beforeMoment,
  embeddedServerOf,
  isRunning,
  type ServiceProcess,
  startInVain,
  startService,
  temporaryDirectory,
  waitFor,
} from '../harness/process.ts';
import { type RawRequest, sendRaw } from '../harness/raw-request.ts';
import { useDirectory } from '../harness/service.ts';

const MAIN = new URL('../../server/main.ts', import.meta.url).pathname;
const TRANSFERS = '/api/v0.1/core/transfer';
const CARD_NUMBER = '4539578763621486';
const PASSWORD = 'Vier-und-zwanzig';
const HIDDEN = /4539[ .-]?5787[ .-]?6362[ .-]?1486|Vier-und-zwanzig|und-zwanzig/;

/**
 * Makes the service throw an error on SIGUSR2. Nothing catches the error, as with a bug in a timer. Libraries throw
 * such errors, and this one has secrets in all its parts.
 */
const BUG = `process.on('SIGUSR2', () => { throw Object.assign(
  new Error('canary: value ${CARD_NUMBER} of Bearer ' + process.env.PLANTED_KEY, {
    cause: Object.assign(new TypeError('postgresql://service:${PASSWORD}@host/ledger'), { input: '${PASSWORD}' }),
  }),
  { detail: 'Key (reference)=(${CARD_NUMBER}) already exists.', parameters: ['${PASSWORD}', process.env.PLANTED_KEY] },
) })`;

/** A well-formed key that was never created. */
const STRANGE_KEY = `ts_${'0123456789abcdef'}_${'5eadbeef'.repeat(9)}`;

/** With this setting, a service refuses no request while other tests keep the machine busy. */
const PATIENCE = { OVERLOAD_DELAY_MILLISECONDS: '0' };

const directory = await useDirectory();
let service: ServiceProcess;
beforeAll(async () => {
  const bug = join(directory.path, 'bug.mjs');
  writeFileSync(bug, BUG);
  const NODE_OPTIONS = `--import=${bug}`;
  service = await startService({
    DATA_DIR: directory.path,
    LOG_LEVEL: 'trace',
    REQUEST_LOG: 'all',
    PLANTED_KEY: STRANGE_KEY,
    NODE_OPTIONS,
  });
});
afterAll(async () => {
  if (service?.child.exitCode === null) await service.stop();
});

/** Fails if the text contains any part of a secret. The public part of a key may appear, but not its secret part. */
function expectNothingHidden(text: string, keys: readonly string[] = [STRANGE_KEY]): void {
  expect(HIDDEN.exec(text)?.[0]).toBeUndefined();
  for (const key of keys) {
    const secret = key.slice(key.lastIndexOf('_') + 1);
    for (const part of [secret.slice(0, 12), secret.slice(30, 42), secret.slice(-12)]) expect(text).not.toContain(part);
  }
}

/** Returns the logs of the process and its PostgreSQL, and the errors that wait on disk. */
function everyLog(): string {
  const files = readdirSync(directory.path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.log(\.1)?$|^error-spool/.test(name))
    .map((name) => join(directory.path, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  expect(files.some((path) => path.endsWith('postgresql.log'))).toBe(true);
  return [service.output(), ...files.map(readIfThere)].join('\n');
}

/** Reads a file, or returns '' if PostgreSQL or the service removed it after it was listed. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (Reflect.get(Object(error), 'code') !== 'ENOENT') throw error;
    return '';
  }
}

/** Returns requests with a secret in every part where a caller could put it by mistake. */
function requestsWith(secret: string): readonly RawRequest[] {
  const escaped = encodeURIComponent(secret);
  const body = { amount: 1, card_id: 'card_active' };
  return [
    { headers: { Authorization: `Bearer ${secret}` }, body },
    { headers: { Authorization: secret }, body },
    { headers: { 'Idempotency-Key': secret }, body },
    { headers: { 'Request-Id': secret }, body },
    { headers: { Cookie: secret, 'User-Agent': secret, Referer: `http://x/?${escaped}` }, body },
    { body: { ...body, description: `take ${secret}, please` } },
    { body: { ...body, metadata: { [secret]: secret } } },
    { body: { ...body, card_id: secret } },
    { body: `{"amount": "${secret}` },
    { method: 'GET', path: `${TRANSFERS}?reference=${escaped}` },
    { method: 'GET', path: `${TRANSFERS}/${escaped}` },
    { method: 'GET', path: `/api/nowhere/${escaped}?key=${escaped}` },
  ];
}

describe("callers' data", () => {
  test('is never logged if it is a key, valid or not, or a card number, with or without the database', async () => {
    const { keys, sandbox } = service.client;
    const make = (name: string, more: object = {}) =>
      withSecret(keys.create({ ...programKey(name, DEMO_PROGRAM), ...more }));
    const [good, revoked, expired] = await Promise.all([
      make('good'),
      make('revoked'),
      beforeMoment((soon) => make('expired', { expires_at: soon.toISOString() }), 500),
    ]);
    await keys.revoke(revoked.key_id);
    const headers = { Authorization: `Bearer ${expired.key}` };
    const isRefused = async () =>
      (await sendRaw(service.url, { method: 'GET', path: TRANSFERS, headers })).status === 401;
    await waitFor('a key to expire', isRefused);
    const all = [good.key, revoked.key, expired.key, `${good.key.slice(0, -1)}x`, STRANGE_KEY];
    const secrets = [...all, good.key.slice(0, 50), CARD_NUMBER, '4539-5787-6362-1486'];
    const sendAll = (some: readonly string[]) =>
      Promise.all(some.flatMap((secret) => requestsWith(secret).map((raw) => sendRaw(service.url, raw))));
    const statuses = new Set((await sendAll(secrets)).map(({ status }) => status));
    expect([...statuses]).toEqual(expect.arrayContaining([201, 400, 401, 404]));
    await sandbox.stopDatabase();
    expect(
      (await sendAll([good.key, STRANGE_KEY, CARD_NUMBER])).filter(({ status }) => status === 500).length,
    ).toBeGreaterThan(9);
    // A line is written a moment after its response.
    await waitFor('the failures to be logged', async () => everyLog().includes('"code":"unknown_create_transfer"'));
    expectNothingHidden(everyLog(), all);
    await sandbox.startDatabase();
    const errors = service.errors();
    // The last line may still be incomplete.
    for (const line of errors.slice(0, errors.lastIndexOf('\n')).split('\n')) {
      const record = JSON.parse(line) as { readonly event: string };
      expect(record).toMatchObject({ level: expect.any(Number), time: expect.any(String), event: expect.any(String) });
      expect(record).toHaveProperty(record.event === 'request' ? 'requestId' : 'msg');
    }
    expectNothingHidden(everyLog(), all);
  });
});

describe("PostgreSQL's own log", () => {
  test('shows failed statements without values and rows', async () => {
    const { databaseUrl } = await embeddedServerOf(directory.path);
    const client = new pg.Client(databaseUrl);
    await client.connect();
    try {
      await client.query(
        'create temporary table planted (value text primary key, other text check (length(other) < 99))',
      );
      const insert = (other: string) =>
        client.query('insert into planted (value, other) values ($1, $2)', [`${CARD_NUMBER} ${PASSWORD}`, other]);
      await insert('x');
      await expect(insert('x')).rejects.toMatchObject({ detail: expect.stringContaining(CARD_NUMBER) });
      await expect(insert(PASSWORD.repeat(9))).rejects.toMatchObject({ detail: expect.stringContaining(PASSWORD) });
    } finally {
      await client.end();
    }
    const log = everyLog();
    expect(log).toContain('duplicate key value violates unique constraint "planted_pkey"');
    expect(log).toContain('violates check constraint "planted_other_check"');
    expectNothingHidden(log);
  });
});

describe('a stalled reader of standard error', () => {
  test('blocks neither requests nor the stop', async () => {
    const path = join(directory.path, 'stalled');
    execFileSync('mkfifo', [path]);
    // The pipe is also opened for reading, so that it has a reader. This reader never reads.
    const pipe = openSync(path, 'r+');
    const stalled = await temporaryDirectory();
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env.PATH ?? '', PORT: '0', HOST: '127.0.0.1', DATA_DIR: stalled.path, ...PATIENCE },
      stdio: ['ignore', 'pipe', pipe],
    });
    try {
      let output = '';
      child.stdout?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      await waitFor('the banner', async () => /Ready at \S+\n/.test(output));
      const url = (/Ready at (\S+)\n/.exec(output)?.[1] ?? '').replace('localhost', '127.0.0.1');
      await sendRaw(url, { path: '/api/v0.1/sandbox/database/stop' });
      // Each failure is logged with its causes and their stacks, which is much more than a pipe holds.
      for (let turn = 0; turn < 20; turn += 1) {
        const responses = await Promise.all(
          Array.from({ length: 10 }, () => sendRaw(url, { body: { amount: 1, card_id: 'card_active' } })),
        );
        expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([500]));
      }
      expect((await sendRaw(url, { method: 'GET', path: '/health/live' })).status).toBe(200);
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    } finally {
      if (child.exitCode === null) child.kill('SIGKILL');
      closeSync(pipe);
      await stalled.remove();
    }
  });
});

describe('settings', () => {
  const urls = [
    `postgresql://service:${PASSWORD}@127.0.0.1:1/ledger`,
    `postgresql://service:p@${PASSWORD}@127.0.0.1:1/ledger`,
    `postgresql://service:p/${PASSWORD}@127.0.0.1:1/ledger`,
    `postgresql://service:p#${PASSWORD}@127.0.0.1:1/ledger`,
    `postgresql://service:p?${PASSWORD}@127.0.0.1:1/ledger`,
    `postgresql://service:p%zz${PASSWORD}@127.0.0.1:1/ledger`,
    `postgresql://127.0.0.1:1/ledger?user=service&password=${PASSWORD}`,
    `postgresql://127.0.0.1:1/ledger?user=service&%70assword=${PASSWORD}`,
  ];

  test('config shows no password from any part of DATABASE_URL', () => {
    for (const url of urls) {
      const shown = showConfiguration(readConfiguration({ DATABASE_URL: url }));
      expect(shown).toContain('***');
      expectNothingHidden(shown);
    }
  });

  test('an unusable database is reported without the password, even if DATABASE_URL is malformed', async () => {
    const reports = { onProgress: () => undefined, onServerExit: () => undefined };
    for (const DATABASE_URL of urls) {
      const refused: unknown = await openDatabase(readConfiguration({ DATABASE_URL }), reports).catch((error) => error);
      expect(refused).toBeInstanceOf(StartupProblem);
      expectNothingHidden(inspect(refused, { depth: 9 }));
    }
  });

  test('a DATABASE_URL that is set under the name of a different setting is not shown', async () => {
    const { exitCode, output, errors } = await startInVain({ LOG_LEVEL: 'trace', HOST: urls[0] ?? '' });
    expect(exitCode).toBe(1);
    expect(errors).toMatch(
      /^\nThe service cannot start: HOST is [^\n]+\nRunbook: docs\/runbook\/invalid-setting\.md\n$/,
    );
    expectNothingHidden(`${output}${errors}`);
  });
});

describe('a line of any level', () => {
  test('is redacted before it is serialized', async () => {
    const program = `
      import { openLog } from ${JSON.stringify(join(import.meta.dirname, '../../server/observe/log/log.ts'))};
      const log = openLog('trace');
      const secret = process.env.PLANTED;
      const error = Object.assign(new Error(secret), { detail: secret, cause: new Error(secret) });
      const round = { secret }; round.round = round;
      const trap = { get secret() { throw new Error(secret); } };
      for (const level of ['fatal', 'error', 'warn', 'info', 'debug', 'trace']) {
        log[level](secret);
        log[level]({ secret, deep: [{ [secret]: secret }], error }, 'about ' + secret);
        log[level](error);
        log[level](error, 'canary %s', secret);
        log[level](round, 'canary');
        log[level](trap, 'canary');
        log[level]({ number: 4539578763621486 });
      }`;
    const secret = `${CARD_NUMBER} Bearer ${STRANGE_KEY} ${STRANGE_KEY} postgresql://a:${PASSWORD}@b/c?password=${PASSWORD}`;
    const errors = await new Promise<string>((resolve, reject) =>
      execFile(
        process.execPath,
        ['--input-type=module', '--eval', program],
        { env: { PLANTED: secret } },
        (failure, _, said) => (failure === null ? resolve(said) : reject(failure)),
      ),
    );
    const records = errors
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: number; msg?: string });
    expect(records).toHaveLength(42);
    expect(new Set(records.map(({ level }) => level)).size).toBe(6);
    expect(records.filter(({ msg }) => msg?.startsWith('canary'))).toHaveLength(18);
    expect(errors).toContain('postgresql://[redacted]@b/c?password=[redacted]');
    expectNothingHidden(errors);
  });
});

describe('a log that cannot be written', () => {
  test('does not block the service if the disk is full and the other pipe has no reader', async () => {
    const { databaseUrl } = await embeddedServerOf(directory.path);
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../server/main.ts')], {
      env: {
        DATABASE_URL: databaseUrl,
        DATA_DIR: join(directory.path, 'second'),
        PORT: '0',
        HOST: '127.0.0.1',
        ...PATIENCE,
      },
      stdio: ['ignore', 'pipe', full],
    });
    closeSync(full);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const url = await new Promise<string>((resolve, reject) => {
      let said = '';
      child.stdout?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        const found = /Ready at (\S+)\n/.exec(said)?.[1];
        if (found !== undefined) resolve(found.replace('localhost', '127.0.0.1'));
      });
      void ended.then((code) => reject(new Error(`ended with ${code}: ${said}`)));
    });
    child.stdout?.destroy();
    const send = () => sendRaw(url, { body: { amount: 1, card_id: 'card_active' } });
    await service.client.sandbox.stopDatabase();
    for (let times = 0; times < 5; times += 1) expect((await send()).status).toBe(500);
    await service.client.sandbox.startDatabase();
    await waitFor('the service to respond again', async () => (await send()).status === 201);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});

describe('a crash', () => {
  /** Returns the only record of a crash. Every other line of standard error must also be JSON. */
  function crashIn(errors: string): {
    readonly msg: string;
    readonly causes: readonly { readonly name: string; readonly message: string }[];
  } {
    const lines = errors.trim().split('\n');
    const record = JSON.parse(lines.at(-1) ?? '');
    expect(record).toMatchObject({ level: 60, event: 'crash', time: expect.stringMatching(/Z$/) });
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
    return record;
  }

  test('during a start, leaves one record without the row that a PostgreSQL error quotes, and exits with 1', async () => {
    const { databaseUrl } = await embeddedServerOf(directory.path);
    const superuser = new pg.Client(databaseUrl.replace('//transfer_service@', '//postgres@'));
    await superuser.connect();
    await superuser.query('create database foreign_ledger owner transfer_service');
    await superuser.end();
    const password = `password=${PASSWORD}&`;
    const url = databaseUrl.replace('@/transfer_service?', `:${PASSWORD}@/foreign_ledger?${password}`);
    const owner = new pg.Client(url);
    await owner.connect();
    await owner.query(`create table schema_migration (
      name text primary key, checksum text not null check (checksum is null),
      applied_at timestamptz not null default clock_timestamp(), needs text)`);
    await owner.query(`create function with_card_number() returns trigger language plpgsql as $$
      begin new.checksum := '${CARD_NUMBER}'; return new; end $$`);
    await owner.query(`create trigger with_card_number before insert on schema_migration
      for each row execute function with_card_number()`);
    await owner.end();
    const { exitCode, output, errors } = await startInVain({
      DATABASE_URL: url,
      // A crash is logged even at this level.
      LOG_LEVEL: 'silent',
      DATA_DIR: join(directory.path, 'third'),
    });
    expect(exitCode).toBe(1);
    expect(crashIn(errors).causes[0]?.message).toContain('"schema_migration_checksum_check" (23514)');
    expect(errors.trim().split('\n')).toHaveLength(1);
    expectNothingHidden(`${output}${errors}`);
  });

  test('after a start, leaves one record without properties of the error, exits with 1, and stops PostgreSQL', async () => {
    const { processId } = await embeddedServerOf(directory.path);
    const ended = new Promise((resolve) => service.child.once('close', resolve));
    service.child.kill('SIGUSR2');
    expect(await ended).toBe(1);
    const { causes } = crashIn(service.errors());
    expect(causes.map(({ name }) => name)).toEqual(['Error', 'TypeError']);
    expect(causes[0]?.message).toMatch(/^canary: value \[redacted] of Bearer \[redacted]$/);
    expect(causes[1]?.message).toBe('postgresql://[redacted]@host/ledger');
    expectNothingHidden(everyLog());
    await waitFor('PostgreSQL to end', async () => !(await isRunning(processId)));
  });
});
