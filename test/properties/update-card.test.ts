import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CARD_MOVES, CARD_STATUSES, type CardStatus, cardStatusOn } from '../../domain/card.ts';
import type { Account } from '../../domain/ledger.ts';
import { type Limits, sameLimits } from '../../domain/limits.ts';
import { MAXIMUM_AMOUNT, MAXIMUM_BALANCE } from '../../domain/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { SwitchSetting } from '../../domain/switch.ts';
import { type CardChange, type CardProfile, type CardView, decideCardUpdate } from '../../domain/update-card.ts';

const TODAY = '2030-06-12';
const NOW = Date.parse(`${TODAY}T12:00:00Z`);

const STORED = CARD_STATUSES.filter((status) => status !== 'expired');
const GIVEN = ['active', 'inactive', 'lost', 'stolen', 'fraud', 'closed'] as const;

const anyDay = fc.constantFrom('2030-06-11', TODAY, '2031-01-01');
const anyLimits: fc.Arbitrary<Limits> = fc.constantFrom(
  { in: {}, out: {}, maximumBalance: null },
  { in: { daily_amount: 1n }, out: {}, maximumBalance: null },
  { in: {}, out: { daily_amount: 1n }, maximumBalance: 0n },
);
const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> => fc.option(value, { freq: 2 });

const anyBalance = fc.oneof(
  fc.constantFrom(0n, 1n, MAXIMUM_AMOUNT, MAXIMUM_AMOUNT + 1n, MAXIMUM_BALANCE),
  fc.bigInt({ min: 0n, max: 1000n }),
);

const anyScene = fc.record({
  stored: fc.constantFrom(...STORED),
  expiresOn: maybe(anyDay),
  limits: maybe(anyLimits),
  holderReference: fc.constantFrom(null, 'one'),
  balance: anyBalance,
  held: fc.constantFrom(0n, 0n, 0n, 1n),
  incoming: fc.constantFrom(0n, 0n, 0n, 1n),
  // More than there can be beside a card's balance: the ledger forbids it, and the rule must not lean on that.
  funding: fc.constantFrom(0n, 5n, MAXIMUM_BALANCE - 1n),
  disabled: fc.constantFrom(false, false, false, true),
  change: fc.record({
    status: maybe(fc.constantFrom<CardStatus>(...GIVEN, 'closed', 'closed')),
    balanceTo: maybe(fc.constant('funding' as const)),
    holderReference: fc.constantFrom(null, 'one', 'two'),
    lastFour: fc.constantFrom(null, '1234'),
    expiresOn: maybe(anyDay),
    limits: maybe(anyLimits),
  }),
});

type Scene = typeof anyScene extends fc.Arbitrary<infer Value> ? Value : never;

function changeOf({ change }: Scene): CardChange {
  return { ...change, balanceTo: change.status === 'closed' ? change.balanceTo : null };
}

function profileOf({ stored, expiresOn, limits, holderReference }: Scene): CardProfile {
  const ids = { programId: 'program', cardId: 'card', accountId: 'account', fundingAccountId: 'funding' };
  const card = { ...ids, name: 'card_x', status: stored, currency: 'USD', expiresOn, limits };
  return { card, holderReference, lastFour: null };
}

function accountsOf({ balance, held, incoming, funding }: Scene): Readonly<Record<string, Account>> {
  const common = { programId: 'program', currency: 'USD', floor: 0n, sequence: 0n };
  const onHold = held > balance ? balance : held;
  return {
    account: { ...common, accountId: 'account', kind: 'card', balance, held: onHold, incoming },
    funding: { ...common, accountId: 'funding', kind: 'funding', balance: funding, held: 0n, incoming: 0n },
  };
}

function viewOf(scene: Scene): CardView {
  const day = { start: NOW, end: NOW };
  const accounts = accountsOf(scene);
  const setting = {
    programId: null,
    transferType: null,
    disabled: true,
    reason: 'x',
    actor: 'x',
    since: 0,
    until: null,
  };
  return {
    programId: 'program',
    now: NOW,
    rules: {
      programId: 'program',
      currency: 'USD',
      today: TODAY,
      calendar: { day, week: day, month: day },
      limits: null,
      cardLimits: null,
    },
    switches: scene.disabled ? [setting satisfies SwitchSetting] : [],
    account: (accountId) => accounts[accountId] ?? expect.fail(`no account ${accountId}`),
  };
}

