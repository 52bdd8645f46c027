import { describe, expect, test } from 'vitest';
import { TRANSFER_MOVES } from '../../../domain/transfers/transfer.ts';
import { Coverage } from '../../generators/commands.ts';
import { findDifference, WORKLOAD } from './run.ts';
import { DOMAIN } from './world.ts';

/** The number of random stories. */
const STORIES = 2000;

describe('the domain and the plain model', () => {
  const coverage = new Coverage();

  test(`agree on every command of ${STORIES} random stories`, () => {
    const firstSeed = Math.floor(Math.random() * 1e9);
    expect(findDifference(DOMAIN, { stories: STORIES, firstSeed, coverage }) ?? '').toBe('');
  });

  // For the reports of processors, see test/store/processors.test.ts.
  const moves = TRANSFER_MOVES.filter(({ command }) => command !== 'report');
  test.each(moves.map(({ from, command, to }) => `${from} ${command} ${to}`))('make the move %s', (move) => {
    expect(coverage.timesOf(`moved ${move}`)).toBeGreaterThan(10);
  });

  test('meet every kind of command, every limit and every refusal', () => {
    // The rarest refusals come about ten times.
    expect(coverage.missing(WORKLOAD, 1)).toEqual([]);
  });
});
