import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aCard } from '../../test/fixtures/records.ts';
import { calendarAt } from '../../test/harness/local-time.ts';
import { CARD_STATUSES, type Card, type CardStatus } from '../cards/card.ts';
import { Refusal } from '../refusal.ts';
import type { SwitchSetting } from '../switch.ts';
import { decideTransfer } from '../transfers/create-transfer.ts';
import { plainTerms, TRANSFER_TYPES, type TransferTerms } from '../transfers/transfer.ts';
import { TRANSFER_CHECKS } from '../transfers/transfer-checks.ts';
import type { TransferView } from '../transfers/transfer-view.ts';
import { type Account, available, LedgerViolation, placeHold, post, releaseHold } from './ledger.ts';
import { NOTHING_USED } from './limits.ts';
import { MAXIMUM_AMOUNT, MAXIMUM_BALANCE } from './money.ts';

const PROGRAM = 'program';
const STATUSES = CARD_STATUSES.filter((status) => status !== 'expired');

function account(accountId: string, kind: Account['kind'], balance: bigint, currency = 'USD'): Account {
  const floor = kind === 'world' ? null : 0n;
  return { programId: PROGRAM, accountId, kind, currency, balance, held: 0n, incoming: 0n, floor, sequence: 0n };
}

function card(name: string, status: CardStatus = 'active', currency = 'USD'): Card {
  const ids = { programId: PROGRAM, cardId: name, accountId: `account of ${name}` };
  return aCard({ ...ids, name, status, currency });
}

const LOAD = plainTerms('load', 1n, '0');

function decide(terms: TransferTerms, view: TransferView): ReturnType<typeof decideTransfer> {
  const transferId = '00000000-0000-7000-8000-000000000001';
  const creation = {
    programId: PROGRAM,
    transferId,
    requestId: transferId,
    idempotencyKey: null,
    createdBy: null,
    now: view.now,
  };
  return decideTransfer({ creation, terms, notes: {} }, view);
}

/** A small program in memory. Decisions can be applied to it one after the other. */
class World {
  readonly accounts: Map<string, Account>;
  readonly cards: Map<string, Card>;
  switches: SwitchSetting[] = [];

  constructor(funding: bigint, balances: readonly bigint[]) {
    const total = balances.reduce((sum, balance) => sum + balance, funding);
    this.accounts = new Map([
      ['world', account('world', 'world', -total)],
      ['funding', account('funding', 'funding', funding)],
      ...balances.map(
        (balance, index) => [`account of ${index}`, account(`account of ${index}`, 'card', balance)] as const,
      ),
    ]);
    this.cards = new Map(balances.map((_, index) => [`${index}`, card(`${index}`)]));
  }

  view(terms: TransferTerms): TransferView {
    return {
      programId: PROGRAM,
      now: 1000,
      rules: {
        programId: PROGRAM,
        currency: 'USD',
        today: '2026-01-01',
        calendar: calendarAt(Date.parse('2026-01-01T12:00:00Z'), 'UTC'),
        limits: null,
        cardLimits: null,
      },
      switches: this.switches,
      card: this.cards.get(terms.cardName),
      destinationCard: terms.destinationCardName === null ? undefined : this.cards.get(terms.destinationCardName),
      account: (accountId) => {
        const found = this.accounts.get(accountId);
        if (found === undefined) throw new Error(`no account ${accountId}`);
        return found;
      },
      usage: () => NOTHING_USED,
      connectorState: () => 'missing',
      referenceTakenBy: undefined,
    };
  }

  sum(): bigint {
    return [...this.accounts.values()].reduce((sum, { balance }) => sum + balance, 0n);
  }
}

