import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Account } from '../ledger/ledger.ts';
import { type DirectionLimits, forEachPeriod, LIMIT_NAMES, type LimitName, type Limits } from '../ledger/limits.ts';
import { MAXIMUM_AMOUNT, MAXIMUM_BALANCE, MINIMUM_AMOUNT } from '../ledger/money.ts';
import { Refusal } from '../refusal.ts';
import type { SwitchSetting } from '../switch.ts';
import { decideTransfer } from '../transfers/create-transfer.ts';
import { plainTerms } from '../transfers/transfer.ts';
import { CARD_STATUSES, type Card } from './card.ts';
import { type CardLimitsView, outlookOf } from './card-limits.ts';

const NOW = Date.parse('2030-06-12T12:00:00Z');
const TODAY = '2030-06-12';
const DAY = 86_400_000;

/** Small amounts, so that bounds coincide, and occasionally the largest possible amount. */
const anyAmount = fc.oneof(
  { weight: 12, arbitrary: fc.bigInt({ min: 0n, max: 12n }) },
  { weight: 1, arbitrary: fc.constantFrom(MAXIMUM_AMOUNT, MAXIMUM_AMOUNT + 1n) },
);

/** Includes amounts near the largest balance, so that some accounts cannot receive more. */
const anyBalance = fc.oneof(
  { weight: 8, arbitrary: fc.bigInt({ min: 0n, max: 30n }) },
  { weight: 1, arbitrary: fc.bigInt({ min: MAXIMUM_BALANCE - 20n, max: MAXIMUM_BALANCE }) },
);

/** Leaves most limits out. If all of them were set, hardly any transfer would be allowed. */
const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> => fc.option(value, { freq: 2 });

const anyDirection: fc.Arbitrary<DirectionLimits> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...(Object.keys(LIMIT_NAMES) as LimitName[])), anyAmount), {
    maxLength: 2,
    selector: ([name]) => name,
  })
  .map((limits) => Object.fromEntries(limits));

const anyLimits: fc.Arbitrary<Limits | null> = maybe(
  fc.record({ in: anyDirection, out: anyDirection, maximumBalance: maybe(anyAmount) }),
);

const anyUsed = fc.record({ amount: anyAmount, count: fc.bigInt({ min: 0n, max: 3n }) });
const anyUsage = fc.record(forEachPeriod(() => anyUsed));

const anyScene = fc.record({
  status: fc.oneof({ weight: 5, arbitrary: fc.constant('active' as const) }, fc.constantFrom(...CARD_STATUSES)),
  expiresOn: fc.constantFrom(null, null, null, '2030-06-11', TODAY),
  currency: fc.constantFrom('USD', 'USD', 'USD', 'EUR'),
  limits: anyLimits,
  programLimits: anyLimits,
  cardLimits: anyLimits,
  balances: fc.record({ funding: anyBalance, card: anyBalance }),
  holds: fc.record({ funding: anyAmount, card: anyAmount, towardsFunding: anyAmount, towardsCard: anyAmount }),
  usage: fc.record({ fundingIn: anyUsage, fundingOut: anyUsage, cardIn: anyUsage, cardOut: anyUsage }),
  disabled: fc.constantFrom(null, null, null, null, null, null, null, null, 'service', 'load', 'unload'),
});

type Scene = typeof anyScene extends fc.Arbitrary<infer Value> ? Value : never;

function cardOf({ status, expiresOn, currency, limits }: Scene): Card {
  const ids = { programId: 'program', cardId: 'card', accountId: 'account', fundingAccountId: 'funding' };
  return { ...ids, name: 'card_x', status, expiresOn, currency, limits, connectorId: null };
}

function accountOf(scene: Scene, accountId: string): Account {
  const { balances, holds, currency } = scene;
  const isCard = accountId === 'account';
  const balance = isCard ? balances.card : balances.funding;
  const held = isCard ? holds.card : holds.funding;
  const towards = isCard ? holds.towardsCard : holds.towardsFunding;
  const room = MAXIMUM_BALANCE - balance;
  return {
    programId: 'program',
    accountId,
    kind: isCard ? 'card' : 'funding',
    currency,
    balance,
    held: held < balance ? held : balance,
    incoming: towards < room ? towards : room,
    floor: 0n,
    sequence: 0n,
  };
}

function switchesOf({ disabled }: Scene): readonly SwitchSetting[] {
  if (disabled === null) return [];
  const where =
    disabled === 'service'
      ? { programId: null, transferType: null }
      : { programId: 'program', transferType: disabled === 'load' ? ('load' as const) : ('unload' as const) };
  return [{ ...where, connectorId: null, disabled: true, reason: 'x', actor: 'x', since: 0, until: null }];
}

