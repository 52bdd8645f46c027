import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
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

/** Asks for a large answer and takes nothing of it. */
async function stall(port: number): Promise<RawConnection> {
  const stalled = await connect(port);
  stalled.socket.pause();
  stalled.send(get('/api/v0.1/core/card'));
  return stalled;
}

/** What has left reaches a stalled caller, and no more: true when it was not all. */
async function wasCutOff(stalled: RawConnection): Promise<boolean> {
  stalled.socket.resume();
  await stalled.rest();
  return stalled.received.length < LARGE.length;
}

it('callers who take no answer keep nobody out, whatever their number, and are cut off', async () => {
  started = await startServer(gateway, { settings: { inFlightMost: 2, takeWithin_ms: 4_000 } });
  const { port } = started;
  const stalled = await Promise.all([1, 2, 3, 4, 5].map(() => stall(port)));
  const ask = async () => {
    const connection = await connect(port);
    connection.send(get('/'));
    return connection.next();
  };
  await expect.poll(async () => (await ask()).status, { timeout: 3_000 }).toBe(200);
  for (let times = 0; times < 20; times += 1) expect((await ask()).status).toBe(200);
  await wait(6_000);
  expect(await Promise.all(stalled.map(wasCutOff))).toEqual([true, true, true, true, true]);
}, 20_000);

it('there is little patience with callers who take no answer when they are many', async () => {
  const settings = { takeWithin_ms: 60_000, untakenMost: 2, takeWithinCrowd_ms: 500 };
  started = await startServer(gateway, { settings });
  const { port } = started;
  const few = [await stall(port), await stall(port)];
  await wait(2_000);
  const third = await stall(port);
  await wait(3_000);
  expect(await Promise.all(few.map(wasCutOff))).toEqual([true, true]);
  // By then it was alone.
  expect(await wasCutOff(third)).toBe(false);
}, 20_000);

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
