import { expect, test } from 'vitest';
import { type AccountOfDay, drawUpDay } from './day.ts';

const ACCOUNTS: readonly AccountOfDay[] = [
  {
    ...{ currency: 'USD', kind: 'world', opening: -1000n, closing: -1500n },
    moved: [{ purpose: 'deposit', amount: -500n, postings: 1 }],
  },
  {
    ...{ currency: 'USD', kind: 'funding', opening: 700n, closing: 990n },
    moved: [
      { purpose: 'deposit', amount: 500n, postings: 0 },
      { purpose: 'load', amount: -200n, postings: 2 },
      { purpose: 'correction', amount: -10n, postings: 1 },
    ],
  },
  {
    ...{ currency: 'USD', kind: 'suspense', opening: -10n, closing: 0n },
    moved: [{ purpose: 'correction', amount: 10n, postings: 0 }],
  },
];

test('computes the amounts of the cards as the negative sum of the other accounts', () => {
  const none = { suspense: 0n, loss: 0n };
  expect(drawUpDay(ACCOUNTS)).toEqual([
    {
      currency: 'USD',
      opening: { funding: 700n, cards: 310n, suspense: -10n, loss: 0n },
      movements: [
        { purpose: 'deposit', postings: 1, funding: 500n, cards: 0n, ...none },
        { purpose: 'load', postings: 2, funding: -200n, cards: 200n, ...none },
        { purpose: 'correction', postings: 1, funding: -10n, cards: 0n, ...none, suspense: 10n },
      ],
      closing: { funding: 990n, cards: 510n, ...none },
      addsUp: true,
    },
  ]);
});

test('does not add up if a closing balance differs from the opening balance plus the postings', () => {
  const wrong = ACCOUNTS.map((account) => (account.kind === 'funding' ? { ...account, closing: 991n } : account));
  expect(drawUpDay(wrong)).toMatchObject([{ addsUp: false }]);
});

test('leaves out a currency without money', () => {
  const empty = ACCOUNTS.map((account) => ({ ...account, currency: 'EUR', opening: 0n, closing: 0n, moved: [] }));
  expect(drawUpDay([...ACCOUNTS, ...empty]).map(({ currency }) => currency)).toEqual(['USD']);
});
