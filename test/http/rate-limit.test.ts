import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { RefusedCredential } from '../../server/calls/call.ts';
import { callerAddress, RateLimiter } from '../../server/http/admission/rate-limiter.ts';
import type { HttpSettings } from '../../server/http/settings.ts';
import { expectRecord } from '../harness/expect-record.ts';
import { fakeGateway, serve as startServer } from '../harness/http-server.ts';
import { bare, type RawResponse } from '../harness/raw-connection.ts';

describe('the rate limit of a caller', () => {
  it("allows a burst of ten seconds' worth of requests, and then the rate", () => {
    const limiter = new RateLimiter(2);
    const start = 1_000_000;
    for (let count = 0; count < 20; count += 1) {
      expect(limiter.take('a', start)).toMatchObject({ isRefused: false, remaining: 19 - count, waitMilliseconds: 0 });
    }
    expect(limiter.take('a', start)).toEqual({
      isRefused: true,
      remaining: 0,
      fullAfterMilliseconds: 10_000,
      waitMilliseconds: 500,
    });
    expect(limiter.take('a', start + 499)).toMatchObject({ isRefused: true, waitMilliseconds: 1 });
    expect(limiter.take('a', start + 500)).toMatchObject({ isRefused: false, remaining: 0 });
    expect(limiter.take('a', start + 501)).toMatchObject({ isRefused: true });
    expect(limiter.take('b', start + 501)).toMatchObject({ isRefused: false, remaining: 19 });
    expect(limiter.take('a', start + 10_500)).toMatchObject({ isRefused: false, remaining: 19 });
  });

  it('never allows more than the quota plus the rate', () => {
    for (const rate of [1, 7, 1000]) {
      const limiter = new RateLimiter(rate);
      let now = 5;
      let taken = 0;
      for (let turn = 0; turn < 50_000; turn += 1) {
        now += (turn * 7919) % 11 === 0 ? 3 : 0;
        if (!limiter.take('a', now).isRefused) taken += 1;
      }
      const allowed = limiter.quota + ((now - 5) / 1000) * rate;
      expect(taken).toBeLessThanOrEqual(allowed);
      expect(taken).toBeGreaterThan(Math.min(50_000, allowed) - 5);
    }
  });

  it('charges nothing for a refused request, and refuses requests until a large charge is paid off', () => {
    const limiter = new RateLimiter(1);
    limiter.charge('a', 1_000, 0);
    for (let count = 0; count < 100; count += 1)
      expect(limiter.take('a', 0)).toMatchObject({ isRefused: true, remaining: 0, waitMilliseconds: 991_000 });
    // The debt remains even if the memory begins new generations in the meantime, with or without calls.
    for (let at = 5_000; at < 991_000; at += 7_000) limiter.take('other', at);
    expect(limiter.take('a', 990_999)).toMatchObject({ isRefused: true, waitMilliseconds: 1 });
    expect(limiter.take('a', 991_000)).toMatchObject({ isRefused: false });
    expect(limiter.charge('b', 9, 1_000_000)).toMatchObject({ remaining: 1 });
    expect(limiter.take('b', 1_000_000)).toMatchObject({ isRefused: false, remaining: 0 });
    expect(limiter.take('b', 1_000_000)).toMatchObject({ isRefused: true });
  });

  it('allows requests that cost a hundred at a hundredth of the rate', () => {
    const limiter = new RateLimiter(1_000);
    let taken = 0;
    for (let now = 5; now < 100_000; now += 1) {
      if (limiter.take('a', now).isRefused) continue;
      taken += 1;
      limiter.charge('a', 99, now);
    }
    expect(taken).toBeGreaterThan(1_095);
    expect(taken).toBeLessThan(1_105);
  });

  it('is remembered across generations of the memory until the allowance is full again', () => {
    const limiter = new RateLimiter(1);
    for (let count = 0; count < 10; count += 1) limiter.take('a', 9_000);
    expect(limiter.take('a', 10_000 - 1).isRefused).toBe(true);
    for (let at = 10_000; at < 60_000; at += 100) limiter.take(`other ${at}`, at);
    expect(limiter.size).toBeLessThanOrEqual(200);
    expect(limiter.take('a', 60_000)).toMatchObject({ isRefused: false, remaining: 9 });
  });

  it('is still exhausted when a new generation of the memory begins', () => {
    const limiter = new RateLimiter(1);
    limiter.take('early', 20_000);
    for (let count = 0; count < 10; count += 1) limiter.take('a', 29_999);
    expect(limiter.take('a', 30_001).isRefused).toBe(true);
    expect(limiter.take('a', 31_000).isRefused).toBe(false);
  });

  it('takes bounded memory for any number of callers', () => {
    const limiter = new RateLimiter(1, 1_000);
    for (let count = 0; count < 100_000; count += 1) {
      limiter.take(`caller ${count}`, count);
      limiter.charge(`caller ${count}`, 1_000, count);
    }
    expect(limiter.size).toBeLessThanOrEqual(2_000);
  });
});

