import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aCard } from '../../test/fixtures/records.ts';
import type { Account } from '../ledger/ledger.ts';
import { forEachPeriod, type Limits, type LimitsChange } from '../ledger/limits.ts';
import { MAXIMUM_AMOUNT, MAXIMUM_BALANCE } from '../ledger/money.ts';
import type { Metadata, MetadataChange } from '../metadata.ts';
import { Refusal } from '../refusal.ts';
import type { SwitchSetting } from '../switch.ts';
import { CARD_MOVES, CARD_STATUSES, type CardStatus, cardStatusOn, SETTABLE_CARD_STATUSES } from './card.ts';
import { type CardChange, type CardProfile, type CardView, decideCardUpdate } from './update-card.ts';

const TODAY = '2030-06-12';
const NOW = Date.parse(`${TODAY}T12:00:00Z`);

const STORED = CARD_STATUSES.filter((status) => status !== 'expired');

const anyDay = fc.constantFrom('2030-06-11', TODAY, '2031-01-01');
const anyLimits: fc.Arbitrary<Limits> = fc.constantFrom(
  { in: {}, out: {}, maximumBalance: null },
  { in: { daily_amount: 1n }, out: {}, maximumBalance: null },
  { in: {}, out: { daily_amount: 1n }, maximumBalance: 0n },
);
const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> => fc.option(value, { freq: 2 });
const sent = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { freq: 2, nil: undefined });
const anyLimitsChange: fc.Arbitrary<LimitsChange | null> = fc.constantFrom(
  null,
  {},
  { in: null },
  { in: { daily_amount: 1n }, maximumBalance: 0n },
  { in: { daily_amount: null }, out: { daily_amount: 1n } },
  { out: { daily_amount: null, daily_count: 2n }, maximumBalance: null },
);

const anyMetadata: fc.Arbitrary<Metadata> = fc.constantFrom({}, { a: '1' }, { a: '1', c: '2' });
const anyMetadataChange: fc.Arbitrary<MetadataChange | null> = fc.constantFrom(
  null,
  {},
  { a: null },
  { a: '1' },
  { a: '2', b: '', c: null },
);

const anyBalance = fc.oneof(
  fc.constantFrom(0n, 1n, MAXIMUM_AMOUNT, MAXIMUM_AMOUNT + 1n, MAXIMUM_BALANCE),
  fc.bigInt({ min: 0n, max: 1000n }),
);

const anyScene = fc.record({
  stored: fc.constantFrom(...STORED),
  expiresOn: maybe(anyDay),
  limits: maybe(anyLimits),
  holderReference: fc.constantFrom(null, 'one'),
  metadata: anyMetadata,
  balance: anyBalance,
  held: fc.constantFrom(0n, 0n, 0n, 1n),
  incoming: fc.constantFrom(0n, 0n, 0n, 1n),
  // Together, the largest of these amounts and a card's balance can exceed the maximum balance. The ledger prevents that,
  // but the rule must not rely on it.
  funding: fc.constantFrom(0n, 5n, MAXIMUM_BALANCE - 1n),
  disabled: fc.constantFrom(false, false, false, true),
  change: fc.record({
    status: sent(fc.constantFrom<CardStatus>(...SETTABLE_CARD_STATUSES, 'closed', 'closed')),
    balanceTo: sent(fc.constant('funding' as const)),
    holderReference: fc.constantFrom(undefined, null, 'one', 'two'),
    lastFour: fc.constantFrom(undefined, null, '1234'),
    expiresOn: sent(maybe(anyDay)),
    limits: sent(anyLimitsChange),
    metadata: sent(anyMetadataChange),
  }),
});

type Scene = typeof anyScene extends fc.Arbitrary<infer Value> ? Value : never;

function changeOf({ change }: Scene): CardChange {
  return { ...change, balanceTo: change.status === 'closed' ? change.balanceTo : undefined };
}

function profileOf({ stored, expiresOn, limits, holderReference, metadata }: Scene): CardProfile {
  const card = aCard({ name: 'card_x', status: stored, expiresOn, limits });
  return { card, holderReference, lastFour: null, metadata };
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
    connectorId: null,
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
      calendar: forEachPeriod(() => day),
      limits: null,
      cardLimits: null,
    },
    switches: scene.disabled ? [setting satisfies SwitchSetting] : [],
    account: (accountId) => accounts[accountId] ?? expect.fail(`no account ${accountId}`),
  };
}

function decide(scene: Scene) {
  const creation = {
    programId: 'program',
    transferId: 'transfer',
    requestId: 'request',
    idempotencyKey: null,
    createdBy: null,
    now: NOW,
  };
  const request = { cardName: 'card_x', change: changeOf(scene), creation };
  return decideCardUpdate(request, profileOf(scene), viewOf(scene));
}

function dayAfter({ change, expiresOn }: Scene): string | null {
  return change.expiresOn === undefined ? expiresOn : change.expiresOn;
}

/** Returns limits by their paths, sorted, as a merge patch sees them (RFC 7396). */
function flatLimits(limits: Limits | null): readonly (readonly [path: string, value: string])[] {
  if (limits === null) return [];
  const of = (direction: 'in' | 'out') =>
    Object.entries(limits[direction]).map(([name, value]) => [`${direction}.${name}`, `${value}`] as const);
  const most = limits.maximumBalance === null ? [] : [['maximum_balance', `${limits.maximumBalance}`] as const];
  return [...of('in'), ...of('out'), ...most].sort(([one], [other]) => (one < other ? -1 : 1));
}

