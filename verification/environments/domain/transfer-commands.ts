import fc from 'fast-check';
import { CARD_STATUSES, type CardStatus } from '../../../domain/cards/card.ts';
import type { DirectionLimits, LimitName, Limits, Period } from '../../../domain/ledger/limits.ts';
import { MAXIMUM_AMOUNT, MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import { TRANSFER_TYPES, type TransferType } from '../../../domain/transfers/transfer.ts';
import { CURRENCIES, type Currency, type Opening, type Switching } from './transfer-steps.ts';

/** A transfer that is chosen when the step runs: any transfer, or one that the command is suitable for. */
export type Pick = { readonly apt: boolean; readonly index: number };

/** Part of the available amount. Null sends no amount. Otherwise tenths of it, possibly more than all. */
export type Share = number | null;

/** A jump of the clock. */
export type Jump =
  | { readonly by: number }
  | { readonly toNext: Period; readonly plus: number }
  | { readonly toSwitchEnd: true; readonly plus: number }
  | { readonly to: 'start' | 'end'; readonly of: Pick; readonly plus: number };

/** A generated step. Its transfer and amounts are chosen when it runs, and its times count from then. */
export type Command =
  | {
      readonly does: 'create';
      readonly type: TransferType;
      readonly amount: bigint;
      readonly card: string;
      readonly destination: string;
      readonly currency: string | null;
      readonly reference: string | null;
      readonly manual: boolean;
      readonly holdsFor: number | null;
      readonly startsIn: number | null;
    }
  | { readonly does: 'capture' | 'reverse'; readonly pick: Pick; readonly share: Share }
  | { readonly does: 'cancel' | 'expire' | 'execute'; readonly pick: Pick }
  | { readonly does: 'loop' }
  | { readonly does: 'look'; readonly card: string }
  | {
      readonly does: 'update_card';
      readonly card: string;
      readonly status: CardStatus | null;
      readonly limits: Limits | null;
      /** Days until the card's last day, which may be past. */
      readonly lastsFor: number | null;
      readonly takesAlong: boolean;
    }
  | { readonly does: 'put_card_status'; readonly card: string; readonly status: CardStatus }
  | { readonly does: 'put_card_limits'; readonly card: string; readonly limits: Limits | null }
  | { readonly does: 'put_maximum_balance'; readonly card: string; readonly room: bigint }
  | { readonly does: 'put_program_limits'; readonly each: boolean; readonly limits: Limits | null }
  | { readonly does: 'switch'; readonly setting: Omit<Switching, 'until'>; readonly lasts: number | null }
  | { readonly does: 'deposit'; readonly currency: Currency; readonly amount: bigint }
  | { readonly does: 'jump'; readonly to: Jump };

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** The cards: two in the currency of the program, two in another one. The name `nobody` has no card. */
const CARDS = [
  { name: 'ann', currency: 'USD' },
  { name: 'bob', currency: 'USD' },
  { name: 'eva', currency: 'EUR' },
  { name: 'leo', currency: 'EUR' },
] as const;

/** Weighs arbitraries: `[weight, arbitrary]`. */
function weighed<T>(...choices: readonly (readonly [number, fc.Arbitrary<T>])[]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

const money = (least: bigint, most: bigint): fc.Arbitrary<bigint> => fc.bigInt(least, most);

/** Limits. Each limit is missing with the weight `rarely` and present with the weight 1. */
const limits = (rarely: number): fc.Arbitrary<Limits> => {
  const seldom = (arbitrary: fc.Arbitrary<bigint>) =>
    weighed<bigint | undefined>([rarely, fc.constant(undefined)], [1, arbitrary]);
  const oneWay: fc.Arbitrary<DirectionLimits> = fc
    .record({
      minimum_amount: seldom(money(0n, 150n)),
      maximum_amount: seldom(money(100n, 600n)),
      daily_amount: seldom(money(0n, 1500n)),
      daily_count: seldom(money(0n, 4n)),
      weekly_amount: seldom(money(300n, 2500n)),
      weekly_count: seldom(money(1n, 6n)),
      monthly_amount: seldom(money(500n, 3500n)),
      monthly_count: seldom(money(1n, 9n)),
    } satisfies Record<LimitName, unknown>)
    .map((found) => Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)));
  return fc.record({
    in: oneWay,
    out: oneWay,
    maximumBalance: seldom(money(0n, 3000n)).map((most) => most ?? null),
  });
};

/** Limits of a card or a program: often none, usually few. */
const anyLimits = weighed<Limits | null>([4, fc.constant(null)], [3, limits(10)], [2, limits(4)]);

