import { describe, expect, test } from 'vitest';
import { adviceOf, withoutAdvice } from '../../console/format/support/advice.ts';
import { catalogueRecord, ERROR_CODES } from '../../contract/errors/catalogue.ts';

const of = (code: (typeof ERROR_CODES)[number], money_moved: 'no' | 'yes' | 'unknown' | null, operation: string) =>
  adviceOf(catalogueRecord(code), { money_moved, operation });

describe('the advice for support', () => {
  test.each(ERROR_CODES)('about %s says what to tell the customer and what to do next', (code) => {
    for (const moved of ['no', 'yes', 'unknown', null] as const) {
      const { tell, next } = of(code, moved, 'create_transfer');
      for (const text of [tell, next]) expect(text, moved ?? 'null').toMatch(/^[A-Z'].*[.?]$/);
      // Support cannot contact support, and the next step is not for the caller.
      expect(tell).not.toMatch(/contact support|open a case/i);
      expect(next).toMatch(/^(?:Ask|Check|Escalate|Search|Wait)\b/);
      expect(next).not.toMatch(/new idempotency key|header|contact support/i);
    }
  });

  test('says whether money moved only if the operation can move it', () => {
    expect(of('insufficient_funds', 'no', 'create_transfer').tell).toMatch(/ No money moved\.$/);
    expect(of('card_not_found', 'no', 'get_card').tell).not.toContain('money');
    expect(of('insufficient_funds', null, 'create_transfer').tell).not.toMatch(/moved/);
  });

  test('warns of a second payment while the outcome is unknown, and after money has moved', () => {
    const unknown = of('unknown_create_transfer', 'unknown', 'create_transfer');
    expect(unknown.tell).toContain('do not send a new request');
    expect(unknown.next).toContain('Wait a minute');
    expect(unknown.guide).toBe('/guides/runbook/money-unknown');
    expect(of('unknown_create_transfer', 'yes', 'create_transfer').tell).toContain('do not send the request again');
  });
});

test.each([
  [
    'Failed: The transfer could not be created. Please contact support (support@example.com) and quote the request id req_1. Whether money moved is not confirmed.',
    'Failed: The transfer could not be created. Whether money moved is not confirmed.',
  ],
  [
    'Failed: It timed out. Send exactly the same request again with the same Idempotency-Key: the response is the outcome, and money moves at most once.',
    'Failed: It timed out.',
  ],
  [
    'Failed: It timed out. Find out with GET /api/v0.1/core/transfer before you send it again. No money moved.',
    'Failed: It timed out. No money moved.',
  ],
  ['Declined: card closed. No money moved.', 'Declined: card closed. No money moved.'],
])('the summary for support has no advice for the caller: %s', (summary, shown) => {
  expect(withoutAdvice(summary)).toBe(shown);
});
