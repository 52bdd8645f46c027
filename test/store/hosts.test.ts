import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { REQUESTS, STARTS, type TimeLimits } from '../../server/store/connection/connections.ts';
import { type Databases, openDatabases } from '../../server/store/connection/databases.ts';
import { StoreFailure } from '../../server/store/connection/failure.ts';
import { hostsOf } from '../../server/store/connection/hosts/hosts.ts';
import { connect } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { type DatabaseProxy, startProxy } from '../harness/proxy.ts';
import { useServer } from '../harness/use-ledger.ts';

// Tests a DATABASE_URL with several hosts, one of which runs PostgreSQL. test/faults/hosts.test.ts tests a change of
// the primary.

const { connection } = await useServer();
const { host, port, user, database } = connection;

/** Listens but never responds, like a stopped server or a machine behind a firewall that drops packets. */
const silent = createServer(() => undefined).listen(0, '127.0.0.1');
await once(silent, 'listening');
afterAll(() => silent.close());
const silentPort = portOf(silent);

/** This port is closed. */
const gone = createServer().listen(0, '127.0.0.1');
await once(gone, 'listening');
const closedPort = portOf(gone);
gone.close();

function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('it does not listen');
  return address.port;
}

const CLOSED = ['127.0.0.1', closedPort] as const;
const SILENT = ['127.0.0.1', silentPort] as const;
const GOOD = [host, port] as const;

function urlOf(...places: readonly (readonly [host: string, port: number])[]): string {
  const hosts = places.map(([one]) => one).join();
  const ports = places.map(([, one]) => one).join();
  return `postgresql://${user}@/${database}?host=${encodeURIComponent(hosts)}&port=${encodeURIComponent(ports)}`;
}

const opened: Databases[] = [];
function open(url: string, timeLimits: TimeLimits = REQUESTS): Databases {
  const databases = openDatabases({ connectionString: url }, undefined, timeLimits);
  opened.push(databases);
  return databases;
}
afterEach(async () => {
  for (const databases of opened.splice(0)) await databases.close();
});

const NOW = { name: 'read_now', text: 'select 1 as one', values: [] };
const failureOf = (databases: Databases): Promise<StoreFailure> =>
  databases.background.read(NOW).then(
    () => Promise.reject(new Error('it was read')),
    (error: unknown) => (error instanceof StoreFailure ? error : Promise.reject(error)),
  );

test.each([
  ['on the first host', [GOOD, CLOSED, SILENT]],
  ['after a host that is down', [CLOSED, GOOD]],
  ['after a host that does not respond', [SILENT, GOOD]],
  ['after both', [SILENT, CLOSED, GOOD]],
] as const)('finds PostgreSQL %s', async (_where, places) => {
  const databases = open(urlOf(...places));
  const before = new Date();
  expect(await databases.background.read(NOW)).toEqual([{ one: 1 }]);
  expect(databases.host()).toMatchObject({ name: `${host}:${port}` });
  expect(databases.host()?.since.getTime()).toBeGreaterThanOrEqual(before.getTime());
});

test('names each host and the reason if no host can be used', async () => {
  const failure = await failureOf(open(urlOf(CLOSED, SILENT)));
  expect(failure.message).toContain(`127.0.0.1:${closedPort} (connect ECONNREFUSED`);
  expect(failure.message).toContain(`127.0.0.1:${silentPort} (no response within 1000 ms)`);
  expect([failure.connectionLost, failure.readOnly, failure.timedOut]).toEqual([true, false, true]);
});

test('does not use a host that was made read-only until the host is writable again', async () => {
  const superuser = await connect({ ...connection, user: 'postgres' });
  const databases = open(urlOf(CLOSED, GOOD));
  try {
    await superuser.query(`alter database ${database} set default_transaction_read_only = on`);
    const failure = await failureOf(databases);
    expect(failure.message).toContain(`${host}:${port} (it is read-only)`);
    expect(failure.readOnly).toBe(true);
    await superuser.query(`alter database ${database} reset default_transaction_read_only`);
    await waitFor('a read', () => databases.background.read(NOW).then(Boolean, () => false));
  } finally {
    await superuser.query(`alter database ${database} reset default_transaction_read_only`);
    await superuser.end();
  }
});

