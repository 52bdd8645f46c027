import { test } from 'vitest';
import { STARTS } from '../../../server/store/connection/connections.ts';
import { requireKeys } from '../../../server/subjects/webhooks/vault.ts';
import { waitFor } from '../../harness/process.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection, undefined, undefined, STARTS);
const connection = await useConnection(server.connection);
const watcher = await useConnection(server.connection);

test('the first key is recognized if another request creates and uses it during the check', async () => {
  // Uses the test server's key, which this process has not read yet.
  await ledger.call('create_webhook', { url: 'https://hooks.example/' });
  let keys: readonly Buffer[] = [];
  const read = () => keys;
  await connection.query('begin; lock table webhook_secret in access exclusive mode');
  const checked = requireKeys(ledger.databases.background, { read, readOrCreate: read, origin: 'a test' });
  const isWaiting =
    "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%from webhook_secret%'";
  await waitFor('the check to wait', async () => (await watcher.query(isWaiting)).rowCount === 1);
  keys = [Buffer.alloc(32, 'key')];
  await connection.query('commit');
  await checked;
});
