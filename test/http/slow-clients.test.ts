import { afterEach, expect, it } from 'vitest';
import { expectRecord } from './expect-record.ts';
import { fakeGateway, startServer, type TestServer } from './fake-gateway.ts';
import { RawConnection } from './raw-connection.ts';

/** An answer that no buffer of a kernel takes whole. */
const LARGE = JSON.stringify({ padding: 'x'.repeat(12_000_000) });
const gateway = fakeGateway({ list_cards: async () => ({ status: 200, body: LARGE }) });

let started: TestServer | undefined;
const open: RawConnection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) connection.close();
  await started?.server.close();
  started = undefined;
});

async function connect(port: number): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  open.push(connection);
  return connection;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

it('a caller who takes no answer is cut off, and gives back its place among the requests in flight', async () => {
  started = await startServer(gateway, { settings: { inFlightMost: 1, takeWithin_ms: 1_000 } });
  const { port } = started;
  const stalled = await connect(port);
  stalled.socket.pause();
  stalled.send(get('/api/v0.1/core/card'));
  const ask = async () => {
    const connection = await connect(port);
    connection.send(get('/'));
    return connection.next();
  };
  await expect.poll(async () => (await ask()).status, { timeout: 10_000 }).toBe(503);
  expectRecord(await ask(), 503, 'service_unavailable');
  await expect.poll(async () => (await ask()).status, { timeout: 10_000 }).toBe(200);
  // What had left before reaches it, and no more.
  stalled.socket.resume();
  await stalled.rest();
  expect(stalled.received.length).toBeLessThan(LARGE.length);
});

it('a caller who takes an answer slowly gets all of it', async () => {
  started = await startServer(gateway, { settings: { takeWithin_ms: 20_000 } });
  const slow = await connect(started.port);
  slow.socket.pause();
  slow.send(get('/api/v0.1/core/card'));
  const taking = setInterval(() => {
    slow.socket.resume();
    setTimeout(() => slow.socket.pause(), 5);
  }, 10);
  try {
    expect((await slow.next()).body).toBe(LARGE);
  } finally {
    clearInterval(taking);
  }
});