function viewOf(scene: Scene): CardLimitsView {
  const { usage } = scene;
  return {
    programId: 'program',
    now: NOW,
    rules: {
      programId: 'program',
      currency: 'USD',
      today: TODAY,
      calendar: forEachPeriod(() => ({ start: NOW, end: NOW + DAY })),
      limits: scene.programLimits,
      cardLimits: scene.cardLimits,
    },
    switches: switchesOf(scene),
    account: (accountId) => accountOf(scene, accountId),
    usage: (accountId, direction) => {
      if (accountId === 'account') return direction === 'in' ? usage.cardIn : usage.cardOut;
      return direction === 'in' ? usage.fundingIn : usage.fundingOut;
    },
  };
}

function outcomeOf(scene: Scene, type: 'load' | 'unload', amount: bigint): string {
  const card = cardOf(scene);
  const creation = {
    programId: 'program',
    transferId: 'transfer',
    requestId: 'requested',
    idempotencyKey: null,
    createdBy: null,
    now: NOW,
  };
  const terms = plainTerms(type, amount, card.name);
  const view = {
    ...viewOf(scene),
    card,
    destinationCard: undefined,
    connectorState: () => 'missing' as const,
    referenceTakenBy: undefined,
  };
  const plan = decideTransfer({ creation, terms, notes: {} }, view);
  return plan instanceof Refusal ? plan.code : 'made';
}

test('gives an exact maximum: that amount succeeds, one unit more is refused, and if it is 0, everything is refused', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(anyScene, (scene) => {
      const outlook = outlookOf(cardOf(scene), viewOf(scene));
      for (const [direction, type] of [['in', 'load'] as const, ['out', 'unload'] as const]) {
        const { most, least, code } = outlook[direction];
        const label = `${type} ${most} from ${least}`;
        const more = outcomeOf(scene, type, most + 1n);
        // Every transfer has a maximum amount. Requests above it are refused before the rules apply.
        if (most < MAXIMUM_AMOUNT) expect(more, label).not.toBe('made');
        if (most > 0n) expect([most >= least, outcomeOf(scene, type, most)], label).toEqual([true, 'made']);
        for (const amount of [MINIMUM_AMOUNT, least, 3n, 7n, 12n]) {
          if (amount <= MAXIMUM_AMOUNT && (amount > most || amount < least))
            expect(outcomeOf(scene, type, amount), label).not.toBe('made');
        }
        if (code !== null) expect(most).toBe(0n);
        for (const kind of [`${type}: ${more}`, ...(most > 0n ? [`${type}: some`] : [])]) {
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
        }
      }
    }),
    { numRuns: 2000 },
  );
  // The scenes are useful only if every reason occurs often.
  const reasons = [
    'some',
    'limit_exceeded',
    'amount_too_large',
    'amount_too_small',
    'insufficient_funds',
    'service_disabled',
  ];
  for (const reason of reasons) {
    expect(seen.get(`load: ${reason}`) ?? 0, `${reason} in ${JSON.stringify([...seen])}`).toBeGreaterThan(10);
  }
});

test('lists every limit once per source, with its unused remainder', () => {
  fc.assert(
    fc.property(anyScene, (scene) => {
      const outlook = outlookOf(cardOf(scene), viewOf(scene));
      for (const direction of ['in', 'out'] as const) {
        const { limits } = outlook[direction];
        const inherits = scene.currency === 'USD';
        const own = scene.limits?.[direction] ?? {};
        const program = inherits ? (scene.programLimits?.[direction] ?? {}) : {};
        const inherited = inherits ? (scene.cardLimits?.[direction] ?? {}) : {};
        const expected = (Object.keys(LIMIT_NAMES) as LimitName[]).flatMap((name) => [
          ...(own[name] === undefined ? [] : [`card ${name} ${own[name]}`]),
          ...(own[name] !== undefined || inherited[name] === undefined
            ? []
            : [`program_card ${name} ${inherited[name]}`]),
          ...(program[name] === undefined ? [] : [`program ${name} ${program[name]}`]),
        ]);
        expect(limits.map(({ source, name, value }) => `${source} ${name} ${value}`).sort()).toEqual(expected.sort());
        for (const { value, used, left, period, freesAt } of limits) {
          expect([used === null, left === null, freesAt === null]).toEqual(Array(3).fill(period === null));
          if (used !== null) expect(left).toBe(used < value ? value - used : 0n);
        }
      }
    }),
  );
});
