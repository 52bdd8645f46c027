import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfiguration } from '../../server/foundation/configuration/configuration.ts';
import { openDatabase } from '../../server/host/open-database.ts';
import { openLog } from '../../server/observe/log/log.ts';
import { runService } from '../../server/service.ts';
import { useConnection, usePostgres } from '../harness/use-ledger.ts';

// Tests that a failed start leaves nothing behind that looks like a service, even if the port was already open.

const { directory, embedded, urlOf } = await usePostgres();
const superuser = await useConnection({ ...embedded.connection, user: 'postgres', database: 'postgres' });
const QUIET = { onProgress: () => undefined, onServerExit: () => undefined };
/** Returns the listening sockets of this process: the service's and the metrics'. */
const listeners = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;

test('a failure after the port is open closes the port, the metrics and the database, and throws the reason', async () => {
  const dataDirectory = join(directory, 'failed');
  const configuration = readConfiguration({
    DATABASE_URL: urlOf('transfer_service', 'transfer_service'),
    DATA_DIR: dataDirectory,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
  });
  const opened = await openDatabase(configuration, QUIET);
  const before = listeners();
  let port = 0;
  const failing = runService(configuration, opened, openLog('silent'), {
    ...QUIET,
    onListening: (about) => {
      ({ port } = about);
      throw new Error('the log is gone');
    },
  });
  await expect(failing).rejects.toThrow('the log is gone');
  await expect(fetch(`http://127.0.0.1:${port}/health/live`)).rejects.toThrow('fetch failed');
  expect(listeners()).toBe(before);
  const sessions = "select pid from pg_stat_activity where usename = 'transfer_service'";
  await expect.poll(async () => (await superuser.query(sessions)).rows).toEqual([]);
  expect(await readdir(dataDirectory)).not.toContain('running');
});
