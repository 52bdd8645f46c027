import { expect, it } from 'vitest';
import { aTransferRecord } from '../../../test/fixtures/records.ts';
import { chainsOf, verdictOf } from './duplicate-words.ts';

const AT = { created_at: '2026-01-31T10:00:00Z', created_by: 'key_1', reference: null, metadata: {} };
const EARLIER = aTransferRecord(AT);
const LATER = aTransferRecord({ ...AT, created_at: '2026-01-31T10:00:07Z', idempotency_key: 'second' });

it('distinguishes repetitions, separate orders and settled pairs', () => {
  expect(verdictOf([EARLIER, LATER])).toEqual({
    isLikely: true,
    sentence: 'Probably loaded twice: the same caller sent it again 7 s later, with a different idempotency key.',
  });
  const sentence = (earlier: object, later: object) =>
    verdictOf([
      { ...EARLIER, ...earlier },
      { ...LATER, ...later },
    ]).sentence;
  expect(sentence({}, { idempotency_key: null, created_at: AT.created_at })).toBe(
    'Probably loaded twice: the same caller sent it again less than a second later, without an idempotency key.',
  );
  expect(sentence({}, { created_by: 'key_2' })).toBe('Possibly loaded twice: two callers requested it, 7 s apart.');
  expect(sentence({}, { created_by: 'key_2', type: 'unload' })).toContain('Possibly charged twice: ');
  expect(sentence({}, { created_by: 'key_2', type: 'card_to_card' })).toContain('Possibly sent twice: ');
  expect(sentence({ reference: 'A' }, { reference: 'B' })).toBe(
    'Probably two orders: their references differ, A and B.',
  );
  expect(sentence({ metadata: { order: '1' } }, { metadata: { order: '2' } })).toBe(
    "Probably two orders: their metadata differs in 'order'.",
  );
  expect(sentence({}, { scheduled_for: '2026-03-01T10:00:00Z' })).toMatch(
    /^Probably two orders: their dates differ: one was immediate, the other is for .*1 Mar 2026/,
  );
  expect(sentence({}, { captured_amount: 5, reversed_amount: 5 })).toBe('Settled: the later one was reversed.');
  expect(verdictOf([{ ...EARLIER, captured_amount: 5, reversed_amount: 5 }, LATER]).isLikely).toBe(false);
});

it('judges a chain of repetitions as a whole, without the reversed transfers', () => {
  const third = { ...LATER, transfer_id: 'tr_3', created_at: '2026-01-31T10:01:57Z' };
  const reversed = { captured_amount: 5, reversed_amount: 5 };
  const chain = [EARLIER, { ...LATER, transfer_id: 'tr_2' }, third];
  expect(verdictOf(chain)).toEqual({ isLikely: true, sentence: 'Probably loaded 3 times within 1 min 57 s.' });
  expect(verdictOf([EARLIER, { ...LATER, ...reversed }, third])).toEqual({
    isLikely: true,
    sentence:
      'Probably loaded twice: the same caller sent it again 1 min 57 s later, with a different idempotency key. 1 more was reversed.',
  });
  expect(verdictOf([EARLIER, { ...LATER, ...reversed }, { ...third, ...reversed }])).toEqual({
    isLikely: false,
    sentence: 'Settled: all except one were reversed.',
  });
  expect(verdictOf([{ ...EARLIER, reference: 'A' }, { ...LATER, reference: 'B' }, third]).sentence).toBe(
    'Probably loaded twice within 1 min 57 s, and 1 other differs.',
  );
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
