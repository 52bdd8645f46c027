import { expect, test } from 'vitest';
import type { DayRecord } from '../../sdk/client.ts';
import { addDays, boundsOfDay, dayOf, formatDay, linesOf, verdictOf } from './day.ts';

const NOTHING = { funding: 0, cards: 0, suspense: 0, loss: 0 };
const OPENING = { ...NOTHING, funding: 5000 };
const LOAD = { ...NOTHING, purpose: 'load', postings: 2, funding: -300, cards: 300 };
const SHEET = {
  currency: 'USD',
  opening: OPENING,
  movements: [LOAD],
  closing: { ...NOTHING, funding: 4700, cards: 300 },
  adds_up: true,
};
const DAY: DayRecord = {
  program_id: 'prog_1',
  day: '2026-01-30',
  time_zone: 'UTC',
  begins_at: '2026-01-30T00:00:00.000Z',
  ends_at: '2026-01-31T00:00:00.000Z',
  status: 'open',
  adds_up: true,
  currencies: [SHEET],
  settlements: [],
  open_breaks: 0,
  last_closed_day: null,
  closed_at: null,
  closed_by: null,
  note: null,
};

test('counts days across months, leap days and daylight saving changes', () => {
  expect(addDays('2026-01-31', 1)).toBe('2026-02-01');
  expect(addDays('2028-03-01', -1)).toBe('2028-02-29');
  expect([addDays('2026-03-29', 1), addDays('2026-10-25', 1)]).toEqual(['2026-03-30', '2026-10-26']);
});

test('writes a day in full, the same in every time zone', () => {
  expect(formatDay('2026-01-30')).toBe('30 January 2026');
  expect(formatDay('2026-01-30', 'long')).toBe('Friday 30 January 2026');
});

test('says whether the day adds up, and if not, in which currencies', () => {
  expect(verdictOf(DAY)).toEqual({ tone: '', sentence: '30 January 2026 adds up.' });
  const wrong = [SHEET, { ...SHEET, currency: 'EUR', adds_up: false }, { ...SHEET, currency: 'CHF', adds_up: false }];
  const { tone, sentence } = verdictOf({ ...DAY, status: 'running', adds_up: false, currencies: wrong });
  expect([tone, sentence]).toEqual([
    'fault',
    expect.stringContaining('30 January 2026 does not add up in EUR and CHF.'),
  ]);
});

test('does not report a day as good if the day is not over, or has open breaks at its end', () => {
  const running = verdictOf({ ...DAY, status: 'running' });
  expect(running).toEqual({ tone: 'unknown', sentence: '30 January 2026 is not over. So far, it adds up.' });
  const open = verdictOf({ ...DAY, status: 'closed', open_breaks: 2 });
  expect(open).toEqual({ tone: 'unknown', sentence: '30 January 2026 adds up, but was closed with 2 breaks open.' });
});

test('says that a day does not begin with the closing balances of the previous closed day', () => {
  const { tone, sentence } = verdictOf({ ...DAY, adds_up: false });
  expect([tone, sentence]).toEqual(['fault', expect.stringContaining('does not begin with the closing balances')]);
});

test('lists both balances, each movement, and the exact difference if there is one', () => {
  expect(linesOf(SHEET)).toEqual([
    { name: 'Opening', postings: null, ...OPENING },
    { name: 'Loads', ...LOAD, purpose: undefined },
    { name: 'Closing', postings: null, ...SHEET.closing },
  ]);
  const closing = { ...SHEET.closing, funding: '9007199254740993', loss: -5 };
  const [difference] = linesOf({ ...SHEET, closing, adds_up: false }).slice(-1);
  expect(difference).toEqual({
    name: 'Difference',
    postings: null,
    funding: '9007199254736293',
    cards: '0',
    suspense: '0',
    loss: '-5',
  });
});

test('finds the bounds of a day in the time zone of the user, and the day of a moment', () => {
  const { from, to } = boundsOfDay('2026-01-30') ?? {};
  expect([from, to]).toEqual(['2026-01-30T00:00', '2026-01-31T00:00'].map((local) => new Date(local).toISOString()));
  expect(dayOf(Date.parse(from ?? ''))).toBe('2026-01-30');
  expect(dayOf(Date.parse(to ?? '') - 1)).toBe('2026-01-30');
  for (const nonsense of ['', '2026', '2026-02-31T', 'yesterday']) expect(boundsOfDay(nonsense)).toBeUndefined();
});
