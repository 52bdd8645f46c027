import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTwoServices, type TwoServices } from '../../../verification/environments/processes/services.ts';
import { programKey, withSecret } from '../../harness/keys.ts';
import { type ServiceProcess, startService } from '../../harness/process.ts';
import { refusalOf, startForTest } from '../../harness/service.ts';
import {
  EVENTS,
  get,
  OPERATOR_EVENTS,
  openStream,
  page,
  readAll,
  untilEvents,
  type WireEvent,
} from './event-reader.ts';

let services: TwoServices;
let first: ServiceProcess;
let second: ServiceProcess;
beforeAll(async () => {
  services = await startTwoServices();
  [first, second] = services.both;
});
afterAll(() => services?.end());

const load = ({ client }: ServiceProcess) => client.transfers.create({ amount: 5, card_id: 'card_active' });

/** Fails unless the events are complete, in order and without duplicates. */
function expectContiguous(events: readonly WireEvent[]): void {
  const start = events[0]?.position ?? 0;
  expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => start + index));
}

describe('a stream', () => {
  test('has the same events as a list, no matter which process wrote them', async () => {
    const stream = await openStream(second.url, { after: 0 });
    expect([stream.status, stream.headers['content-type'], stream.headers['x-accel-buffering']]).toEqual([
      200,
      'text/event-stream',
      'no',
    ]);
    const made = await Promise.all(Array.from({ length: 30 }, (_, index) => load(index % 2 === 0 ? first : second)));
    const ids = new Set(made.map(({ transfer_id: id }) => id));
    await expect
      .poll(() => stream.events().filter(({ subject_id: id }) => ids.has(id)).length)
      .toBeGreaterThanOrEqual(30);
    const list = await readAll(first.url);
    expect(stream.events()).toEqual(list.slice(0, stream.events().length));
    for (const { id, event, data } of stream.messages.filter((message) => message.data !== undefined)) {
      const { position, type } = JSON.parse(data ?? '');
      expect([id, event]).toEqual([position, type]);
    }
    const [sent] = stream.messages.filter(({ data }) => data !== undefined);
    const { text } = await get(first.url, `${EVENTS}/${stream.events()[0]?.event_id}`);
    expect(sent?.data).toBe(text);
  });

  test('begins with the next event if no position is given, and first sends the position where it begins', async () => {
    const { position = 0 } = await page(first.url, { limit: 1 });
    const stream = await openStream(first.url);
    await expect.poll(() => stream.messages.length).toBeGreaterThan(0);
    expect(stream.messages[0]).toEqual({ id: expect.any(Number), event: undefined, data: undefined });
    expect(stream.text()).toMatch(/^retry: 1000\nid: \d+\n\n/);
    const begun = stream.lastId();
    expect(begun).toBeGreaterThanOrEqual(position);
    // The reader disconnects before the first event arrives and still misses nothing.
    stream.close();
    const { transfer_id: id } = await load(first);
    const resumed = await openStream(first.url, {}, { 'Last-Event-ID': String(begun) });
    await expect.poll(() => resumed.events().some(({ subject_id: subject }) => subject === id)).toBe(true);
    expect(resumed.events()[0]?.position).toBe(begun + 1);
  });

  test('prefers Last-Event-ID to `after`, because a browser sends both when it reconnects', async () => {
    await load(first);
    const { position = 0 } = await page(first.url, { limit: 1 });
    const stream = await openStream(first.url, { after: 0 }, { 'Last-Event-ID': String(position - 1) });
    const [event] = await untilEvents(stream, 1);
    expect(event?.position).toBe(position);
  });

  test('can be filtered', async () => {
    const stream = await openStream(first.url, { after: 0, type: 'card.*', subject_id: 'card_active' });
    const { card_id: id } = await first.client.cards.create();
    const ofCard = await openStream(first.url, { after: 0, subject_id: id });
    await load(first);
    await untilEvents(ofCard, 1);
    expect(ofCard.events()).toMatchObject([{ type: 'card.created', subject_id: id }]);
    for (const { type } of stream.events()) expect(type).toMatch(/^card\./);
  });

  test('shows operators the events of all programs, by number', async () => {
    const stream = await openStream(second.url, { after: 0 }, {}, OPERATOR_EVENTS);
    const { program_id: id } = await first.client.programs.create({ name: 'Streamed', currency: 'USD' });
    await expect.poll(() => stream.events().some(({ program_id: of }) => of === id)).toBe(true);
    expect(stream.events().map(({ number }) => number)).toEqual(stream.events().map((_, index) => index + 1));
    expect(stream.messages.filter(({ data }) => data !== undefined).map((message) => message.id)).toEqual(
      stream.events().map(({ number }) => number),
    );
  });

  test.each([
    [{ after: 0 }, { 'Last-Event-ID': 'evt_1' }, /The Last-Event-ID header is not the position of an event\./],
    [
      {},
      { 'Last-Event-ID': String(Number.MAX_SAFE_INTEGER) },
      /The Last-Event-ID header is 9007199254740991, but the last event has position \d+\./,
    ],
    [{ after: 99_999_999 }, {}, /'after' is 99999999, but the last event has position \d+\./],
    [{ cursor: '3' }, {}, /A stream has no 'cursor'/],
    [{ type: 'nothing' }, {}, /which is neither a type of event/],
  ])('is refused before its first byte: %j %j', async (query, headers, message) => {
    const response = await get(first.url, EVENTS, query, { Accept: 'text/event-stream', ...headers });
    expect(response.status).toBe(400);
    expect(response.fields).toMatchObject({ Code: 'list_events_schema', Message: expect.stringMatching(message) });
  });
});

