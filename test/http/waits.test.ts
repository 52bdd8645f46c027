import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../domain/refusal.ts';
import type { AnyReply, WaitReply } from '../../server/calls/call.ts';
import type { HttpOptions } from '../../server/http/server.ts';
import { expectRecord, messageOf } from '../harness/expect-record.ts';
import { fakeGateway, serve } from '../harness/http-server.ts';
import { bare } from '../harness/raw-connection.ts';

const WAIT = bare('GET', '/api/v0.1/core/event?after=1&wait=25');
const NEWS = '{"news":true}';
const NOTHING = '{"news":false}';

/** News that requests wait for. The test decides when it comes. */
class News {
  readonly #wakes = new Set<() => void>();
  resumed = 0;
  /** Returns the reply after the wait, if it is not NEWS. */
  next: ((again: WaitReply) => Promise<AnyReply>) | undefined = undefined;

  get waiting(): number {
    return this.#wakes.size;
  }

  come(): void {
    for (const wake of this.#wakes) wake();
  }

  readonly reply = (): WaitReply => ({
    wait: {
      forNews: (signal) =>
        new Promise((resolve) => {
          const end = (): void => {
            this.#wakes.delete(end);
            resolve();
          };
          this.#wakes.add(end);
          signal.addEventListener('abort', end);
        }),
      resume: async (isOver) => {
        this.resumed += 1;
        if (isOver) return { json: NOTHING };
        return this.next === undefined ? { json: NEWS } : this.next(this.reply());
      },
    },
  });
}

function serveNews(news: News, settings: HttpOptions['settings'] = {}, keys: { isValid: boolean } = { isValid: true }) {
  const plain = fakeGateway();
  const gateway = fakeGateway(
    { list_events: async () => news.reply() },
    {
      authenticate: async (key, deadline) => {
        if (!keys.isValid) throw new Refusal('unauthenticated', 'The API key was revoked.');
        return plain.authenticate(key, deadline);
      },
    },
  );
  return serve(gateway, { settings });
}

it('responds to a waiting request when the news comes', async () => {
  const news = new News();
  const started = await serveNews(news);
  const connection = await started.connect(WAIT);
  await expect.poll(() => news.waiting).toBe(1);
  news.come();
  expect(await connection.next()).toMatchObject({ status: 200, body: NEWS });
  connection.send(WAIT);
  await expect.poll(() => news.waiting).toBe(1);
  news.come();
  expect((await connection.next()).body).toBe(NEWS);
  expect(started.reports).toEqual([]);
});

it('waits again if the news was for another request', async () => {
  const news = new News();
  const started = await serveNews(news);
  const connection = await started.connect(WAIT);
  news.next = async (again) => again;
  for (let times = 1; times <= 3; times += 1) {
    await expect.poll(() => news.waiting).toBe(1);
    news.come();
    await expect.poll(() => news.resumed).toBe(times);
  }
  await expect.poll(() => news.waiting).toBe(1);
  news.next = undefined;
  news.come();
  expect((await connection.next()).body).toBe(NEWS);
});

it('does not count a waiting request as load or as late, and gives it no deadline', async () => {
  const news = new News();
  const started = await serveNews(news, {
    maxRequestsInFlight: 1,
    lateAfterMilliseconds: 1,
    maxLateRequests: 0,
    operationTimeoutMilliseconds: 50,
    operationGraceMilliseconds: 5,
  });
  const waiting = await Promise.all([1, 2, 3].map(() => started.connect(WAIT)));
  await expect.poll(() => news.waiting).toBe(3);
  // Twice the interval at which the service counts late requests and abandons overdue ones.
  await delay(250);
  for (let count = 0; count < 5; count += 1) expect((await started.ask(bare('GET', '/'))).status).toBe(200);
  news.come();
  for (const connection of waiting) expect((await connection.next()).body).toBe(NEWS);
});

it('sets a new deadline for reading after the wait', async () => {
  const news = new News();
  const started = await serveNews(news, { operationTimeoutMilliseconds: 50, operationGraceMilliseconds: 5 });
  const connection = await started.connect(WAIT);
  await expect.poll(() => news.waiting).toBe(1);
  news.next = () => new Promise(() => undefined);
  news.come();
  expectRecord(await connection.next(), 500, 'unknown_list_events');
});

it('sends an error record for a failure after the wait', async () => {
  const news = new News();
  const started = await serveNews(news);
  const connection = await started.connect(WAIT);
  await expect.poll(() => news.waiting).toBe(1);
  news.next = () => Promise.reject(new Error('secret'));
  news.come();
  expectRecord(await connection.next(), 500, 'unknown_list_events');
});

it('reads nothing with a key that was revoked during the wait', async () => {
  const news = new News();
  const keys = { isValid: true };
  const started = await serveNews(news, {}, keys);
  const connection = await started.connect(WAIT.replace('\r\n\r\n', '\r\nAuthorization: Bearer program\r\n\r\n'));
  await expect.poll(() => news.waiting).toBe(1);
  keys.isValid = false;
  news.come();
  expectRecord(await connection.next(), 401, 'unauthenticated');
  expect(news.resumed).toBe(0);
});

it('does not wait for HEAD', async () => {
  const news = new News();
  const started = await serveNews(news);
  const { status, headers } = await started.ask(WAIT.replace('GET', 'HEAD'), 'HEAD');
  expect([status, headers.get('content-length')]).toEqual([200, String(NOTHING.length)]);
});

it('forgets a caller that disconnects, and responds to a caller that half-closes', async () => {
  const news = new News();
  const started = await serveNews(news);
  const [closed, halfClosed] = [await started.connect(WAIT), await started.connect(WAIT)];
  await expect.poll(() => news.waiting).toBe(2);
  closed.close();
  await expect.poll(() => news.waiting).toBe(1);
  halfClosed.socket.end();
  expect((await halfClosed.next()).body).toBe(NOTHING);
});

it('lets a card program have at most 100 waiting requests', async () => {
  const news = new News();
  const started = await serveNews(news);
  const waiting = await Promise.all(Array.from({ length: 100 }, () => started.connect(WAIT)));
  await expect.poll(() => news.waiting).toBe(100);
  const refused = await started.ask(WAIT);
  expectRecord(refused, 429, 'rate_limited');
  expect(messageOf(refused)).toContain('already has 100 requests that wait for events.');
  news.come();
  for (const connection of waiting) expect((await connection.next()).body).toBe(NEWS);
  const again = await started.connect(WAIT);
  await expect.poll(() => news.waiting).toBe(1);
  news.come();
  expect((await again.next()).status).toBe(200);
});

describe('a service that stops', () => {
  it('ends current and new waits at once', async () => {
    const news = new News();
    const started = await serveNews(news, {
      maxDrainMilliseconds: 600_000,
      drainGraceMilliseconds: 600_000,
      drainQuietMilliseconds: 10_000,
    });
    const connection = await started.connect(WAIT);
    await expect.poll(() => news.waiting).toBe(1);
    const closed = started.server.close();
    const response = await connection.next();
    expect([response.status, response.body, response.headers.get('connection')]).toEqual([200, NOTHING, 'close']);
    expect((await started.ask(WAIT)).body).toBe(NOTHING);
    await closed;
    expect(started.reports).toEqual([]);
  });
});
