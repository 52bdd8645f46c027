import { expect, test } from 'vitest';
import type { Books, Found, FoundEvent, FoundReversal, StoredResponse } from './books.ts';
import type { Change, Creation, Operation, Response } from './history.ts';
import { ABOUT_MONEY, findContradictions } from './responses.ts';

// Tests that the checker finds each contradiction that the campaigns look for.

const LOAD: Creation = {
  ...{ does: 'create', type: 'load', amount: 10, card: 'a', destination: null },
  ...{ capture: 'automatic', reference: null, expiresAt: null },
};
const HOLD: Creation = { ...LOAD, capture: 'manual' };
const SHORT: Creation = { ...HOLD, expiresAt: '2026-01-01T00:00:03.000Z' };
const CAPTURE: Change = { does: 'capture', transferId: 'tr_1', amount: 6 };
const CANCEL: Change = { does: 'cancel', transferId: 'tr_1', amount: 0 };
const REVERSE: Change = { does: 'reverse', transferId: 'tr_1', amount: 4 };

/** Returns the record in the response to an operation. */
function recordOf(asked: Creation | Change, key: string, more: object = {}): string {
  const { amount } = asked;
  if (asked.does === 'reverse')
    return JSON.stringify({ reversal_id: 'rev_1', transfer_id: 'tr_1', amount, description: key, ...more });
  const status = { create: 'completed', capture: 'completed', cancel: 'canceled' }[asked.does];
  if (asked.does !== 'create')
    return JSON.stringify({ transfer_id: 'tr_1', captured_amount: asked.amount, status, ...more });
  const { card: card_id, destination: destination_card_id, expiresAt: expires_at, does: _does, ...terms } = asked;
  const record = { transfer_id: 'tr_1', ...terms, card_id, destination_card_id, expires_at, status, metadata: { key } };
  return JSON.stringify({ ...record, ...more });
}

function response(change: Partial<Response> = {}): Response {
  const none = { moneyMoved: undefined, shouldRetry: undefined, transferId: undefined };
  return { requestId: 'req_1', status: 201, text: recordOf(LOAD, 'k'), ...none, replayed: false, at: 0, ...change };
}

function failure(status: number, code: string, change: Partial<Response> = {}): Response {
  const text = JSON.stringify({ Message: 'Too much.', Status: status, Code: code, Type: 'Request Error' });
  return response({ status, text, moneyMoved: 'no', shouldRetry: String(status >= 500), ...change });
}

const DONE = response();
const REPLAY = response({ requestId: 'req_2', replayed: true });
const FAILED = failure(500, 'unknown_create_transfer');
const UNKNOWN = { ...FAILED, moneyMoved: 'unknown', transferId: 'tr_1' };
const FULL = failure(409, 'limit_exceeded', { requestId: 'req_2' });

/** A response to a request to create a transfer, with a different record. */
const shown = (key: string, more: object = {}): Operation => create([response({ text: recordOf(LOAD, key, more) })]);

const create = (responses: readonly Response[] = [DONE], more: Partial<Operation<Creation>> = {}): Operation => {
  return { key: 'k', programId: 'prog_1', asked: LOAD, sentAt: 0, responses, unanswered: 0, ...more };
};

/** Returns a change to the transfer, by the request `req_c` with the key `c`. */
function change(asked: Change, responses?: readonly Response[], more: Partial<Operation> = {}): Operation {
  const key = more.key ?? 'c';
  const status = asked.does === 'reverse' ? 201 : 200;
  const done = response({ requestId: 'req_c', status, text: recordOf(asked, key) });
  return { key, programId: 'prog_1', asked, sentAt: 0, responses: responses ?? [done], unanswered: 0, ...more };
}

const LATE = failure(409, 'invalid_transfer_status', { requestId: 'req_c' });
const NO = { ...FAILED, requestId: 'req_c' };
const LATE_CAPTURE = change(CAPTURE, [LATE], { key: 'd' });
const REPLAYED_CAPTURE = { ...REPLAY, status: 200, text: recordOf(CAPTURE, 'c') };

