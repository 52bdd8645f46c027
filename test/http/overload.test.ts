import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnyReply } from '../../server/calls/call.ts';
import { AdmissionQueue } from '../../server/http/admission/overload.ts';
import { expectRecord } from '../harness/expect-record.ts';
import { fakeGateway, serve } from '../harness/http-server.ts';
import { bare } from '../harness/raw-connection.ts';

const LIST = bare('GET', '/api/v0.1/core/card');
const LIVE = bare('GET', '/health/live');

/** Returns a gateway whose list_cards waits until `release` is called. */
function held() {
  const { promise, resolve } = Promise.withResolvers<AnyReply>();
  const gateway = fakeGateway({ list_cards: () => promise });
  return { gateway, release: () => resolve({ json: '{"held":true}' }) };
}

it('sheds load when requests wait too long, serves those it has accepted, and then accepts requests again', async () => {
  const { gateway, release } = held();
  const { ask, connect } = await serve(gateway, { settings: { lateAfterMilliseconds: 50, maxLateRequests: 2 } });
  const waiting = await Promise.all([1, 2, 3].map(() => connect(LIST)));
  await expect.poll(async () => (await ask(bare('GET', '/'))).status).toBe(503);
  const refused = await ask(bare('GET', '/api/v0.1/core/transfer'));
  expectRecord(refused, 503, 'service_unavailable');
  expect([refused.headers.get('retry-after'), refused.headers.get('should-retry')]).toEqual(['1', 'true']);
  expect((await ask(LIVE)).status).toBe(200);
  // HTTP/1.0 has no chunks, so the connection ends after the response, and the remaining bytes are not read as a
  // request.
  const smuggler = await connect();
  const head = 'POST / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n';
  smuggler.send(`${head}0\r\n\r\n${LIVE}`);
  expect((await smuggler.next()).status).toBe(503);
  expect(await smuggler.rest()).toBe('');
  release();
  for (const connection of waiting) expect((await connection.next()).body).toBe('{"held":true}');
  await expect.poll(async () => (await ask(bare('GET', '/'))).status).toBe(200);
});

describe('the admission queue', () => {
  const nextTurn = () => new Promise((turn) => setImmediate(turn));
  /** The tests set the clock, so requests that arrive between two changes arrive at the same moment. */
  let nowMilliseconds = 0;
  const pass = (milliseconds: number) => {
    nowMilliseconds += milliseconds;
  };
  beforeEach(() => {
    nowMilliseconds = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => nowMilliseconds);
  });
  afterEach(() => void vi.restoreAllMocks());
  /** Adds requests with these numbers. Their outcomes are appended to `events` in order. */
  const takeInto = (queue: AdmissionQueue, events: string[], ...numbers: readonly number[]) => {
    for (const number of numbers) {
      queue.take(
        () => events.push(`begun ${number}`),
        () => events.push(`refused ${number}`),
      );
    }
  };
  const upTo = (count: number) => Array.from({ length: count }, (_, number) => number);

  it('begins 64 requests at once and all others in later turns, in order of arrival', async () => {
    const events: string[] = [];
    const queue = new AdmissionQueue(60_000);
    takeInto(queue, events, ...upTo(200));
    expect(events.length).toBe(64);
    for (const count of [128, 192]) {
      await nextTurn();
      expect(events.length).toBe(count);
    }
    // A request that arrives while others wait begins after them.
    takeInto(queue, events, 200);
    expect(events.length).toBe(192);
    await nextTurn();
    expect(events).toEqual(upTo(201).map((number) => `begun ${number}`));
  });

  it('begins a lone request at once, even after many others', async () => {
    const events: string[] = [];
    const queue = new AdmissionQueue(60_000);
    for (const number of upTo(300)) {
      takeInto(queue, events, number);
      expect(events.length).toBe(number + 1);
      if (number % 60 === 59) pass(25);
    }
  });

  it('refuses a request that has waited too long when its turn comes', async () => {
    const events: string[] = [];
    const queue = new AdmissionQueue(20);
    takeInto(queue, events, ...upTo(66));
    pass(30);
    await nextTurn();
    expect(events.slice(64)).toEqual(['refused 64', 'refused 65']);
  });

  it('frees the memory of finished requests even if the queue is never empty', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const queue = new AdmissionQueue(60_000);
    const freed = new Set<number>();
    const registry = new FinalizationRegistry<number>((number) => freed.add(number));
    const takeRequest = (number: number): void => {
      const request = { number };
      registry.register(request, number);
      queue.take(
        () => void request.number,
        () => undefined,
      );
    };
    let count = 0;
    // At first, more requests arrive per turn than begin, until a few hundred are waiting. After that, as many arrive
    // as begin, so the queue is never empty.
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
  [', even if late requests are refused', { lateAfterMilliseconds: 0, maxLateRequests: 1_000 }],
])('serves 500 simultaneous health checks and a request that was already waiting%s', async (_, settings) => {
  const { gateway, release } = held();
  const { connect } = await serve(gateway, { settings });
  const waiting = await connect(LIST);
  const crowd = await Promise.all(Array.from({ length: 500 }, () => connect()));
  for (const connection of crowd) connection.send(LIVE);
  release();
  expect((await waiting.next()).body).toBe('{"held":true}');
  for (const connection of crowd) expect((await connection.next()).status).toBe(200);
});