/** Limits of a whole program. These have no maximum balance. */
const programLimits = anyLimits.map((found) => (found === null ? null : { ...found, maximumBalance: null }));

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

const openingBalance = weighed<bigint>([1, fc.constant(0n)], [5, money(200n, 4000n)]);

/** A program in its initial state. */
const anyOpening: fc.Arbitrary<Opening> = fc
  .record({
    beginning: fc.constantFrom(...BEGINNINGS),
    limits: programLimits,
    cardLimits: anyLimits,
    usd: money(200n, 8000n),
    eur: money(200n, 6000n),
    isFull: weighed<boolean>([12, fc.constant(false)], [1, fc.constant(true)]),
    cards: fc.tuple(...CARDS.map(() => fc.record({ limits: anyLimits, balance: openingBalance, expires: fc.nat(40) }))),
  })
  .map(({ beginning: [zone, start], usd, eur, isFull, cards, ...programWide }) => {
    const now = Date.parse(start);
    // Almost all the money that can exist, so that accounts have no room for more. One card has more money than one transfer can
    // move.
    const balances = cards.map(({ balance }, index) => (isFull && index === 0 ? MAXIMUM_AMOUNT + balance : balance));
    const most = MAXIMUM_BALANCE - (balances[0] ?? 0n) - (balances[1] ?? 0n) - usd / 100n;
    return {
      ...programWide,
      zone,
      now,
      funding: { USD: isFull ? most : usd, EUR: eur },
      cards: CARDS.map((card, index) => {
        const { limits: own = null, expires = 0 } = cards[index] ?? {};
        // One card in ten expires, within a few days.
        const expiresOn = expires > 3 ? null : new Date(now + expires * DAY).toISOString().slice(0, 10);
        return { ...card, status: 'active' as const, limits: own, balance: balances[index] ?? 0n, expiresOn };
      }),
    };
  });

/** Mostly the same two cards, so that one step affects the next. */
const cardName = fc.constantFrom('ann', 'ann', 'ann', 'bob', 'bob', 'eva', 'leo');
const knownOrNot = weighed<string>([40, cardName], [1, fc.constant('nobody')]);

/** A card to pay from, and another one, usually in the same currency. */
const twoCards = weighed<readonly [string, string]>(
  [22, fc.constantFrom<readonly [string, string]>(['ann', 'bob'], ['ann', 'bob'], ['bob', 'ann'])],
  [8, fc.constantFrom<readonly [string, string]>(['eva', 'leo'], ['leo', 'eva'])],
  [1, fc.tuple(knownOrNot, knownOrNot).filter(([one, other]) => one !== other)],
);

const amount = weighed<bigint>(
  [6, fc.constantFrom(50n, 100n, 150n, 200n, 300n)],
  [6, money(1n, 600n)],
  [1, money(1n, 3000n)],
  [1, fc.constantFrom(1n, 10n, MAXIMUM_AMOUNT)],
);

const pick: fc.Arbitrary<Pick> = fc.record({
  apt: weighed<boolean>([7, fc.constant(true)], [1, fc.constant(false)]),
  index: fc.nat(20),
});

const share = weighed<Share>([3, fc.constant(null)], [4, fc.integer({ min: 1, max: 9 })], [1, fc.constantFrom(10, 11)]);

const near = fc.constantFrom(-1, 0, 0, 1);

const jump = weighed<Jump>(
  [2, fc.record({ by: fc.integer({ min: 1, max: 90 }).map((seconds) => seconds * SECOND) })],
  [2, fc.record({ by: fc.integer({ min: 1, max: 30 }).map((hours) => hours * HOUR) })],
  [1, fc.record({ by: fc.integer({ min: 1, max: 20 }).map((days) => days * DAY + 1) })],
  [4, fc.record({ toNext: fc.constantFrom<Period>('day', 'day', 'day', 'week', 'week', 'month'), plus: near })],
  [6, fc.record({ to: fc.constantFrom('start', 'end'), of: pick, plus: near })],
  [1, fc.record({ toSwitchEnd: fc.constant(true), plus: near })],
  // The clock of a sandbox can also go back.
  [1, fc.record({ by: fc.integer({ min: -3 * 24, max: -1 }).map((hours) => hours * HOUR) })],
);

