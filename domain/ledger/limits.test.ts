import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { calendarAt, dayIn, nextPeriodAfter, periodOf } from '../../test/harness/local-time.ts';
import {
  addToDays,
  addToUsage,
  type CountedDay,
  cardLimitsFor,
  describeBreach,
  type EffectiveLimit,
  forEachPeriod,
  keeps,
  LIMIT_NAMES,
  type LimitName,
  type Limits,
  LONGEST_DAYS,
  limitsNothing,
  mostAllowed,
  PERIODS,
  type ProgramRules,
  programLimitsFor,
  stateOf,
  type Usage,
  usageOf,
} from './limits.ts';
import { formatMoney } from './money.ts';

const NAMES = Object.keys(LIMIT_NAMES) as LimitName[];

/** The age in days of the oldest counted day, which is before every current period. */
const FARTHEST = Math.max(...Object.values(LONGEST_DAYS)) + 14;
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const calendar = calendarAt(Date.parse('2026-03-29T12:00:00Z'), 'Europe/Berlin');

const amount = fc.bigInt(0n, 1000n);
const used = fc.record({ amount, count: fc.bigInt(0n, 10n) });
const usage: fc.Arbitrary<Usage> = fc.record(forEachPeriod(() => used));
const limit: fc.Arbitrary<EffectiveLimit> = fc.record({
  name: fc.constantFrom(...NAMES),
  value: fc.oneof(amount, fc.bigInt(0n, 10n)),
  source: fc.constantFrom('card', 'program_card', 'program'),
});
const limits = fc.uniqueArray(limit, { selector: ({ name, source }) => `${name} ${source}` });

