import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CARD_STATUSES } from '../../../domain/cards/card.ts';
import { LIMIT_NAMES, type LimitName } from '../../../domain/ledger/limits.ts';
import { ChainBroken, DEPTH } from '../../commit/chain.ts';
import { CommittedCards, type KnownCard } from './committed-cards.ts';
import { Memory } from './memory.ts';

const amount = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n });
const limitsOfDirection = fc.dictionary(fc.constantFrom(...(Object.keys(LIMIT_NAMES) as LimitName[])), amount);
const limits = fc
  .record({ in: limitsOfDirection, out: limitsOfDirection, maximumBalance: amount })
  .map((one) => ({ ...one, in: { ...one.in }, out: { ...one.out } }));
const days = fc.array(fc.record({ dayStart: fc.integer(), amount: fc.bigInt(), count: fc.bigInt() }), { maxLength: 3 });

const knownCard: fc.Arbitrary<KnownCard> = fc
  .record({
    programId: fc.uuid(),
    accountId: fc.uuid(),
    currency: fc.constantFrom('USD', 'JPY'),
    name: fc.string({ unit: 'grapheme', minLength: 1 }),
    card: fc.record({
      cardId: fc.uuid(),
      status: fc.constantFrom(...CARD_STATUSES),
      fundingAccountId: fc.uuid(),
      expiresOn: fc.constantFrom(null, '2030-12-31'),
      limits: fc.option(limits),
      connectorId: fc.constant(null),
    }),
    account: fc.record({
      balance: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      held: amount,
      incoming: amount,
      floor: fc.option(amount),
      sequence: amount,
      version: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    }),
    days: fc.option(fc.record({ in: days, out: days })),
  })
  .map(({ programId, accountId, currency, name, card, account, days: counted }) => ({
    card: { ...card, programId, accountId, currency, name },
    account: { ...account, programId, accountId, currency, kind: 'card' },
    days: counted,
  }));

function cardNamed(name: string, programId = 'p'): KnownCard {
  const [known] = fc.sample(knownCard, { numRuns: 1, seed: 1 });
  if (known === undefined) throw new Error('fast-check generated no card');
  return {
    ...known,
    card: { ...known.card, name, programId },
    account: { ...known.account, programId },
  };
}

describe('the memory of committed cards', () => {
  it('returns a card unchanged, and only once', () => {
    fc.assert(
      fc.property(knownCard, (known) => {
        const cards = new CommittedCards(1_000_000);
        const { programId, name } = known.card;
        cards.put(known);
        expect(cards.take(programId, name)).toEqual(known);
        expect(cards.take(programId, name)).toBeUndefined();
        expect([cards.size, cards.bytes]).toEqual([0, 0]);
      }),
    );
  });

  it('finds a card only in its own card program', () => {
    const cards = new CommittedCards(1_000_000);
    cards.put(cardNamed('c', 'p1'));
    expect(cards.take('p2', 'c')).toBeUndefined();
    expect(cards.take('p1', 'c')?.card.name).toBe('c');
  });

  it('stays within the memory limit by removing the oldest cards', () => {
    const cards = new CommittedCards(5_000);
    for (let index = 0; index < 1_000; index += 1) cards.put(cardNamed(`card ${index}`));
    expect(cards.bytes).toBeLessThanOrEqual(5_000);
    expect(cards.size).toBeGreaterThan(3);
    expect(cards.take('p', 'card 0')).toBeUndefined();
    expect(cards.take('p', 'card 999')?.card.name).toBe('card 999');
    // If a card is put in again, it still counts once.
    const before = cards.bytes;
    cards.put(cardNamed('card 998'));
    expect(cards.bytes).toBe(before);
  });

  it('keeps no cards if the limit is zero, or after it was cleared', () => {
    const none = new CommittedCards(0);
    none.put(cardNamed('c'));
    expect([none.size, none.bytes]).toEqual([0, 0]);
    const cards = new CommittedCards(1_000_000);
    cards.put(cardNamed('c'));
    cards.clear();
    expect([cards.size, cards.bytes]).toEqual([0, 0]);
  });
});

describe('the memory of a chain', () => {
  function remember(memory: Memory, { card, account, days }: KnownCard): void {
    memory.learn([account], [{ card, days }]);
    memory.keep(account, days);
  }

  it('passes a card to later chains only after the group that changed it is certainly committed', () => {
    const committed = new CommittedCards(1_000_000);
    const memory = new Memory(committed, 0);
    memory.beginGroup();
    remember(memory, cardNamed('c'));
    // Up to DEPTH groups may be in flight.
    for (let group = 1; group < DEPTH; group += 1) {
      memory.trim();
      expect(committed.size).toBe(0);
      memory.beginGroup();
    }
    memory.trim();
    expect(committed.size).toBe(0);
    memory.beginGroup();
    memory.trim();
    expect(committed.size).toBe(1);
    expect(memory.knows('p', 'c', false)).toBe(true);
    expect(committed.size).toBe(0);
    expect(memory.card('p', 'c')).toEqual(cardNamed('c').card);
  });

  it('is valid for only one database server, even across chains', () => {
    const committed = new CommittedCards(1_000_000);
    new Memory(committed).noteServer(1);
    const next = new Memory(committed);
    next.noteServer(1);
    expect(() => next.noteServer(2)).toThrow(ChainBroken);
    committed.clear();
    new Memory(committed).noteServer(2);
  });

  it('replaces cards with later loads, for this chain and for later ones', () => {
    const committed = new CommittedCards(1_000_000);
    const memory = new Memory(committed);
    const known = cardNamed('c');
    committed.put(known);
    const account = { ...known.account, version: known.account.version + 1n, balance: 7n };
    memory.learn([account], [{ card: known.card, days: null }]);
    expect(memory.account(account.accountId)?.balance).toBe(7n);
    expect(committed.size).toBe(0);
  });
});