const create: fc.Arbitrary<Command> = fc
  .record({
    type: fc.constantFrom(...TRANSFER_TYPES),
    amount,
    cards: twoCards,
    currency: weighed<string | null>([30, fc.constant(null)], [1, fc.constantFrom(...CURRENCIES)]),
    reference: weighed<string | null>([9, fc.constant(null)], [1, fc.constantFrom('first', 'second')]),
    manual: fc.boolean(),
    holdsFor: weighed<number | null>(
      [8, fc.constant(null)],
      [8, fc.integer({ min: 1, max: 3 * 24 }).map((hours) => hours * HOUR)],
      [1, fc.constantFrom(-1, 0, 1, 90 * DAY, 90 * DAY + 1)],
    ),
    startsIn: weighed<number | null>(
      [32, fc.constant(null)],
      [8, fc.integer({ min: 1, max: 2 * 24 }).map((hours) => hours * HOUR)],
      [1, fc.constantFrom(-1, 0, 1, 366 * DAY, 366 * DAY + 1)],
    ),
  })
  .map(({ cards: [card, destination], ...rest }) => ({ does: 'create', card, destination, ...rest }));

const updateCard: fc.Arbitrary<Command> = fc.record({
  does: fc.constant('update_card'),
  card: knownOrNot,
  status: weighed<CardStatus | null>(
    [2, fc.constant(null)],
    [2, fc.constant('active')],
    [2, fc.constant('closed')],
    [3, fc.constantFrom('inactive', 'lost', 'stolen', 'fraud')],
  ),
  limits: weighed<Limits | null>([5, fc.constant(null)], [1, limits(6)]),
  lastsFor: weighed<number | null>([5, fc.constant(null)], [1, fc.integer({ min: -1, max: 40 })]),
  takesAlong: fc.boolean(),
});

const putOtherwise = weighed<Command>(
  [
    2,
    fc.record({
      does: fc.constant('put_card_status'),
      card: cardName,
      // Active in half of the cases. Otherwise most steps would soon be refused.
      status: weighed<CardStatus>([1, fc.constant('active')], [1, fc.constantFrom(...CARD_STATUSES)]),
    }),
  ],
  [1, fc.record({ does: fc.constant('put_card_limits'), card: cardName, limits: anyLimits })],
  // About as much as is on the card or on hold for it.
  [6, fc.record({ does: fc.constant('put_maximum_balance'), card: cardName, room: money(-250n, 50n) })],
  [1, fc.record({ does: fc.constant('put_program_limits'), each: fc.constant(true), limits: anyLimits })],
  [1, fc.record({ does: fc.constant('put_program_limits'), each: fc.constant(false), limits: programLimits })],
);

const throwSwitch: fc.Arbitrary<Command> = fc.record({
  does: fc.constant('switch'),
  setting: fc.record({
    program: fc.constantFrom<Switching['program']>(null, 'this', 'this', 'other'),
    type: fc.constantFrom<Switching['type']>(null, ...TRANSFER_TYPES),
    disabled: weighed<boolean>([2, fc.constant(false)], [3, fc.constant(true)]),
  }),
  lasts: weighed<number | null>(
    [1, fc.constant(null)],
    [3, fc.integer({ min: 1, max: 3 * 24 }).map((hours) => hours * HOUR)],
  ),
});

const onTransfer = <const Name extends Command['does']>(does: Name) => fc.record({ does: fc.constant(does), pick });
const onAmount = <const Name extends Command['does']>(does: Name) =>
  fc.record({ does: fc.constant(does), pick, share });

/** Any command. */
const anyCommand: fc.Arbitrary<Command> = weighed<Command>(
  [30, create],
  [16, onAmount('capture')],
  [5, onTransfer('cancel')],
  [4, onTransfer('expire')],
  [5, onTransfer('execute')],
  [12, onAmount('reverse')],
  [6, fc.constant({ does: 'loop' })],
  [6, updateCard],
  [9, putOtherwise],
  [4, fc.record({ does: fc.constant('look'), card: cardName })],
  [2, throwSwitch],
  [2, fc.record({ does: fc.constant('deposit'), currency: fc.constantFrom(...CURRENCIES), amount: money(1n, 3000n) })],
  [16, fc.record({ does: fc.constant('jump'), to: jump })],
);

/** A program and its commands. */
export const anyStory: fc.Arbitrary<readonly [Opening, readonly Command[]]> = fc.tuple(
  anyOpening,
  weighed<Command[]>(
    [1, fc.array(anyCommand, { minLength: 5, maxLength: 20, size: 'max' })],
    [3, fc.array(anyCommand, { minLength: 20, maxLength: 40, size: 'max' })],
  ),
);
