import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServiceStatus } from '../../contract/service/status.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import { OperationFailure } from '../../server/calls/call.ts';
import type { WrittenReply } from '../../server/http/wire/reply.ts';
import { REQUESTS } from '../../server/store/connection/connections.ts';
import { hostsOf } from '../../server/store/connection/hosts/hosts.ts';
import { KEY_TEXT, type Ledger, onConnection, openLedger, trialBalance, urlOf } from '../harness/ledger.ts';
import { runCommand, type ServiceProcess, startService, temporaryDirectory, waitFor } from '../harness/process.ts';
import { type DatabaseProxy, startProxy } from '../harness/proxy.ts';
import { becomeStandby, type Pair, startPair } from '../harness/standby.ts';

// DATABASE_URL names several hosts. During transfers, the tests stop the primary, promote the standby and resume the
// old primary.

let pair: Pair;
let ledger: Ledger;
let url: string;
/** The proxy in front of the primary. */
let proxy: DatabaseProxy;
let silent: Server;

async function start(): Promise<void> {
  silent = createServer(() => undefined);
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  pair = await startPair();
  const { port: silentPort } = silent.address() as AddressInfo;
  const { connection } = pair.primary;
  proxy = await startProxy(connection.host);
  const host = ['127.0.0.1', pair.standby.connection.host, proxy.host].join();
  url = urlOf({ ...connection, host, port: `${silentPort},${pair.standby.connection.port},${connection.port}` });
  ledger = openLedger({ connectionString: url }, undefined, undefined, REQUESTS);
}

async function end(): Promise<void> {
  goOn();
  await ledger.close();
  await proxy.close();
  await pair.stop();
  silent.close();
}

/** The hosts by the names that DATABASE_URL uses. */
const primaryName = (): string => `${proxy.host}:${pair.primary.connection.port}`;
const standbyName = (): string => `${pair.standby.connection.host}:${pair.standby.connection.port}`;
const usedHost = (): string | undefined => ledger.databases.host()?.name;

const send = (idempotencyKey: string, deadline = performance.now() + 60_000): Promise<WrittenReply> =>
  ledger.call('create_transfer', { amount: 100, card_id: 'card_active' }, { idempotencyKey, deadline });

const idOf = ({ body }: WrittenReply): string => (JSON.parse(body) as TransferRecord).transfer_id;

/** The outcome of a request: its transfer or, after a failure, its `moneyMoved`. */
type Outcome = { readonly key: string; readonly transferId?: string; readonly moved?: string };

async function outcomeOf(key: string, reply: Promise<WrittenReply>): Promise<Outcome> {
  try {
    return { key, transferId: idOf(await reply) };
  } catch (error) {
    if (!(error instanceof OperationFailure)) throw error;
    return { key, moved: error.moneyMoved };
  }
}

/** Counts a key's rows directly on one server. */
function countOn(server: Pair['standby']['connection'], key: string) {
  const count = `select from idempotency where ${KEY_TEXT} = $1`;
  return onConnection({ ...server, user: 'postgres' }, async (client) => (await client.query(count, [key])).rowCount);
}

/**
 * Returns all processes of the primary. The main process comes first, so that it is stopped before it can start others.
 */
async function processesOfPrimary(): Promise<readonly number[]> {
  const rows = await pair.ask<{ pid: number }>('select pid from pg_stat_activity where pid <> pg_backend_pid()', []);
  return [pair.primary.embedded.processId() ?? 0, ...rows.map(({ pid }) => pid)];
}

const stopped: number[] = [];
const goOn = (): void => {
  for (const pid of stopped.splice(0)) process.kill(pid, 'SIGCONT');
};

