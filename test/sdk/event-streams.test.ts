import { afterAll, afterEach, describe, expect, test } from 'vitest';
import {
  ConnectionFailure,
  EventGap,
  type EventStreamOptions,
  InvalidArgument,
  RequestError,
  ServerError,
  type StreamRetry,
  TransferService,
  type TransferServiceEvent,
  UnexpectedResponse,
} from '../../sdk/client.ts';
import { streamEvents } from '../../sdk/stream-events.ts';
import {
  type Canned,
  type CannedStream,
  deadUrl,
  errorResponse,
  startCannedService,
  startOwnService,
} from './canned-service.ts';

const service = await startCannedService();
afterEach(() => {
  service.onRequest = () => undefined;
});
afterAll(() => service.close());

function client(options: object = {}): TransferService {
  return new TransferService({ baseUrl: service.url, ...options });
}

/** Returns an event in the form in which the service sends it. */
function event(position: number, type = 'transfer.completed'): string {
  return `id: ${position}\nevent: ${type}\ndata: ${JSON.stringify({ position, type, number: position })}\n\n`;
}

/** Returns a stream that stays open unless `ends` says otherwise. */
function stream(chunks: Iterable<string | Uint8Array>, ends: CannedStream['ends'] = 'without an end'): Canned {
  return { chunks, contentType: 'text/event-stream; charset=utf-8', ends };
}

/** Returns the positions of the first events of a stream, and the retries that the client reported. */
async function readPositions(
  count: number,
  options: EventStreamOptions = { after: 0 },
  settings: object = {},
): Promise<{ readonly positions: readonly number[]; readonly retries: readonly StreamRetry[] }> {
  const positions: number[] = [];
  const retries: StreamRetry[] = [];
  const onRetry = (retry: StreamRetry) => retries.push(retry);
  for await (const { position } of client(settings).events.stream({ onRetry, ...options })) {
    positions.push(position);
    if (positions.length === count) break;
  }
  return { positions, retries };
}

/** Returns the positions that a stream yielded, and the error that it threw after them. */
async function failureOf(options: EventStreamOptions = { after: 0 }, settings: object = {}) {
  const positions: number[] = [];
  try {
    for await (const { position } of client(settings).events.stream(options)) positions.push(position);
    return { positions, thrown: undefined };
  } catch (thrown) {
    return { positions, thrown };
  }
}

function queries(): readonly string[] {
  return service.received.map(({ url }) => url.split('?')[1] ?? '');
}

const UNAVAILABLE = errorResponse(
  { Status: 503, Code: 'overloaded', Type: 'Server Error' },
  { 'should-retry': 'true' },
);
const RATE_LIMITED = errorResponse(
  { Status: 429, Code: 'rate_limited', Type: 'Request Error' },
  { 'should-retry': 'true', 'retry-after': '1' },
);
const EXPIRED = errorResponse(
  { Status: 410, Code: 'events_expired', Type: 'Request Error' },
  { 'should-retry': 'false' },
);