function found(more: Partial<Found> = {}): Found {
  const made = { transferId: 'tr_1', requestId: 'req_1', key: 'k', terms: LOAD, status: 'completed', reversals: [] };
  return { ...made, capturedAmount: more.terms?.amount ?? LOAD.amount, ...more };
}

const hold = (more: Partial<Found> = {}): Found =>
  found({ terms: HOLD, status: 'pending', capturedAmount: 0, ...more });
const captured = (amount = 6): Found => hold({ status: 'completed', capturedAmount: amount });
const canceled = hold({ status: 'canceled' });
const reversed = (...reversals: readonly Partial<FoundReversal>[]): Found =>
  found({
    reversals: reversals.map((one) => ({ reversalId: 'rev_1', requestId: 'req_c', key: 'c', amount: 4, ...one })),
  });

function books(transfers: readonly Found[], balance: number, more: Partial<Books> = {}): Books {
  return { transfers, opening: new Map([['a', 5]]), balances: new Map([['a', balance]]), faults: {}, ...more };
}

type History = readonly [operations: readonly Operation[], transfers: readonly Found[], balance: number];

/** Returns a history: a request that created a transfer with these terms, followed by the requests that changed it. */
const held = (terms: Creation, ...changes: readonly Operation[]): readonly Operation[] => [
  create([response({ text: recordOf(terms, 'k', { status: terms.capture === 'manual' ? 'pending' : 'completed' }) })], {
    asked: terms,
  }),
  ...changes,
];
const silent = { unanswered: 1 };

test.each<readonly [string, ...History]>([
  ['an acknowledged transfer', [create()], [found()], 15],
  ['an acknowledged transfer and its replay', [create([DONE, REPLAY])], [found()], 15],
  ['a transfer without a response', [create([], silent)], [found({ requestId: 'req_lost' })], 15],
  ['a request without a response or effect', [create([], silent)], [], 5],
  ['a lost response and its replay', [create([REPLAY], silent)], [found({ requestId: 'x' })], 15],
  ['a failure, then a transfer', [create([{ ...FAILED, requestId: 'req_0' }, DONE])], [found()], 15],
  ['an unknown outcome and the transfer', [create([UNKNOWN])], [found()], 15],
  ['a refusal', [create([FULL])], [], 5],
  ['a pending hold', held(HOLD), [hold()], 5],
  ['an expired hold', held(SHORT), [hold({ status: 'expired' })], 5],
  ['a capture', held(HOLD, change(CAPTURE)), [captured()], 11],
  ['a capture without a response', held(HOLD, change(CAPTURE, [], silent)), [captured()], 11],
  ['a lost capture and its replay', held(HOLD, change(CAPTURE, [NO, REPLAYED_CAPTURE], silent)), [captured()], 11],
  ['an unknown capture and its replay', held(HOLD, change(CAPTURE, [UNKNOWN, REPLAYED_CAPTURE])), [captured()], 11],
  ['a capture without a response or effect', held(HOLD, change(CAPTURE, [], silent)), [hold()], 5],
  ['an unknown outcome and the capture', held(HOLD, change(CAPTURE, [UNKNOWN])), [captured()], 11],
  ['a cancellation and a late capture', held(HOLD, change(CANCEL), LATE_CAPTURE), [canceled], 5],
  ['a reversal', held(LOAD, change(REVERSE)), [reversed({})], 11],
  ['a reversal without a response', held(LOAD, change(REVERSE, [], silent)), [reversed({ requestId: 'x' })], 11],
])('accepts a correct history: %s', (_, operations, transfers, balance) => {
  expect(findContradictions(operations, books(transfers, balance))).toEqual([]);
});

const OTHER = { transferId: 'tr_2' };
const ALSO = change(CANCEL, undefined, { key: 'd' });
const DENIED = change(CAPTURE, [NO, REPLAYED_CAPTURE]);
const FALSE = change(CAPTURE, [response({ status: 200, text: recordOf(CAPTURE, 'c', { captured_amount: 5 }) })]);

/** The words of contradictions that a negative control must find. */
const OF_MONEY = ['lost', 'duplicated', 'no money moved', 'refused and made', 'every first response said', 'add up to'];

