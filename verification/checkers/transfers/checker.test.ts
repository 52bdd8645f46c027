import { expect, test } from 'vitest';
import { type Books, booksOf, findContradictions } from './checker.ts';
import type { Change, ChangeHistory, CreateHistory, Found, FoundReversal, ReceivedResponse } from './history.ts';
import type { FoundEvent, Records, StoredResponse } from './records.ts';

// The checker must find each contradiction that the kill tests look for.

const TERMS = { type: 'load', amount: 10, cardId: 'a', destinationCardId: null, capture: 'automatic' } as const;
const HELD = { ...TERMS, capture: 'manual' } as const;

function response(change: Partial<ReceivedResponse> = {}): ReceivedResponse {
  const text = '{"transfer_id":"tr_1","amount":10}';
  return {
    requestId: 'req_1',
    status: 201,
    text,
    moneyMoved: undefined,
    shouldRetry: undefined,
    transferId: undefined,
    replayed: false,
    ...change,
  };
}

function refused(change: Partial<ReceivedResponse> = {}): ReceivedResponse {
  const text = '{"Code":"unknown_create_transfer"}';
  return response({ status: 500, text, moneyMoved: 'no', shouldRetry: 'true', ...change });
}

/** A refusal, stored under its key. */
function denied(requestId: string, text: string): ReceivedResponse {
  return response({ requestId, status: 409, text, moneyMoved: 'no', shouldRetry: 'false' });
}

function story(change: Partial<CreateHistory> = {}): CreateHistory {
  return { key: 'k', terms: TERMS, responses: [response()], silences: 0, ...change };
}

function found(change: Partial<Found> = {}): Found {
  const capturedAmount = change.terms?.amount ?? TERMS.amount;
  const made = { transferId: 'tr_1', requestId: 'req_1', key: 'k', terms: TERMS, status: 'completed', reversals: [] };
  return { ...made, capturedAmount, ...change };
}

function books(transfers: readonly Found[], balance: number): Books {
  return { transfers, opening: new Map([['a', 5]]), balances: new Map([['a', balance]]) };
}

const REPLAY = response({ requestId: 'req_2', replayed: true });
const FULL = denied('req_2', '{"Code":"limit_exceeded"}');

test.each<[string, CreateHistory, Books]>([
  ['an acknowledged transfer', story(), books([found()], 15)],
  ['an acknowledged transfer and its replay', story({ responses: [response(), REPLAY] }), books([found()], 15)],
  [
    'a transfer without a response',
    story({ responses: [], silences: 1 }),
    books([found({ requestId: 'req_lost' })], 15),
  ],
  ['a request without a response or effect', story({ responses: [], silences: 1 }), books([], 5)],
  [
    'a lost response and its replay',
    story({ responses: [REPLAY], silences: 1 }),
    books([found({ requestId: 'x' })], 15),
  ],
  [
    'a failure, then a transfer',
    story({ responses: [refused({ requestId: 'req_0' }), response()] }),
    books([found()], 15),
  ],
  [
    'an unknown outcome and the transfer',
    story({ responses: [refused({ moneyMoved: 'unknown', transferId: 'tr_1' })] }),
    books([found()], 15),
  ],
  ['a refusal', story({ responses: [FULL] }), books([], 5)],
])('accepts a correct history: %s', (_, history, truth) => {
  expect(findContradictions([history], truth)).toEqual([]);
});

