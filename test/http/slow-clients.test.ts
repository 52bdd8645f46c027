import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { fakeGateway, nextTaken, startServer, type TestServer } from '../harness/http-server.ts';
import { RawConnection } from '../harness/raw-connection.ts';

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

/** A caller that takes nothing, and the server's side of its connection. */
type Stalled = { readonly caller: RawConnection; readonly answering: Socket };

/** Asks for a large answer and takes nothing of it. */
async function stall(port: number): Promise<Stalled> {
  const taken = nextTaken();
  const caller = await connect(port);
  caller.socket.pause();
  caller.send(get('/api/v0.1/core/card'));
  return { caller, answering: await taken };
}

const isCutOff = ({ answering }: Stalled): boolean => answering.destroyed;

/** What has left reaches a stalled caller, and no more: true when it was not all. */
async function gotTooLittle({ caller }: Stalled): Promise<boolean> {
  caller.socket.resume();
  await caller.rest();
  return caller.received.length < LARGE.length;
}

it('callers who take no answer keep nobody out, whatever their number', async () => {
  started = await startServer(gateway, { settings: { maxRequestsInFlight: 2, readTimeoutMilliseconds: 600_000 } });
  const { port } = started;
  const stalled: Stalled[] = [];
  for (let count = 0; count < 5; count += 1) stalled.push(await stall(port));
  const ask = async () => {
    const connection = await connect(port);
    connection.send(get('/'));
    return connection.next();
  };
  await expect.poll(async () => (await ask()).status).toBe(200);
  for (let times = 0; times < 20; times += 1) expect((await ask()).status).toBe(200);
  expect(stalled.filter(isCutOff)).toEqual([]);
});

it('callers who take no answer are cut off when their time is over', async () => {
  started = await startServer(gateway, { settings: { readTimeoutMilliseconds: 500 } });
  const stalled: Stalled[] = [];
  for (let count = 0; count < 5; count += 1) stalled.push(await stall(started.port));
  await expect.poll(() => stalled.every(isCutOff)).toBe(true);
  expect(await Promise.all(stalled.map(gotTooLittle))).toEqual([true, true, true, true, true]);
});

it('there is little patience with callers who take no answer when they are many', async () => {
  const settings = { readTimeoutMilliseconds: 600_000, maxUnreadResponses: 2, crowdedReadTimeoutMilliseconds: 500 };
  started = await startServer(gateway, { settings });
  const { port } = started;
  const few = [await stall(port), await stall(port)];
  // Twice the time that they would have in a crowd.
  await wait(1_000);
  expect(few.filter(isCutOff)).toEqual([]);
  const third = await stall(port);
  await expect.poll(() => few.every(isCutOff)).toBe(true);
  expect(await Promise.all(few.map(gotTooLittle))).toEqual([true, true]);
  // By then it was alone.
  expect(await gotTooLittle(third)).toBe(false);
});

it('a caller who takes an answer slowly gets all of it', async () => {
  started = await startServer(gateway, { settings: { readTimeoutMilliseconds: 600_000 } });
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