describe('limits', () => {
  test('allow every amount from the minimum to the maximum, and no others', () => {
    fc.assert(
      fc.property(limits, usage, fc.bigInt(1n, 2000n), (set, before, requested) => {
        const states = set.map((each) => stateOf(each, before, calendar));
        const isKept = (value: bigint): boolean => states.every((state) => keeps(state, value));
        const least = states.reduce((most, { name, value }) => {
          return name === 'minimum_amount' && value > most ? value : most;
        }, 1n);
        const most = mostAllowed(states);
        expect(isKept(requested)).toBe(requested >= least && (most === null || requested <= most));
        if (most === null) return;
        expect(isKept(most + 1n)).toBe(false);
        if (most >= least) expect(isKept(most)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('are never exceeded if every transfer respects them, and leave exactly the unused amount', () => {
    // The month begins in the week of the current day, so all three periods differ.
    const now = Date.parse('2026-04-03T12:00:00Z');
    const running = calendarAt(now, 'Europe/Berlin');
    const starts = [0, 1, 2, 3, 4].map((ago) => calendarAt(now - ago * DAY, 'Europe/Berlin').day.start);
    const earlier = fc.array(fc.record({ dayStart: fc.constantFrom(...starts), amount, count: fc.bigInt(0n, 2n) }));
    fc.assert(
      fc.property(limits, earlier, fc.array(fc.bigInt(1n, 400n), { maxLength: 20 }), (set, before, amounts) => {
        const days: CountedDay[] = [...before];
        const states = () => set.map((each) => stateOf(each, usageOf(days, running), running));
        const alreadyPassed = states().map(({ value, used }) => used !== null && used > value);
        for (const requested of amounts) {
          const isKept = states().every((state) => keeps(state, requested));
          if (isKept) days.push({ dayStart: running.day.start, amount: requested, count: 1n });
        }
        for (const [index, { used, left, value }] of states().entries()) {
          if (used === null || left === null) continue;
          expect(left).toBe(alreadyPassed[index] ? 0n : value - used);
          expect(left >= 0n).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('leave 0 if they were lowered below the used amount', () => {
    const used = usageOf([{ dayStart: calendar.day.start, amount: 25n, count: 1n }], calendar);
    const state = stateOf({ name: 'daily_amount', value: 10n, source: 'card' }, used, calendar);
    expect(state).toMatchObject({ used: 25n, left: 0n, freesAt: calendar.day.end });
    expect(keeps(state, 1n)).toBe(false);
    expect(mostAllowed([state])).toBe(0n);
  });

  test('are described with name, source and remaining amount if a transfer exceeds them', () => {
    fc.assert(
      fc.property(
        limit,
        usage,
        fc.bigInt(1n, 2000n),
        fc.constantFrom('in', 'out'),
        (set, before, requested, direction) => {
          const state = stateOf(set, before, calendar);
          if (keeps(state, requested)) return;
          const message = describeBreach(state, requested, { name: "The card 'ann'", currency: 'JPY', direction });
          expect(message).toContain(`'${set.name}' limit`);
          expect(message).toContain(formatMoney(requested, 'JPY'));
          expect(message).toContain(direction === 'in' ? 'may receive' : 'may send');
          if (state.freesAt === null) return;
          const isCount = LIMIT_NAMES[set.name].measure === 'count';
          expect(message).toContain(isCount ? `${state.left} transfer` : formatMoney(state.left ?? 0n, 'JPY'));
          expect(message).toContain(new Date(state.freesAt).toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length));
        },
      ),
    );
  });
});

describe("a card's limits", () => {
  const oneWay = fc
    .array(fc.tuple(fc.constantFrom(...NAMES), amount))
    .map((entries): Limits['in'] => Object.fromEntries(entries));
  const anyLimits = fc.option(
    fc.record({ in: oneWay, out: oneWay, maximumBalance: fc.option(amount) }) satisfies fc.Arbitrary<Limits>,
  );
  const currencies = fc.constantFrom('USD', 'EUR');

  test('are its own limits, plus those of its program that it does not set itself, if both have the same currency', () => {
    fc.assert(
      fc.property(anyLimits, anyLimits, anyLimits, currencies, (own, cardLimits, ofAll, currency) => {
        const rules: ProgramRules = {
          programId: 'program',
          currency: 'USD',
          today: '2026-03-29',
          calendar,
          limits: ofAll,
          cardLimits,
        };
        for (const direction of ['in', 'out'] as const) {
          const found = cardLimitsFor({ limits: own, currency }, rules, direction);
          const expected = NAMES.flatMap((name) => {
            const value = own?.[direction][name];
            if (value !== undefined) return [{ name, value, source: 'card' }];
            const given = currency === 'USD' ? cardLimits?.[direction][name] : undefined;
            return given === undefined ? [] : [{ name, value: given, source: 'program_card' }];
          });
          expect(found).toEqual(expected);
          const shared = programLimitsFor(rules, currency, direction);
          expect(shared.map(({ name }) => name)).toEqual(
            currency === 'USD' ? NAMES.filter((name) => ofAll?.[direction][name] !== undefined) : [],
          );
          if (own !== null && limitsNothing(own)) expect(found.every(({ source }) => source !== 'card')).toBe(true);
        }
      }),
    );
  });
});

describe('the used amount', () => {
  const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'Africa/Cairo', 'America/Havana', 'Pacific/Auckland');
  const moments = fc.integer({ min: Date.parse('2025-12-20T00:00:00Z'), max: Date.parse('2028-03-10T00:00:00Z') });

  test('is the sum of the days of each period', () => {
    const counted = fc.record({ ago: fc.integer({ min: -3, max: FARTHEST }), amount, count: fc.bigInt(0n, 5n) });
    fc.assert(
      fc.property(zones, moments, fc.uniqueArray(counted, { selector: ({ ago }) => ago }), (zone, now, found) => {
        const days: readonly CountedDay[] = found.map(({ ago, ...day }) => {
          // Noon is never skipped, so each number of days leads to a separate day.
          const noon = Date.parse(`${dayIn(zone, now)}T12:00:00Z`) - ago * DAY;
          return { ...day, dayStart: calendarAt(noon, zone).day.start };
        });
        const usages = usageOf(days, calendarAt(now, zone));
        for (const period of PERIODS) {
          const running = periodOf(period, dayIn(zone, now));
          const inside = days.filter(({ dayStart }) => periodOf(period, dayIn(zone, dayStart)) === running);
          expect(usages[period].amount).toBe(inside.reduce((total, day) => total + day.amount, 0n));
          expect(usages[period].count).toBe(inside.reduce((total, day) => total + day.count, 0n));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('stays the sum when transfers are added one by one, with one entry per day', () => {
    const change = fc.record({ ago: fc.integer({ min: 0, max: FARTHEST }), amount, count: fc.bigInt(0n, 5n) });
    fc.assert(
      fc.property(zones, moments, fc.array(change, { maxLength: 60 }), (zone, now, changes) => {
        const running = calendarAt(now, zone);
        let days: readonly CountedDay[] = [];
        let usage = usageOf(days, running);
        for (const { ago, ...day } of changes) {
          const added = { ...day, dayStart: running.day.start - ago * DAY };
          days = addToDays(days, added);
          usage = addToUsage(usage, added, running);
          expect(usage).toEqual(usageOf(days, running));
        }
        expect(new Set(days.map(({ dayStart }) => dayStart)).size).toBe(days.length);
      }),
      { numRuns: 300 },
    );
  });

  test('uses the same periods as the model, which computes them differently', () => {
    fc.assert(
      fc.property(zones, moments, (zone, now) => {
        const found = calendarAt(now, zone);
        for (const period of PERIODS) {
          const { start, end } = found[period];
          expect(start <= now && now < end).toBe(true);
          expect(end).toBe(nextPeriodAfter(now, period, zone));
          expect(start).toBe(nextPeriodAfter(start - 1, period, zone));
          // A day has up to 25 hours.
          expect(end - start).toBeLessThanOrEqual(LONGEST_DAYS[period] * DAY + HOUR);
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['a day with 23 hours', 'Europe/Berlin', '2026-03-29T10:00:00Z', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
    ['a day with 25 hours', 'Europe/Berlin', '2026-10-25T10:00:00Z', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
    ['a day without midnight', 'Africa/Cairo', '2026-04-24T10:00:00Z', '2026-04-23T22:00:00Z', '2026-04-24T21:00:00Z'],
    [
      'a day with two midnights',
      'America/Havana',
      '2026-11-01T10:00:00Z',
      '2026-11-01T04:00:00Z',
      '2026-11-02T05:00:00Z',
    ],
  ])('finds the start and the end of %s', (_day, zone, now, start, end) => {
    expect(calendarAt(Date.parse(now), zone).day).toEqual({ start: Date.parse(start), end: Date.parse(end) });
  });
});
