import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TRANSFER_MOVES } from '../../../domain/transfers/transfer.ts';
import { LIMIT_NAMES } from '../../model/books.ts';
import { agreement, RUNS, type Tally, told } from './transfer-run.ts';
import { DOMAIN } from './transfer-world.ts';

describe('the domain and the plain model', () => {
  const tally: Tally = new Map();
  const timesOf = (what: string): number => tally.get(what) ?? 0;

  test(`agree on every step of ${RUNS} random stories`, () => {
    const outcome = fc.check(agreement(DOMAIN, tally), { numRuns: RUNS });
    if (outcome.failed) throw new Error(told(outcome, DOMAIN));
  });

  // For the reports of processors, see test/store/processors.test.ts.
  const moves = TRANSFER_MOVES.filter(({ command }) => command !== 'report');
  test.each(moves.map(({ from, command, to }) => `${from} ${command} ${to}`))('make the move %s', (move) => {
    // The rarest move comes about fifty times.
    expect(timesOf(`moved ${move}`)).toBeGreaterThan(10);
  });

  // Each refusal comes at least twenty-five times.
  test.each([
    ['create', ['create_transfer_schema', 'service_disabled', 'currency_mismatch', 'duplicate_reference']],
    [
      'create',
      ['card_not_activated', 'card_suspended', 'card_closed', 'card_expired', 'card_lost', 'card_suspected_fraud'],
    ],
    ['create', ['amount_too_small', 'amount_too_large', 'limit_exceeded', 'insufficient_funds']],
    ['capture', ['invalid_transfer_status', 'service_disabled', 'amount_too_large']],
    ['cancel', ['invalid_transfer_status']],
    ['expire', ['invalid_transfer_status']],
    ['execute', ['invalid_transfer_status']],
    ['reverse', ['invalid_transfer_status', 'service_disabled', 'amount_too_large', 'card_closed']],
    ['update_card', ['card_not_found', 'invalid_card_status', 'card_not_empty']],
  ])('refuse %s for the reasons %j', (command, codes) => {
    for (const code of codes) expect(timesOf(`refused ${command} ${code}`), code).toBeGreaterThan(3);
  });

  // The rarest limit comes about ten times.
  test.each([...LIMIT_NAMES, 'maximum_balance'])('refuse for the limit %s', (name) => {
    const found = [...tally.keys()].filter((what) => what.startsWith(`refused for '${name}' limit`));
    expect(found).not.toEqual([]);
  });

  test('refuse for the rare reasons', () => {
    const states = ['not_activated', 'suspended', 'closed', 'expired', 'lost'].map(
      (state) => `refused capture card_${state}`,
    );
    const captures = states.reduce(
      (times, what) => times + timesOf(what),
      timesOf('refused capture card_suspected_fraud'),
    );
    expect(captures).toBeGreaterThan(5);
    expect(timesOf('refused create card_not_found') + timesOf('refused execute service_disabled')).toBeGreaterThan(5);
    expect(timesOf('refused reverse insufficient_funds') + timesOf('refused capture limit_exceeded')).toBeGreaterThan(
      5,
    );
  });
});
