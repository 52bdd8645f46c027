import { describe, expect, test } from 'vitest';
import { TRANSFER_MOVES } from '../../../domain/transfers/transfer.ts';
import { Coverage } from '../../generators/commands.ts';
import { findDifference, WORKLOAD } from './run.ts';
import { DOMAIN } from './world.ts';

describe('the domain and the plain model', () => {
  // Covers only stories that are always the same. Otherwise a run could fail because a rare refusal did not occur by
  // chance.
  const coverage = new Coverage();

  test.for([
    ['known', 1200, 1, coverage],
    ['new', 800, Math.floor(Math.random() * 1e9), new Coverage()],
  ] as const)('agree on every command of all %s stories', ([, stories, firstSeed, seen]) => {
    expect(findDifference(DOMAIN, { stories, firstSeed, coverage: seen }) ?? '').toBe('');
  });

  // test/store/processors.test.ts tests the reports of processors.
  const moves = TRANSFER_MOVES.filter(({ command }) => command !== 'report');
  test.each(moves.map(({ from, command, to }) => `${from} ${command} ${to}`))('make the move %s', (move) => {
    expect(coverage.timesOf(`moved ${move}`), 'give the move more weight in run.ts').toBeGreaterThan(10);
  });

  test('meet every kind of command, every limit, every end of a period and every refusal', () => {
    expect(coverage.missing(WORKLOAD, 1)).toEqual([]);
  });
});
