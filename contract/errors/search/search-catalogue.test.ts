import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isThorough } from '../../../test/harness/run/ring.ts';
import type { ErrorCode } from '../../operations.ts';
import { ERROR_CODES, ERRORS, isErrorCode } from '../catalogue.ts';
import { exampleRecord } from '../examples.ts';
import { KNOWN_MESSAGES } from './known-messages.ts';
import { searchCatalogue } from './search-catalogue.ts';
import { groupOf } from './search-index.ts';
import { stemOf, typosBetween } from './search-words.ts';

const firstOf = (query: string): string | undefined => {
  const [hit] = searchCatalogue(query).hits;
  return hit && (hit.family === undefined ? hit.code : hit.family.kind);
};

/** What people type, and the code that support would open. `schema` and `unknown` are the two families. */
const PHRASES: readonly (readonly [typed: string, first: ErrorCode | 'schema' | 'unknown'])[] = [
  ['declined', 'insufficient_funds'],
  ['why was my transfer declined?', 'insufficient_funds'],
  ['NSF', 'insufficient_funds'],
  ['not enough money', 'insufficient_funds'],
  ['insufficient balance', 'insufficient_funds'],
  ['customer has no money left on card', 'insufficient_funds'],
  ["doesn't have enough funds", 'insufficient_funds'],
  ['insuficient funds', 'insufficient_funds'],
  ['InsufficientFunds', 'insufficient_funds'],
  ['overdraft', 'insufficient_funds'],
  ['frozen', 'card_suspended'],
  ['the card is frozen', 'card_suspended'],
  ['card inactive', 'card_suspended'],
  // The service itself says blocked only of fraud; the suspended card comes second.
  ['blocked', 'card_suspected_fraud'],
  ['fraud', 'card_suspected_fraud'],
  ['unfreeze', 'invalid_card_status'],
  ['expired card', 'card_expired'],
  ['lost card', 'card_lost'],
  ['stolen', 'card_lost'],
  ['cancelled card', 'card_closed'],
  ['card not activated', 'card_not_activated'],
  ['card not found', 'card_not_found'],
  ['unknown card', 'card_not_found'],
  ['invalid card id', 'card_not_found'],
  ['card already exists', 'duplicate_card'],
  ['cannot close card', 'card_not_empty'],
  ['GDPR', 'card_not_closed'],
  ['pan', 'card_number_refused'],
  ['unauthorized', 'unauthenticated'],
  ['unauthorised', 'unauthenticated'],
  ['wrong api key', 'unauthenticated'],
  ['session expired', 'unauthenticated'],
  // No request is signed: what is wrong is the key. The page says where signatures of webhooks are explained.
  ['invalid signature', 'unauthenticated'],
  ['forbidden', 'forbidden'],
  ['permission denied', 'forbidden'],
  // No error means that money moved twice. These say why the second one was refused, and find the first.
  ['double charge', 'duplicate_reference'],
  ['customer was charged twice', 'duplicate_reference'],
  ['duplicate', 'duplicate_reference'],
  ['dupliacte payment', 'duplicate_reference'],
  ['same idempotency key, different body', 'idempotency_key_exists'],
  ['idempotency key reused', 'idempotency_key_exists'],
  ['missing idempotency key', 'invalid_idempotency_key'],
  ['timeout', 'request_timeout'],
  ['my request timed out', 'request_timeout'],
  ['rate limited', 'rate_limited'],
  ['too many requests', 'rate_limited'],
  ['throttling', 'rate_limited'],
  ['is the service down?', 'service_unavailable'],
  ['overloaded', 'service_unavailable'],
  ['connection refused', 'service_unavailable'],
  ['504', 'service_unavailable'],
  ['maintenance', 'service_disabled'],
  ['kill switch', 'service_disabled'],
  ['wrong currency', 'currency_mismatch'],
  ['curency mismatch', 'currency_mismatch'],
  ['limit reached', 'limit_exceeded'],
  ['card limit', 'limit_exceeded'],
  ['over the daily limit', 'limit_exceeded'],
  ['maximum balance', 'limit_exceeded'],
  ['amount too high', 'amount_too_large'],
  ['refund more than paid', 'amount_too_large'],
  ['below the minimum', 'amount_too_small'],
  ['negative amount', 'invalid_amount'],
  ['amount with decimals', 'invalid_amount'],
  ['hold expired', 'invalid_transfer_status'],
  ['already captured', 'invalid_transfer_status'],
  ['already refunded', 'invalid_transfer_status'],
  ['refund', 'invalid_transfer_status'],
  ['cannot cancel', 'invalid_transfer_status'],
  ['refund not found', 'reversal_not_found'],
  ['payment not found', 'transfer_not_found'],
  ['request id not found', 'request_not_found'],
  ['bad json', 'schema'],
  ['a required field is missing', 'schema'],
  ['validation failed', 'schema'],
  ['internal server error', 'unknown'],
  ['500 Internal Server Error', 'unknown'],
  ['something went wrong', 'unknown'],
  ['database down', 'unknown'],
  ['wrong url', 'route_not_found'],
  ['404 Not Found', 'route_not_found'],
  ['wrong http method', 'method_not_allowed'],
  ['https on http port', 'malformed_request'],
  ['wrong content type', 'unsupported_media_type'],
  ['body too large', 'payload_too_large'],
  ['webhook to localhost', 'webhook_url_refused'],
  ['too many webhooks', 'webhook_limit'],
  ['old events are gone', 'events_expired'],
];

