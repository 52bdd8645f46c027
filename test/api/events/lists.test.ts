import { beforeAll, describe, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import { programKey, withSecret } from '../../harness/keys.ts';
import { waitFor } from '../../harness/process.ts';
import { useOwnService } from '../../harness/service.ts';
import { newCard } from '../arrange.ts';
import { EVENTS, get, OPERATOR_EVENTS, page, readAll, type WireEvent, type WirePage } from './event-reader.ts';

const service = useOwnService('It counts the events of the ledger.');
const url = () => service().url;

/** Waits until a subject has events of these types, and returns all its events so far. */
async function untilTypes(subject: string, ...types: readonly string[]): Promise<readonly WireEvent[]> {
  await waitFor(`${types} of ${subject}`, async () => {
    const { data } = await page(url(), { subject_id: subject, limit: 100, after: 0 });
    return types.every((type) => data.some((event) => event.type === type));
  });
  return readAll(url());
}

/** Returns types and subjects, to compare the order of events. */
const shortOf = (events: readonly WireEvent[]) => events.map(({ type, subject_id: id }) => `${type} ${id}`);

let card: string;
let transfer: string;
let all: readonly WireEvent[];

beforeAll(async () => {
  const { client } = service();
  card = await newCard(client);
  transfer = (await client.transfers.create({ amount: 1000, card_id: card, capture: 'manual' })).transfer_id;
  await client.transfers.capture(transfer, { amount: 600 });
  for (let count = 0; count < 12; count += 1) await client.transfers.create({ amount: 5, card_id: card });
  all = await untilTypes(transfer, 'transfer.pending', 'transfer.completed');
  await waitFor('all events', async () => {
    all = await readAll(url());
    return all.filter(({ type }) => type === 'transfer.completed').length >= 13;
  });
});

describe('the events of a card program', () => {
  test('have the positions 1, 2, 3 and so on', () => {
    expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => index + 1));
    expect(new Set(all.map(({ event_id: id }) => id)).size).toBe(all.length);
  });

  test('are in the order of the changes that they report', () => {
    const own = all.filter(({ subject_id: id }) => id === transfer);
    expect(own.map(({ type }) => type)).toEqual(['transfer.pending', 'transfer.completed']);
    const created = shortOf(all).indexOf(`card.created ${card}`);
    expect(created).toBeGreaterThanOrEqual(0);
    expect(created).toBeLessThan(shortOf(all).indexOf(`transfer.pending ${transfer}`));
  });

  test('contain the record exactly as the operation returned it', async () => {
    const { text } = await get(url(), `/api/v0.1/core/transfer/${transfer}`);
    const [pending, completed] = all.filter(({ subject_id: id }) => id === transfer);
    expect(pending?.data).toMatchObject({ status: 'pending', captured_amount: 0, amount: 1000 });
    const event = await get(url(), `${EVENTS}/${completed?.event_id}`);
    // Compares the bytes, not only the values.
    expect(event.text.endsWith(`,"data":${text}}`)).toBe(true);
  });

  test('are the same in a list and when read by id', async () => {
    const list = await get(url(), EVENTS, { after: 0, limit: 100 });
    for (const { event_id: id } of all.slice(0, 20)) {
      const one = await get(url(), `${EVENTS}/${id}`);
      expect(one.status).toBe(200);
      expect(list.text).toContain(one.text);
    }
    const record = all.at(-1);
    expect(Object.keys(record ?? {})).toEqual([
      'event_id',
      'type',
      'position',
      'program_id',
      'subject_id',
      'created_at',
      'version',
      'data',
    ]);
    expect(record).toMatchObject({ program_id: DEMO_PROGRAM, version: 'v0.1' });
    expect(record?.event_id).toMatch(/^evt_[0-9a-f]{32}$/);
  });
});