/**
 * Returns the limits after the change, by the rules of RFC 7396 about paths: null removes a path and everything below it.
 */
function limitsAfter({ limits, change }: Scene): readonly (readonly [path: string, value: string])[] {
  if (change.limits === undefined) return flatLimits(limits);
  if (change.limits === null) return [];
  const after = new Map(flatLimits(limits));
  for (const direction of ['in', 'out'] as const) {
    const sentHere = change.limits[direction];
    if (sentHere === null) for (const path of after.keys()) if (path.startsWith(`${direction}.`)) after.delete(path);
    for (const [name, value] of Object.entries(sentHere ?? {})) {
      if (value === null) after.delete(`${direction}.${name}`);
      else after.set(`${direction}.${name}`, `${value}`);
    }
  }
  const { maximumBalance } = change.limits;
  if (maximumBalance === null) after.delete('maximum_balance');
  else if (maximumBalance !== undefined) after.set('maximum_balance', `${maximumBalance}`);
  return [...after].sort(([one], [other]) => (one < other ? -1 : 1));
}

function metadataAfter({ metadata, change }: Scene): readonly (readonly [name: string, value: string | null])[] {
  if (change.metadata === null) return [];
  const pairs = Object.entries({ ...metadata, ...change.metadata });
  return pairs.filter(([, value]) => value !== null).sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Returns the expected answer. It is derived from the rules in words, not from their implementation. */
function expectedOf(scene: Scene): string {
  const change = changeOf(scene);
  const { card, holderReference } = profileOf(scene);
  const { account } = accountsOf(scene);
  if (change.balanceTo !== undefined && scene.disabled) return 'service_disabled';
  const differs =
    (change.status !== undefined && change.status !== card.status) ||
    (change.holderReference !== undefined && change.holderReference !== holderReference) ||
    (change.lastFour ?? null) !== null ||
    (change.expiresOn !== undefined && change.expiresOn !== card.expiresOn) ||
    JSON.stringify(limitsAfter(scene)) !== JSON.stringify(flatLimits(card.limits)) ||
    JSON.stringify(metadataAfter(scene)) !== JSON.stringify(Object.entries(scene.metadata));
  if (card.status === 'closed' && differs) return 'invalid_card_status';
  const from = cardStatusOn({ status: card.status, expiresOn: dayAfter(scene) }, TODAY);
  const isMove = change.status !== undefined && change.status !== from;
  if (isMove && !CARD_MOVES[from].includes(change.status ?? from)) return 'invalid_card_status';
  if (change.status !== 'closed' || !differs) return differs ? 'changed' : 'unchanged';
  if ((account?.held ?? 0n) + (account?.incoming ?? 0n) > 0n) return 'card_not_empty';
  if (scene.balance === 0n) return 'changed';
  if (change.balanceTo === undefined) return 'card_not_empty';
  const isTooMuch = scene.balance > MAXIMUM_AMOUNT || scene.funding + scene.balance > MAXIMUM_BALANCE;
  return isTooMuch ? 'limit_exceeded' : 'swept';
}

test('decides any change of any card by the rules', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(anyScene, (scene) => {
      const plan = decide(scene);
      const outcome =
        plan instanceof Refusal ? plan.code : plan.sweep ? 'swept' : plan.isChanged ? 'changed' : 'unchanged';
      expect(outcome).toBe(expectedOf(scene));
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      if (plan instanceof Refusal) return;
      const { profile, sweep } = plan;
      const change = changeOf(scene);
      const before = profileOf(scene);
      expect(profile.card.status).toBe(change.status ?? before.card.status);
      expect(profile.card.expiresOn).toBe(dayAfter(scene));
      expect(flatLimits(profile.card.limits)).toEqual(limitsAfter(scene));
      expect(profile.metadata).toEqual(Object.fromEntries(metadataAfter(scene)));
      const { holderReference = before.holderReference, lastFour = before.lastFour } = change;
      expect([profile.holderReference, profile.lastFour]).toEqual([holderReference, lastFour]);
      if (sweep === null) return;
      const [card, funding] = sweep.accounts;
      expect([card?.balance, funding?.balance]).toEqual([0n, scene.funding + scene.balance]);
      expect([sweep.counts, sweep.hold, sweep.event]).toEqual([[], null, 'transfer.completed']);
      expect(sweep.transfer).toMatchObject({ type: 'unload', amount: scene.balance, status: 'completed' });
      expect(sweep.postings).toMatchObject([{ purpose: 'unload', amount: scene.balance }]);
    }),
    { numRuns: 3000 },
  );
  const outcomes = ['swept', 'changed', 'unchanged', 'card_not_empty', 'limit_exceeded', 'service_disabled'];
  for (const outcome of outcomes) expect(seen.get(outcome) ?? 0, outcome).toBeGreaterThan(10);
});

test('refuses to change a card that does not exist', () => {
  fc.assert(
    fc.property(anyScene, (scene) => {
      const creation = {
        programId: 'program',
        transferId: 'transfer',
        requestId: 'request',
        idempotencyKey: null,
        createdBy: null,
        now: NOW,
      };
      const change = changeOf(scene);
      const plan = decideCardUpdate({ cardName: 'nobody', change, creation }, undefined, viewOf(scene));
      const expected = scene.disabled && change.balanceTo !== undefined ? 'service_disabled' : 'card_not_found';
      expect(plan).toMatchObject({ code: expected });
    }),
  );
});