describe('what people call it', () => {
  test.each(PHRASES)('%s: %s', (typed, first) => {
    expect(firstOf(typed)).toBe(first);
  });

  test('a phrase belongs to one code, in lower case', () => {
    const owners = new Map<string, string>();
    for (const code of ERROR_CODES) {
      const { alsoCalled } = ERRORS[code];
      for (const name of alsoCalled === '' ? [] : alsoCalled.split(', ')) {
        expect(name).toBe(name.trim().toLowerCase());
        expect([name, owners.get(name) ?? groupOf(code)]).toEqual([name, groupOf(code)]);
        owners.set(name, groupOf(code));
      }
    }
    expect(owners.size).toBeGreaterThan(250);
  });

  test('each of them finds its code first', () => {
    for (const code of ERROR_CODES) {
      const { alsoCalled } = ERRORS[code];
      for (const name of alsoCalled === '' ? [] : alsoCalled.split(', ')) {
        expect([name, firstOf(name)]).toEqual([name, groupOf(code)]);
      }
    }
  });
});

/** What callers choose, and what looks like something else: other codes, words of other messages, markup, quotes. */
const value = fc.oneof(
  fc.constantFrom('employee-7', 'card_expired', 'insufficient_funds', 'frozen', 'double charge', '404', 'a b', ''),
  fc.constantFrom('<b>', '"; drop table', 'x'.repeat(60), 'Zoë', 'not found', 'rate limit', '%zz', '{"Code":1}'),
  fc.stringMatching(/^[A-Za-z0-9_ -]{1,24}$/),
);
const number = fc.integer({ min: 600, max: 99_999_999 }).map(String);

/** A message with other values in the place of those in it. */
const filled = (message: string) =>
  fc.array(fc.tuple(value, number), { minLength: 12, maxLength: 12 }).map((values) => {
    let at = 0;
    const next = (): readonly [string, string] => values[at++ % values.length] ?? ['', '0'];
    return message
      .replaceAll(/'[^']*'/g, () => `'${next()[0]}'`)
      .replaceAll(/…/g, () => next()[1])
      .replaceAll(/\b([a-z]{2,4})_[0-9a-f]{32}\b/g, (_, prefix) => `${prefix}_${next()[1].padStart(32, 'a')}`)
      .replaceAll(/\b[0-9]+\.[0-9]{2}\b/g, () => `${next()[1]}.00`);
  });

const inLine = (message: string) =>
  fc.constantFrom(message, `  ${message}\n`, `Error: ${message}`, `ERROR 12:01 shop: ${message}`);

const MESSAGES = ERROR_CODES.flatMap((code) => [
  { code, message: exampleRecord(code, 'support@example.com').Message },
  { code, message: ERRORS[code].sample.message },
]);
const FURTHER = Object.entries(KNOWN_MESSAGES).flatMap(([code, messages]) =>
  messages.map((message) => ({ code, message })),
);