test('overrides a setting of the database user, as it does with one host', async () => {
  const superuser = await connect({ ...connection, user: 'postgres' });
  const databases = open(urlOf(CLOSED, GOOD));
  try {
    await superuser.query(`alter role ${user} in database ${database} set default_transaction_read_only = on`);
    const statement = { name: 'read_only', text: `select current_setting('transaction_read_only') as it`, values: [] };
    expect(await databases.background.writeUnguarded(statement)).toEqual([{ it: 'off' }]);
  } finally {
    await superuser.query(`alter role ${user} in database ${database} reset default_transaction_read_only`);
    await superuser.end();
  }
});

test('reads from a single host, and then names it', async () => {
  const databases = open(urlOf(GOOD));
  expect(databases.host()).toBeUndefined();
  await databases.background.read(NOW);
  expect(databases.host()).toMatchObject({ name: `${host}:${port}` });
});

describe('when the current host is lost', () => {
  let first: DatabaseProxy;
  let second: DatabaseProxy;
  beforeEach(async () => {
    [first, second] = [await startProxy(host), await startProxy(host)];
  });
  afterEach(() => Promise.all([first.close(), second.close()]));

  /** Connects to the first host, and keeps some connections idle. */
  async function useFirst(
    timeLimits?: TimeLimits,
  ): Promise<{ databases: Databases; url: string; usedSecond: () => boolean }> {
    const url = urlOf([first.host, port], [second.host, port]);
    const databases = open(url, timeLimits);
    // Either host may respond first. The service then continues to use that host.
    await databases.background.read(NOW);
    if (databases.host()?.name !== `${first.host}:${port}`) [first, second] = [second, first];
    const lost = databases.host()?.name;
    await Promise.all(Array.from({ length: 3 }, () => databases.background.read(NOW)));
    return { databases, url, usedSecond: () => databases.host()?.name !== lost };
  }

  test('opens a new connection, without a time limit, to the other host as soon as that host is usable', async () => {
    const { databases, url, usedSecond } = await useFirst(STARTS);
    first.mute(true);
    await second.listen(false);
    const connected = databases.background.alone((client) => client.query('select 1 as one'));
    await waitFor('both hosts to be unusable', async () => {
      return hostsOf({ connectionString: url })?.describe()?.includes('no response within') === true;
    });
    await second.listen(true);
    expect(await connected).toMatchObject({ rowCount: 1 });
    expect(usedSecond()).toBe(true);
  });

  test('sends the next request to the other host after one missing response', async () => {
    const { databases, usedSecond } = await useFirst();
    first.mute(true);
    expect(await failureOf(databases)).toMatchObject({ timedOut: true });
    expect(await databases.background.read(NOW)).toEqual([{ one: 1 }]);
    expect(usedSecond()).toBe(true);
  });

  test('replaces broken connections with connections to the other host', async () => {
    const { databases, usedSecond } = await useFirst();
    await first.listen(false);
    first.cutAll();
    expect(await databases.background.read(NOW)).toEqual([{ one: 1 }]);
    expect(usedSecond()).toBe(true);
  });

  test('also closes its working connections, even one that is in use', async () => {
    const { databases, url, usedSecond } = await useFirst();
    const started = Promise.withResolvers<void>();
    const inUse = databases.background.alone((client) => {
      started.resolve();
      return client.query('select pg_sleep(600)');
    });
    const failure = expect(inUse).rejects.toThrow('Connection terminated');
    await started.promise;
    await first.listen(false);
    hostsOf({ connectionString: url })?.doubt();
    await failure;
    expect(usedSecond()).toBe(true);
  });
});
