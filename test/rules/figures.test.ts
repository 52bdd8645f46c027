import { expect, test } from 'vitest';
import { MAX_HOLD_MILLISECONDS } from '../../domain/transfers/transfer.ts';
import { findFigureProblems, withFigures } from '../../tools/guides/figures.ts';

// `npm run generate` writes these numbers into guides and code. With --check, it fails if one of them has a different number.

const LONGEST_HOLD_DAYS = MAX_HOLD_MILLISECONDS / 86_400_000;

test('replaces a number in a guide or in code that differs from its constant, even across lines', () => {
  expect(withFigures('so holds of up to\n31 days count')).toBe(`so holds of up to\n${LONGEST_HOLD_DAYS} days count`);
  expect(withFigures("fail('a hold lasts at most 31 days.')")).toBe(
    `fail('a hold lasts at most ${LONGEST_HOLD_DAYS} days.')`,
  );
  expect(withFigures('requests that set `DATABASE_CONNECTIONS` (1,000)')).toBe(
    'requests that set `DATABASE_CONNECTIONS` (27)',
  );
});

test('reports a number of days, hours, characters or pairs that no phrase writes, except in listings', () => {
  const problemsOf = (text: string) =>
    findFigureProblems({ 'guide.md': text }).filter((one) => one.startsWith('guide.md'));
  expect(problemsOf('Errors vanish after 12 days of\n')).toEqual([
    'guide.md: no phrase of tools/guides/figures.ts writes the number in "Errors vanish after 12 days of": add one, or add the text to OTHERS.',
  ]);
  expect(problemsOf(`A hold lasts, a hold lasts up to ${LONGEST_HOLD_DAYS} days.\n`)).toEqual([]);
  expect(problemsOf('```\n$ sleep 12 hours\n```\n')).toEqual([]);
});

test('reports a phrase that no file contains', () => {
  expect(findFigureProblems({ 'guide.md': '' })).toContain(
    'No text says "a hold lasts up to {} days": change that phrase in tools/guides/figures.ts, or remove it.',
  );
});