test.each<readonly [string, string, ...History]>([
  ['an acknowledged transfer is missing', 'lost', [create()], [], 5],
  ['the transfer is missing, but its money moved', 'its transfers add up to', [create()], [], 15],
  ['the transfer exists, but its money did not move', 'its transfers add up to', [create()], [found()], 5],
  ['the transfer exists twice', 'duplicated', [create()], [found(), found(OTHER)], 25],
  [
    'the transfer exists again under an unknown key',
    'no client sent',
    [create()],
    [found(), found({ ...OTHER, key: 'x' })],
    25,
  ],
  ['a different transfer exists', 'lost', [create()], [found(OTHER)], 15],
  ['a replay has an extra space', 'differ', [create([DONE, { ...REPLAY, text: `${REPLAY.text} ` }])], [found()], 15],
  ['a success after a refusal', 'responses differ', [create([FULL, DONE])], [found()], 15],
  ['a refused request made a transfer', 'refused and made', [create([FULL])], [found({ requestId: 'req_2' })], 15],
  ['two first responses', 'two first responses', [create([DONE, { ...REPLAY, replayed: false }])], [found()], 15],
  ['the record has changed', 'changed', [create()], [found({ text: '{"transfer_id":"tr_1"}' })], 15],
  ['the amount has changed', 'other terms', [create()], [found({ terms: { ...LOAD, amount: 11 } })], 16],
  ['the reference has changed', 'other terms', [create()], [found({ terms: { ...LOAD, reference: 'r' } })], 15],
  ['the transfer is still pending', 'left pending', [create()], [found({ status: 'pending' })], 15],
  ['a response denies the transfer', 'no money moved', [create([FAILED])], [found()], 15],
  [
    'a response denies the transfer, but a replay shows it',
    'no money moved',
    [create([FAILED, REPLAY])],
    [found()],
    15,
  ],
  [
    'a response names a different transfer',
    'named tr_9',
    [create([{ ...UNKNOWN, transferId: 'tr_9' }])],
    [found()],
    15,
  ],
  ['a failure without Money-Moved', 'Money-Moved: undefined', [create([{ ...FAILED, moneyMoved: undefined }])], [], 5],
  [
    'a failure forbids a retry',
    'a 500 with Should-Retry: false',
    [create([{ ...FAILED, shouldRetry: 'false' }])],
    [],
    5,
  ],
  ['a decision asks for a retry', 'a 409 with Should-Retry: true', [create([{ ...FULL, shouldRetry: 'true' }])], [], 5],
  ['a failure without a Type', 'no error record', [create([{ ...FAILED, text: '{"Status":500}' }])], [], 5],
  ['a failure with a different status', 'no error record', [create([{ ...FAILED, status: 503 }])], [], 5],
  ['an unknown request made the transfer', 'no client sent', [create([FAILED])], [found({ requestId: 'x' })], 15],
  ['a replay made the transfer', 'marked as a replay', [create([REPLAY])], [found({ requestId: 'req_2' })], 15],
  ['a response shows a different amount', 'differs from the request', [shown('k', { amount: 11 })], [found()], 15],
  ['a response shows a different key', 'differs from the request', [shown('x')], [found()], 15],
  ['an acknowledged capture is missing', 'lost', held(HOLD, change(CAPTURE)), [hold()], 5],
  ['the captured amount differs', 'lost', held(HOLD, change(CAPTURE)), [captured(7)], 12],
  ['an acknowledged cancellation is missing', 'lost', held(HOLD, change(CANCEL)), [hold()], 5],
  ['a capture and a cancellation were acknowledged', 'ended by', held(HOLD, change(CAPTURE), ALSO), [captured()], 11],
  ['no request asked for the capture', 'which no request explains', held(HOLD), [captured()], 11],
  ['the capture was refused', 'which no request explains', held(HOLD, change(CAPTURE, [LATE])), [captured()], 11],
  ['a response denies the capture', 'which no request explains', held(HOLD, change(CAPTURE, [NO])), [captured()], 11],
  ['a replay shows the denied capture', 'every first response said', held(HOLD, DENIED), [captured()], 11],
  ['a capture did not move its money', 'its transfers add up to', held(HOLD, change(CAPTURE)), [captured()], 5],
  ['a pending hold moved its money', 'its transfers add up to', held(HOLD), [hold()], 11],
  ['a pending hold has a captured amount', 'were captured', held(HOLD), [hold({ capturedAmount: 3 })], 8],
  ['a hold for days has expired', 'which no request explains', held(HOLD), [hold({ status: 'expired' })], 5],
  ['a hold has failed', 'which no request explains', held(HOLD), [hold({ status: 'failed' })], 5],
  ['the changed transfer does not exist', 'tr_1 does not exist', [change(CAPTURE, [NO])], [], 5],
  ['an acknowledged reversal is missing', 'lost', held(LOAD, change(REVERSE)), [found()], 15],
  ['the reversal exists twice', 'duplicated', held(LOAD, change(REVERSE)), [reversed({}, { reversalId: 'rev_2' })], 7],
  ['the reversed amount differs', 'instead of', held(LOAD, change(REVERSE)), [reversed({ amount: 3 })], 12],
  ['no request asked for the reversal', 'no client sent', held(LOAD), [reversed({})], 11],
  ['the reversal was refused', 'refused and made', held(LOAD, change(REVERSE, [LATE])), [reversed({})], 11],
  ['a response denies the reversal', 'no money moved', held(LOAD, change(REVERSE, [NO])), [reversed({})], 11],
  ['a reversal did not move its money', 'its transfers add up to', held(LOAD, change(REVERSE)), [reversed({})], 15],
  ['the record of a capture has changed', 'changed', held(HOLD, change(CAPTURE)), [{ ...captured(), text: '{}' }], 11],
  [
    'the response to a capture shows a different amount',
    'differs from the request',
    held(HOLD, FALSE),
    [captured()],
    11,
  ],
])('detects a false response: %s', (_, word, operations, transfers, balance) => {
  const found = findContradictions(operations, books(transfers, balance)).join('\n');
  expect(found).toContain(word);
  expect(ABOUT_MONEY.test(found) || !OF_MONEY.some((one) => word.includes(one))).toBe(true);
});

