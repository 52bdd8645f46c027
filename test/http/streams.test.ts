import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../domain/refusal.ts';
import type { AnyReply, LiveStream } from '../../server/calls/call.ts';
import type { HttpOptions } from '../../server/http/server.ts';
import { expectRecord, messageOf } from '../harness/expect-record.ts';
import {
  DEMO_PROGRAM_ID,
  fakeGateway,
  type HttpTestServer,
  nextTaken,
  OTHER_PROGRAM_ID,
  serve,
} from '../harness/http-server.ts';
import { bare, type RawConnection } from '../harness/raw-connection.ts';

const EVENTS = '/api/v0.1/core/event';
const OPERATOR_EVENTS = '/api/v0.1/operator/event';
const ACCEPT = 'Accept: text/event-stream';
const STREAM = bare('GET', EVENTS, ['Host: localhost', ACCEPT]);
const LIVE = bare('GET', '/health/live');

class Source {
  readonly #texts: string[] = [];
  readonly #wakes = new Set<() => void>();
  reads = 0;
  failure: Error | undefined = undefined;

  give(...texts: readonly string[]): void {
    this.#texts.push(...texts);
    for (const wake of this.#wakes) wake();
  }

  /** The number of readers that are waiting for the next event. */
  get waiting(): number {
    return this.#wakes.size;
  }

  open(): LiveStream {
    return {
      first: 'retry: 1000\nid: 1\n\n',
      read: async () => {
        this.reads += 1;
        if (this.failure !== undefined) throw this.failure;
        return this.#texts.shift() ?? '';
      },
      forNews: (milliseconds, signal) =>
        new Promise((resolve) => {
          const end = (): void => {
            clearTimeout(timer);
            this.#wakes.delete(end);
            resolve();
          };
          const timer = setTimeout(end, milliseconds);
          this.#wakes.add(end);
          if (signal.aborted) end();
          else signal.addEventListener('abort', end);
        }),
      pulse: () => ': still here\n\n',
    };
  }
}

const EVENT = 'id: 2\nevent: card.created\ndata: {}\n\n';

function serveSource(
  source: Source,
  settings: HttpOptions['settings'] = {},
  keys: { isValid: boolean } = { isValid: true },
) {
  const reply = async (): Promise<AnyReply> => ({ stream: source.open() });
  const plain = fakeGateway();
  const gateway = fakeGateway(
    { list_events: reply, search_events: reply },
    {
      authenticate: async (key, deadline) => {
        if (!keys.isValid) throw new Refusal('unauthenticated', 'The API key was revoked.');
        return plain.authenticate(key, deadline);
      },
    },
  );
  return serve(gateway, { settings });
}

/** Waits until the connection has received the text. */
async function until(connection: RawConnection, text: string): Promise<void> {
  await expect.poll(() => connection.received, { timeout: 60_000 }).toContain(text);
}

async function openStream(started: HttpTestServer, request = STREAM): Promise<RawConnection> {
  const connection = await started.connect(request);
  await until(connection, 'id: 1\n\n');
  return connection;
}

describe('a stream', () => {
  it('begins at once, with headers that prevent buffering, and sends new events', async () => {
    const source = new Source();
    const started = await serveSource(source);
    const connection = await openStream(started);
    const head = connection.received.slice(0, connection.received.indexOf('\r\n\r\n')).toLowerCase().split('\r\n');
    expect(head[0]).toBe('http/1.1 200 ok');
    expect(head).toEqual(
      expect.arrayContaining([
        'content-type: text/event-stream',
        'cache-control: no-cache, no-store',
        'x-accel-buffering: no',
        'x-content-type-options: nosniff',
        'transfer-encoding: chunked',
      ]),
    );
    source.give(EVENT);
    await until(connection, EVENT);
    source.give('data: two\n\n', 'data: three\n\n');
    await until(connection, 'data: three\n\n');
    expect(started.reports).toEqual([]);
  });

  it.each([
    ['is sent', 'text/event-stream', true],
    ['is sent', 'application/json, text/event-stream', true],
    ['is not sent', 'text/event-stream;q=0.5, application/json', false],
    ['is not sent', 'text/event-stream;q=0, */*', false],
    ['is not sent', 'application/json', false],
    ['is not sent', '*/*', false],
  ])('%s for Accept: %s', async (_, accept, isStream) => {
    let asked: unknown;
    const started = await serve(
      fakeGateway({
        list_events: async ({ stream }) => {
          asked = stream;
          return { json: '{}' };
        },
      }),
    );
    await started.ask(bare('GET', EVENTS, ['Host: localhost', `Accept: ${accept}`, 'Last-Event-ID: 7']));
    expect(asked).toEqual(isStream ? { lastEventId: '7' } : undefined);
  });

  it('is not sent by other operations', async () => {
    let asked: unknown = 'nothing';
    const started = await serve(
      fakeGateway({
        list_cards: async ({ stream }) => {
          asked = stream;
          return { json: '{}' };
        },
      }),
    );
    await started.ask(bare('GET', '/api/v0.1/core/card', ['Host: localhost', ACCEPT]));
    expect(asked).toBeUndefined();
  });

  it('sends comments while no events arrive', async () => {
    const started = await serveSource(new Source(), { streamPulseMilliseconds: 20 });
    const connection = await openStream(started);
    await expect.poll(() => connection.received.split(': still here').length).toBeGreaterThan(3);
  });

  it('returns only headers for HEAD', async () => {
    const source = new Source();
    const connection = await (await serveSource(source)).connect(bare('HEAD', EVENTS, ['Host: localhost', ACCEPT]));
    expect((await connection.next('HEAD')).headers.get('content-type')).toBe('text/event-stream');
    connection.send(LIVE);
    expect((await connection.next()).status).toBe(200);
    expect(source.reads).toBe(0);
  });

  it('ends with the connection over HTTP/1.0', async () => {
    const source = new Source();
    const started = await serveSource(source);
    const connection = await openStream(started, STREAM.replace('HTTP/1.1', 'HTTP/1.0'));
    source.give(EVENT);
    await until(connection, EVENT);
    expect(connection.received.toLowerCase()).not.toContain('transfer-encoding');
    void started.server.close();
    expect(await connection.rest()).toMatch(/id: 1\n\nid: 2\nevent: card.created\ndata: \{\}\n\n$/);
  });

  it('is refused with an error record before its first byte', async () => {
    const refuse = async (): Promise<AnyReply> => {
      throw new Refusal('events_expired', 'The events are no longer stored.');
    };
    const started = await serve(fakeGateway({ list_events: refuse }));
    expectRecord(await started.ask(STREAM), 410, 'events_expired');
  });
});

describe('a stream without events', () => {
  it('does not count as load, and is never late', async () => {
    const source = new Source();
    const started = await serveSource(source, {
      maxRequestsInFlight: 1,
      lateAfterMilliseconds: 1,
      maxLateRequests: 0,
      operationTimeoutMilliseconds: 5,
      operationGraceMilliseconds: 5,
    });
    const streams = await Promise.all([1, 2, 3].map(() => openStream(started)));
    await expect.poll(() => source.waiting).toBe(3);
    // Twice the interval at which the service counts late requests and abandons overdue ones.
    await delay(250);
    for (let count = 0; count < 5; count += 1) expect((await started.ask(bare('GET', '/'))).status).toBe(200);
    source.give(EVENT, EVENT, EVENT);
    for (const stream of streams) await until(stream, EVENT);
  });

  it('is removed when its reader disconnects or half-closes the connection', async () => {
    const source = new Source();
    const started = await serveSource(source);
    const [closed, halfClosed] = [await openStream(started), await openStream(started)];
    await expect.poll(() => source.waiting).toBe(2);
    closed.close();
    await expect.poll(() => source.waiting).toBe(1);
    halfClosed.socket.end();
    await expect.poll(() => source.waiting).toBe(0);
    expect(await halfClosed.rest()).toMatch(/0\r\n\r\n$/);
    expect(started.reports).toEqual([]);
  });
});

describe('a card program can have at most 10 streams', () => {
  const ofProgram = (id: string) => bare('GET', EVENTS, ['Host: localhost', ACCEPT, `Program-Id: ${id}`]);

  it('and can open a new one when one ends, regardless of other programs and operators', async () => {
    const source = new Source();
    const started = await serveSource(source);
    const streams: RawConnection[] = [];
    for (let count = 0; count < 10; count += 1) streams.push(await openStream(started, ofProgram(DEMO_PROGRAM_ID)));
    const refused = await started.ask(ofProgram(DEMO_PROGRAM_ID));
    expectRecord(refused, 429, 'rate_limited');
    expect(messageOf(refused)).toBe('This card program already has 10 open streams. Retry when one has ended.');
    expect([refused.headers.get('retry-after'), refused.headers.get('should-retry')]).toEqual(['1', 'true']);
    await openStream(started, ofProgram(OTHER_PROGRAM_ID));
    const ofOperators = bare('GET', OPERATOR_EVENTS, ['Host: localhost', ACCEPT]);
    for (let count = 0; count < 10; count += 1) await openStream(started, ofOperators);
    expect(messageOf(await started.ask(ofOperators))).toContain('Operators already have 10 open streams.');
    streams[0]?.close();
    await expect
      .poll(async () => {
        const connection = await started.connect(ofProgram(DEMO_PROGRAM_ID));
        await expect.poll(() => connection.received).toMatch(/id: 1\n\n|rate_limited/);
        return connection.received.includes('id: 1\n\n');
      })
      .toBe(true);
  });
});

describe('a slow reader', () => {
  const PIECE = `data: ${'x'.repeat(1_000_000)}\n\n`;

  it('is disconnected if it reads nothing for a while, and the service reads little ahead for it', async () => {
    const source = new Source();
    const started = await serveSource(source, { readTimeoutMilliseconds: 500 });
    const taken = nextTaken();
    const slow = await openStream(started);
    const serverSocket = await taken;
    slow.socket.pause();
    source.give(...Array.from({ length: 100 }, () => PIECE));
    await expect.poll(() => serverSocket.destroyed, { timeout: 60_000 }).toBe(true);
    // The kernel buffers a few megabytes for both ends of the connection, and one piece is in memory.
    expect(source.reads).toBeLessThan(30);
    // A caller that does not read is not an error in the service.
    expect(started.reports).toEqual([]);
  });

  it('gets everything if it resumes reading in time', async () => {
    const source = new Source();
    const started = await serveSource(source, { readTimeoutMilliseconds: 600_000 });
    const slow = await openStream(started);
    slow.socket.pause();
    source.give(...Array.from({ length: 20 }, () => PIECE), 'data: last\n\n');
    await expect.poll(() => source.reads).toBeGreaterThan(1);
    slow.socket.resume();
    await until(slow, 'data: last\n\n');
    expect(slow.received.length).toBeGreaterThan(20 * PIECE.length);
  });
});

describe('while the database fails', () => {
  it('a stream stays open, reports the failure once and continues', async () => {
    const source = new Source();
    const started = await serveSource(source, { streamRetryMilliseconds: 5, streamPulseMilliseconds: 20 });
    const connection = await openStream(started);
    await expect.poll(() => source.waiting).toBe(1);
    source.failure = new Error('secret: no database');
    source.give();
    await expect.poll(() => source.reads).toBeGreaterThan(10);
    await until(connection, ': still here');
    source.failure = undefined;
    source.give(EVENT);
    await until(connection, EVENT);
    expect(started.reports).toMatchObject([{ code: 'unknown_list_events', status: 500 }]);
    expect(connection.received).not.toContain('secret');
    // A failure after a success is reported again.
    source.failure = new Error('again');
    source.give();
    await expect.poll(() => started.reports.length).toBe(2);
  });

  it('ends a stream with a comment if reading is refused', async () => {
    const source = new Source();
    const started = await serveSource(source);
    const connection = await openStream(started);
    await expect.poll(() => source.waiting).toBe(1);
    source.failure = new Refusal('events_expired', 'The events are no longer stored.');
    source.give();
    await until(connection, ': The events are no longer stored.\n\n');
    await until(connection, '0\r\n\r\n');
  });
});

describe('a key that is no longer valid', () => {
  const WITH_KEY = bare('GET', EVENTS, ['Host: localhost', ACCEPT, 'Authorization: Bearer program']);

  it('ends its streams before they send another event', async () => {
    const source = new Source();
    const keys = { isValid: true };
    const started = await serveSource(source, {}, keys);
    const connection = await openStream(started, WITH_KEY);
    await expect.poll(() => source.waiting).toBe(1);
    keys.isValid = false;
    source.give(EVENT);
    await until(connection, ': The API key was revoked.\n\n');
    expect(connection.received).not.toContain(EVENT);
    await until(connection, '0\r\n\r\n');
  });

  it('ends a silent stream when its next comment is due', async () => {
    const keys = { isValid: true };
    const started = await serveSource(new Source(), { streamPulseMilliseconds: 20 }, keys);
    const connection = await openStream(started, WITH_KEY);
    keys.isValid = false;
    await until(connection, ': The API key was revoked.\n\n');
  });
});

it('a stopping service ends open and new streams at once', async () => {
  const source = new Source();
  const started = await serveSource(source, {
    maxDrainMilliseconds: 600_000,
    drainGraceMilliseconds: 600_000,
    drainQuietMilliseconds: 10_000,
  });
  const connection = await openStream(started);
  const closed = started.server.close();
  await until(connection, '0\r\n\r\n');
  const late = await started.connect(STREAM);
  expect(await late.rest()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  await closed;
  expect(started.reports).toEqual([]);
});
