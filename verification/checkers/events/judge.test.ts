import { describe, expect, test } from 'vitest';
import { EVERY_PROGRAM, SERVICE_ITSELF } from '../../../domain/event.ts';
import { ALL_BY_NUMBER, type EventBooks, type EventRow, type PlaceRow, tellEvents } from './event-books.ts';
import { wrongFacts, wrongReading } from './judge.ts';

// Tests the judge of the row `events` with correct books and readings, and with versions that have one mistake each.

const PROGRAM = '01920000-0000-7000-8000-000000000001';
const OTHER = '01920000-0000-7000-8000-000000000002';
const batch = (number: number): string => `01a2000${number}-0000-7000-8000-000000000000`;

const event = (number: number, programId: string | null, mark = '', index = 0): EventRow => ({
  batchId: batch(number),
  index,
  programId,
  type: programId === EVERY_PROGRAM ? 'switch.changed' : 'card.created',
  subjectId: `card-${number}`,
  payload: JSON.stringify({ mark }),
  createdAt: new Date(1_800_000_000_000),
});

const place = (programId: string, position: number, of: number, number: number, isShared = false): PlaceRow => ({
  programId,
  position,
  count: 1,
  batchId: batch(of),
  number,
  isShared,
});

/** Two events of one program, one of the other program, and a switch change for the service itself and for both programs. */
const EVENTS: readonly EventRow[] = [
  event(1, PROGRAM, 'mark-0-0-1'),
  event(2, OTHER, 'mark-0-0-2'),
  event(3, null),
  event(3, EVERY_PROGRAM),
  event(4, PROGRAM, 'mark-0-0-3'),
];

const PLACES: readonly PlaceRow[] = [
  place(SERVICE_ITSELF, 1, 3, 3),
  place(PROGRAM, 1, 1, 1),
  place(PROGRAM, 2, 3, 3, true),
  place(PROGRAM, 3, 4, 4),
  place(OTHER, 1, 2, 2),
  place(OTHER, 2, 3, 3, true),
];

const BOOKS: EventBooks = {
  events: EVENTS,
  places: PLACES,
  heads: new Map([
    [SERVICE_ITSELF, 1],
    [PROGRAM, 3],
    [OTHER, 2],
    [ALL_BY_NUMBER, 4],
  ]),
  waiting: 0,
  due: 0,
};

const tell = (books: Partial<EventBooks>) => tellEvents({ ...BOOKS, ...books }, [PROGRAM, OTHER]);
const replaced = (at: number, row: Partial<PlaceRow>): readonly PlaceRow[] =>
  PLACES.map((found, index) => (index === at ? { ...found, ...row } : found));

describe('tellEvents', () => {
  test('returns the events of each program by position, and all events by number', () => {
    const { timelines, problems } = tell({});
    expect(problems).toEqual([]);
    const lengths = [PROGRAM, OTHER, SERVICE_ITSELF, ALL_BY_NUMBER].map((program) => timelines.get(program)?.length);
    expect(lengths).toEqual([3, 2, 1, 4]);
    expect(JSON.parse(timelines.get(PROGRAM)?.[1]?.text ?? '')).toMatchObject({
      event_id: 'evt_01a20003000070008000000000000001',
      type: 'switch.changed',
      position: 2,
      program_id: 'prog_01920000000070008000000000000001',
    });
  });

  test.for<[string, Partial<EventBooks>, RegExp]>([
    ['a gap in the positions', { places: replaced(3, { position: 4 }) }, /position 4 of .* comes after 2/],
    ['a repeated position', { places: replaced(3, { position: 2 }) }, /position 2 of .* comes after 2/],
    ['a repeated number', { places: replaced(3, { number: 3 }) }, /number 3 is repeated/],
    ['a gap in the numbers', { places: replaced(3, { number: 5 }) }, /number 5 is repeated, or comes after a gap/],
    ['a wrong head', { heads: new Map([[PROGRAM, 4]]) }, /the head of .* is 4, but it has 3 events/],
    ['an event with two positions', { places: [...PLACES, place(OTHER, 3, 2, 5)] }, /doubled: the events of/],
    ['an event without a position', { places: PLACES.toSpliced(3, 1) }, /missing: the events of .* have no positions/],
    [
      'a shared event that a program lacks',
      { places: PLACES.toSpliced(5, 1) },
      /missing: the events of .*ffff have no/,
    ],
    ['positions without an event', { events: EVENTS.slice(0, 4) }, /has positions but no events/],
    ['more positions than events', { places: replaced(3, { count: 2 }) }, /has 1 events and positions for 2/],
  ])('finds %s', ([, books, problem]) => {
    expect(tell(books).problems.join('\n')).toMatch(problem);
  });

  test('accepts events without a position while transactions wait', () => {
    const places = PLACES.toSpliced(3, 1);
    const heads = new Map([[PROGRAM, 2]]);
    expect(tell({ places, heads, waiting: 1 }).problems).toEqual([]);
  });
});

describe('wrongReading', () => {
  const timeline = tell({}).timelines.get(PROGRAM) ?? [];
  const seen = timeline.map(({ text }) => text);
  const read = (texts: readonly string[], least = 3, wants = (_type: string) => true) =>
    wrongReading({ name: 'reader', wants, seen: texts }, timeline, least).join('\n');

  test('accepts the timeline or its beginning', () => {
    expect(read(seen)).toBe('');
    expect(read(seen.slice(0, 2), 2)).toBe('');
    expect(read([seen[1] ?? ''], 1, (type) => type === 'switch.changed')).toBe('');
  });

  test.for<[string, readonly string[], RegExp]>([
    ['a gap', seen.toSpliced(1, 1), /event 2 is .*"position":3.* instead of .*"position":2/],
    ['a repeat', [seen[0] ?? '', ...seen], /event 2 is .*"position":1.* instead of/],
    ['a different order', seen.toReversed(), /event 1 is .*"position":3/],
    ['changed contents', [seen[0]?.replace('card-1', 'card-9') ?? '', ...seen.slice(1)], /event 1 is .*card-9/],
    ['an event that is not in the books', [...seen, '{"position":4}'], /event 4 is not in the books/],
    ['too few events', seen.slice(0, 2), /got 2 of 3 events/],
  ])('finds %s', ([, texts, problem]) => {
    expect(read(texts)).toMatch(problem);
  });
});

describe('wrongFacts', () => {
  const timeline = tell({}).timelines.get(ALL_BY_NUMBER) ?? [];
  const fact = (step: number) => ({ type: 'card.created', mark: `mark-0-0-${step}` });

  test('finds events in the wrong order', () => {
    expect(wrongFacts([[fact(1), fact(2), fact(3)]], timeline)).toEqual([]);
    expect(wrongFacts([[fact(2), fact(1)]], timeline).join()).toMatch(/mark-0-0-1 comes before .*mark-0-0-2/);
  });

  test('finds lost and doubled events', () => {
    expect(wrongFacts([[fact(1), fact(7)]], timeline).join()).toMatch(/lost: card.created of mark-0-0-7/);
    expect(wrongFacts([], [...timeline, ...timeline]).join()).toMatch(/doubled: card.created of mark-0-0-1/);
  });
});