test.each<[string, string, CreateHistory, Books]>([
  ['an acknowledged transfer is missing', 'lost', story(), books([], 5)],
  ['the transfer is missing, but its money moved', 'its transfers add up to', story(), books([], 15)],
  ['the transfer exists, but its money did not move', 'its transfers add up to', story(), books([found()], 5)],
  ['the transfer exists twice', 'doubled', story(), books([found(), found({ transferId: 'tr_2' })], 25)],
  [
    'the transfer exists again under an unknown key',
    'no client sent',
    story(),
    books([found(), found({ transferId: 'tr_2', key: 'other' })], 25),
  ],
  ['a different transfer exists', 'lost', story(), books([found({ transferId: 'tr_2' })], 15)],
  [
    'the second response has an extra space',
    'responses differ',
    story({ responses: [response(), { ...REPLAY, text: `${REPLAY.text} ` }] }),
    books([found()], 15),
  ],
  ['a success after a refusal', 'responses differ', story({ responses: [FULL, response()] }), books([found()], 15)],
  [
    'a refused request made a transfer',
    'refused and made',
    story({ responses: [FULL] }),
    books([found({ requestId: 'req_2' })], 15),
  ],
  [
    'two first responses',
    'two first responses',
    story({ responses: [response(), { ...REPLAY, replayed: false }] }),
    books([found()], 15),
  ],
  ['the record has changed', 'changed', story(), books([found({ text: '{"transfer_id":"tr_1"}' })], 15)],
  ['the amount has changed', 'other terms', story(), books([found({ terms: { ...TERMS, amount: 11 } })], 16)],
  ['the transfer is still pending', 'left pending', story(), books([found({ status: 'pending' })], 15)],
  ['a response denies the transfer', 'no money moved', story({ responses: [refused()] }), books([found()], 15)],
  [
    'a response denies the transfer, but a replay shows it',
    'no money moved',
    story({ responses: [refused(), REPLAY] }),
    books([found()], 15),
  ],
  [
    'an unknown outcome names a different transfer',
    'named tr_9',
    story({ responses: [refused({ moneyMoved: 'unknown', transferId: 'tr_9' })] }),
    books([found()], 15),
  ],
  [
    'a failure without Money-Moved',
    'a 500 with Money-Moved: undefined',
    story({ responses: [refused({ moneyMoved: undefined })] }),
    books([], 5),
  ],
  [
    'a failure forbids a retry',
    'a 500 with Should-Retry: false',
    story({ responses: [refused({ shouldRetry: 'false' })] }),
    books([], 5),
  ],
  [
    'a decision asks for a retry',
    'a 409 with Should-Retry: true',
    story({ responses: [{ ...FULL, shouldRetry: 'true' }] }),
    books([], 5),
  ],
  [
    'an unknown request made the transfer',
    'no client sent',
    story({ responses: [refused()] }),
    books([found({ requestId: 'x' })], 15),
  ],
  [
    'a replay made the transfer',
    'marked as a replay',
    story({ responses: [REPLAY] }),
    books([found({ requestId: 'req_2' })], 15),
  ],
])('detects a false response: %s', (_, word, history, truth) => {
  expect(findContradictions([history], truth).join('\n')).toContain(word);
});

const CAPTURE: Change = { verb: 'capture', transferId: 'tr_1', amount: 6 };
const CANCEL: Change = { verb: 'cancel', transferId: 'tr_1', amount: 0 };
const REVERSE: Change = { verb: 'reverse', transferId: 'tr_1', amount: 4 };

/** A change to the transfer, by the request `req_c` with the key `c`. */
function changed(change: Change, history: Partial<ChangeHistory> = {}): ChangeHistory {
  const text = JSON.stringify(change.verb === 'reverse' ? { reversal_id: 'rev_1' } : { transfer_id: 'tr_1' });
  const done = response({ requestId: 'req_c', status: change.verb === 'reverse' ? 201 : 200, text });
  return { key: 'c', change, responses: [done], silences: 0, ...history };
}

const LATE = denied('req_c', '{"Code":"invalid_transfer_status"}');
const NO = refused({ requestId: 'req_c' });
const UNKNOWN = refused({ requestId: 'req_c', moneyMoved: 'unknown', transferId: 'tr_1' });

const hold = (change: Partial<Found> = {}): Found =>
  found({ terms: HELD, status: 'pending', capturedAmount: 0, ...change });
const captured = (amount = 6): Found => hold({ status: 'completed', capturedAmount: amount });
const canceled = (): Found => hold({ status: 'canceled' });
const reversed = (...reversals: readonly Partial<FoundReversal>[]): Found =>
  found({
    reversals: reversals.map((one) => ({ reversalId: 'rev_1', requestId: 'req_c', key: 'c', amount: 4, ...one })),
  });