test('reports the faults of the books', () => {
  const faulty = books([], 5, { faults: { accounts_that_differ: '2' } });
  expect(findContradictions([], faulty)).toEqual(['accounts_that_differ: 2']);
});

// One request creates a hold of 10, one captures 6 of it, and one reverses 4 of the capture. Another request is refused. The
// responses and events of all four are stored.
const [CREATED, CAPTURED] = [recordOf(HOLD, 'k', { status: 'pending' }), recordOf(CAPTURE, 'd')];
const REVERSED = recordOf(REVERSE, 'c');
const OPERATIONS = held(
  HOLD,
  create([failure(409, 'limit_exceeded', { requestId: 'req_r' })], { key: 'r' }),
  change(CAPTURE, [response({ requestId: 'req_d', status: 200, text: CAPTURED })], { key: 'd' }),
  change(REVERSE),
);

const success = (operation: string, key: string, status: number, subjectId: string, body: string): StoredResponse => {
  return { operation, key, status, subjectId, body, code: null, message: null };
};
const S_CREATED = success('create_transfer', 'k', 201, 'tr_1', CREATED);
const S_CAPTURED = success('capture_transfer', 'd', 200, 'tr_1', CAPTURED);
const S_REVERSED = success('reverse_transfer', 'c', 201, 'rev_1', REVERSED);
const S_REFUSED: StoredResponse = {
  ...{ operation: 'create_transfer', key: 'r', status: 409, subjectId: null, body: null },
  ...{ code: 'limit_exceeded', message: 'Too much.' },
};
const CANCELS = 'cancel_transfer';
const STORED = [S_CREATED, S_CAPTURED, S_REVERSED, S_REFUSED];

const PENDING: FoundEvent = { type: 'transfer.pending', subjectId: 'tr_1', payload: CREATED };
const COMPLETED: FoundEvent = { type: 'transfer.completed', subjectId: 'tr_1', payload: CAPTURED };
const WENT_BACK: FoundEvent = { type: 'reversal.completed', subjectId: 'rev_1', payload: REVERSED };
const EVENTS = [PENDING, COMPLETED, WENT_BACK];

