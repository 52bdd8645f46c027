import { afterEach, expect, it } from 'vitest';
import { expectRecord } from '../harness/expect-record.ts';
import { fakeGateway, startServer, type TestServer } from '../harness/http-server.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { bare, post } from './cases.ts';

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

/**
 * Stops the whole process, as SIGSTOP or a paused machine does: neither timers run nor sockets are read. What was sent
 * before lies in the sockets.
 */
function pauseProcess(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

const TRANSFER = post('{"amount":1,"card_id":"c"}');
/** Node adds a second of its own to the time that it keeps connections. */
const LONGER_THAN_KEEP_ALIVE_MS = 3_300;

it('a request that arrives on a kept connection while the process is stopped is served', async () => {
  started = await startServer(fakeGateway(), { settings: { keepAliveTimeoutMilliseconds: 2_000 } });
  const kept = await Promise.all(Array.from({ length: 5 }, () => connect(started?.port ?? 0)));
  for (const connection of kept) {
    connection.send(TRANSFER);
    expect((await connection.next()).status).toBe(200);
  }
  for (const connection of kept) connection.send(TRANSFER);
  pauseProcess(LONGER_THAN_KEEP_ALIVE_MS);
  for (const connection of kept) expect((await connection.next()).status).toBe(200);
});

it('a kept connection on which nothing arrives is closed after its time', async () => {
  started = await startServer(fakeGateway(), { settings: { keepAliveTimeoutMilliseconds: 100 } });
  const kept = await connect(started.port);
  kept.send(TRANSFER);
  expect((await kept.next()).status).toBe(200);
  expect(await kept.rest()).toBe('');
});

it.each([
  ['head', 40],
  ['body', 5],
])(
  'the rest of a %s that arrives while the process is stopped is read before the request times out',
  async (_, rest) => {
    const settings = {
      headTimeoutMilliseconds: 2_000,
      requestTimeoutMilliseconds: 2_000,
      timeoutCheckIntervalMilliseconds: 50,
    };
    started = await startServer(fakeGateway(), { settings });
    const { port } = started;
    const slow = await connect(port);
    slow.send(TRANSFER.slice(0, -rest));
    // The first part has been read by the time that another request is answered.
    const other = await connect(port);
    other.send(bare('GET', '/health/live'));
    await other.next();
    slow.send(TRANSFER.slice(-rest));
    pauseProcess(2_400);
    expect((await slow.next()).status).toBe(200);
  },
);

it('a request of which never more than a part arrives is refused, however often the process is stopped', async () => {
  const settings = {
    headTimeoutMilliseconds: 2_000,
    requestTimeoutMilliseconds: 2_000,
    timeoutCheckIntervalMilliseconds: 50,
  };
  started = await startServer(fakeGateway(), { settings });
  const slow = await connect(started.port);
  slow.send(TRANSFER.slice(0, 20));
  const dripping = setInterval(() => slow.send('x'), 5);
  const answer = await slow.next().finally(() => clearInterval(dripping));
  expectRecord(answer, 408, 'request_timeout');
});

it('a response of the database that arrived while the process was stopped is not given up', async () => {
  const { promise, resolve } = Promise.withResolvers<{ status: 200; body: string }>();
  const settings = { operationTimeoutMilliseconds: 2_000, operationGraceMilliseconds: 100 };
  started = await startServer(fakeGateway({ list_cards: () => promise }), { settings });
  const { port } = started;
  const waiting = await connect(port);
  waiting.send(bare('GET', '/api/v0.1/core/card'));
  const other = await connect(port);
  other.send(bare('GET', '/health/live'));
  await other.next();
  // The response lies in a socket of this process, and is read in the first turn after the pause.
  const responding = await connect(port);
  responding.socket.once('data', () => resolve({ status: 200, body: '{}' }));
  responding.send(bare('GET', '/health/live'));
  pauseProcess(3_500);
  expect((await waiting.next()).status).toBe(200);
});