describe('a stream', () => {
  test('yields events in order, and requests an event stream', async () => {
    service.play(stream([': hello\n\n', event(1), `${event(2)}${event(3).slice(0, 10)}`, event(3).slice(10)]));
    const { positions, retries } = await readPositions(3);
    expect({ positions, retries }).toEqual({ positions: [1, 2, 3], retries: [] });
    expect(service.received[0]).toMatchObject({ method: 'GET', url: '/api/v0.1/core/event?after=0' });
    expect(service.received[0]?.headers.accept).toBe('text/event-stream, application/json');
  });

  test('sends the key, the program and the filter', async () => {
    service.play(stream([event(8), event(11)]));
    const options: EventStreamOptions = { after: 7, types: ['transfer.*'], subjectId: 'tr_1', programId: 'prog_1' };
    expect((await readPositions(2, options, { key: 'secret' })).positions).toEqual([8, 11]);
    expect(queries()).toEqual(['type=transfer.*&subject_id=tr_1&after=7']);
    expect(service.received[0]?.headers).toMatchObject({ authorization: 'Bearer secret', 'program-id': 'prog_1' });
  });

  test('continues by number for all programs', async () => {
    service.play(stream([event(1)], 'normally'), stream([event(2)]));
    const numbers: number[] = [];
    for await (const { number } of client().events.streamAllPrograms({ after: 0 })) {
      numbers.push(number);
      if (number === 2) break;
    }
    expect(numbers).toEqual([1, 2]);
    expect(service.received.map(({ url }) => url)).toEqual([
      '/api/v0.1/operator/event?after=0',
      '/api/v0.1/operator/event?after=1',
    ]);
  });

  test('sends several types', async () => {
    service.play(stream([event(1), event(3, 'card.updated'), event(4, 'transfer.failed')]));
    const options: EventStreamOptions = { after: 0, types: ['card.updated', 'transfer.*'] };
    expect((await readPositions(3, options)).positions).toEqual([1, 3, 4]);
    expect(queries()).toEqual(['type=card.updated%2Ctransfer.*&after=0']);
  });

  test('returns the text of each event unchanged', async () => {
    const text = '{"position": 1, "type":"card.created","data":{"sum":90071992547409930,"share":1.0,"2":"b","1":"a"}}';
    service.play(stream([`id: 1\ndata: ${text}\n\n`]));
    for await (const received of client().events.streamWithText({ after: 0 })) {
      expect(received.text).toBe(text);
      expect(received.event.position).toBe(1);
      break;
    }
  });

  test('asks for the current position if the caller gives none, so that no event is missed if the connection is lost', async () => {
    const page = { data: [], next_cursor: null, position: 41 };
    service.play({ status: 200, body: page }, stream([], 'cut'), stream([event(42)]));
    expect((await readPositions(1, {})).positions).toEqual([42]);
    expect(queries()).toEqual(['limit=1', 'after=41', 'after=41']);
  });

  test('yields events of unknown types', async () => {
    service.play(stream([event(1, 'moon.landed')]));
    expect((await readPositions(1)).positions).toEqual([1]);
  });

  test('closes the connection when the caller leaves the loop', async () => {
    const isClosed = new Promise<void>((resolve) => {
      service.onRequest = (request) => request.socket.once('close', () => resolve());
    });
    service.play(stream([event(1)]));
    await readPositions(1);
    await isClosed;
  });

  test('ends without an error when it is aborted, in any state', async () => {
    const page = { status: 200, body: { data: [], next_cursor: null, position: 0 } };
    const cases: readonly [Canned[], EventStreamOptions][] = [
      [[stream([event(1)])], { after: 0 }],
      [['no response'], { after: 0 }],
      [['no response'], {}],
      [[page, stream([], 'normally')], {}],
    ];
    for (const [canned, options] of cases) {
      const { url: baseUrl } = await startOwnService(...canned);
      const controller = new AbortController();
      const received: number[] = [];
      setTimeout(() => controller.abort(), 300);
      for await (const { position } of client({ baseUrl }).events.stream({ ...options, signal: controller.signal })) {
        received.push(position);
      }
      expect(controller.signal.aborted).toBe(true);
    }
    expect((await failureOf({ after: 0, signal: AbortSignal.abort() })).thrown).toBeUndefined();
  });
});

describe('a stream continues at the last position', () => {
  test.each<[string, Canned[]]>([
    ['the service ends it', [stream([event(1), event(2)], 'normally')]],
    ['it is cut off', [stream([event(1), event(2)], 'cut')]],
    ['it is cut off within an event', [stream([event(1), event(2), event(3).slice(0, -1)], 'cut')]],
    ['it is cut off within a character', [stream([event(1), event(2), Uint8Array.of(0xe2, 0x82)], 'normally')]],
    ['the next connection fails', [stream([event(1), event(2)], 'cut'), 'cut before the response']],
    [
      'the service is then overloaded',
      [stream([event(1), event(2)], 'cut'), UNAVAILABLE, UNAVAILABLE, UNAVAILABLE, UNAVAILABLE],
    ],
    ['its number of streams is limited', [stream([event(1), event(2)], 'cut'), RATE_LIMITED]],
    [
      'a proxy responds next',
      [
        stream([event(1), event(2)], 'cut'),
        { status: 502, body: '<h1>Bad Gateway</h1>' },
        { status: 404, body: 'no backend' },
      ],
    ],
    [
      'the service then ends each new stream at once',
      [stream([event(1), event(2)], 'cut'), stream([], 'normally'), stream([': bye\n\n'], 'cut')],
    ],
  ])('when %s', async (_, canned) => {
    service.play(...canned, stream([event(3), event(4)]));
    const { positions, retries } = await readPositions(4);
    expect(positions).toEqual([1, 2, 3, 4]);
    expect(queries()).toEqual(['after=0', ...canned.map(() => 'after=2')]);
    expect(retries.map(({ position }) => position)).toEqual(canned.map(() => 2));
  });

  test('when a chunk is damaged, after the last event before the damage', async () => {
    service.play(stream([event(1), Uint8Array.of(0xff)]), stream([event(1), event(2)]));
    expect((await readPositions(2)).positions).toEqual([1, 2]);
  });

  test('when nothing arrives for too long, not even a comment', async () => {
    const settings = {
      baseUrl: service.url,
      key: undefined,
      programId: undefined,
      timeoutMilliseconds: 60_000,
      maxRetries: 0,
      fetch,
      warn: undefined,
    };
    const source = { operation: 'list_events', position: 0, isContiguous: true } as const;
    const retries: StreamRetry[] = [];
    const options = { onRetry: (retry: StreamRetry) => retries.push(retry) };
    // On a busy machine the timeout can also strike before the first event, so each new stream sends the event that
    // follows the requested position.
    const next = {
      *[Symbol.iterator]() {
        yield event(Number(queries().at(-1)?.replace('after=', '')) + 1);
      },
    };
    service.play(stream(next));
    const positions: number[] = [];
    for await (const received of streamEvents<TransferServiceEvent>(settings, source, options, 500)) {
      positions.push(received.event.position);
      if (received.event.position === 2) break;
    }
    expect(positions).toEqual([1, 2]);
    const [retry] = retries.filter(({ position }) => position === 1);
    expect(retry?.error).toMatchObject({ name: 'ConnectionFailure', reason: 'timeout' });
    expect(retry?.error.message).toContain('sent nothing for 500 ms');
  });

  test('when the caller reads slowly', async () => {
    service.play(stream([event(1), event(2), event(3)], 'cut'), stream([event(2), event(3), event(4)]));
    const positions: number[] = [];
    for await (const { position } of client().events.stream({ after: 0 })) {
      positions.push(position);
      await new Promise((resolve) => setTimeout(resolve, 200));
      if (position === 4) break;
    }
    expect(positions).toEqual([1, 2, 3, 4]);
  });

  test('after the time in Retry-After', async () => {
    service.play(stream([event(1)], 'cut'), RATE_LIMITED, stream([event(2)]));
    const { retries } = await readPositions(2);
    expect(retries[1]?.error).toBeInstanceOf(RequestError);
    expect(retries[1]?.waitMilliseconds).toBeGreaterThanOrEqual(1000);
  });

  test('with a filter, after the last event that the service left out', async () => {
    service.play(stream([event(1), 'id: 90\n\n'], 'cut'), stream([event(95)]));
    expect((await readPositions(2, { after: 0, types: ['transfer.completed'] })).positions).toEqual([1, 95]);
    expect(queries().at(-1)).toBe('type=transfer.completed&after=90');
  });
});

