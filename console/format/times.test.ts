import { expect, test } from 'vitest';
import {
  boundsOf,
  formatAgo,
  formatClock,
  formatDistance,
  formatDuration,
  formatMoment,
  formatShort,
  formatUtc,
  isBounded,
  type PresetName,
  pauseUntilPoll,
  presetsOf,
  toFieldValue,
  toIso,
  zoneText,
} from './times.ts';

const NOON = '2026-11-22T12:00:00.000Z';

test('formats moments in a time zone and in UTC', () => {
  expect(formatMoment(NOON, 'Asia/Tokyo')).toBe('22 Nov 2026, 21:00:00');
  expect(formatClock(NOON, 'UTC')).toBe('12:00:00');
  expect(formatUtc(NOON)).toBe('2026-11-22 12:00:00.000 UTC');
  expect(formatMoment('never')).toBe('never');
});

test('formats short times', () => {
  const now = Date.parse('2026-11-22T23:30:00.000Z');
  const shown = ['2026-11-22T12:00:00.000Z', '2026-11-21T23:59:59.000Z', '2025-12-31T12:00:00.000Z', 'never'];
  expect(shown.map((at) => formatShort(at, now, 'UTC'))).toEqual(['12:00:00', '21 Nov, 23:59', '31 Dec 2025', 'never']);
  expect(formatShort(NOON, now, 'Asia/Tokyo')).toBe('22 Nov, 21:00');
});

test.each([
  ['2026-11-22T23:29:59.500Z', 'now'],
  ['2026-11-22T23:29:18.000Z', '42 s ago'],
  ['2026-11-22T12:00:00.000Z', '11 h ago'],
  ['2026-11-23T01:30:00.000Z', 'in 2 h'],
  ['2026-11-21T23:29:59.000Z', '21 Nov, 23:29'],
  ['never', 'never'],
])('%s is %s in a list', (at, text) => {
  expect(formatAgo(at, Date.parse('2026-11-22T23:30:00.000Z'), 'UTC')).toBe(text);
});

test.each([
  [0, 'now'],
  [-1_000, '1 second ago'],
  [-117_000, '117 seconds ago'],
  [-120_000, '2 minutes ago'],
  [-6_600_000, '110 minutes ago'],
  [7_200_000, 'in 2 hours'],
  [-86_400_000 * 3, '3 days ago'],
])('the distance %i is %s', (milliseconds, text) => {
  const now = Date.parse(NOON);
  expect(formatDistance(new Date(now + milliseconds).toISOString(), now)).toBe(text);
});

test.each([
  [850, '850 ms'],
  [12_400, '12 s'],
  [999.6, '1 s'],
  [117_000, '1 min 57 s'],
  [240_000, '4 min'],
  [3_599_000, '59 min 59 s'],
  [12_000_000, '3 h 20 min'],
  [187_200_000, '2 d 4 h'],
])('the duration %i is %s', (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});

test('reads back the value of a date and time field, which has seconds only if the time has', () => {
  expect(toIso(toFieldValue(NOON))).toBe(NOON);
  expect(toFieldValue(NOON)).toMatch(/T\d\d:00$/);
  expect(toIso(toFieldValue('2026-11-22T12:00:07.000Z'))).toBe('2026-11-22T12:00:07.000Z');
  expect(toIso('')).toBeUndefined();
  expect(toFieldValue('never')).toBe('');
});

test('names a time zone with its offset from UTC at that time', () => {
  expect(zoneText(Date.parse(NOON), 'Europe/Berlin')).toBe('Europe/Berlin, UTC+1');
  expect(zoneText(Date.parse('2026-07-01T00:00:00Z'), 'Europe/Berlin')).toBe('Europe/Berlin, UTC+2');
  expect(zoneText(Date.parse(NOON), 'Asia/Calcutta')).toMatch(/, UTC\+5:30$/);
  expect(zoneText(Date.parse(NOON), 'UTC')).toBe('UTC');
});

test('proposes times by the clock of the user', () => {
  const now = at(15, 12) + 61_500;
  const proposed = (name: PresetName) => presetsOf(name).map((preset) => preset.at(now));
  expect(proposed('past')).toEqual([new Date(at(15, 11) + 60_000).toISOString(), iso(15, 0), iso(14, 0)]);
  expect(proposed('soon')).toEqual([new Date(at(15, 13) + 60_000).toISOString(), iso(16, 9), iso(22, 9)]);
  expect(proposed('distant')).toEqual([iso(45, 0), iso(105, 0), iso(380, 0)]);
});

const EXACT = { period: '', from: '', to: '' };
/** Returns a moment in the time zone of the machine that runs the tests. */
const at = (day: number, hour: number) => new Date(2030, 0, day, hour).getTime();
const iso = (day: number, hour: number) => new Date(at(day, hour)).toISOString();

test('ends a preset period at the current time, and keeps exact times', () => {
  const now = at(15, 12);
  expect(boundsOf({ ...EXACT, period: 'hour' }, now)).toEqual({ from: iso(15, 11) });
  expect(boundsOf({ ...EXACT, period: 'week' }, now)).toEqual({ from: new Date(now - 7 * 86_400_000).toISOString() });
  expect(boundsOf({ ...EXACT, period: 'today' }, now)).toEqual({ from: iso(15, 0) });
  expect(boundsOf({ ...EXACT, period: 'yesterday' }, now)).toEqual({ from: iso(14, 0), to: iso(15, 0) });
  expect(boundsOf({ ...EXACT, period: 'gone' }, now)).toEqual({});
  expect(boundsOf({ ...EXACT, period: 'exact', to: 'then' }, now)).toEqual({ to: 'then' });
  expect([EXACT, { ...EXACT, period: 'exact' }, { ...EXACT, period: 'day' }].map(isBounded)).toEqual([
    false,
    false,
    true,
  ]);
});

test('chooses the previous night during the day, and the current night in the evening', () => {
  const night = { ...EXACT, period: 'night' };
  expect(boundsOf(night, at(15, 9))).toEqual({ from: iso(14, 18), to: iso(15, 8) });
  expect(boundsOf(night, at(15, 3))).toEqual({ from: iso(14, 18), to: iso(15, 8) });
  expect(boundsOf(night, at(15, 20))).toEqual({ from: iso(15, 18), to: iso(16, 8) });
});

const POLL_EVERY = 5_000;

test.each([
  ['polls as usual if no change is expected', null, 5_000],
  ['polls as usual if the change comes after the next poll', 25_000, 5_000],
  ['polls just after an earlier change', 2_000, 2_500],
  ['waits at least a second for an immediate change', 0, 1_000],
  ['waits at least a second if the change is slightly overdue', -3_000, 1_000],
  ['polls as usual if the change is long overdue', -60_000, 5_000],
])('%s', (_case, inMilliseconds, pause) => {
  const changesAt = inMilliseconds === null ? null : new Date(Date.parse(NOON) + inMilliseconds).toISOString();
  expect(pauseUntilPoll(POLL_EVERY, changesAt, Date.parse(NOON))).toBe(pause);
});