describe('a primary that is stopped', () => {
  let service: ServiceProcess;
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  beforeAll(async () => {
    await start();
    directory = await temporaryDirectory();
    service = await startService({ DATABASE_URL: url, DATA_DIR: directory.path });
  });
  afterAll(async () => {
    await service.stop();
    await end();
    await directory.remove();
  });

  /** Returns the host that the service process reports in its status. */
  async function statedHost(): Promise<string | null> {
    const { database } = (await (await fetch(`${service.url}/api/v0.1/operator/status`)).json()) as ServiceStatus;
    return database.host;
  }

  test('is found when the service starts, even if a standby and a host that does not respond are listed before it', async () => {
    expect(idOf(await send(randomUUID()))).toMatch(/^tr_/);
    expect(usedHost()).toBe(primaryName());
    expect(await statedHost()).toBe(primaryName());
    const { output } = await runCommand(['doctor', '--json'], { DATABASE_URL: url, DATA_DIR: directory.path });
    expect(output).toContain(` at ${primaryName()}, user transfer_service`);
  });

  test('is replaced by the promoted standby, and every response is correct', async () => {
    const outcomes: Promise<Outcome>[] = [];
    const load = setInterval(() => {
      const key = randomUUID();
      // This is half of the time limit of a request in the service.
      outcomes.push(outcomeOf(key, send(key, performance.now() + 2500)));
    }, 20);
    try {
      await waitFor('transfers', async () => outcomes.length > 20);
      for (const pid of await processesOfPrimary()) {
        process.kill(pid, 'SIGSTOP');
        stopped.push(pid);
      }
      const before = outcomes.length;
      await waitFor('requests at the stopped primary', async () => outcomes.length > before + 20);
      await pair.promote();
      await waitFor('the new primary to be used', async () => usedHost() === standbyName());
      const after = randomUUID();
      await waitFor('a transfer', async () => (await outcomeOf(after, send(after))).transferId !== undefined);
    } finally {
      clearInterval(load);
    }
    const settled = await Promise.all(outcomes);
    const unknown = settled.filter(({ moved }) => moved === 'unknown');
    for (const { key, transferId, moved } of settled) {
      const count = await countOn(pair.standby.connection, key);
      if (transferId !== undefined) expect([key, count]).toEqual([key, 1]);
      if (moved === 'no') expect([key, count]).toEqual([key, 0]);
    }
    // A retry with the same key finds the transfer or creates it once.
    for (const { key } of unknown) {
      const reply = await send(key);
      expect(idOf(await send(key))).toBe(idOf(reply));
      expect(await countOn(pair.standby.connection, key)).toBe(1);
    }
    expect(await trialBalance(ledger)).toMatchObject({ balanced: true });
    await waitFor('readiness', async () => (await fetch(`${service.url}/health/ready`)).ok);
    expect(await statedHost()).toBe(standbyName());
  });

  test('is not used again after it resumes: requests wait for the new primary', async () => {
    goOn();
    const key = randomUUID();
    expect(idOf(await send(key))).toMatch(/^tr_/);
    expect(await countOn(pair.standby.connection, key)).toBe(1);
    await pair.standby.pause();
    const lost = randomUUID();
    const refuses = async (reason: string): Promise<void> => {
      expect(await outcomeOf(lost, send(lost, performance.now() + 2500))).toEqual({ key: lost, moved: 'no' });
      expect(hostsOf({ connectionString: url })?.describe()).toContain(`${primaryName()} (${reason})`);
    };
    await refuses('it was replaced by a standby that was promoted');
    expect(await countOn(pair.primary.connection, lost)).toBe(0);
    await becomeStandby(pair.primary.embedded);
    await refuses('it is a standby');
    // Requests with enough time left wait for the new primary.
    const waiting = Array.from({ length: 5 }, () => send(randomUUID()));
    await pair.standby.resume();
    for (const reply of await Promise.all(waiting)) expect(idOf(reply)).toMatch(/^tr_/);
    expect(idOf(await send(lost))).toMatch(/^tr_/);
    expect(usedHost()).toBe(standbyName());
    expect(await countOn(pair.standby.connection, lost)).toBe(1);
  });
});

describe('while a replaced primary still accepts writes', () => {
  beforeAll(start);
  afterAll(end);

  test('the service acknowledges none of its later commits', async () => {
    // Without a synchronous standby, PostgreSQL lets the old primary commit.
    await pair.setNames('');
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    proxy.traps.push({
      at: 'before_commit',
      spring: async () => {
        reached.resolve();
        await held.promise;
        return 'continue' as const;
      },
    });
    const key = randomUUID();
    const outcome = outcomeOf(key, send(key));
    await reached.promise;
    // The old primary remains reachable and writable, because it does not notice the promotion.
    await pair.promote();
    await waitFor('the new primary to be used', async () => {
      hostsOf({ connectionString: url })?.doubt();
      return usedHost() === standbyName();
    });
    held.resolve();
    // The request has enough time left, so the transfer is created on the new primary.
    const { transferId } = await outcome;
    expect(idOf(await send(key))).toBe(transferId);
    const other = randomUUID();
    expect(idOf(await send(other))).toMatch(/^tr_/);
    for (const one of [key, other]) expect(await countOn(pair.standby.connection, one)).toBe(1);
  });
});
