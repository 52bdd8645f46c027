import { expect, test } from 'vitest';
import {
  linesOfMoveIn,
  paceText,
  type Reading,
  resultOfMoveIn,
  whyNotCutOver,
  withReading,
  workOfComparison,
  workOfMoveIn,
} from './move-ins.ts';

type MoveIn = Parameters<typeof workOfMoveIn>[0];
type Comparison = Parameters<typeof workOfComparison>[0];

const moveIn = (changes: Partial<MoveIn>): MoveIn => ({
  ...{ move_in_id: 'mvi_1', program_id: 'prog_1', name: 'cards.csv', sha256: '', as_of: '2026-01-31T22:00:00.000Z' },
  ...{ status: 'moved', line_count: 5000, lines_received: 5000, lines_undone: 0, totals: [], adds_up: true },
  ...{ created_at: '', created_by: 'sandbox', moved_at: null, undone_at: null, undone_by: null, note: null },
  ...changes,
});

const comparison = (changes: Partial<Comparison>): Comparison => ({
  ...{ comparison_id: 'cmp_1', program_id: 'prog_1', name: 'balances.csv', sha256: '', as_of: null, status: 'equal' },
  ...{ card_count: 3, cards_received: 3, difference_count: 0, differences: [], totals_here: [], totals_there: [] },
  ...{ report: null, created_at: '', created_by: 'sandbox', compared_at: null, cut_over_at: null, cut_over_by: null },
  ...{ note: null, ...changes },
});

test('counts the lines of a move-in, and says how far it is', () => {
  expect(linesOfMoveIn(moveIn({}))).toBe('5,000 lines');
  expect(linesOfMoveIn(moveIn({ status: 'receiving', lines_received: 1000 }))).toBe(
    '1,000 of 5,000 lines are moved in',
  );
  expect(workOfMoveIn(moveIn({ status: 'undoing', lines_received: 3000, lines_undone: 1000 }))).toEqual({
    ...{ done: 1000, total: 3000, text: '1,000 of 3,000 lines are undone' },
  });
  expect(workOfMoveIn(moveIn({ status: 'undone' }))).toBeUndefined();
  expect(workOfComparison(comparison({ status: 'comparing', cards_received: 0, card_count: 1 }))?.text).toBe(
    '0 of 1 card is compared',
  );
});

test('says whether the books equal the totals of the file', () => {
  const moved = 'All 5,000 lines have moved in.';
  expect(resultOfMoveIn(moveIn({}))).toBe(`${moved} The books equal the totals that the file states.`);
  expect(resultOfMoveIn(moveIn({ adds_up: false }))).toBe(
    `${moved} The books differ from the totals that the file states.`,
  );
  expect(resultOfMoveIn(moveIn({ adds_up: null }))).toBe(`${moved} The file states no totals.`);
  expect(resultOfMoveIn(moveIn({ status: 'undone' }))).toBe('This move-in is undone, and nothing of it is left.');
});

const readingsOf = (...pairs: readonly (readonly [at: number, done: number])[]): readonly Reading[] =>
  pairs.reduce<readonly Reading[]>((readings, [at, done]) => withReading(readings, { at, done }), []);

test('computes the speed and the rest from the oldest and the newest reading', () => {
  expect(paceText([], 10)).toBeUndefined();
  expect(paceText(readingsOf([0, 1000]), 5000)).toBeUndefined();
  expect(paceText(readingsOf([0, 1000], [2000, 3000]), 5000)).toBe('1,000 a second, about 2 s to go');
  expect(paceText(readingsOf([0, 0], [1000, 4000], [2000, 8240]), 1_000_000)).toBe('4,120 a second, about 5 min to go');
});

test('forgets old readings, so that work that stands still has no speed', () => {
  expect(paceText(readingsOf([0, 0], [2000, 1000], [30_000, 1000], [32_000, 1000]), 5000)).toBeUndefined();
});

test('begins again when other work begins', () => {
  expect(paceText(readingsOf([0, 4000], [2000, 5000], [4000, 1000]), 5000)).toBeUndefined();
  expect(paceText(readingsOf([0, 4000], [2000, 5000], [4000, 1000], [5000, 2000]), 5000)).toBe(
    '1,000 a second, about 3 s to go',
  );
});

test('says why a comparison cannot be cut over', () => {
  expect(whyNotCutOver(comparison({}))).toBeUndefined();
  expect(whyNotCutOver(comparison({ as_of: '2026-01-31T22:00:00.000Z' }))).toContain('an earlier time');
  expect(whyNotCutOver(comparison({ status: 'comparing' }))).toContain('compared yet');
  expect(whyNotCutOver(comparison({ status: 'different' }))).toContain('differences');
  expect(whyNotCutOver(comparison({ status: 'cut_over' }))).toContain('already');
});