describe('the address of a caller', () => {
  it.each([
    ['192.0.2.7', undefined, 0, '192.0.2.7'],
    ['::ffff:192.0.2.7', undefined, 0, '192.0.2.7'],
    ['192.0.2.7', '198.51.100.1', 0, '192.0.2.7'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.1', 1, '198.51.100.1'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.1, 10.0.0.2', 2, '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1', 2, '10.0.0.1'],
    ['10.0.0.1', 'unknown', 1, '10.0.0.1'],
    ['10.0.0.1', '', 1, '10.0.0.1'],
    ['10.0.0.1', '2001:db8:1:2:3:4:5:6', 1, '2001:db8:1:2::/64'],
    ['2001:db8::1', undefined, 0, '2001:db8:0:0::/64'],
    ['2001:0db8:0000:0000:ffff::1', undefined, 0, '2001:db8:0:0::/64'],
    ['::1', undefined, 0, '0:0:0:0::/64'],
    [undefined, undefined, 0, 'unknown'],
  ])(
    'for a connection from %s with X-Forwarded-For: %s behind %i proxies is %s',
    (connected, forwarded, proxies, expected) => {
      expect(callerAddress(connected, forwarded, proxies)).toBe(expected);
    },
  );
});

describe('a server with limits', () => {
  afterEach(() => void vi.restoreAllMocks());

  /** Starts a server on a stopped clock, so that no allowance grows while a test uses it up. */
  async function serve(settings: Partial<HttpSettings>) {
    const refused: RefusedCredential[] = [];
    const onRefusedCredential = (one: RefusedCredential): void => void refused.push(one);
    vi.restoreAllMocks();
    const server = await startServer(fakeGateway({}, { keyless: false, onRefusedCredential }), { settings });
    vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const ask = (headers: readonly string[] = [], method = 'GET', path = '/api/v0.1/core/transfer') =>
      server.ask(bare(method, path, ['Host: localhost', ...headers]), method);
    /** Posts a body to a path under the transfers, with a program key. */
    const send = (path: string, body: string) =>
      server.ask(
        `${bare('POST', `/api/v0.1/core/transfer${path}`, ['Host: localhost', ...PROGRAM, 'Content-Type: application/json', `Content-Length: ${body.length}`])}${body}`,
      );
    return { ask, send, reports: server.reports, refused };
  }
  const times = async (count: number, ask: () => Promise<RawResponse>): Promise<readonly RawResponse[]> => {
    const responses: RawResponse[] = [];
    for (let at = 0; at < count; at += 1) responses.push(await ask());
    return responses;
  };
  const OPERATOR = ['Authorization: Bearer operator', 'Program-Id: prog_01920000000070008000000000000001'];
  const PROGRAM = ['Authorization: Bearer program'];

  it('adds rate limit headers to every response, and refuses requests above the limit', async () => {
    const { ask, reports } = await serve({ addressRatePerSecond: 100, keyRatePerSecond: 1 });
    const [first, ...more] = await times(10, () => ask(OPERATOR));
    expect(first?.status).toBe(200);
    expect(first?.headers.get('ratelimit-policy')).toBe('"address";q=1000;w=10, "key";q=10;w=10');
    expect(first?.headers.get('ratelimit')).toBe('"address";r=999;t=1, "key";r=9;t=1');
    for (const { status } of more) expect(status).toBe(200);
    const refused = await ask(OPERATOR);
    expectRecord(refused, 429, 'rate_limited');
    expect(refused.headers.get('should-retry')).toBe('true');
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('ratelimit')).toMatch(/^"address";r=\d+;t=1, "key";r=0;t=10$/);
    expect(reports.at(-1)).toMatchObject({ code: 'rate_limited', operation: 'list_transfers', status: 429 });
    expect((await ask(PROGRAM)).status).toBe(200);
    expectRecord(await ask(OPERATOR, 'POST'), 429, 'rate_limited');
  });

  it('reports a refused credential with the client address from trusted proxies', async () => {
    const forwarded = ['Authorization: Bearer nonsense', 'X-Forwarded-For: 198.51.100.1, 203.0.113.7'];
    for (const [trustedProxies, address] of [
      [0, '127.0.0.1'],
      [1, '203.0.113.7'],
      [2, '198.51.100.1'],
    ] as const) {
      const { ask, refused } = await serve({ trustedProxies });
      expectRecord(await ask(forwarded), 401, 'unauthenticated');
      expect(refused).toEqual([expect.objectContaining({ address })]);
    }
  });

  it('counts a body by its size, so a batch does not bypass the limit of a key', async () => {
    const { ask, send } = await serve({ keyRatePerSecond: 100 });
    const body = JSON.stringify({ transfers: [{ amount: 1, description: 'x'.repeat(120_000) }] });
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429 && statuses.length < 100) statuses.push((await send('/batch', body)).status);
    // The key may send 1,000 requests at once and 100 more per second. A batch of 120 KB counts as about 118.
    expect(statuses.length).toBeGreaterThanOrEqual(9);
    expect(statuses.length).toBeLessThan(30);
    expect((await ask(OPERATOR)).status).toBe(200);
  });

  it.each([
    ['rows of a batch', '/batch', JSON.stringify({ transfers: Array.from({ length: 901 }, () => ({})) }), 200, 900],
    ['a body that is too large', '', `{"description":"${'x'.repeat(700_000)}"}`, 413, 683],
    ['a body that cannot be read', '', `{"description":${'x'.repeat(15_000)}}`, 400, 14],
  ])('counts %s in the headers of the same response', async (_, path, body, status, counted) => {
    const { send } = await serve({ keyRatePerSecond: 100 });
    const response = await send(path, body);
    expect(response.status).toBe(status);
    const remaining = Number(/"key";r=([0-9]+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
    expect(remaining).toBeLessThanOrEqual(1_000 - counted);
    expect(remaining).toBeGreaterThanOrEqual(1_000 - counted - 4);
  });

  it('checks the address before the key, and the key before the body', async () => {
    const { ask } = await serve({ addressRatePerSecond: 1 });
    for (const { status } of await times(10, () => ask(PROGRAM))) expect(status).toBe(200);
    const refused = await ask(['Authorization: Bearer nonsense']);
    expectRecord(refused, 429, 'rate_limited');
    expect(refused.headers.get('ratelimit-policy')).toBe('"address";q=10;w=10');
    const moved = await ask(PROGRAM, 'POST');
    expectRecord(moved, 429, 'rate_limited');
    expect(moved.headers.get('money-moved')).toBe('no');
  });

  it('counts all requests from an address except health checks', async () => {
    const { ask } = await serve({ addressRatePerSecond: 1 });
    for (const { status } of await times(20, () => ask([], 'GET', '/health/live'))) expect(status).toBe(200);
    expect((await ask([], 'GET', '/health/ready')).headers.has('ratelimit')).toBe(false);
    for (const response of await times(10, () => ask([], 'GET', '/nowhere')))
      expectRecord(response, 404, 'route_not_found');
    for (const path of ['/', '/docs', '/openapi.json', '/errors', '/api/v0.1/core/transfer'])
      expectRecord(await ask([], 'GET', path), 429, 'rate_limited');
    // Faults of the request itself are reported first.
    expectRecord(await ask(['Expect: wonders'], 'GET', '/docs'), 417, 'expectation_failed');
    expectRecord(await ask([], 'GET', '/errors%'), 400, 'malformed_request');
    expectRecord(await ask([], 'GET', '/health/else'), 404, 'route_not_found');
    expectRecord(await ask([], 'DELETE', '/docs'), 405, 'method_not_allowed');
    expect((await ask([], 'GET', '/health/live')).status).toBe(200);
  });

  it.each([
    ['/', 10],
    // This page is rendered for each Host. `test/http/page-cache.test.ts` requests it repeatedly.
    ['/docs', 30],
    ['/errors.json', 10],
    ['/errors?q=amount', 50],
  ])('counts the page %s as %i requests', async (path, counted) => {
    const { ask } = await serve({ addressRatePerSecond: 100 });
    const response = await ask([], 'GET', path);
    expect(response.status).toBe(200);
    const remaining = Number(/"address";r=([0-9]+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
    expect([1_000 - counted, 1_001 - counted]).toContain(remaining);
  });

  it('counts an HTML page for an unknown path as ten requests, and sends JSON instead of it above the limit', async () => {
    const { ask } = await serve({ addressRatePerSecond: 2 });
    const asBrowser = () => ask(['Accept: text/html'], 'GET', '/nowhere');
    for (const left of [10, 0]) {
      const page = await asBrowser();
      expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(page.headers.get('ratelimit')).toMatch(new RegExp(`^"address";r=${left};`));
    }
    const refused = await asBrowser();
    expectRecord(refused, 404, 'route_not_found');
    expect(refused.headers.get('vary')).toBe('Accept');
  });

  it('counts a wrong key as ten requests', async () => {
    const { ask } = await serve({ addressRatePerSecond: 2 });
    const guesses = await times(4, () => ask(['Authorization: Bearer nonsense']));
    expect(guesses.map(({ status }) => status)).toEqual([401, 401, 429, 429]);
    expect(guesses[0]?.headers.get('ratelimit')).toMatch(/^"address";r=1[01];/);
  });

  it('trusts X-Forwarded-For only from the configured number of proxies', async () => {
    const direct = await serve({ addressRatePerSecond: 1 });
    const spoofed = await times(11, () => direct.ask([...PROGRAM, `X-Forwarded-For: 192.0.2.${Math.random()}`]));
    expect(spoofed.at(-1)?.status).toBe(429);
    const behind = await serve({ addressRatePerSecond: 1, trustedProxies: 1 });
    await times(11, () => behind.ask([...PROGRAM, 'X-Forwarded-For: 192.0.2.1']));
    expect((await behind.ask([...PROGRAM, 'X-Forwarded-For: 192.0.2.1'])).status).toBe(429);
    expect((await behind.ask([...PROGRAM, 'X-Forwarded-For: 192.0.2.2'])).status).toBe(200);
    expect((await behind.ask([...PROGRAM, 'X-Forwarded-For: 192.0.2.2, 192.0.2.1'])).status).toBe(429);
  });

  it('adds no headers without limits', async () => {
    const { ask } = await serve({});
    const response = await ask(PROGRAM);
    expect([response.headers.has('ratelimit'), response.headers.has('ratelimit-policy')]).toEqual([false, false]);
  });
});