const termsArbitrary = (cards: number): fc.Arbitrary<TransferTerms> =>
  fc
    .record({
      type: fc.constantFrom(...TRANSFER_TYPES),
      amount: fc.oneof(fc.bigInt(1n, 1000n), fc.bigInt(1n, MAXIMUM_AMOUNT)),
      from: fc.integer({ min: 0, max: cards }),
      to: fc.integer({ min: 0, max: cards }),
    })
    .filter(({ type, from, to }) => type !== 'card_to_card' || from !== to)
    .map(({ type, amount, from, to }) => ({
      ...LOAD,
      type,
      amount,
      cardName: `${from}`,
      destinationCardName: type === 'card_to_card' ? `${to}` : null,
    }));

describe('any sequence of decisions', () => {
  test('creates no money, breaks no floor or bound, and gives no two postings of an account the same number', () => {
    const balance = fc.oneof(fc.bigInt(0n, 2000n), fc.constant(MAXIMUM_BALANCE / 4n));
    fc.assert(
      fc.property(
        balance,
        fc.array(balance, { minLength: 2, maxLength: 3 }),
        fc.array(fc.tuple(termsArbitrary(3), fc.constantFrom(...STATUSES)), { maxLength: 60 }),
        (funding, balances, steps) => {
          const world = new World(funding, balances);
          const numbers = new Set<string>();
          for (const [terms, status] of steps) {
            const named = world.cards.get(terms.cardName);
            if (named !== undefined) world.cards.set(named.name, { ...named, status });
            const decision = decide(terms, world.view(terms));
            if (decision instanceof Refusal) continue;
            for (const changed of decision.accounts) world.accounts.set(changed.accountId, changed);
            for (const posting of decision.postings) {
              numbers.add(`${posting.sourceAccountId} ${posting.sourceSequence}`);
              numbers.add(`${posting.destinationAccountId} ${posting.destinationSequence}`);
            }
            expect(world.sum()).toBe(0n);
          }
          const moved = [...world.accounts.values()].reduce((count, { sequence }) => count + sequence, 0n);
          expect(BigInt(numbers.size)).toBe(moved);
          for (const each of world.accounts.values()) {
            if (each.floor !== null) expect(available(each) >= each.floor).toBe(true);
            expect(each.balance <= MAXIMUM_BALANCE && each.balance >= -MAXIMUM_BALANCE).toBe(true);
          }
        },
      ),
    );
  });

  test('gives the first failed check as the reason for each refusal, never a later one', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 2000n),
        termsArbitrary(3),
        fc.constantFrom(...STATUSES),
        fc.boolean(),
        (funding, terms, status, disabled) => {
          const world = new World(funding, [100n, 0n]);
          const named = world.cards.get(terms.cardName);
          if (named !== undefined) world.cards.set(named.name, { ...named, status });
          if (disabled) world.switches = [setting()];
          const view = world.view(terms);
          const findings = TRANSFER_CHECKS.map((check) => check.examine(terms, view));
          const first = findings.find((finding) => finding.outcome === 'failed');
          const decision = decide(terms, view);
          if (first?.outcome === 'failed') expect(decision).toEqual(first.refusal);
          else expect(decision).not.toBeInstanceOf(Refusal);
        },
      ),
    );
  });
});

describe('a posting', () => {
  const source = account('a', 'card', 100n);
  const destination = account('b', 'funding', 0n);
  const movement = { index: 0, purpose: 'unload' as const, source, destination, amount: 100n };

  test('subtracts exactly what it adds', () => {
    const posted = post(movement);
    expect(posted.source.balance).toBe(0n);
    expect(posted.destination.balance).toBe(100n);
    expect(posted.posting).toMatchObject({ sourceBalance: 0n, destinationBalance: 100n, sourceSequence: 1n });
  });

  test.each([
    ['nothing', { ...movement, amount: 0n }],
    ['a negative amount', { ...movement, amount: -1n }],
    ['more than the balance', { ...movement, amount: 101n }],
    ['held money', { ...movement, source: { ...source, held: 1n } }],
    ['within one account', { ...movement, destination: source }],
    ['into a different currency', { ...movement, destination: account('b', 'funding', 0n, 'EUR') }],
    ['into a different program', { ...movement, destination: { ...destination, programId: 'other' } }],
    ['past the largest balance', { ...movement, destination: account('b', 'funding', MAXIMUM_BALANCE) }],
  ])('is a broken invariant, not a refusal: %s', (_what, broken) => {
    expect(() => post(broken)).toThrow(LedgerViolation);
  });
});