describe('a stream throws', () => {
  test('an EventGap when an event is missing', async () => {
    service.play(stream([event(1), event(3)]));
    const { positions, thrown } = await failureOf();
    expect(positions).toEqual([1]);
    expect(thrown).toBeInstanceOf(EventGap);
    expect(thrown).toMatchObject({ name: 'EventGap', after: 1, received: 3 });
  });

  test('an EventGap when an event is missing after a lost connection', async () => {
    service.play(stream([event(1)], 'cut'), stream([event(3)]));
    expect((await failureOf()).thrown).toBeInstanceOf(EventGap);
  });

  test.each<[string, Canned[]]>([
    ['at the beginning', []],
    ['later', [stream([event(1)], 'cut')]],
  ])('the error record when events are no longer stored: %s', async (_, before) => {
    service.play(...before, EXPIRED);
    const { thrown } = await failureOf();
    expect(thrown).toBeInstanceOf(RequestError);
    expect(thrown).toMatchObject({ Code: 'events_expired', moneyMoved: 'no' });
  });

  test('when the key is revoked', async () => {
    const revoked = errorResponse({ Status: 401, Code: 'unauthenticated', Type: 'Request Error' });
    service.play(stream([event(1)], 'cut'), revoked);
    const { positions, thrown } = await failureOf();
    expect({ positions, code: (thrown as RequestError).Code }).toEqual({ positions: [1], code: 'unauthenticated' });
  });

  test('the same errors as any other call before its first connection', async () => {
    service.play(UNAVAILABLE);
    expect((await failureOf({ after: 0 }, { maxRetries: 1 })).thrown).toBeInstanceOf(ServerError);
    expect(service.received).toHaveLength(2);
    const unreachable = await failureOf({ after: 0 }, { baseUrl: await deadUrl(), maxRetries: 1 });
    expect(unreachable.thrown).toMatchObject({ name: 'ConnectionFailure', reason: 'unreachable', attempts: 2 });
    service.play({ status: 200, body: '<h1>Log in</h1>' });
    expect((await failureOf()).thrown).toBeInstanceOf(UnexpectedResponse);
    const { url: baseUrl } = await startOwnService('no response');
    const silent = await failureOf({ after: 0 }, { baseUrl, timeoutMilliseconds: 50, maxRetries: 0 });
    expect(silent.thrown).toBeInstanceOf(ConnectionFailure);
  });

  test.each([
    ['without a position', 'data: {}\n\n'],
    ['with an invalid position', 'id: x\ndata: {}\n\n'],
    ['that is not JSON', 'id: 1\ndata: x\n\n'],
  ])('for an event %s', async (_, text) => {
    service.play(stream([text]));
    expect((await failureOf()).thrown).toBeInstanceOf(UnexpectedResponse);
  });

  test('for an empty list of types', async () => {
    expect((await failureOf({ after: 0, types: [] })).thrown).toBeInstanceOf(InvalidArgument);
  });
});

test('a call that waits for events has a longer timeout', async () => {
  const { url: baseUrl } = await startOwnService('no response');
  const call = client({ baseUrl, timeoutMilliseconds: 20, maxRetries: 0 }).events.list({ after: 1, wait: 1 });
  await expect(call).rejects.toThrow('within 1020 ms');
});
