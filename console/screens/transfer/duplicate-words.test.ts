import { expect, it } from 'vitest';
import { aTransferRecord } from '../../../test/fixtures/records.ts';
import { verdictOf } from './duplicate-words.ts';

const AT = { created_at: '2026-01-31T10:00:00Z', created_by: 'key_1', reference: null, metadata: {} };
const EARLIER = aTransferRecord(AT);
const LATER = aTransferRecord({ ...AT, created_at: '2026-01-31T10:00:07Z', idempotency_key: 'second' });

it('tells a repetition from two orders, and what was settled', () => {
  expect(verdictOf(EARLIER, LATER)).toEqual({
    isLikely: true,
    sentence: 'Probably loaded twice: the same caller sent it again 7 s later, with another idempotency key.',
  });
  const sentence = (earlier: object, later: object) =>
    verdictOf({ ...EARLIER, ...earlier }, { ...LATER, ...later }).sentence;
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
    'Probably two orders: their metadata differs in order.',
  );
  expect(sentence({}, { scheduled_for: '2026-03-01T10:00:00Z' })).toMatch(
    /^Probably two orders: their dates differ, at once and on .*1 Mar 2026/,
  );
  expect(sentence({}, { captured_amount: 5, reversed_amount: 5 })).toBe('Settled: the later one was reversed.');
  expect(verdictOf({ ...EARLIER, captured_amount: 5, reversed_amount: 5 }, LATER).isLikely).toBe(false);
});