test.each<[string, readonly ChangeHistory[], Found, number]>([
  ['a pending hold', [], hold(), 5],
  ['a capture', [changed(CAPTURE)], captured(), 11],
  ['a capture without a response', [changed(CAPTURE, { responses: [], silences: 1 })], captured(), 11],
  [
    'a capture with a lost response and its replay',
    [changed(CAPTURE, { responses: [NO, { ...REPLAY, status: 200 }], silences: 1 })],
    captured(),
    11,
  ],
  [
    'an unknown outcome and the replay of the capture',
    [changed(CAPTURE, { responses: [UNKNOWN, { ...REPLAY, status: 200 }] })],
    captured(),
    11,
  ],
  ['a capture without a response or effect', [changed(CAPTURE, { responses: [], silences: 1 })], hold(), 5],
  ['an unknown outcome and the capture', [changed(CAPTURE, { responses: [UNKNOWN] })], captured(), 11],
  [
    'a cancellation and a late capture',
    [changed(CANCEL), changed(CAPTURE, { key: 'd', responses: [LATE] })],
    canceled(),
    5,
  ],
  ['a reversal', [changed(REVERSE)], reversed({}), 11],
  [
    'a reversal without a response',
    [changed(REVERSE, { responses: [], silences: 1 })],
    reversed({ requestId: 'x' }),
    11,
  ],
])('accepts a correct history: %s', (_, changes, transfer, balance) => {
  const history = story({ terms: transfer.terms });
  expect(findContradictions([history], books([transfer], balance), changes)).toEqual([]);
});

test.each<[string, string, readonly ChangeHistory[], Found, number]>([
  ['an acknowledged capture is missing', 'lost', [changed(CAPTURE)], hold(), 5],
  ['the captured amount differs', 'lost', [changed(CAPTURE)], captured(7), 12],
  ['an acknowledged cancellation is missing', 'lost', [changed(CANCEL)], hold(), 5],
  [
    'a capture and a cancellation were acknowledged',
    'ended by',
    [changed(CAPTURE), changed(CANCEL, { key: 'd' })],
    captured(),
    11,
  ],
  ['no request asked for the capture', 'which no request explains', [], captured(), 11],
  ['the capture was refused', 'which no request explains', [changed(CAPTURE, { responses: [LATE] })], captured(), 11],
  [
    'a response denies the capture',
    'which no request explains',
    [changed(CAPTURE, { responses: [NO] })],
    captured(),
    11,
  ],
  [
    'a response denies the capture, but a replay shows it',
    'except the replays reported no',
    [changed(CAPTURE, { responses: [NO, { ...REPLAY, status: 200 }] })],
    captured(),
    11,
  ],
  ['a capture did not move its money', 'its transfers add up to', [changed(CAPTURE)], captured(), 5],
  ['a pending hold moved its money', 'its transfers add up to', [], hold(), 11],
  ['a pending hold has a captured amount', 'were captured', [], hold({ capturedAmount: 3 }), 8],
  ['an acknowledged reversal is missing', 'lost', [changed(REVERSE)], found(), 15],
  ['the reversal exists twice', 'doubled', [changed(REVERSE)], reversed({}, { reversalId: 'rev_2' }), 7],
  ['the reversed amount differs', 'instead of', [changed(REVERSE)], reversed({ amount: 3 }), 12],
  ['no request asked for the reversal', 'no client sent', [], reversed({}), 11],
  ['the reversal was refused', 'refused and made', [changed(REVERSE, { responses: [LATE] })], reversed({}), 11],
  ['a response denies the reversal', 'no money moved', [changed(REVERSE, { responses: [NO] })], reversed({}), 11],
  ['a reversal did not move its money', 'its transfers add up to', [changed(REVERSE)], reversed({}), 15],
  ['the record of a capture has changed', 'changed', [changed(CAPTURE)], { ...captured(), text: '{}' }, 11],
])('detects a false response to a change: %s', (_, word, changes, transfer, balance) => {
  const history = story({ terms: transfer.terms });
  expect(findContradictions([history], books([transfer], balance), changes).join('\n')).toContain(word);
});

