import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { ConnectionFailure, TransferService } from '../../sdk/client.ts';
import { createAuthority, type Identity } from '../outbound/certificates.ts';

// This process does not trust the authority, so Node accepts none of the authority's certificates.
const authority = createAuthority();
afterAll(() => authority.remove());

/** Creates a transfer on a server with this certificate. Returns the error, and the number of requests that arrived. */
async function createAt(identity: Identity): Promise<{ error: unknown; requests: number }> {
  let requests = 0;
  const server = createServer(identity, (_, response) => {
    requests += 1;
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const service = new TransferService({ baseUrl: `https://127.0.0.1:${port}`, maxRetries: 0 });
  const error = await service.transfers.create({ amount: 1, card_id: 'card_1' }).catch((thrown: unknown) => thrown);
  server.close();
  return { error, requests };
}

test('the client sends nothing to a server whose certificate is not accepted, so no money moves', async () => {
  const { error, requests } = await createAt(authority.issue('IP:127.0.0.1'));
  expect(error).toBeInstanceOf(ConnectionFailure);
  expect(error).toMatchObject({ reason: 'unreachable', moneyMoved: 'no' });
  expect(requests).toBe(0);
});
