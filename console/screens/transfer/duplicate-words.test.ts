import { expect, it } from 'vitest';
import { aTransferRecord } from '../../../test/fixtures/records.ts';
import { chainsOf, verdictOf } from './duplicate-words.ts';

const AT = { created_at: '2026-01-31T10:00:00Z', created_by: 'key_1', reference: null, metadata: {} };
const EARLIER = aTransferRecord({ ...AT, transfer_id: 'tr_1' });
const LATER = aTransferRecord({
  ...AT,
  transfer_id: 'tr_2',
  created_at: '2026-01-31T10:00:07Z',
  idempotency_key: 'second',
});
const REVERSED = { captured_amount: 5, reversed_amount: 5 };

const judge = (earlier: object, later: object) =>
  verdictOf([
    { ...EARLIER, ...earlier },
    { ...LATER, ...later },
  ]);

it('says to reverse only the later transfer if the same caller repeated it', () => {
  expect(judge({}, {})).toEqual({
    sentence: 'Probably loaded twice: reverse the later one.',
    reason: 'The same caller sent it again 7 s later, with a different idempotency key.',
    isLikely: true,
    undo: ['tr_2'],
  });
  expect(judge({}, { idempotency_key: null, created_at: AT.created_at }).reason).toBe(
    'The same caller sent it again less than a second later, without an idempotency key.',
  );
  expect(judge({}, { type: 'unload' }).undo).toEqual(['tr_2']);
});

it.each([
  ['scheduled', 'automatic', 'cancel the later one', ['tr_2']],
  ['pending', 'manual', 'cancel the later one', ['tr_2']],
  // It waits for the processor of its card.
  ['pending', 'automatic', 'reverse the later one once completed', []],
] as const)('says how to undo a later transfer that is %s with %s capture', (status, capture, remedy, undo) => {
  const sentence = `Probably loaded twice: ${remedy}.`;
  expect(judge({}, { status, capture, captured_amount: 0 })).toMatchObject({ sentence, isLikely: true, undo });
});

it.each([
  [{ type: 'load' }, 'Probably loaded twice: unload the amount of the later one.', []],
  [{ type: 'unload' }, 'Probably charged twice: load the amount of the later one.', []],
  [
    { type: 'load', status: 'pending', captured_amount: 0 },
    'Probably loaded twice: unload the amount of the later one once completed.',
    [],
  ],
  [{ status: 'scheduled', captured_amount: 0 }, 'Probably loaded twice: cancel the later one.', ['tr_2']],
] as const)('says how to undo a transfer at a processor: %j', (later, sentence, undo) => {
  const chain = [{ ...EARLIER, ...later, status: 'completed', captured_amount: 5 } as const, { ...LATER, ...later }];
  expect(verdictOf(chain, true)).toMatchObject({ sentence, isLikely: true, undo });
});

it('says how to undo repetitions if only some of them are completed', () => {
  const third = { ...LATER, transfer_id: 'tr_3', status: 'pending', capture: 'manual', captured_amount: 0 } as const;
  expect(verdictOf([EARLIER, LATER, third])).toMatchObject({
    sentence: 'Probably loaded 3 times: cancel the 2 repetitions, or reverse them once completed.',
    undo: ['tr_2', 'tr_3'],
  });
});

it.each([
  ['load', 'Possibly loaded twice: ask the customer before you reverse one.'],
  ['unload', 'Possibly charged twice: ask the customer before you reverse one.'],
  ['card_to_card', 'Possibly sent twice: ask the customer before you reverse one.'],
] as const)('says to ask the customer if two callers requested a %s', (type, sentence) => {
  const reason = 'Different callers requested them, 7 s apart.';
  expect(judge({ type }, { type, created_by: 'key_2' })).toEqual({ sentence, reason, isLikely: true, undo: [] });
});

it.each([
  [{ reference: 'A' }, { reference: 'B' }, /^Their references differ, A and B\.$/],
  [{ metadata: { order: '1' } }, { metadata: { order: '2' } }, /^Their metadata differs in 'order'\.$/],
  [
    {},
    { scheduled_for: '2026-03-01T10:00:00Z' },
    /^Their dates differ: one was immediate, the other is for .*1 Mar 2026/,
  ],
])('recognizes two orders by %j and %j', (earlier, later, reason) => {
  const verdict = judge(earlier, later);
  expect(verdict).toMatchObject({
    sentence: 'Probably two orders: nothing to reverse.',
    isLikely: false,
    undo: [],
  });
  expect(verdict.reason).toMatch(reason);
});

it.each([
  [{}, REVERSED, 'the later one was reversed'],
  [REVERSED, {}, 'the earlier one was reversed'],
  [{}, { status: 'failed', captured_amount: 0 }, 'the later one was refused'],
  [{ status: 'canceled', captured_amount: 0 }, {}, 'the earlier one was canceled'],
  [{}, { status: 'expired', captured_amount: 0 }, 'the later one expired'],
  [REVERSED, REVERSED, 'all were reversed'],
])('has nothing to reverse with %j and %j', (earlier, later, why) => {
  const sentence = `Nothing to reverse: ${why}.`;
  expect(judge(earlier, later)).toEqual({ sentence, reason: '', isLikely: false, undo: [] });
});

it('judges a chain of repetitions as a whole, without the reversed transfers', () => {
  const third = { ...LATER, transfer_id: 'tr_3', created_at: '2026-01-31T10:01:57Z' };
  expect(verdictOf([EARLIER, LATER, third])).toEqual({
    sentence: 'Probably loaded 3 times: reverse the 2 repetitions.',
    reason: 'The same caller sent them, within 1 min 57 s.',
    isLikely: true,
    undo: ['tr_2', 'tr_3'],
  });
  expect(verdictOf([EARLIER, { ...LATER, ...REVERSED }, third])).toEqual({
    sentence: 'Probably loaded twice: reverse the later one.',
    reason: 'The same caller sent it again 1 min 57 s later, with a different idempotency key. 1 more was reversed.',
    isLikely: true,
    undo: ['tr_3'],
  });
  expect(verdictOf([EARLIER, { ...LATER, ...REVERSED }, { ...third, ...REVERSED }]).sentence).toBe(
    'Nothing to reverse: all except one were reversed.',
  );
  expect(verdictOf([{ ...EARLIER, reference: 'A' }, { ...LATER, reference: 'B' }, third])).toMatchObject({
    sentence: 'Probably loaded twice: reverse the later one.',
    reason: 'The same caller sent them, within 1 min 57 s. 1 more differs.',
    undo: ['tr_3'],
  });
  expect(
    verdictOf([
      { ...EARLIER, reference: 'A' },
      { ...LATER, reference: 'B' },
      { ...third, reference: 'C' },
    ]).sentence,
  ).toBe('Probably 3 orders: nothing to reverse.');
});

it('lists each transfer of a chain of repetitions only once, oldest first', () => {
  const named = (id: string, at: string) => aTransferRecord({ ...AT, transfer_id: id, created_at: at });
  const [one, two, three] = [
    named('tr_1', '2026-01-31T10:00:00Z'),
    named('tr_2', '2026-01-31T10:00:01Z'),
    named('tr_3', '2026-01-31T10:00:02Z'),
  ];
  const chains = chainsOf([
    { transfer: three, earlier: two, first_transfer_id: 'tr_1', seconds_apart: 1 },
    { transfer: two, earlier: one, first_transfer_id: 'tr_1', seconds_apart: 1 },
  ]);
  expect(chains.map((chain) => chain.map(({ transfer_id: id }) => id))).toEqual([['tr_1', 'tr_2', 'tr_3']]);
});
