import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { fakeGateway, type HttpTestServer, nextTaken, serve } from '../harness/http-server.ts';
import { bare, type RawConnection } from '../harness/raw-connection.ts';

/** A response larger than the kernel's buffers. */
const LARGE = JSON.stringify({ padding: 'x'.repeat(12_000_000) });
const gateway = fakeGateway({ list_cards: async () => ({ json: LARGE }) });

const LIST = bare('GET', '/api/v0.1/core/card');

/** A caller that reads nothing, and the server's end of its connection. */
type Stalled = { readonly caller: RawConnection; readonly serverSocket: Socket };

/** Requests a large response and reads none of it. */
async function stall({ connect }: HttpTestServer): Promise<Stalled> {
  const taken = nextTaken();
  const caller = await connect();
  caller.socket.pause();
  caller.send(LIST);
  return { caller, serverSocket: await taken };
}

const isCutOff = ({ serverSocket }: Stalled): boolean => serverSocket.destroyed;

/** Reads everything that the server sent. Returns whether the response is incomplete. */
async function isIncomplete({ caller }: Stalled): Promise<boolean> {
  caller.socket.resume();
  await caller.rest();
  return caller.received.length < LARGE.length;
}

it('does not count a request as in flight while its caller leaves the response unread', async () => {
  const server = await serve(gateway, { settings: { maxRequestsInFlight: 2, readTimeoutMilliseconds: 600_000 } });
  const stalled: Stalled[] = [];
  for (let count = 0; count < 5; count += 1) stalled.push(await stall(server));
  const status = async () => (await server.ask(bare('GET', '/'))).status;
  await expect.poll(status).toBe(200);
  for (let times = 0; times < 20; times += 1) expect(await status()).toBe(200);
  expect(stalled.filter(isCutOff)).toEqual([]);
});

it('disconnects callers that have not read their response by the timeout', async () => {
  const server = await serve(gateway, { settings: { readTimeoutMilliseconds: 500 } });
  const stalled: Stalled[] = [];
  for (let count = 0; count < 5; count += 1) stalled.push(await stall(server));
  await expect.poll(() => stalled.every(isCutOff)).toBe(true);
  expect(await Promise.all(stalled.map(isIncomplete))).toEqual([true, true, true, true, true]);
});

it('uses a shorter timeout while too many responses are unread', async () => {
  const server = await serve(gateway, {
    settings: { readTimeoutMilliseconds: 600_000, maxUnreadResponses: 2, crowdedReadTimeoutMilliseconds: 500 },
  });
  const few = [await stall(server), await stall(server)];
  // Twice the shorter timeout, in small steps, so that the server checks in between even if the machine stalls.
  for (let part = 0; part < 10; part += 1) await wait(100);
  expect(few.filter(isCutOff)).toEqual([]);
  const third = await stall(server);
  await expect.poll(() => few.every(isCutOff)).toBe(true);
  expect(await Promise.all(few.map(isIncomplete))).toEqual([true, true]);
  // By then, the third response was the only unread one.
  expect(await isIncomplete(third)).toBe(false);
});

it('sends the whole response to a caller that reads slowly', async () => {
  const { connect } = await serve(gateway, { settings: { readTimeoutMilliseconds: 600_000 } });
  const slow = await connect();
  slow.socket.pause();
  slow.send(LIST);
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