/** Returns the contradictions if the ledger has these records. */
function problemsOf(records: Pick<Books, 'stored' | 'events'>, operations = OPERATIONS): string {
  const reversals = [{ reversalId: 'rev_1', requestId: 'req_c', key: 'c', amount: 4 }];
  const truth = books([{ ...captured(), reversals }], 7, { stored: STORED, events: EVENTS, ...records });
  return findContradictions(operations, truth).join('\n');
}

/** Returns all items, with one of them replaced by others. */
const instead = <Item>(all: readonly Item[], one: Item, ...others: readonly Item[]): readonly Item[] =>
  all.flatMap((item) => (item === one ? others : [item]));

const SILENT = OPERATIONS.map((operation) =>
  operation.asked.does === 'create' ? { ...operation, responses: [], unanswered: 1 } : operation,
);

test('accepts correct stored responses and events, with or without received responses', () => {
  expect(problemsOf({})).toBe('');
  expect(problemsOf({}, SILENT)).toBe('');
});

test.each<readonly [string, string, readonly StoredResponse[]]>([
  ['an acknowledged response is not stored', 'k: lost: its 201 is not stored', instead(STORED, S_CREATED)],
  ['a refusal is not stored', 'r: lost: its 409 is not stored', instead(STORED, S_REFUSED)],
  ['a change is not stored', 'd: lost: its 200 is not stored', instead(STORED, S_CAPTURED)],
  ['a space is added', 'stored response differs', instead(STORED, S_CREATED, { ...S_CREATED, body: `${CREATED} ` })],
  ['the status differs', 'stored response differs', instead(STORED, S_CREATED, { ...S_CREATED, status: 200 })],
  ['the code differs', 'stored response differs', instead(STORED, S_REFUSED, { ...S_REFUSED, code: 'card_closed' })],
  ['the message differs', 'stored response differs', instead(STORED, S_REFUSED, { ...S_REFUSED, message: 'No.' })],
  ['the subject differs', 'about tr_2 instead', instead(STORED, S_CREATED, { ...S_CREATED, subjectId: 'tr_2' })],
  ['the operation differs', 'cancel_transfer, which no client', [...STORED, { ...S_CREATED, operation: CANCELS }]],
  ['the key is unknown', 'x of create_transfer, which no client sent', [...STORED, { ...S_CREATED, key: 'x' }]],
  ['a reversal is not stored', 'no response is stored under reverse_transfer c', instead(STORED, S_REVERSED)],
])('detects a false stored response: %s', (_, word, stored) => {
  expect(problemsOf({ stored })).toContain(word);
});

test.each<readonly [string, string, readonly FoundEvent[]]>([
  ['a creation has no event', 'no event transfer.pending of tr_1', instead(EVENTS, PENDING)],
  ['a capture has no event', 'no event transfer.completed of tr_1', instead(EVENTS, COMPLETED)],
  ['a reversal has no event', 'no event reversal.completed of rev_1', instead(EVENTS, WENT_BACK)],
  ['an event exists twice', '[transfer.pending,transfer.completed,transfer.completed]', [...EVENTS, COMPLETED]],
  ['the type differs', 'no event transfer.completed of tr_1', instead(EVENTS, COMPLETED, { ...COMPLETED, type: 'x' })],
  ['a space is added', 'the event differs', instead(EVENTS, PENDING, { ...PENDING, payload: `${CREATED} ` })],
  ['the subject does not exist', 'tr_9, which does not exist', [...EVENTS, { ...PENDING, subjectId: 'tr_9' }]],
])('detects a false event: %s', (_, word, events) => {
  expect(problemsOf({ events })).toContain(word);
});

test('compares a transfer without a received response with its stored response and events', () => {
  const stored = instead(STORED, S_CREATED);
  expect(problemsOf({ stored }, SILENT)).toContain('tr_1 was made, but no response is stored under create_transfer k');
  expect(problemsOf({ events: instead(EVENTS, PENDING) }, SILENT)).toContain('no event transfer.pending of tr_1');
  const changedPayload = instead(EVENTS, PENDING, { ...PENDING, payload: CAPTURED });
  expect(problemsOf({ events: changedPayload }, SILENT)).toContain('the event differs');
});
