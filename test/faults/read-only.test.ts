import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { type EmbeddedTestServer, onConnection, startEmbeddedServer, urlOf } from '../harness/ledger.ts';
import { type ServiceProcess, startService, waitFor } from '../harness/process.ts';
import { type RawResponse, sendRaw } from '../harness/raw-request.ts';
import { useDirectory } from '../harness/service.ts';
import { becomeStandby } from '../harness/standby.ts';
import { untilReadinessIs } from '../start/readiness-response.ts';

// The database serves reads but refuses writes, because it has become a standby or because its disk cannot store a new
// file.

/**
 * The server that the service first connects to, and a copy of it. Both are primaries until `first` becomes a standby.
 */
let first: EmbeddedTestServer;
let second: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
const directory = await useDirectory();
/** A link to the directory of the server's socket. It acts like a host name whose address can change. */
let address: string;
let service: ServiceProcess;

beforeAll(async () => {
  first = await startEmbeddedServer();
  await first.embedded.pause();
  const copy = join(directory.path, 'copy');
  const place = join(directory.path, 'place');
  await promisify(execFile)('mkdir', ['-m', '711', copy, place]);
  await promisify(execFile)('cp', ['-a', first.embedded.dataDirectory, copy]);
  await first.embedded.resume();
  second = await startEmbeddedPostgres({ dataDirectory: copy });
  address = join(await mkdtemp('/tmp/address-'), 'host');
  await symlink(first.connection.host, address);
  service = await startService({ DATABASE_URL: urlOf({ ...first.connection, host: address }), DATA_DIR: place });
});
afterAll(async () => {
  await service.stop();
  await second.stop();
  await first.stop();
  await rm(join(address, '..'), { recursive: true, force: true });
});

const TRANSFER = { amount: 1, card_id: 'card_active' };
const CARD = '/api/v0.1/core/card';
const UNMOVED = { status: 500, fields: { Code: 'unknown_create_transfer' }, headers: { 'money-moved': 'no' } };

const get = (path: string): Promise<RawResponse> => sendRaw(service.url, { method: 'GET', path });
const transfer = (): Promise<RawResponse> => sendRaw(service.url, { body: TRANSFER });
const createCard = (): Promise<RawResponse> => sendRaw(service.url, { path: CARD, body: {} });
const read = (): Promise<RawResponse> => get(`${CARD}/card_active`);
const readiness = (): Promise<RawResponse> => get('/health/ready');
const untilReady = () => waitFor('readiness', async () => (await readiness()).status === 200);

test('with a standby, the service serves reads, is not ready, and refuses transfers without moving money', async () => {
  expect(await readiness()).toMatchObject({ status: 200 });
  const { balance } = (await read()).fields;
  await becomeStandby(first.embedded);
  await waitFor('a read', async () => (await read()).status === 200);
  expect(await readiness()).toMatchObject({ status: 503 });
  expect(await untilReadinessIs(service.url, 'database_read_only')).toMatchObject({
    status: 503,
    runbook: 'docs/runbook/database-read-only.md',
    body: { Message: expect.stringMatching(/^The database is read-only or a standby, /) },
  });
  expect(await transfer()).toMatchObject(UNMOVED);
  expect(await createCard()).toMatchObject({ status: 500, fields: { Code: 'unknown_create_card' } });
  expect((await read()).fields).toMatchObject({ balance });
});

test('the service finds the new primary as soon as the standby refuses a write', async () => {
  expect(await transfer()).toMatchObject(UNMOVED);
  // The address now points to the new primary. Open connections still lead to the standby.
  await symlink(second.connection.host, `${address}.new`);
  await rename(`${address}.new`, address);
  // The first transfer may use a connection from before the change. When the standby refuses it, the service closes the
  // other connections to the standby.
  const responses = [await transfer(), await transfer()];
  expect(responses.at(-1)).toMatchObject({ status: 201 });
  await untilReady();
  expect(await createCard()).toMatchObject({ status: 201 });
});

test('the service writes to a standby again once it is promoted', async () => {
  await unlink(address);
  await symlink(first.connection.host, address);
  await second.pause();
  await waitFor('the standby to be read', async () => (await read()).status === 200);
  expect(await readiness()).toMatchObject({ status: 503 });
  await onConnection({ ...first.connection, user: 'postgres' }, (client) => client.query('select pg_promote()'));
  await untilReady();
  expect(await transfer()).toMatchObject({ status: 201 });
});

test('the service is not ready while the disk cannot store a new file', async () => {
  const files = join(first.embedded.dataDirectory, 'base', 'pgsql_tmp');
  await rm(files, { recursive: true, force: true });
  // PostgreSQL cannot create temporary files while a file has the path of their directory.
  await writeFile(files, '');
  try {
    expect(await untilReadinessIs(service.url, 'write_failing')).toMatchObject({
      status: 503,
      runbook: 'docs/runbook/writes-failing.md',
    });
    expect(await read()).toMatchObject({ status: 200 });
  } finally {
    await rm(files);
  }
  await untilReady();
});