// A hold of 10, captured with 6, then reversed by 4; and a refusal. All of their responses and events are stored.
const CREATED = '{"transfer_id":"tr_1","status":"pending"}';
const CAPTURED = '{"transfer_id":"tr_1","status":"completed"}';
const REVERSED = '{"reversal_id":"rev_1","transfer_id":"tr_1"}';
const REFUSAL = '{"Message":"Too much.","Status":409,"Code":"limit_exceeded","Type":"Request Error"}';

const STORIES = [
  story({ terms: HELD, responses: [response({ text: CREATED })] }),
  story({ key: 'r', responses: [denied('req_r', REFUSAL)] }),
];
const CHANGES = [
  changed(CAPTURE, { key: 'd', responses: [response({ requestId: 'req_d', status: 200, text: CAPTURED })] }),
  changed(REVERSE, { responses: [response({ requestId: 'req_c', text: REVERSED })] }),
];

const success = (operation: string, key: string, status: number, subjectId: string, body: string): StoredResponse => {
  return { operation, key, status, subjectId, body, code: null, message: null };
};
const KEPT_CREATED = success('create_transfer', 'k', 201, 'tr_1', CREATED);
const KEPT_CAPTURED = success('capture_transfer', 'd', 200, 'tr_1', CAPTURED);
const KEPT_REVERSED = success('reverse_transfer', 'c', 201, 'rev_1', REVERSED);
const KEPT_REFUSAL: StoredResponse = {
  operation: 'create_transfer',
  key: 'r',
  status: 409,
  subjectId: null,
  body: null,
  code: 'limit_exceeded',
  message: 'Too much.',
};
const KEPT = [KEPT_CREATED, KEPT_CAPTURED, KEPT_REVERSED, KEPT_REFUSAL];

const PENDING: FoundEvent = { type: 'transfer.pending', subjectId: 'tr_1', payload: CREATED };
const COMPLETED: FoundEvent = { type: 'transfer.completed', subjectId: 'tr_1', payload: CAPTURED };
const WENT_BACK: FoundEvent = { type: 'reversal.completed', subjectId: 'rev_1', payload: REVERSED };
const EVENTS = [PENDING, COMPLETED, WENT_BACK];

/** Returns the contradictions if the ledger has these records. */
function problemsOf(records: Partial<Records>, stories = STORIES, changes = CHANGES): string {
  const reversals = [{ reversalId: 'rev_1', requestId: 'req_c', key: 'c', amount: 4 }];
  const truth = books([{ ...captured(), reversals }], 7);
  return findContradictions(stories, { ...truth, records: { kept: KEPT, events: EVENTS, ...records } }, changes).join(
    '\n',
  );
}

/** Returns all items, with one of them replaced by others. */
const instead = <Item>(all: readonly Item[], one: Item, ...others: readonly Item[]): readonly Item[] =>
  all.flatMap((item) => (item === one ? others : [item]));

test('accepts correct stored responses and events, with or without received responses', () => {
  expect(problemsOf({})).toBe('');
  const silent = STORIES.map((history) => ({ ...history, responses: [], silences: 1 }));
  expect(problemsOf({}, silent)).toBe('');
});

