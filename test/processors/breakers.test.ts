import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { CONNECTOR_LIMITS, openHttpConnector } from '../../server/background/processors/http-connector.ts';
import { openProcessors } from '../../server/background/processors/open-processors.ts';
import { NOTICE_SECRET, TRAITS } from '../fixtures/processors.ts';
import { waitFor } from '../harness/process.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const client = await useConnection(server.connection);

/** Returns a connector to an adapter with this handler. */
async function connectorTo(connectorId: string, answer: RequestListener) {
  const adapter = createServer(answer).listen(0, '127.0.0.1');
  afterAll(() => {
    adapter.closeAllConnections();
    adapter.close();
  });
  await once(adapter, 'listening');
  const address = adapter.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const settings = {
    mode: 'sandbox',
    url: `http://127.0.0.1:${port}`,
    allowedNetworks: [],
    ca: null,
    traits: TRAITS,
  } as const;
  // Responses have no time limit, so the test also passes on a slow machine.
  const limits = { ...CONNECTOR_LIMITS, answerTimeoutMilliseconds: 3_600_000 };
  return openHttpConnector({ ...settings, connectorId, secrets: [NOTICE_SECRET] }, { limits });
}

test('a connector that does not respond to a health check delays neither other breakers nor a stop', async () => {
  let asked = 0;
  const silent = await connectorTo('silent', () => {
    asked += 1;
  });
  const healthy = await connectorTo('healthy', (_request, response) => {
    response.end('{"status":"ok"}');
  });
  await client.query(
    `insert into connector_state (connector_id, opened_at, reason, probe_at, updated_at)
      select id, now(), 'A test.', now(), now() from unnest(array['silent', 'healthy']) as id`,
  );
  const failures: unknown[] = [];
  const connectors = [silent, healthy];
  const onFailure = (error: unknown): void => void failures.push(error);
  const processors = openProcessors({ database: ledger.database, connectors, onFailure });
  processors.start(ledger.service.transfers);
  const stateOf = (id: string) => processors.stateOf(id);
  await waitFor('the silent one to be asked', () => Promise.resolve(asked === 1));
  await waitFor('the healthy one to be up', () => Promise.resolve(stateOf('healthy') === 'up'));
  expect(stateOf('silent')).toBe('down');
  await processors.stop();
  expect(failures).toEqual([]);
});
