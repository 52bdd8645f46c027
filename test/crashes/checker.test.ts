import { expect, test } from 'vitest';
import { type Answer, type Books, type Found, findContradictions, type Story } from './checker.ts';

// A checker that cannot fail proves nothing: each lie that the kill tests look for is told to it here.

const TERMS = { type: 'load', amount: 10, cardId: 'a', destinationCardId: null } as const;

function answer(change: Partial<Answer> = {}): Answer {
  const text = '{"transfer_id":"tr_1","amount":10}';
  return {
    requestId: 'req_1',
    status: 201,
    text,
    moneyMoved: undefined,
    transferId: undefined,
    replayed: false,
    ...change,
  };
}

function refused(change: Partial<Answer> = {}): Answer {
  return answer({ status: 500, text: '{"Code":"unknown_create_transfer"}', moneyMoved: 'no', ...change });
}

function story(change: Partial<Story> = {}): Story {
  return { key: 'k', terms: TERMS, answers: [answer()], silences: 0, ...change };
}

function found(change: Partial<Found> = {}): Found {
  return { transferId: 'tr_1', requestId: 'req_1', key: 'k', terms: TERMS, status: 'completed', ...change };
}

function books(transfers: readonly Found[], balance: number): Books {
  return { transfers, opening: new Map([['a', 5]]), balances: new Map([['a', balance]]) };
}

const REPLAY = answer({ requestId: 'req_2', replayed: true });
const FULL = answer({ requestId: 'req_2', status: 409, text: '{"Code":"limit_exceeded"}', moneyMoved: 'no' });

test.each<[string, Story, Books]>([
  ['a transfer, acknowledged', story(), books([found()], 15)],
  ['acknowledged, and again', story({ answers: [answer(), REPLAY] }), books([found()], 15)],
  ['made in silence', story({ answers: [], silences: 1 }), books([found({ requestId: 'req_lost' })], 15)],
  ['nothing made in silence', story({ answers: [], silences: 1 }), books([], 5)],
  ['made in silence, then learnt', story({ answers: [REPLAY], silences: 1 }), books([found({ requestId: 'x' })], 15)],
  ['failed, then made', story({ answers: [refused({ requestId: 'req_0' }), answer()] }), books([found()], 15)],
  [
    'unknown, and it was made',
    story({ answers: [refused({ moneyMoved: 'unknown', transferId: 'tr_1' })] }),
    books([found()], 15),
  ],
  ['refused', story({ answers: [FULL] }), books([], 5)],
])('the truth passes: %s', (_, told, truth) => {
  expect(findContradictions([told], truth)).toEqual([]);
});

test.each<[string, string, Story, Books]>([
  ['an acknowledged transfer is missing', 'lost', story(), books([], 5)],
  ['it is missing, and its money is there', 'its transfers come to', story(), books([], 15)],
  ['it is there and its money is not', 'its transfers come to', story(), books([found()], 5)],
  ['it is there twice', 'doubled', story(), books([found(), found({ transferId: 'tr_2' })], 25)],
  [
    'it is there twice, once without a word',
    'nobody sent',
    story(),
    books([found(), found({ transferId: 'tr_2', key: 'other' })], 25),
  ],
  ['another one is there in its place', 'lost', story(), books([found({ transferId: 'tr_2' })], 15)],
  [
    'the second answer differs by a blank',
    'answers differ',
    story({ answers: [answer(), { ...REPLAY, text: `${REPLAY.text} ` }] }),
    books([found()], 15),
  ],
  ['a success after a refusal', 'answers differ', story({ answers: [FULL, answer()] }), books([found()], 15)],
  [
    'a refusal that made it',
    'refused and made',
    story({ answers: [FULL] }),
    books([found({ requestId: 'req_2' })], 15),
  ],
  [
    'two first answers',
    'two first answers',
    story({ answers: [answer(), { ...REPLAY, replayed: false }] }),
    books([found()], 15),
  ],
  ['the record has changed since', 'changed', story(), books([found({ text: '{"transfer_id":"tr_1"}' })], 15)],
  ['the amount has', 'other terms', story(), books([found({ terms: { ...TERMS, amount: 11 } })], 16)],
  ['it was never completed', 'left pending', story(), books([found({ status: 'pending' })], 15)],
  ['no money moved, it said', 'no money moved', story({ answers: [refused()] }), books([found()], 15)],
  [
    'no money moved, it said, and another answer confesses',
    'no money moved',
    story({ answers: [refused(), REPLAY] }),
    books([found()], 15),
  ],
  [
    'unknown, and the transfer is another',
    'named tr_9',
    story({ answers: [refused({ moneyMoved: 'unknown', transferId: 'tr_9' })] }),
    books([found()], 15),
  ],
  [
    'a failure without a word on money',
    'silent about money',
    story({ answers: [refused({ moneyMoved: undefined })] }),
    books([], 5),
  ],
  [
    'made, and every request was answered no',
    'nobody sent',
    story({ answers: [refused()] }),
    books([found({ requestId: 'x' })], 15),
  ],
  [
    'made by what was called a replay',
    'called a replay',
    story({ answers: [REPLAY] }),
    books([found({ requestId: 'req_2' })], 15),
  ],
])('a lie is found: %s', (_, word, told, truth) => {
  expect(findContradictions([told], truth).join('\n')).toContain(word);
});
