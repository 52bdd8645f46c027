import { CARD_STATUSES, type CardStatus } from '../../domain/cards/card.ts';
import type { Limits } from '../../domain/ledger/limits.ts';
import type { Random } from '../../test/harness/random.ts';
import type { Opening, OpeningCard, OpeningProgram } from '../model/commands.ts';
import { LARGEST_AMOUNT, LARGEST_BALANCE } from '../model/model.ts';
import { CARD_LIMITS, DAY, drawLimit, PERIOD_LIMITS } from './commands.ts';

/** The scale of amounts in these openings. */
export const SCALE = 20;

/** The cards of each program. The first of two currencies is the program's. */
const CARDS = [
  [
    ['ann', 0],
    ['bob', 0],
    ['eva', 1],
    ['leo', 1],
  ],
  [['sue', 0]],
] as const;

/** Currencies with 2, 0 and 3 decimals. */
const CURRENCIES = [
  ['USD', 'EUR'],
  ['JPY', 'USD'],
  ['KWD', 'JPY'],
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

/** Statuses of cards at the start. The service itself never gives a card `preactive` or `expired`. */
const STATUSES = [...new Array<CardStatus>(15 * CARD_STATUSES.length).fill('active'), ...CARD_STATUSES];

/** Returns two random programs in one time zone, one with four cards and one with a single card. Most have few limits. */
export function drawOpening(random: Random): Opening {
  const [zone, start] = random.pick(BEGINNINGS);
  const now = Date.parse(start);
  return { now, programs: CARDS.map((cards) => drawProgram(random, { zone, now }, cards)) };
}

type Beginning = { readonly zone: string; readonly now: number };

function drawProgram(random: Random, { zone, now }: Beginning, named: (typeof CARDS)[number]): OpeningProgram {
  const [currency, other] = random.pick(CURRENCIES);
  const between = (least: number, most: number): bigint => BigInt(least + random.below(most - least));
  const cards = named.map(
    ([name, index]): OpeningCard => ({
      ...{ name, currency: index === 0 ? currency : other, status: random.pick(STATUSES), isElsewhere: false },
      limits: drawLimits(random),
      balance: random.chance(0.15) ? 0n : between(200, 4000),
      // One card in ten expires, within a few days.
      expiresOn: random.chance(0.1) ? new Date(now + random.below(4) * DAY).toISOString().slice(0, 10) : null,
    }),
  );
  const own = between(200, 8000);
  const rules = { limits: drawLimits(random, PERIOD_LIMITS), cardLimits: drawLimits(random) };
  const program = { ...{ name: 'Story', zone, currency, threshold: null }, ...rules };
  const funding = { [currency]: own, [other]: between(200, 6000) };
  if (!random.chance(0.08)) return { ...program, funding, cards };
  // Almost all the money that can exist, so that accounts have no room for more. One card has more money than one transfer can
  // move.
  const [rich, ...others] = cards as [OpeningCard, ...OpeningCard[]];
  const balance = rich.balance + LARGEST_AMOUNT;
  const left = LARGEST_BALANCE - balance - (others[0]?.balance ?? 0n) - own / 100n;
  return { ...program, funding: { ...funding, [currency]: left }, cards: [{ ...rich, balance }, ...others] };
}

/** Returns random limits for a card, for each card, or for a program. Often returns none. */
function drawLimits(random: Random, names = CARD_LIMITS): Limits | null {
  if (random.chance(0.45)) return null;
  const share = random.pick([0.1, 0.1, 0.1, 0.2, 0.2]);
  const draw = (): readonly (readonly [string, bigint])[] =>
    names.filter(() => random.chance(share)).map((name) => [name, drawLimit(random, name, SCALE)]);
  const { maximum_balance: maximumBalance = null, ...incoming } = Object.fromEntries(draw());
  const { maximum_balance: _balance, ...out } = Object.fromEntries(draw());
  return { in: incoming, out, maximumBalance };
}