describe('a list', () => {
  test('is newest first, and all its pages together contain every event', async () => {
    const read: WireEvent[] = [];
    const first = await page(url(), { limit: 5 });
    expect(first.position).toBe(first.data[0]?.position);
    for (let next: WirePage = first; ; next = await page(url(), { limit: 5, cursor: next.next_cursor })) {
      read.push(...next.data);
      expect(next.position).toBe(next.data[0]?.position);
      if (next.next_cursor === null) break;
    }
    expect(read.toReversed().slice(0, all.length)).toEqual(all);
  });

  test('is oldest first with `after`, and each page returns the position where the next page begins', async () => {
    const read: WireEvent[] = [];
    for (let after = 3; ; ) {
      const next = await page(url(), { limit: 5, after });
      read.push(...next.data);
      after = next.position ?? 0;
      if (next.next_cursor === null) break;
    }
    expect(read.slice(0, all.length - 3)).toEqual(all.slice(3));
  });

  test('can be read by cursor, oldest first', async () => {
    const read: WireEvent[] = [];
    let cursor: string | null = null;
    do {
      const next: WirePage = await page(url(), { limit: 7, after: 0, ...(cursor === null ? {} : { cursor }) });
      read.push(...next.data);
      cursor = next.next_cursor;
    } while (cursor !== null);
    expect(read.slice(0, all.length)).toEqual(all);
  });

  test('is empty after the last event, and returns the same position', async () => {
    const { position } = await page(url(), { limit: 1 });
    expect(await page(url(), { after: position })).toEqual({ data: [], next_cursor: null, position });
  });

  test.each([
    ['a type', () => ({ type: 'transfer.pending' }), (event: WireEvent) => event.type === 'transfer.pending'],
    ['a group of types', () => ({ type: 'transfer.*' }), (event: WireEvent) => event.type.startsWith('transfer.')],
    [
      'several types and groups',
      () => ({ type: 'transfer.pending,card.*' }),
      (event: WireEvent) => event.type === 'transfer.pending' || event.type.startsWith('card.'),
    ],
    ['a subject', () => ({ subject_id: card }), (event: WireEvent) => event.subject_id === card],
    [
      'a subject and a type',
      () => ({ subject_id: transfer, type: 'transfer.completed' }),
      (event: WireEvent) => event.subject_id === transfer && event.type === 'transfer.completed',
    ],
    ['an unknown subject', () => ({ subject_id: 'nothing' }), () => false],
  ] as const)('can be filtered by %s', async (_, filterOf, matches) => {
    const expected = all.filter(matches);
    const ascending = await page(url(), { after: 0, limit: 100, ...filterOf() });
    expect(ascending.data.filter(({ position }) => position <= all.length)).toEqual(expected);
    // The position also counts the events that the filter leaves out.
    expect(ascending.position).toBeGreaterThanOrEqual(all.length);
    const descending = await page(url(), { limit: 100, ...filterOf() });
    expect(descending.data.filter(({ position }) => position <= all.length).toReversed()).toEqual(expected);
    const [one] = (await page(url(), { after: 0, limit: 1, ...filterOf() })).data;
    expect(one).toEqual(expected[0]);
  });

  test.each([
    [{ wait: 1 }, /'wait' can only be sent together with 'after'/, '/wait'],
    [{ after: 0, wait: 26 }, /'wait' must be a whole number from 0 to 25/, '/wait'],
    [{ after: 999_999 }, /'after' is 999999, but the last event has position \d+\./, '/after'],
    [{ type: 'transfer.complete' }, /'type' is 'transfer.complete', which is neither a type of event/, '/type'],
    [{ type: '*' }, /neither a type of event nor a group/, '/type'],
    [{ type: 'card.*,cards.*' }, /'type' contains 'cards\.\*', which is neither a type of event/, '/type'],
    [{ type: 'card.*,' }, /'type' contains '', which is neither a type of event/, '/type'],
    [{ cursor: 'evt_1' }, /'cursor' must be the next_cursor/, '/cursor'],
    [{ cursor: '2', after: 3 }, /'cursor' must be the next_cursor/, '/cursor'],
  ])('refuses %j', async (query, message, field) => {
    const { status, fields, headers } = await get(url(), EVENTS, query);
    expect(fields).toMatchObject({ Code: 'list_events_schema', Message: expect.stringMatching(message) });
    expect([status, headers['error-field']]).toEqual([400, field]);
  });
});

