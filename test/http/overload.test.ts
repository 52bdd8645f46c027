import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AdmissionQueue } from '../../server/http/admission/overload.ts';
import type { Reply } from '../../server/operations/call.ts';
import { expectRecord } from '../harness/expect-record.ts';
import { fakeGateway, startServer, type TestServer } from '../harness/http-server.ts';
import { type RawAnswer, RawConnection } from '../harness/raw-connection.ts';

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

async function ask(port: number, path: string): Promise<RawAnswer> {
  const connection = await connect(port);
  connection.send(get(path));
  return connection.next();
}

/** An operation that waits until it is let go. */
function held(): { readonly gateway: ReturnType<typeof fakeGateway>; readonly letGo: () => void } {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const gateway = fakeGateway({ list_cards: () => promise });
  return { gateway, letGo: () => resolve({ status: 200, body: '{"held":true}' }) };
}

it('sheds when requests wait too long, serves those that were accepted, and takes more when they are done', async () => {
  const { gateway, letGo } = held();
  started = await startServer(gateway, { settings: { lateAfterMilliseconds: 50, maxLateRequests: 2 } });
  const { port } = started;
  const waiting = await Promise.all([1, 2, 3].map(() => connect(port)));
  for (const connection of waiting) connection.send(get('/api/v0.1/core/card'));
  await expect.poll(async () => (await ask(port, '/')).status).toBe(503);
  const refused = await ask(port, '/api/v0.1/core/transfer');
  expectRecord(refused, 503, 'service_unavailable');
  expect([refused.headers.get('retry-after'), refused.headers.get('should-retry')]).toEqual(['1', 'true']);
  expect((await ask(port, '/health/live')).status).toBe(200);
  // What HTTP/1.0 cannot frame ends its connection whatever it is answered: what follows is no request.
  const smuggler = await connect(port);
  const head = 'POST / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n';
  smuggler.send(`${head}0\r\n\r\n${get('/health/live')}`);
  expect((await smuggler.next()).status).toBe(503);
  expect(await smuggler.rest()).toBe('');
  letGo();
  for (const connection of waiting) expect((await connection.next()).body).toBe('{"held":true}');
  await expect.poll(async () => (await ask(port, '/')).status).toBe(200);
});

describe('the intake', () => {
  const nextTurn = () => new Promise((turn) => setImmediate(turn));
  /** The time that passes is what a test says: a portion is one of a moment. */
  let now_ms = 0;
  const pass = (time_ms: number) => {
    now_ms += time_ms;
  };
  beforeEach(() => {
    now_ms = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now_ms);
  });
  afterEach(() => void vi.restoreAllMocks());
  /** Takes in requests with these numbers, and gives what has become of them so far, in its order. */
  const takeInto = (intake: AdmissionQueue, told: string[], ...numbers: readonly number[]) => {
    for (const number of numbers) {
      intake.take(
        () => told.push(`begun ${number}`),
        () => told.push(`refused ${number}`),
      );
    }
  };
  const upTo = (count: number) => Array.from({ length: count }, (_, number) => number);

  it('begins a portion at once and the others turn by turn, in the order in which they came', async () => {
    const told: string[] = [];
    const intake = new AdmissionQueue(60_000);
    takeInto(intake, told, ...upTo(200));
    expect(told.length).toBe(64);
    for (const count of [128, 192]) {
      await nextTurn();
      expect(told.length).toBe(count);
    }
    // Who comes while others wait comes after them.
    takeInto(intake, told, 200);
    expect(told.length).toBe(192);
    await nextTurn();
    expect(told).toEqual(upTo(201).map((number) => `begun ${number}`));
  });

  it('takes whoever comes alone at once, however many came before', async () => {
    const told: string[] = [];
    const intake = new AdmissionQueue(60_000);
    for (const number of upTo(300)) {
      takeInto(intake, told, number);
      expect(told.length).toBe(number + 1);
      if (number % 60 === 59) pass(25);
    }
  });

  it('refuses who has waited for too long, when the turn comes', async () => {
    const told: string[] = [];
    const intake = new AdmissionQueue(20);
    takeInto(intake, told, ...upTo(66));
    pass(30);
    await nextTurn();
    expect(told.slice(64)).toEqual(['refused 64', 'refused 65']);
  });

  it('lets go of what has had its turn while a crowd never ends', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const intake = new AdmissionQueue(60_000);
    const freed = new Set<number>();
    const registry = new FinalizationRegistry<number>((number) => freed.add(number));
    const takeRequest = (number: number): void => {
      const request = { number };
      registry.register(request, number);
      intake.take(
        () => void request.number,
        () => undefined,
      );
    };
    let count = 0;
    // More come in each turn than one begins, until some hundred wait; then as many, so that the crowd never ends meanwhile.
    for (let turn = 0; turn < 2_000 && freed.size <= 1_000; turn += 1) {
      for (let number = 0; number < (turn < 10 ? 80 : 64); number += 1) takeRequest(count++);
      await nextTurn();
      if (turn % 50 === 49) collectGarbage();
    }
    expect(freed.size).toBeGreaterThan(1_000);
  });
});

it.each([
  ['', {}],
  [
    ', and is not refused for having waited: it asks how the service does',
    { lateAfterMilliseconds: 0, maxLateRequests: 1_000 },
  ],
])('a crowd that comes at once is answered, each of it, and whoever waits is served between%s', async (_, settings) => {
  const { gateway, letGo } = held();
  started = await startServer(gateway, { settings });
  const { port } = started;
  const waiting = await connect(port);
  waiting.send(get('/api/v0.1/core/card'));
  const crowd = await Promise.all(Array.from({ length: 500 }, () => connect(port)));
  for (const connection of crowd) connection.send(get('/health/live'));
  letGo();
  expect((await waiting.next()).body).toBe('{"held":true}');
  for (const connection of crowd) expect((await connection.next()).status).toBe(200);
});
