import { describe, expect, test } from 'vitest';
import { Refusal } from '../refusal.ts';
import { countMovement, operatorLimitsText, readOperatorLimits } from './operator-limits.ts';

describe('OPERATOR_DAILY_LIMITS', () => {
  test('has amounts with the decimals of their currency', () => {
    const limits = readOperatorLimits('USD 50000.00, JPY 4000000,KWD 1.500, EUR 7');
    expect(limits).toEqual(
      new Map([
        ['USD', 5_000_000n],
        ['JPY', 4_000_000n],
        ['KWD', 1_500n],
        ['EUR', 700n],
      ]),
    );
    expect(operatorLimitsText(limits as ReadonlyMap<string, bigint>)).toBe(
      'USD 50000.00, JPY 4000000, KWD 1.500, EUR 7.00',
    );
  });

  test.each([
    ['', "The entry '' is not"],
    ['USD', "The entry 'USD' is not"],
    ['50000 USD', "The entry '50000 USD' is not"],
    ['USD 50,000.00', "The entry '000.00' is not"],
    ['USD -1', "The entry 'USD -1' is not"],
    ['usd 1', "The entry 'usd 1' is not"],
    ['XXY 1', "The currency 'XXY' is not"],
    ['USD 1.5', "The amount of 'USD 1.5' has 1 decimal, and USD has 2."],
    ['JPY 1.00', 'JPY has 0'],
    ['USD 1, USD 2', 'The currency USD has two limits.'],
    ['USD 90071992547409.92', 'is above 90,071,992,547,409.91 USD'],
  ])('refuses %o', (text, problem) => {
    expect(readOperatorLimits(text)).toContain(problem);
  });
});

describe("a person's movement", () => {
  const NOON = Date.parse('2026-11-29T12:00:00Z');
  const limits = new Map([['USD', 100n]]);
  const move = (amount: bigint, more: object = {}) =>
    ({ actor: 'per_1', currency: 'USD', kind: 'withdrawal', now: NOON, amount, ...more }) as const;
  const used = { actor: 'per_1', currency: 'USD', dayStart: Date.parse('2026-11-29T00:00:00Z'), amount: 60n };

  test('is allowed up to exactly the limit', () => {
    expect(countMovement(limits, undefined, move(100n))).toEqual({ ...used, amount: 100n });
    expect(countMovement(limits, used, move(40n))).toEqual({ ...used, amount: 100n });
    expect(countMovement(limits, used, move(41n))).toBeInstanceOf(Refusal);
  });

  test('is not counted in a currency without a limit', () => {
    expect(countMovement(limits, undefined, move(1_000n, { currency: 'EUR' }))).toBeUndefined();
  });

  test('resets when the next day in UTC begins', () => {
    const last = Date.parse('2026-11-29T23:59:59.999Z');
    expect(countMovement(limits, used, move(41n, { now: last }))).toBeInstanceOf(Refusal);
    const next = { ...used, dayStart: last + 1, amount: 41n };
    expect(countMovement(limits, used, move(41n, { now: last + 1 }))).toEqual(next);
  });

  test('is refused with a message that names the limit, the use and the end of the day', () => {
    const refusal = countMovement(limits, used, move(41n, { kind: 'reversal' })) as Refusal;
    expect(refusal.code).toBe('operator_limit_exceeded');
    expect(refusal.message).toBe(
      'You may withdraw and reverse 1.00 USD per day: 0.60 USD used, 0.40 USD left; this reversal is for 0.41 USD. ' +
        'The limit is the setting OPERATOR_DAILY_LIMITS and resets at 2026-11-30T00:00:00Z.',
    );
  });

  test('is refused with nothing left if the limit is now lower than the use', () => {
    expect(countMovement(new Map([['USD', 50n]]), used, move(1n))).toMatchObject({
      message: expect.stringContaining('0.60 USD used, 0.00 USD left'),
    });
  });
});