describe('a hold', () => {
  const ends = { source: account('a', 'card', 100n), destination: account('b', 'funding', 0n) };

  test('reduces the available balance and adds incoming money until it is released', () => {
    const held = placeHold(ends, 100n);
    expect(held.source).toMatchObject({ balance: 100n, held: 100n, sequence: 0n });
    expect(held.destination).toMatchObject({ balance: 0n, incoming: 100n, sequence: 0n });
    expect(available(held.source)).toBe(0n);
    expect(releaseHold(held, 100n)).toEqual(ends);
  });

  test.each([
    ['of nothing', ends, 0n],
    ['of more than is available', { ...ends, source: { ...ends.source, held: 1n } }, 100n],
    ['within one account', { ...ends, destination: ends.source }, 100n],
    ['in two currencies', { ...ends, destination: account('b', 'funding', 0n, 'EUR') }, 100n],
    ['in two programs', { ...ends, destination: { ...ends.destination, programId: 'other' } }, 100n],
    ['past the largest balance', { ...ends, destination: account('b', 'funding', MAXIMUM_BALANCE) }, 100n],
    [
      'past the largest balance with incoming money',
      { ...ends, destination: { ...ends.destination, incoming: MAXIMUM_BALANCE } },
      100n,
    ],
  ])('%s is a broken invariant, not a refusal', (_what, broken, amount) => {
    expect(() => placeHold(broken, amount)).toThrow(LedgerViolation);
  });

  test('cannot be released if it does not exist', () => {
    expect(() => releaseHold(ends, 1n)).toThrow(LedgerViolation);
    expect(() => releaseHold({ ...placeHold(ends, 5n), destination: ends.destination }, 5n)).toThrow(LedgerViolation);
    expect(() => releaseHold(placeHold(ends, 5n), 6n)).toThrow(LedgerViolation);
  });
});

describe('the last day of a card', () => {
  test('still accepts money, and the next day does not', () => {
    const world = new World(1000n, [0n, 0n]);
    world.cards.set('0', { ...card('0'), expiresOn: '2026-01-01' });
    expect(decide(LOAD, world.view(LOAD))).not.toBeInstanceOf(Refusal);
    world.cards.set('0', { ...card('0'), expiresOn: '2025-12-31' });
    expect(decide(LOAD, world.view(LOAD))).toMatchObject({ code: 'card_expired' });
  });
});

describe('the switch', () => {
  test.each([
    ['refuses a load while the service is disabled', setting(), true],
    ['refuses a load while its program is disabled', setting({ programId: PROGRAM }), true],
    ['refuses a load while loads are disabled', setting({ programId: PROGRAM, transferType: 'load' }), true],
    ['allows a load while another program is disabled', setting({ programId: 'other' }), false],
    ['allows a load while unloads are disabled', setting({ programId: PROGRAM, transferType: 'unload' }), false],
    ['allows a load while a connector of other cards is disabled', setting({ connectorId: 'increase' }), false],
    ['allows a load once the setting has ended', setting({ until: 1000 }), false],
    ['refuses a load until the setting ends', setting({ until: 1001 }), true],
    ['allows a load after the service is enabled again', setting({ disabled: false }), false],
  ])('%s', (_what, switched, refused) => {
    const world = new World(1000n, [0n]);
    world.switches = [switched];
    const decision = decide(LOAD, world.view(LOAD));
    expect(decision instanceof Refusal && decision.code === 'service_disabled').toBe(refused);
  });
});

function setting(changed: Partial<SwitchSetting> = {}): SwitchSetting {
  return {
    programId: null,
    transferType: null,
    connectorId: null,
    disabled: true,
    reason: 'test',
    actor: 'test',
    since: 0,
    until: null,
    ...changed,
  };
}