describe('a pasted message', () => {
  test('finds its code first, whatever its values are', () => {
    for (const { code, message } of [...MESSAGES, ...FURTHER]) {
      const group = isErrorCode(code) ? groupOf(code) : code;
      const pasted = filled(message).chain(inLine);
      const found = fc.property(pasted, (text) => {
        expect([text, firstOf(text)]).toEqual([text, group]);
      });
      fc.assert(found, { numRuns: isThorough ? 12 : 4, seed: 7 });
    }
  });

  test.each(ERROR_CODES)('in its record finds its code alone: %s', (code) => {
    const record = exampleRecord(code, 'support@example.com');
    for (const text of [
      JSON.stringify(record),
      JSON.stringify(record, null, 2),
      `[error] ${record.Code} ${record.Status}`,
    ]) {
      const [first] = searchCatalogue(text).hits;
      expect(first).toMatchObject({ code, family: undefined });
    }
  });

  test('finds the operation that it names', () => {
    expect(searchCatalogue('The transfer could not be captured.').hits[0]?.code).toBe('unknown_capture_transfer');
    expect(searchCatalogue("The required field 'name' is missing. create_program").hits[0]?.family?.codes[0]).toBe(
      'create_program_schema',
    );
  });
});

describe('families', () => {
  test('are one hit with their members, unless the query names one', () => {
    const [hit, ...others] = searchCatalogue('bad json').hits;
    expect(hit).toMatchObject({ code: 'create_transfer_schema', family: { kind: 'schema' } });
    expect(hit?.family?.codes.length).toBeGreaterThan(60);
    expect(others).toEqual([]);
    const named = searchCatalogue('capture_transfer_schema').hits;
    expect(named).toMatchObject([{ code: 'capture_transfer_schema', family: undefined }]);
  });

  test('of a status are one hit each', () => {
    for (const [status, kind] of [
      ['400', 'schema'],
      ['500', 'unknown'],
    ] as const) {
      const { hits } = searchCatalogue(status);
      expect(hits[0]?.family?.kind).toBe(kind);
      expect(hits.filter(({ family }) => family !== undefined)).toHaveLength(1);
      for (const { code } of hits) expect(String(ERRORS[code].status)).toBe(status);
    }
  });
});

test.each([...new Set(Object.values(ERRORS).map(({ status }) => status))])(
  'the status %i finds exactly its codes',
  (status) => {
    const found = searchCatalogue(String(status)).hits.flatMap(({ code, family }) => family?.codes ?? [code]);
    expect(found.toSorted()).toEqual(ERROR_CODES.filter((code) => ERRORS[code].status === status).toSorted());
  },
);

test.each([
  ['charge', 'charged', 'charges', 'charging'],
  ['capture', 'captured', 'captures', 'capturing'],
  ['stop', 'stopped', 'stops', 'stopping'],
  ['retry', 'retries'],
  ['limit', 'limits', 'limited'],
  ['cancel', 'canceled', 'cancelled', 'cancels'],
])('%s and its forms are one word', (...forms) => {
  expect(new Set(forms.map(stemOf)).size).toBe(1);
});

test('a letter may be wrong in a long word, and the first letter never', () => {
  expect(typosBetween('insuficient', 'insufficient')).toBe(1);
  expect(typosBetween('dupilcate', 'duplicate')).toBe(1);
  for (const [word, known] of [
    ['lost', 'cost'],
    ['hold', 'held'],
    ['refunded', 'defunded'],
    ['424242', '424243'],
  ] as const) {
    expect(typosBetween(word, known)).toBeUndefined();
  }
});

test('any text is searched, and the longest within a few milliseconds', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => void searchCatalogue(text)));
  const worst = `${Array.from({ length: 200 }, (_, at) => `cardd${at} transferr insuficientt`).join(' ')} '`.repeat(5);
  searchCatalogue(worst);
  const began = performance.now();
  for (let count = 0; count < 20; count += 1) searchCatalogue(worst);
  // Some hundred times what it takes on one quiet core.
  expect((performance.now() - began) / 20).toBeLessThan(500);
});
