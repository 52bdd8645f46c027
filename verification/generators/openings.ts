import type { Limits } from '../../domain/ledger/limits.ts';
import type { Random } from '../../test/harness/random.ts';
import type { Opening, OpeningCard } from '../model/commands.ts';
import { LARGEST_AMOUNT, LARGEST_BALANCE } from '../model/model.ts';
import { CARD_LIMITS, DAY, drawLimit, PERIOD_LIMITS } from './commands.ts';

/** The scale of amounts in these openings. */
export const SCALE = 20;

/** Two cards in the currency of the program, two in another one. */
const CARDS = [
  ['ann', 'USD'],
  ['bob', 'USD'],
  ['eva', 'EUR'],
  ['leo', 'EUR'],
] as const;

/** Times shortly before a change of the calendar, with their time zones. */
const BEGINNINGS = [
  ['UTC', '2026-11-20T12:00:00Z'],
  ['Europe/Berlin', '2026-03-28T22:30:00Z'],
  ['Europe/Berlin', '2026-10-24T21:00:00Z'],
  ['Europe/Berlin', '2026-12-30T22:59:59Z'],
  // Summer time begins and ends at midnight there: one day has no midnight, another has two.
  ['Africa/Cairo', '2026-04-23T20:00:00Z'],
  ['America/Havana', '2026-03-07T23:00:00Z'],
  ['America/Havana', '2026-10-31T20:00:00Z'],
  ['Atlantic/Azores', '2026-10-24T22:00:00Z'],
  ['Pacific/Auckland', '2026-09-26T10:00:00Z'],
  ['Asia/Kathmandu', '2028-02-28T18:00:00Z'],
  ['America/Los_Angeles', '2027-01-31T23:00:00Z'],
] as const;

/** Draws a program with four cards. Most have few limits. */
export function drawOpening(random: Random): Opening {
  const [zone, start] = random.pick(BEGINNINGS);
  const now = Date.parse(start);
  const between = (least: number, most: number): bigint => BigInt(least + random.below(most - least));
  const cards = CARDS.map(
    ([name, currency]): OpeningCard => ({
      ...{ name, currency, status: 'active', isElsewhere: false },
      limits: drawLimits(random),
      balance: random.chance(0.15) ? 0n : between(200, 4000),
      // One card in ten expires, within a few days.
      expiresOn: random.chance(0.1) ? new Date(now + random.below(4) * DAY).toISOString().slice(0, 10) : null,
    }),
  );
  const usd = between(200, 8000);
  const program = { ...{ name: 'Story', zone, currency: 'USD', threshold: null, webhooks: [] } };
  const limits = drawLimits(random, PERIOD_LIMITS);
  const rules = { limits, cardLimits: drawLimits(random) };
  const funding = { USD: usd, EUR: between(200, 6000) };
  if (!random.chance(0.08)) return { now, programs: [{ ...program, ...rules, funding, cards }] };
  // Almost all the money that can exist, so that accounts have no room for more. One card has more money than one transfer can
  // move.
  const [rich, next, ...others] = cards as [OpeningCard, OpeningCard, OpeningCard, OpeningCard];
  const balance = rich.balance + LARGEST_AMOUNT;
  const riches = [{ ...rich, balance }, next, ...others];
  const left = LARGEST_BALANCE - balance - next.balance - usd / 100n;
  return { now, programs: [{ ...program, ...rules, funding: { ...funding, USD: left }, cards: riches }] };
}

/** Draws the limits of a card or of each card, or only some of them. Often none. */
function drawLimits(random: Random, names = CARD_LIMITS): Limits | null {
  if (random.chance(0.45)) return null;
  const share = random.pick([0.1, 0.1, 0.1, 0.2, 0.2]);
  const draw = (): readonly (readonly [string, bigint])[] =>
    names.filter(() => random.chance(share)).map((name) => [name, drawLimit(random, name, SCALE)]);
  const { maximum_balance: maximumBalance = null, ...incoming } = Object.fromEntries(draw());
  const { maximum_balance: _balance, ...out } = Object.fromEntries(draw());
  return { in: incoming, out, maximumBalance };
}