function decide(scene: Scene) {
  const birth = { programId: 'program', transferId: 'transfer', requestId: 'request', now: NOW };
  const asked = { cardName: 'card_x', change: changeOf(scene), birth };
  return decideCardUpdate(asked, profileOf(scene), viewOf(scene));
}

/** What must be answered, told from the rules in words rather than from how they are decided. */
function expectedOf(scene: Scene): string {
  const change = changeOf(scene);
  const { card, holderReference } = profileOf(scene);
  const { account } = accountsOf(scene);
  if (change.balanceTo !== null && scene.disabled) return 'service_disabled';
  const differs =
    (change.status !== null && change.status !== card.status) ||
    (change.holderReference !== null && change.holderReference !== holderReference) ||
    change.lastFour !== null ||
    (change.expiresOn !== null && change.expiresOn !== card.expiresOn) ||
    (change.limits !== null && !sameLimits(change.limits, card.limits));
  if (card.status === 'closed' && differs) return 'invalid_card_status';
  const from = cardStatusOn({ status: card.status, expiresOn: change.expiresOn ?? card.expiresOn }, TODAY);
  const isMove = change.status !== null && change.status !== from;
  if (isMove && !CARD_MOVES[from].includes(change.status ?? from)) return 'invalid_card_status';
  if (change.status !== 'closed' || !differs) return differs ? 'changed' : 'as it was';
  if ((account?.held ?? 0n) + (account?.incoming ?? 0n) > 0n) return 'card_not_empty';
  if (scene.balance === 0n) return 'changed';
  if (change.balanceTo === null) return 'card_not_empty';
  const isTooMuch = scene.balance > MAXIMUM_AMOUNT || scene.funding + scene.balance > MAXIMUM_BALANCE;
  return isTooMuch ? 'limit_exceeded' : 'swept';
}

test('a change of a card is decided as the rules say, whatever the card and the change', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(anyScene, (scene) => {
      const plan = decide(scene);
      const outcome =
        plan instanceof Refusal ? plan.code : plan.sweep ? 'swept' : plan.isChanged ? 'changed' : 'as it was';
      expect(outcome).toBe(expectedOf(scene));
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      if (plan instanceof Refusal) return;
      const { profile, sweep } = plan;
      const change = changeOf(scene);
      const before = profileOf(scene);
      expect(profile.card.status).toBe(change.status ?? before.card.status);
      expect(profile.card.expiresOn).toBe(change.expiresOn ?? before.card.expiresOn);
      if (sweep === null) return;
      const [card, funding] = sweep.accounts;
      expect([card?.balance, funding?.balance]).toEqual([0n, scene.funding + scene.balance]);
      expect([sweep.counts, sweep.hold, sweep.event]).toEqual([[], null, 'transfer.completed']);
      expect(sweep.transfer).toMatchObject({ type: 'unload', amount: scene.balance, status: 'completed' });
      expect(sweep.postings).toMatchObject([{ purpose: 'unload', amount: scene.balance }]);
    }),
    { numRuns: 3000 },
  );
  const outcomes = ['swept', 'changed', 'as it was', 'card_not_empty', 'limit_exceeded', 'service_disabled'];
  for (const outcome of outcomes) expect(seen.get(outcome) ?? 0, outcome).toBeGreaterThan(10);
});

test('a card that is not there', () => {
  fc.assert(
    fc.property(anyScene, (scene) => {
      const birth = { programId: 'program', transferId: 'transfer', requestId: 'request', now: NOW };
      const change = changeOf(scene);
      const plan = decideCardUpdate({ cardName: 'nobody', change, birth }, undefined, viewOf(scene));
      const expected = scene.disabled && change.balanceTo !== null ? 'service_disabled' : 'card_dne';
      expect(plan).toMatchObject({ code: expected });
    }),
  );
});
