import { describe, expect, test } from 'vitest';
import { EVERY_PROGRAM, SERVICE_ITSELF } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { checkAcknowledged, checkReading, placeEvents } from './checker.ts';
import { ALL_BY_NUMBER, type EventRow, type EventTables, type PositionRow, type Timelines } from './history.ts';

// Tests the checker with correct tables and readings, and with versions of them that contain one violation each.

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

const at = (programId: string, position: number, of: number, number: number, isShared = false): PositionRow => {
  return { programId, position, count: 1, batchId: batch(of), number, isShared };
};

/** Two events of one program, one of the other program, and a switch change for the service itself and for both programs. */
const EVENTS: readonly EventRow[] = [
  event(1, PROGRAM, 'mark-0-0-1'),
  event(2, OTHER, 'mark-0-0-2'),
  event(3, null),
  event(3, EVERY_PROGRAM),
  event(4, PROGRAM, 'mark-0-0-3'),
];

const POSITIONS: readonly PositionRow[] = [
  at(SERVICE_ITSELF, 1, 3, 3),
  at(PROGRAM, 1, 1, 1),
  at(PROGRAM, 2, 3, 3, true),
  at(PROGRAM, 3, 4, 4),
  at(OTHER, 1, 2, 2),
  at(OTHER, 2, 3, 3, true),
];

const TABLES: EventTables = {
  events: EVENTS,
  positions: POSITIONS,
  heads: new Map([
    [SERVICE_ITSELF, 1],
    [PROGRAM, 3],
    [OTHER, 2],
    [ALL_BY_NUMBER, 4],
  ]),
  waiting: 0,
  due: 0,
};

const placed = (changed: Partial<EventTables> = {}) =>
  placeEvents(
    { ...TABLES, ...changed },
    [PROGRAM, OTHER].map((program) => toWireId('prog', program)),
  );
/** Returns the positions, with the first program's last one changed. */
const replaced = (row: Partial<PositionRow>) => ({
  positions: POSITIONS.with(3, { ...(POSITIONS[3] as PositionRow), ...row }),
});

describe('placeEvents', () => {
  test('returns the events of each program by position, and all events by number', () => {
    const { timelines, violations } = placed();
    expect(violations).toEqual([]);
    const lengths = [PROGRAM, OTHER, SERVICE_ITSELF, ALL_BY_NUMBER].map((program) => timelines.get(program)?.length);
    expect(lengths).toEqual([3, 2, 1, 4]);
    expect(JSON.parse(timelines.get(PROGRAM)?.[1]?.text ?? '')).toMatchObject({
      event_id: 'evt_01a20003000070008000000000000001',
      type: 'switch.changed',
      position: 2,
      program_id: 'prog_01920000000070008000000000000001',
    });
  });

  test.for<[string, Partial<EventTables>, RegExp]>([
    ['a gap in the positions', replaced({ position: 4 }), /position 4 of .* comes after 2/],
    ['a repeated position', replaced({ position: 2 }), /position 2 of .* comes after 2/],
    ['a repeated number', replaced({ number: 3 }), /number 3 is repeated/],
    ['a gap in the numbers', replaced({ number: 5 }), /number 5 is repeated, or comes after a gap/],
    ['a wrong head', { heads: new Map([[PROGRAM, 4]]) }, /the head of .* is 4, but it has 3 events/],
    ['an event with two positions', { positions: [...POSITIONS, at(OTHER, 3, 2, 5)] }, /duplicated: the events of/],
    [
      'an event without a position',
      { positions: POSITIONS.toSpliced(3, 1) },
      /missing: the events of .* have no posit/,
    ],
    ['a shared event that a program lacks', { positions: POSITIONS.toSpliced(5, 1) }, /missing: .*ffff have no/],
    ['positions without an event', { events: EVENTS.slice(0, 4) }, /has positions but no events/],
    ['more positions than events', replaced({ count: 2 }), /has 1 events and positions for 2/],
  ])('finds %s', ([, changed, violation]) => {
    expect(placed(changed).violations.join('\n')).toMatch(violation);
  });

  test('accepts events without a position while transactions wait', () => {
    const positions = POSITIONS.toSpliced(3, 1);
    expect(placed({ positions, heads: new Map([[PROGRAM, 2]]), waiting: 1 }).violations).toEqual([]);
  });
});

describe('checkReading', () => {
  const timelines = new Map([[ALL_BY_NUMBER, placed().timelines.get(PROGRAM) ?? []]]);
  const seen = (timelines.get(ALL_BY_NUMBER) ?? []).map(({ text }) => text);
  const read = (texts: readonly string[], due: Timelines = timelines, wants = (_type: string) => true) =>
    checkReading({ name: 'reader', programId: undefined, wants, seen: texts }, timelines, due).join('\n');

  test('accepts the timeline or its beginning', () => {
    expect(read(seen)).toBe('');
    expect(read(seen.slice(0, 2), new Map())).toBe('');
    expect(read([seen[1] ?? ''], timelines, (type) => type === 'switch.changed')).toBe('');
  });

  test.for<[string, readonly string[], RegExp]>([
    ['a gap', seen.toSpliced(1, 1), /event 2 is .*"position":3.* instead of .*"position":2/],
    ['a repeat', [seen[0] ?? '', ...seen], /event 2 is .*"position":1.* instead of/],
    ['a different order', seen.toReversed(), /event 1 is .*"position":3/],
    ['changed contents', [seen[0]?.replace('card-1', 'card-9') ?? '', ...seen.slice(1)], /event 1 is .*card-9/],
    ['an event that is not in the timeline', [...seen, '{"position":4}'], /event 4 is not in the timeline/],
    ['too few events', seen.slice(0, 2), /got 2 of 3 events/],
  ])('finds %s', ([, texts, violation]) => {
    expect(read(texts)).toMatch(violation);
  });
});

describe('checkAcknowledged', () => {
  const timeline = placed().timelines.get(ALL_BY_NUMBER) ?? [];
  const sent = (step: number) => ({ type: 'card.created', mark: `mark-0-0-${step}` });

  test('finds events in the wrong order', () => {
    expect(checkAcknowledged([[sent(1), sent(2), sent(3)]], timeline)).toEqual([]);
    expect(checkAcknowledged([[sent(2), sent(1)]], timeline).join()).toMatch(/mark-0-0-1 comes before .*mark-0-0-2/);
  });

  test('finds lost and duplicated events', () => {
    expect(checkAcknowledged([[sent(1), sent(7)]], timeline).join()).toMatch(/lost: card.created of mark-0-0-7/);
    expect(checkAcknowledged([], [...timeline, ...timeline]).join()).toMatch(/duplicated: card.created of mark-0-0-1/);
  });
});