test('all processes end the streams of a revoked key', async () => {
  const { key, key_id: id } = await withSecret(
    first.client.keys.create(programKey('Reader', (await first.client.programs.list()).data.at(-1)?.program_id ?? '')),
  );
  const headers = { Authorization: `Bearer ${key}` };
  const stream = await openStream(second.url, {}, headers);
  // The number of messages is not exact, because the key's own event may come after the stream has begun.
  await expect.poll(() => stream.messages.length).toBeGreaterThan(0);
  await first.client.keys.revoke(id);
  // All processes refuse the key within a second.
  await expect.poll(async () => (await get(second.url, EVENTS, {}, headers)).status).toBe(401);
  const { transfer_id: transfer } = await load(first);
  await expect.poll(() => stream.isOver()).toBe(true);
  expect(stream.text()).toContain(': The API key was revoked.');
  expect(stream.events().map(({ subject_id: subject }) => subject)).not.toContain(transfer);
});

/** Reads all events until it is stopped, and resumes whenever a stream ends. */
class Follower {
  readonly #urlOf: () => string;
  readonly events: WireEvent[] = [];
  #lastId = 0;
  #isDone = false;
  #current: Awaited<ReturnType<typeof openStream>> | undefined;
  readonly running: Promise<void>;

  constructor(urlOf: () => string) {
    this.#urlOf = urlOf;
    this.running = this.#run();
  }

  cut(): void {
    this.#current?.close();
  }

  async #run(): Promise<void> {
    while (!this.#isDone) {
      try {
        const stream = await openStream(this.#urlOf(), {}, { 'Last-Event-ID': String(this.#lastId) });
        this.#current = stream;
        let taken = 0;
        while (!stream.isOver() && !this.#isDone) {
          await new Promise((wake) => setTimeout(wake, 10));
          const events = stream.events();
          this.events.push(...events.slice(taken));
          taken = events.length;
        }
        this.events.push(...stream.events().slice(taken));
        if (stream.messages.length > 0) this.#lastId = stream.lastId();
      } catch {
        await new Promise((wake) => setTimeout(wake, 20));
      }
    }
  }

  async end(): Promise<void> {
    this.#isDone = true;
    this.cut();
    await this.running;
  }
}

describe('a reader gets every event exactly once', () => {
  test('while its connection is cut again and again', async () => {
    const follower = new Follower(() => second.url);
    for (let count = 0; count < 40; count += 1) {
      await load(count % 2 === 0 ? first : second);
      if (count % 4 === 3) follower.cut();
    }
    const all = await untilRelayed();
    await expect.poll(() => follower.events.length).toBeGreaterThanOrEqual(all.length);
    await follower.end();
    expectContiguous(follower.events);
    expect(follower.events.slice(0, all.length)).toEqual(all);
  });

  test('while the database stops and starts', async () => {
    const stream = await openStream(first.url, { after: 0 });
    await untilEvents(stream, 1);
    for (let times = 0; times < 2; times += 1) {
      await load(first);
      await first.database.stop();
      await refusalOf(load(first));
      await first.database.start();
      await expect
        .poll(() =>
          load(first).then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
    }
    const all = await untilRelayed();
    await untilEvents(stream, all.length);
    // The stream is still on the same connection.
    expect(stream.isOver()).toBe(false);
    expectContiguous(stream.events());
    expect(stream.events().slice(0, all.length)).toEqual(all);
  });

  test('while the service stops or is killed, and starts again', async () => {
    const settings = services.settings();
    let third = await startForTest(settings);
    const follower = new Follower(() => third.url);
    for (const end of ['stop', 'kill', 'stop', 'kill'] as const) {
      const loads = (async () => {
        for (let count = 0; count < 20; count += 1) await load(first);
      })();
      await load(third);
      await third[end]();
      third = await startForTest(settings);
      await loads;
    }
    const all = await untilRelayed();
    await expect.poll(() => follower.events.length).toBeGreaterThanOrEqual(all.length);
    await follower.end();
    expectContiguous(follower.events);
    expect(follower.events.slice(0, all.length)).toEqual(all);
  });

  /** Creates a transfer, waits until its event is listed, and returns all events. */
  async function untilRelayed(): Promise<readonly WireEvent[]> {
    const { transfer_id: id } = await load(first);
    let all: readonly WireEvent[] = [];
    await expect
      .poll(async () => {
        all = await readAll(first.url);
        return all.some(({ subject_id: subject }) => subject === id);
      })
      .toBe(true);
    return all;
  }
});

test('a stopping service ends its streams immediately', async () => {
  const third = await startService(services.settings());
  const stream = await openStream(third.url);
  await expect.poll(() => stream.messages.length).toBeGreaterThan(0);
  expect(await third.stop()).toBe(0);
  // The process may exit before this test sees that the connection is closed.
  await expect.poll(() => stream.isOver()).toBe(true);
});
