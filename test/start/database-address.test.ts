import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readConfiguration } from '../../server/foundation/configuration/configuration.ts';
import { StartupProblem } from '../../server/foundation/startup-problem.ts';
import { openDatabase, requireSafeConnection } from '../../server/host/open-database.ts';
import { runCommand, startInVain, temporaryDirectory } from '../harness/process.ts';

const LIVE = { MODE: 'live', SUPPORT_CONTACT: 'help@bank.test' };
const REMOTE = 'postgresql://service:geheim@db.remote.example';
/**
 * An address of this machine that the service treats as remote. The tests use it to receive data meant for a different machine.
 */
const ELSEWHERE = '127.1';

/**
 * Returns why a start refuses the database, or undefined if it would connect. `pg` reads the environment of the
 * process.
 */
function problemOf(databaseUrl: string, environment: Readonly<Record<string, string>> = {}): string | undefined {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    requireSafeConnection(readConfiguration({ ...LIVE, DATABASE_URL: databaseUrl }));
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(StartupProblem);
    const { message } = error as StartupProblem;
    expect(message).not.toContain('geheim');
    return message;
  }
}

beforeEach(() => {
  for (const name of ['PGHOST', 'PGSSLMODE', 'PGHOSTADDR', 'PGUSER', 'PGDATABASE']) vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

describe('in live mode, a database must be on this machine or behind TLS with a verified certificate', () => {
  const CLEAR = 'Add sslmode=verify-full';
  const ANYBODY = 'or sslmode=require without uselibpqcompat';
  const TWICE = 'more than once';

  const refused: readonly (readonly [url: string, sentence: string, environment?: Record<string, string>])[] = [
    [`${REMOTE}/ledger`, CLEAR],
    [`${REMOTE}/ledger`, CLEAR, { PGHOST: '127.0.0.1', PGHOSTADDR: '127.0.0.1' }],
    [`${REMOTE}/ledger?host=`, 'an empty parameter host'],
    [`${REMOTE}/ledger?host=/run&host=db.remote.example`, TWICE],
    [`${REMOTE}/ledger?host=db.remote.example&host=/run`, TWICE],
    [`${REMOTE}/ledger?sslmode=require&sslmode=disable`, TWICE],
    ['postgresql:///ledger', CLEAR, { PGHOST: 'db.remote.example' }],
    ['postgresql://service:geheim@/ledger', CLEAR, { PGHOST: 'db.remote.example' }],
    ['postgresql://localhost/ledger?host=db.remote.example', CLEAR],
    ['postgresql://localhost,db.remote.example/ledger', CLEAR],
    ['postgresql://localhost.remote.example/ledger', CLEAR],
    ['postgresql://127.0.0.1.remote.example/ledger', CLEAR],
    [`${REMOTE}/ledger?sslmode=disable`, CLEAR, { PGSSLMODE: 'verify-full' }],
    [`${REMOTE}/ledger?sslmode=prefer`, CLEAR],
    [`${REMOTE}/ledger?sslmode=allow`, CLEAR],
    [`${REMOTE}/ledger?sslmode=`, CLEAR],
    [`${REMOTE}/ledger?sslmode=VERIFY-FULL`, CLEAR],
    [`${REMOTE}/ledger?ssl=0`, CLEAR],
    [`${REMOTE}/ledger?ssl=false`, CLEAR],
    [`${REMOTE}/ledger`, CLEAR, { PGSSLMODE: 'disable' }],
    [`${REMOTE}/ledger?sslmode=no-verify`, ANYBODY],
    [`${REMOTE}/ledger?ssl=no-verify`, ANYBODY],
    [`${REMOTE}/ledger`, ANYBODY, { PGSSLMODE: 'no-verify' }],
    [`${REMOTE}/ledger?sslmode=require&uselibpqcompat=true`, ANYBODY],
    [`${REMOTE}/ledger?sslmode=require&ssl=true&uselibpqcompat=true`, ANYBODY],
    [`${REMOTE}/ledger?sslmode=verify-ca&uselibpqcompat=true`, 'cannot be used'],
    [`${REMOTE}/ledger?sslmode=verify-full&sslcert=/nowhere/to/be/found`, 'cannot be used'],
    ['postgresql://localhost:5432,db.remote.example:5432/ledger', CLEAR],
    ['postgresql://localhost,127.0.0.1,db.remote.example/ledger', CLEAR],
    ['postgresql://service:geheim@/ledger?host=/run,db.remote.example', CLEAR],
    [`${REMOTE},localhost/ledger?sslmode=no-verify`, ANYBODY],
    ['postgresql://service:geheim@localhost,/ledger', 'one of them cannot be read'],
    ['postgresql://service:geheim@/ledger?host=/run&host=/run,db.remote.example', 'Keep one of each'],
    ['postgresql://service:geheim@localhost,127.0.0.1/ledger?target_session_attrs=any', 'could lead to a standby'],
    ['postgresql://service:geheim@localhost/ledger?target_session_attrs=prefer-standby', 'could lead to a standby'],
    ['postgresql:///ledger', 'PGHOST names several hosts', { PGHOST: 'localhost,127.0.0.1' }],
    [`${REMOTE}/ledger?sslnegotiation=direct&sslmode=disable`, 'cannot be used'],
  ];
  test.each(refused.map(([url, sentence, environment = {}]) => [url, environment, sentence] as const))(
    'refuses %s with %j: %s',
    (url, environment, sentence) => {
      expect(problemOf(url, environment)).toContain(sentence);
    },
  );

  const taken: readonly (readonly [url: string, environment?: Record<string, string>])[] = [
    ['postgresql://service:geheim@localhost/ledger'],
    ['postgresql://service:geheim@127.0.0.1:5433/ledger?sslmode=disable'],
    ['postgresql://service:geheim@[::1]/ledger'],
    ['postgresql://service:geheim@localhost:5433,[::1],127.0.0.1/ledger?target_session_attrs=read-write'],
    ['postgresql://service:geheim@/ledger?host=/run/one,/run/two&port=5432,5433'],
    [`${REMOTE},db2.remote.example:5433/ledger?sslmode=verify-full`],
    ['postgresql:///ledger'],
    ['postgresql:///ledger', { PGHOST: '/run/postgresql' }],
    ['postgresql://service@/ledger?host=/run/postgresql&port=5433', { PGHOST: 'db.remote.example' }],
    ['postgresql://service@%2Frun%2Fpostgresql/ledger', { PGHOST: 'db.remote.example' }],
    [`${REMOTE}/ledger?host=/run/postgresql`],
    [`${REMOTE}/ledger?sslmode=verify-full`],
    [`${REMOTE}/ledger?sslmode=verify-full`, { PGSSLMODE: 'disable' }],
    [`${REMOTE}/ledger?sslmode=verify-ca`],
    [`${REMOTE}/ledger?sslmode=require`],
    [`${REMOTE}/ledger?sslmode=verify-full&uselibpqcompat=true`],
    [`${REMOTE}/ledger?ssl=true`],
    [`${REMOTE}/ledger`, { PGSSLMODE: 'verify-full' }],
    ['postgresql:///ledger?sslmode=verify-full', { PGHOST: 'db.remote.example' }],
  ];
  test.each(taken.map(([url, environment = {}]) => [url, environment] as const))(
    'accepts %s with %j',
    (url, environment) => {
      expect(problemOf(url, environment)).toBeUndefined();
    },
  );

  test('refuses NODE_TLS_REJECT_UNAUTHORIZED=0', () => {
    const environment = { ...LIVE, DATABASE_URL: `${REMOTE}/ledger?sslmode=verify-full` };
    const unchecked = { ...environment, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    expect(() => readConfiguration(unchecked)).toThrow('NODE_TLS_REJECT_UNAUTHORIZED is 0');
    expect(readConfiguration({ ...unchecked, MODE: 'sandbox' }).mode).toBe('sandbox');
  });
});

describe('a service with a database on a different machine sends', () => {
  let other: Server;
  let arrived = Buffer.alloc(0);
  let connections = 0;
  let port = 0;
  beforeEach(async () => {
    arrived = Buffer.alloc(0);
    connections = 0;
    other = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
      socket.on('data', (bytes: Buffer) => {
        arrived = Buffer.concat([arrived, bytes]);
        socket.destroy();
      });
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  });
  afterEach(() => other.close());

  const open = (mode: 'live' | 'sandbox', parameters: string): Promise<unknown> => {
    const DATABASE_URL = `postgresql://service:geheim@${ELSEWHERE}:${port}/ledger${parameters}`;
    const reports = { onProgress: () => undefined, onServerExit: () => undefined };
    return openDatabase(readConfiguration({ ...LIVE, MODE: mode, DATABASE_URL }), reports).catch((error) => error);
  };

  test.each(['', '?host=', `?host=/run&host=${ELSEWHERE}`, '?sslmode=require&sslmode=disable', '?sslmode=no-verify'])(
    'nothing in live mode with %j',
    async (parameters) => {
      expect(await open('live', parameters)).toBeInstanceOf(StartupProblem);
      expect([connections, arrived.length]).toEqual([0, 0]);
    },
  );

  test('the user name in clear text in a sandbox', async () => {
    expect(await open('sandbox', '')).toBeInstanceOf(StartupProblem);
    expect(arrived.toString('latin1')).toContain('service');
  });

  test('a TLS request first, in live mode with sslmode=verify-full', async () => {
    expect(await open('live', '?sslmode=verify-full')).toBeInstanceOf(StartupProblem);
    expect(arrived.toString('hex')).toBe('0000000804d2162f');
  });
});

describe('in separate processes', () => {
  test('the service and its commands do not connect, and config gives the reason', async () => {
    const directory = await temporaryDirectory();
    try {
      const environment = { ...LIVE, DATA_DIR: directory.path, PGHOST: 'db.remote.example' };
      const settings = { ...environment, DATABASE_URL: 'postgresql:///ledger' };
      const started = await startInVain(settings);
      expect(started.errors).toMatch(
        /^\nThe service cannot start: DATABASE_URL [^\n]+sslmode=verify-full\.\nRunbook: docs\/runbook\/database-address\.md\n$/,
      );
      for (const command of [['migrate'], ['config'], ['operator-key', 'create', '--name', 'x']]) {
        const { exitCode, errors } = await runCommand(command, settings);
        expect([exitCode, errors]).toEqual([1, expect.stringContaining('Add sslmode=verify-full')]);
      }
      expect((await runCommand(['config'], settings)).output).toContain('DATABASE_URL=postgresql:///ledger\n');
    } finally {
      await directory.remove();
    }
  });
});

test('the part of a password after its / is not read as a database name', () => {
  for (const MODE of ['live', 'sandbox']) {
    const configuration = readConfiguration({
      ...LIVE,
      MODE,
      DATABASE_URL: 'postgresql://ser/vice:geheim@127.0.0.1/ledger',
    });
    expect(() => requireSafeConnection(configuration)).toThrow('write @ as %40');
  }
});