test.each<[string, string, readonly StoredResponse[]]>([
  ['an acknowledged response is not stored', 'k: lost: its 201 is not stored', instead(KEPT, KEPT_CREATED)],
  ['a refusal is not stored', 'r: lost: its 409 is not stored', instead(KEPT, KEPT_REFUSAL)],
  ['a change is not stored', 'd: lost: its 200 is not stored', instead(KEPT, KEPT_CAPTURED)],
  [
    'the body has an extra space',
    'stored response differs',
    instead(KEPT, KEPT_CREATED, { ...KEPT_CREATED, body: `${CREATED} ` }),
  ],
  ['the status differs', 'stored response differs', instead(KEPT, KEPT_CREATED, { ...KEPT_CREATED, status: 200 })],
  [
    'the code differs',
    'stored response differs',
    instead(KEPT, KEPT_REFUSAL, { ...KEPT_REFUSAL, code: 'duplicate_reference' }),
  ],
  ['the message differs', 'stored response differs', instead(KEPT, KEPT_REFUSAL, { ...KEPT_REFUSAL, message: 'No.' })],
  [
    'the subject differs',
    'is about tr_2 instead of tr_1',
    instead(KEPT, KEPT_CREATED, { ...KEPT_CREATED, subjectId: 'tr_2' }),
  ],
  [
    'the operation differs',
    'capture_transfer, which no client sent',
    [...KEPT, { ...KEPT_CREATED, operation: 'capture_transfer' }],
  ],
  ['the key is unknown', 'x of create_transfer, which no client sent', [...KEPT, { ...KEPT_CREATED, key: 'x' }]],
  ['a reversal has no stored response', 'no response is stored under reverse_transfer c', instead(KEPT, KEPT_REVERSED)],
])('detects a false stored response: %s', (_, word, kept) => {
  expect(problemsOf({ kept })).toContain(word);
});

test.each<[string, string, readonly FoundEvent[]]>([
  ['a creation has no event', 'no event transfer.pending of tr_1', instead(EVENTS, PENDING)],
  ['a capture has no event', 'no event transfer.completed of tr_1', instead(EVENTS, COMPLETED)],
  ['a reversal has no event', 'no event reversal.completed of rev_1', instead(EVENTS, WENT_BACK)],
  [
    'an event exists twice',
    'has the events [transfer.pending,transfer.completed,transfer.completed]',
    [...EVENTS, COMPLETED],
  ],
  [
    'the type differs',
    'no event transfer.completed of tr_1',
    instead(EVENTS, COMPLETED, { ...COMPLETED, type: 'transfer.canceled' }),
  ],
  [
    'the payload has an extra space',
    'the event differs',
    instead(EVENTS, PENDING, { ...PENDING, payload: `${CREATED} ` }),
  ],
  [
    'the subject does not exist',
    'has the subject tr_9, which does not exist',
    [...EVENTS, { ...PENDING, subjectId: 'tr_9' }],
  ],
])('detects a false event: %s', (_, word, events) => {
  expect(problemsOf({ events })).toContain(word);
});

test('compares a transfer without a received response with its stored response and events', () => {
  const silent = STORIES.map((history) => ({ ...history, responses: [], silences: 1 }));
  const kept = instead(KEPT, KEPT_CREATED);
  expect(problemsOf({ kept }, silent)).toContain('tr_1 was made, but no response is stored under create_transfer k');
  expect(problemsOf({ events: instead(EVENTS, PENDING) }, silent)).toContain('no event transfer.pending of tr_1');
  const changedPayload = instead(EVENTS, PENDING, { ...PENDING, payload: CAPTURED });
  expect(problemsOf({ events: changedPayload }, silent)).toContain('the event differs');
});

test('ignores transfers of other keys', () => {
  const others = { ...found({ transferId: 'tr_2', key: 'other' }) };
  const foreign = success('create_transfer', 'other', 201, 'tr_2', '{"transfer_id":"tr_2"}');
  const event: FoundEvent = { type: 'transfer.completed', subjectId: 'tr_2', payload: '{"transfer_id":"tr_2"}' };
  const records = {
    kept: [success('create_transfer', 'k', 201, 'tr_1', response().text), foreign],
    events: [{ type: 'transfer.completed', subjectId: 'tr_1', payload: response().text }, event],
  };
  const all = { ...books([found(), others], 25), records };
  expect(findContradictions([story()], booksOf('k', all))).toEqual([]);
  expect(findContradictions([story()], all)).not.toEqual([]);
});
