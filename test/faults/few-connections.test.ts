import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REQUESTS } from '../../server/store/connection/connections.ts';
import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { connect, openLedger, urlOf } from '../harness/ledger.ts';
import { type ServiceProcess, type ServiceSettings, startInVain, startService, waitFor } from '../harness/process.ts';
import { type RawResponse, sendRaw } from '../harness/raw-request.ts';
import { startForTest, useDirectory } from '../harness/service.ts';
import { readinessOf, untilReadinessIs } from '../start/readiness-response.ts';
import { lay, openStage, type Stage } from './stage.ts';
import { MAX_TRIES } from './verdict.ts';

// The role allows fewer connections than the service processes would open.

const ROLES = 'transfer_service_application, transfer_service_background, transfer_service_authentication';
const TRANSFER = { amount: 1, card_id: 'card_active' };

let stage: Stage;
let superuser: pg.Client;
const directory = await useDirectory();

beforeAll(async () => {
  stage = await openStage();
  superuser = await connect({ ...stage.server.connection, user: 'postgres' });
  await superuser.query(`create role limited login connection limit 20`);
  await superuser.query(`grant ${ROLES} to limited`);
});
afterAll(async () => {
  await superuser.end();
  await stage.end();
});

function settingsOf(name: string, more: Readonly<Record<string, string>> = {}): ServiceSettings {
  const DATABASE_URL = urlOf({ ...stage.server.connection, user: 'limited' });
  return { DATABASE_URL, DATA_DIR: `${directory.path}/${name}`, ...more };
}

/** Runs a function while the role may have only `count` connections. */
async function withConnections(count: number, run: () => Promise<void>): Promise<void> {
  await superuser.query(`alter role limited connection limit ${count}`);
  try {
    await run();
  } finally {
    await superuser.query('alter role limited connection limit 20');
  }
}

type SentResponse = RawResponse & { readonly milliseconds: number };

async function send({ url }: ServiceProcess, path: string, body?: object): Promise<SentResponse> {
  const started = performance.now();
  const response = await sendRaw(url, { method: body === undefined ? 'GET' : 'POST', path, body });
  return { ...response, milliseconds: performance.now() - started };
}

/** Returns whether a request failed without effect because a slow machine could not open a connection in time. */
function isTooSlow({ status, headers, milliseconds }: SentResponse): boolean {
  return status === 500 && milliseconds >= LIMITS.connect && headers['money-moved'] === 'no';
}

const transfer = (service: ServiceProcess): Promise<SentResponse> => send(service, '/api/v0.1/core/transfer', TRANSFER);

/** Creates a transfer. Tries again if the machine was too slow to open a connection. */
async function timelyTransfer(service: ServiceProcess): Promise<SentResponse> {
  let response = await transfer(service);
  for (let tries = 1; isTooSlow(response) && tries < MAX_TRIES; tries += 1) response = await transfer(service);
  return response;
}

/** Returns the bodies of unexpected responses: all except 201, 503 and the failures of a slow machine. */
const unexpected = (responses: readonly SentResponse[]): readonly string[] =>
  responses.filter((one) => one.status !== 201 && one.status !== 503 && !isTooSlow(one)).map(({ text }) => text);

const isReady = async (service: ServiceProcess): Promise<boolean> =>
  (await send(service, '/health/ready')).status === 200;

function many<Result>(count: number, run: (index: number) => Promise<Result>): Promise<readonly Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => run(index)));
}

/** Reads as a program and as an operator. Together, these reads use every pool of readers. */
async function readMuch(service: ServiceProcess): Promise<void> {
  const paths = ['/api/v0.1/core/card/card_active', '/api/v0.1/operator/program'];
  await many(100, (index) => send(service, paths[index % 2] ?? ''));
}

async function connectionsOf(role: string, condition = 'true'): Promise<number> {
  const text = `select from pg_stat_activity where usename = $1 and ${condition}`;
  return (await superuser.query(text, [role])).rowCount ?? 0;
}

/** Selects connections whose last query is one of {@link readMuch}. The loops of a process send other queries. */
const LAST_USED_BY_READS = `query ~ '^select (card|program)[.]program_id'`;