describe('operators', () => {
  test('read the events of all programs and of the service, numbered without gaps', async () => {
    const { client } = service();
    const { program_id: program } = await client.programs.create({ name: 'Another', currency: 'USD' });
    await client.cards.create({ card_id: 'theirs' }, { programId: program });
    await client.keys.create({ name: 'Ops', all_programs: true, scopes: ['operator'] });
    let found: readonly WireEvent[] = [];
    await waitFor('the events', async () => {
      found = (await page(url(), { after: 0, limit: 100 }, {}, OPERATOR_EVENTS)).data;
      return found.some(({ type, program_id: of }) => type === 'key.created' && of === null);
    });
    expect(found.map(({ number }) => number)).toEqual(found.map((_, index) => index + 1));
    expect(new Set(found.map(({ program_id: of }) => of))).toEqual(new Set([DEMO_PROGRAM, program, null]));
    const theirs = found.filter(({ program_id: of }) => of === program);
    expect(theirs.map(({ position }) => position)).toEqual(theirs.map((_, index) => index + 1));
    const filtered = await page(url(), { after: 0, limit: 100, program_id: program }, {}, OPERATOR_EVENTS);
    expect(filtered.data).toEqual(theirs);
    const newest = await page(url(), { limit: 100, program_id: program }, {}, OPERATOR_EVENTS);
    expect(newest.data.toReversed()).toEqual(theirs);
    for (const event of found.slice(-5)) {
      const inspected = await get(url(), `${OPERATOR_EVENTS}/${event.event_id}`);
      expect(inspected.fields).toEqual(event);
    }
    // Reads page by page. Each page begins after the number that the previous page returned.
    const walked: WireEvent[] = [];
    for (let after = 0; walked.length < found.length; ) {
      const next = await page(url(), { after, limit: 3 }, {}, OPERATOR_EVENTS);
      walked.push(...next.data);
      expect(next.number).toBe(after + next.data.length);
      after = next.number ?? 0;
    }
    expect(walked.slice(0, found.length)).toEqual(found);
  });
});

test('stores only one copy of an event that concerns all programs, with a position in each program', async () => {
  const { client } = service();
  const { program_id: program } = await client.programs.create({ name: 'Other', currency: 'USD' });
  await client.switch.change({ disabled: true, reason: 'for operators only' });
  await client.switch.change({ disabled: false });
  const own = { 'Program-Id': program };
  const query = { type: 'switch.changed', after: 0, limit: 100 };
  const changes = async (headers = {}) => (await page(url(), query, headers)).data;
  await waitFor('both changes', async () => (await changes(own)).length === 2 && (await changes()).length === 2);
  const [mine, demo] = [await changes(own), await changes()];
  expect(mine.map(({ event_id: id }) => id)).toEqual(demo.map(({ event_id: id }) => id));
  expect(mine.map(({ program_id: of }) => of)).toEqual([program, program]);
  expect(JSON.stringify(mine)).not.toContain('for operators only');
  const { text, fields } = await get(url(), `${OPERATOR_EVENTS}/${mine[0]?.event_id}`);
  expect(fields).toMatchObject({ type: 'switch.changed', program_id: null, position: null, number: null });
  expect(text).not.toContain('for operators only');
  // Operators get a service-wide event instead, which contains the reason.
  const { data } = await page(url(), query, {}, OPERATOR_EVENTS);
  expect(data.map(({ program_id: of }) => of)).toEqual([null, null]);
  expect(data[0]?.data).toMatchObject({ reason: 'for operators only' });
});

test('does not show a program the events of other programs or of the service', async () => {
  const { client } = service();
  const { program_id: program } = await client.programs.create({ name: 'Third', currency: 'USD' });
  const { key } = await withSecret(client.keys.create(programKey('Reader', program)));
  const headers = { Authorization: `Bearer ${key}` };
  let events: readonly WireEvent[] = [];
  await waitFor('the event of its key', async () => {
    events = await readAll(url(), headers);
    return events.some(({ type }) => type === 'key.created');
  });
  expect(new Set(events.map(({ program_id: of }) => of))).toEqual(new Set([program]));
  for (const { event_id: id } of [...all.slice(0, 3)]) {
    const { status, fields } = await get(url(), `${EVENTS}/${id}`, {}, headers);
    expect([status, fields.Code]).toEqual([404, 'event_not_found']);
  }
  const refused = await get(url(), OPERATOR_EVENTS, {}, headers);
  expect([refused.status, refused.fields.Code]).toEqual([403, 'forbidden']);
});
