import { describe, expect, test } from 'vitest';
import { JsonNumber, type JsonValue } from '../reading/json.ts';
import { STATUSES_OF } from './adapter.ts';
import { readAnswer, readNotice } from './read-answer.ts';

const ATTEMPT = 'pat_0196f5c2d9a67c44bd7083a1e95f24c6';
const EXPECTED = { attemptId: ATTEMPT, amount: 1000n, currency: 'USD' };
const FIELDS = {
  attempt_id: ATTEMPT,
  status: 'approved',
  amount: 1000,
  currency: 'USD',
  processor_reference: 'ref 1',
  code: '00',
  retry_after_seconds: 3600,
};
const SECRET = 'tok_secret_of_the_card';

/** Parses as the parser of bodies does: numbers keep their digits. */
const parse = (text: string): JsonValue =>
  JSON.parse(text, (_, value) => (typeof value === 'number' ? new JsonNumber(String(value)) : value));
const read = (changes: object, request: keyof typeof STATUSES_OF = 'send') =>
  readAnswer(parse(JSON.stringify({ ...FIELDS, ...changes })), request, EXPECTED);

const NOTHING = { outcome: 'unknown', processorReference: null, code: null, retryAfterSeconds: null };

describe('an answer', () => {
  test('has the outcome that the processor reports', () => {
    const said = { processorReference: 'ref 1', code: '00', retryAfterSeconds: 3600, detail: null };
    expect(read({})).toEqual({ outcome: 'approved', ...said });
    expect(read({ status_code: SECRET, Code: 1, constructor: null, ProcessorReference: [] })).toEqual({
      outcome: 'approved',
      ...said,
    });
    expect(read({ processor_reference: null, code: null, retry_after_seconds: null })).toEqual({
      ...NOTHING,
      outcome: 'approved',
      detail: null,
    });
  });

  const requests = Object.entries(STATUSES_OF) as [keyof typeof STATUSES_OF, readonly string[]][];
  const every = requests.flatMap(([request]) =>
    STATUSES_OF.inquire.map((status) => [request, status, STATUSES_OF[request].includes(status)] as const),
  );
  test.each(every)('to %s with the status %s counts: %j', (request, status, counts) => {
    expect(read({ status }, request).outcome).toBe(counts ? status : 'unknown');
  });

  test("keeps no card number in the processor's reference", () => {
    expect(read({ processor_reference: '4111111111111111', code: '4111111111111111' })).toMatchObject({
      outcome: 'approved',
      processorReference: '[redacted]',
      code: '[redacted]',
    });
  });
});

describe('the outcome of an answer is unknown', () => {
  test.each([
    ['attempt', { attempt_id: 'pat_0196f5c2d9a67c44bd7083a1e95f24c7' }, 'another attempt'],
    ['smaller amount', { amount: 999 }, 'the amount 999 instead of 1000'],
    ['greater amount', { amount: 1001 }, 'the amount 1001 instead of 1000'],
    ['currency', { currency: 'EUR' }, 'the currency EUR instead of USD'],
  ])('if it is about another %s', (_, changes, says) => {
    for (const request of ['send', 'inquire', 'reverse'] as const) {
      const answer = read({ ...changes, status: request === 'reverse' ? 'reversed' : 'approved' }, request);
      expect(answer).toEqual({ ...NOTHING, detail: expect.stringContaining(says) });
    }
  });

  test.each(Object.keys(FIELDS))('if it lacks the field %s', (field) => {
    expect(read({ [field]: undefined })).toEqual({ ...NOTHING, detail: expect.stringContaining(`'${field}'`) });
  });

  test.each([
    ['attempt_id', SECRET],
    ['attempt_id', null],
    ['status', SECRET],
    ['status', 'APPROVED'],
    ['status', ''],
    ['amount', '1000'],
    ['amount', 1000.5],
    ['amount', 0],
    ['amount', -1000],
    ['currency', SECRET],
    ['currency', 'usd'],
    ['processor_reference', ''],
    ['processor_reference', 'x'.repeat(256)],
    ['processor_reference', `${SECRET}\n`],
    ['processor_reference', 7],
    ['code', '\u20ac'],
    ['code', 'x'.repeat(65)],
    ['code', {}],
    ['retry_after_seconds', -1],
    ['retry_after_seconds', 2_678_401],
    ['retry_after_seconds', '60'],
  ])('if %s is %j, which the detail does not quote', (field, value) => {
    const { detail, ...rest } = read({ [field]: value });
    expect(rest).toEqual(NOTHING);
    expect(detail).toBe(`In the answer, '${field}' is missing or does not follow the contract.`);
  });

  test.each(['1e3', '1000.0', '1000.5'])('if the amount is written as %s', (amount) => {
    const fields = { ...(parse(JSON.stringify(FIELDS)) as object), amount: new JsonNumber(amount) };
    expect(readAnswer(fields, 'send', EXPECTED).detail).toContain("'amount'");
  });

  test.each(['[]', '"approved"', 'null', '7'])('if it is %s', (text) => {
    expect(readAnswer(parse(text), 'send', EXPECTED)).toEqual({
      ...NOTHING,
      detail: 'The answer is not a JSON object.',
    });
  });
});

describe('a notice', () => {
  const notice = (changes: object) => readNotice(parse(JSON.stringify({ notice_id: 'n-1', ...FIELDS, ...changes })));

  test('is read like an answer, and has its own id', () => {
    expect(notice({ status: 'declined' })).toEqual({
      noticeId: 'n-1',
      attemptId: ATTEMPT,
      amount: 1000n,
      currency: 'USD',
      answer: { outcome: 'declined', processorReference: 'ref 1', code: '00', retryAfterSeconds: 3600, detail: null },
    });
  });

  test.each([
    ['notice_id', undefined],
    ['notice_id', 'x'.repeat(129)],
    ['notice_id', 'two\nlines'],
    ['status', 'not_found'],
    ['amount', null],
  ])('is refused with %s %j', (field, value) => {
    expect(notice({ [field]: value })).toEqual({
      problem: `In the notice, '${field}' is missing or does not follow the contract.`,
    });
  });
});