describe('two processes with 20 connections', () => {
  const services: ServiceProcess[] = [];

  beforeAll(async () => {
    for (const name of ['first', 'second']) services.push(await startService(settingsOf(name)));
  });
  afterAll(async () => {
    for (const service of services) await service.stop();
  });

  test('respond to transfers with 201 or 503 while readers use the connections', async () => {
    await Promise.all(services.map(readMuch));
    const responses = (await Promise.all(services.map((service) => many(20, () => transfer(service))))).flat();
    expect(unexpected(responses)).toEqual([]);
    for (const service of services) {
      await waitFor('a transfer', async () => (await transfer(service)).status === 201);
      await waitFor('readiness', () => isReady(service));
    }
  });

  test('keep a connection for transfers and stay ready while other clients use all remaining ones', async () => {
    const others: pg.Client[] = [];
    try {
      await waitFor('all connections to be taken', async () => {
        const taken = await connect({ ...stage.server.connection, user: 'limited' }).catch(() => undefined);
        if (taken !== undefined) others.push(taken);
        return taken === undefined && others.length >= 12;
      });
      for (const service of services) {
        expect(await timelyTransfer(service)).toMatchObject({ status: 201 });
        await waitFor('readiness', () => isReady(service));
      }
    } finally {
      for (const other of others) await other.end();
    }
  });

  test('without a connection, refuse transfers with 503 and are not ready, and later recover', async () => {
    await withConnections(0, async () => {
      await superuser.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'limited'");
      await waitFor('the connections to go', async () => (await connectionsOf('limited')) === 0);
      const inVain = async (service: ServiceProcess): Promise<void> => {
        const [refused, readiness] = await Promise.all([timelyTransfer(service), readinessOf(service.url)]);
        const headers = { 'money-moved': 'no', 'should-retry': 'true', 'retry-after': '1' };
        expect(refused).toMatchObject({ status: 503, fields: { Code: 'service_unavailable' }, headers });
        expect(readiness).toMatchObject({
          status: 503,
          reason: expect.stringMatching(/^no_connection$|^database_silent$/),
        });
        expect(await untilReadinessIs(service.url, 'no_connection')).toMatchObject({
          status: 503,
          runbook: 'docs/runbook/few-connections.md',
        });
      };
      await Promise.all(services.map(inVain));
    });
    // Asks both processes at once, because each reports a lack of connections only until half a minute after it last
    // lacked one.
    const short = await Promise.all(services.map(({ url }) => untilReadinessIs(url, 'few_connections')));
    for (const readiness of short) {
      expect(readiness).toMatchObject({
        status: 200,
        runbook: 'docs/runbook/few-connections.md',
        body: { status: 'ready', degraded: 'few_connections' },
      });
    }
    for (const service of services) expect(await timelyTransfer(service)).toMatchObject({ status: 201 });
  });

  test('close idle connections', async () => {
    // The loops of a process may use several connections at once, so only connections that no loop uses are counted.
    await waitFor('many connections', async () => {
      await Promise.all(services.map(readMuch));
      return (await connectionsOf('limited', LAST_USED_BY_READS)) > 6;
    });
    await waitFor('idle connections to go', async () => (await connectionsOf('limited', LAST_USED_BY_READS)) === 0);
  });
});

test('a group of transfers waits for a connection only while its first request still has time for a transaction', async () => {
  await withConnections(0, async () => {
    const refused: string[] = [];
    const call = async (name: string, time: number): Promise<void> => {
      const connection = { ...stage.server.connection, user: 'limited' };
      const ledger = openLedger(connection, undefined, undefined, REQUESTS);
      const called = ledger.call('create_transfer', TRANSFER, { deadline: performance.now() + time });
      await expect(called.finally(ledger.close)).rejects.toMatchObject({ busy: true, moneyMoved: 'no' });
      refused.push(name);
    };
    await Promise.all([call('patient', 60_000), call('hurried', 1600)]);
    expect(refused).toEqual(['hurried', 'patient']);
  });
});

test('the service does not start with a role that allows fewer connections than a process needs', async () => {
  await withConnections(5, async () => {
    const { exitCode, errors } = await startInVain(settingsOf('few'));
    expect(exitCode).toBe(1);
    expect(errors).toMatch(
      /^\nThe service cannot start: the role limited allows 5 connections, [^\n]+\nRunbook: docs\/runbook\/few-connections\.md\n$/,
    );
    expect(errors).toContain('needs at least 6. Raise the limit (ALTER ROLE limited CONNECTION LIMIT)');
  });
});

test('the service works with the minimum number of connections', async () => {
  await withConnections(6, async () => {
    const service = await startForTest(settingsOf('fewest', { DATABASE_CONNECTIONS: '9' }));
    expect(service.output()).toContain(
      'the role limited allows 6 connections, so this process opens at most 6 of its 9',
    );
    await readMuch(service);
    const responses = await many(50, (index) =>
      index % 2 === 0 ? transfer(service) : send(service, '/api/v0.1/core/card', {}),
    );
    expect(unexpected(responses)).toEqual([]);
    expect(await service.client.trialBalance.get()).toMatchObject({ balanced: true });
    expect(await connectionsOf('limited')).toBeLessThanOrEqual(6);
    await service.stop();
  });
});

describe('more requests than a pool has connections', () => {
  const create = (): Promise<SentResponse> => send(stage.service(), '/api/v0.1/core/card', {});

  /** The number of connections that write for programs. */
  const WRITERS = 6;

  test('wait without a 500 while long requests use the connections', async () => {
    // Opens all connections first, so that the requests below do not have to wait for them to open.
    await many(50, create);
    const held = Promise.withResolvers<void>();
    for (let count = 0; count < WRITERS; count += 1) lay(stage, 'during_load', 'continue', () => held.promise);
    let isOver = false;
    const reading = (async () => {
      while (!isOver) await send(stage.service(), '/api/v0.1/core/card/card_active');
    })();
    const creating = many(50, create);
    await waitFor('the connections to be held', async () => stage.proxy.traps.length === 0);
    // Waits longer than the time limit for connecting, but shorter than the time limit for a response.
    await new Promise((resolve) => setTimeout(resolve, 1200));
    held.resolve();
    const failed = (await creating).filter(({ status }) => status !== 201 && status !== 503);
    isOver = true;
    await reading;
    // On a slow machine, the held requests may run out of time, but the waiting ones may not.
    expect(failed.length, failed[0]?.text).toBeLessThanOrEqual(WRITERS);
  });

  test('get a 500 instead of a 503 if the database does not respond', async () => {
    stage.proxy.mute(true);
    try {
      const responses = await many(50, create);
      expect(responses.filter(({ fields }) => fields.Code !== 'unknown_create_card').map(({ text }) => text)).toEqual(
        [],
      );
    } finally {
      stage.proxy.mute(false);
      stage.proxy.cutAll();
    }
    await waitFor('the service to recover', async () => (await create()).status === 201);
  });
});
