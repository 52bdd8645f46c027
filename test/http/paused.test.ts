import { expect, it } from 'vitest';
import { expectRecord } from '../harness/expect-record.ts';
import { fakeGateway, serve } from '../harness/http-server.ts';
import { bare, post } from '../harness/raw-connection.ts';

/**
 * Stops the whole process, like SIGSTOP or a paused machine. No timer runs and no socket is read. Bytes sent before the
 * pause wait in the sockets. The timeouts in this file leave a busy machine five seconds for the work before the pause.
 */
function pauseProcess(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

const TRANSFER = post('{"amount":1,"card_id":"c"}');

it('serves a request that arrives on a kept connection while the process is stopped', async () => {
  const settings = { keepAliveTimeoutMilliseconds: 5_000, keepAliveBufferMilliseconds: 1_000 };
  const { connect } = await serve(fakeGateway(), { settings });
  const kept = await Promise.all(Array.from({ length: 5 }, () => connect(TRANSFER)));
  for (const connection of kept) expect((await connection.next()).status).toBe(201);
  for (const connection of kept) connection.send(TRANSFER);
  pauseProcess(6_300);
  for (const connection of kept) expect((await connection.next()).status).toBe(201);
});

it.each([
  ['head', 40],
  ['body', 5],
])(
  'before the request times out, reads the rest of a %s that arrived while the process was stopped',
  async (_, rest) => {
    const settings = {
      headTimeoutMilliseconds: 5_000,
      requestTimeoutMilliseconds: 5_000,
      timeoutCheckIntervalMilliseconds: 50,
    };
    const { ask, connect } = await serve(fakeGateway(), { settings });
    const slow = await connect(TRANSFER.slice(0, -rest));
    // By the time another request gets its response, the server has read the first part.
    await ask(bare('GET', '/health/live'));
    slow.send(TRANSFER.slice(-rest));
    pauseProcess(5_400);
    expect((await slow.next()).status).toBe(201);
  },
);

it('times out a request that keeps arriving and never ends', async () => {
  const settings = {
    headTimeoutMilliseconds: 2_000,
    requestTimeoutMilliseconds: 2_000,
    timeoutCheckIntervalMilliseconds: 50,
  };
  const { connect } = await serve(fakeGateway(), { settings });
  const slow = await connect(TRANSFER.slice(0, 20));
  const dripping = setInterval(() => slow.send('x'), 5);
  const response = await slow.next().finally(() => clearInterval(dripping));
  expectRecord(response, 408, 'request_timeout');
});

it('uses a database response that arrives while the process is stopped', async () => {
  const { promise, resolve } = Promise.withResolvers<{ json: string }>();
  const settings = { operationTimeoutMilliseconds: 5_000, operationGraceMilliseconds: 100 };
  const { ask, connect } = await serve(fakeGateway({ list_cards: () => promise }), { settings });
  const waiting = await connect(bare('GET', '/api/v0.1/core/card'));
  await ask(bare('GET', '/health/live'));
  // The response waits in a socket of this process, and is read in the first turn after the pause.
  const responding = await connect();
  responding.socket.once('data', () => resolve({ json: '{}' }));
  responding.send(bare('GET', '/health/live'));
  pauseProcess(6_500);
  expect((await waiting.next()).status).toBe(200);
});
