import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isThorough } from '../../test/harness/run/ring.ts';
import { ERROR_CODES, ERRORS, isErrorCode } from '../errors/catalogue.ts';
import { exampleRecord } from '../errors/examples.ts';
import { type ErrorCode, precedenceOf } from '../operations.ts';
import { codesLike, groupOf, searchErrors } from './error-search.ts';
import { KNOWN_MESSAGES } from './known-messages.ts';

const firstOf = (query: string): string | undefined => {
  const [hit] = searchErrors(query);
  return hit && (hit.family === undefined ? hit.code : hit.family.kind);
};

/** Returns the queries that do not find the expected code first, each with the code that they find. */
function missed(all: readonly (readonly [typed: string, first: string])[]): readonly string[] {
  return all.flatMap(([typed, first]) => {
    const found = firstOf(typed);
    return found === first ? [] : [`${typed}: ${found} instead of ${first}`];
  });
}

/** Texts that people type, each with the code that support would open. `schema` and `unknown` are the two families. */
const PHRASES: readonly (readonly [typed: string, first: ErrorCode | 'schema' | 'unknown'])[] = [
  ['declined', 'insufficient_funds'],
  ['why was my transfer declined?', 'insufficient_funds'],
  ['NSF', 'insufficient_funds'],
  ['not enough money', 'insufficient_funds'],
  ['insufficient balance', 'insufficient_funds'],
  ['insufficient', 'insufficient_funds'],
  ['customer has no money left on card', 'insufficient_funds'],
  ["doesn't have enough funds", 'insufficient_funds'],
  ['insuficient funds', 'insufficient_funds'],
  ['InsufficientFunds', 'insufficient_funds'],
  ['overdraft', 'insufficient_funds'],
  ['frozen', 'card_suspended'],
  ['the card is frozen', 'card_suspended'],
  ['card inactive', 'card_suspended'],
  // The messages of the service use this word only for fraud. The other codes follow.
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
  ['wrong password', 'unauthenticated'],
  ['session expired', 'unauthenticated'],
  // Requests are not signed, so the key must be wrong. The page says where signatures of webhooks are explained.
  ['invalid signature', 'unauthenticated'],
  ['forbidden', 'forbidden'],
  ['permission denied', 'forbidden'],
  // No code says that money moved twice. These codes say why the second request was refused, and find the first.
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

const NAMES = ERROR_CODES.flatMap((code) =>
  ERRORS[code].alsoCalled.split(', ').flatMap((name) => (name === '' ? [] : [[name, code] as const])),
);

/** Names that several codes share. Each finds all of its codes. */
const SHARED_NAMES: Readonly<Record<string, readonly ErrorCode[]>> = {
  'blocked card': ['card_lost', 'card_suspended', 'card_suspected_fraud'],
};

describe('another name for an error', () => {
  test('ranks first the code that support would open', () => {
    expect(missed(PHRASES)).toEqual([]);
  });

  test('belongs to one code, is in lower case, and finds its code first', () => {
    const owners = new Map<string, string>();
    for (const [name, code] of NAMES) {
      expect(name).toBe(name.trim().toLowerCase());
      if (SHARED_NAMES[name] !== undefined) continue;
      expect([name, owners.get(name) ?? groupOf(code)]).toEqual([name, groupOf(code)]);
      owners.set(name, groupOf(code));
    }
    expect(owners.size).toBeGreaterThan(250);
    expect(missed([...owners])).toEqual([]);
  });

  test('finds all its codes if it belongs to several', () => {
    for (const [name, codes] of Object.entries(SHARED_NAMES)) {
      const first = searchErrors(name).slice(0, codes.length);
      expect(first.map(({ code }) => code).toSorted()).toEqual(codes.toSorted());
      expect(
        NAMES.filter(([own]) => own === name)
          .map(([, code]) => code)
          .toSorted(),
      ).toEqual(codes.toSorted());
    }
  });

  test('is found even if it is mistyped or in another form', () => {
    const typed = [
      ['insuficient funds', 'insufficient_funds'],
      ['insufficent fund', 'insufficient_funds'],
      ['curency missmatch', 'currency_mismatch'],
      ['stopping by operators', 'service_disabled'],
      ['freezing cards', 'card_suspended'],
    ] as const;
    expect(missed(typed)).toEqual([]);
  });
});

/** Values of callers. Some look like other codes, words of other messages, markup or quotes. */
const value = fc.oneof(
  fc.constantFrom('employee-7', 'card_expired', 'insufficient_funds', 'frozen', 'double charge', '404', 'a b', ''),
  fc.constantFrom('<b>', '"; drop table', 'x'.repeat(60), 'Zoë', 'not found', 'rate limit', '%zz', '{"Code":1}'),
  fc.stringMatching(/^[A-Za-z0-9_ -]{1,24}$/),
);
const number = fc.integer({ min: 600, max: 99_999_999 }).map(String);

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
  test('finds its code first, with any values', () => {
    for (const { code, message } of [...MESSAGES, ...FURTHER]) {
      const group = isErrorCode(code) ? groupOf(code) : code;
      const pasted = filled(message).chain(inLine);
      const found = fc.property(pasted, (text) => {
        expect([text, firstOf(text)]).toEqual([text, group]);
      });
      fc.assert(found, { numRuns: isThorough ? 12 : 4, seed: 7 });
    }
  });

  test('as an error record finds only its code', () => {
    for (const code of ERROR_CODES) {
      const record = exampleRecord(code, 'support@example.com');
      const texts = [
        JSON.stringify(record),
        JSON.stringify(record, null, 2),
        `[error] ${record.Code} ${record.Status}`,
      ];
      for (const text of texts) expect(searchErrors(text)).toMatchObject([{ code, family: undefined }]);
    }
  });

  test('finds the operation that it names', () => {
    expect(searchErrors('The transfer could not be captured.')[0]?.code).toBe('unknown_capture_transfer');
    expect(searchErrors("The required field 'name' is missing. create_program")[0]?.family?.codes[0]).toBe(
      'create_program_schema',
    );
  });
});

test('the codes of a family are one hit, unless the query names one of them', () => {
  const [hit, ...others] = searchErrors('bad json');
  expect(hit).toMatchObject({ code: 'create_transfer_schema', family: { kind: 'schema' } });
  expect(hit?.family?.codes.length).toBeGreaterThan(60);
  expect(others).toEqual([]);
  expect(searchErrors('capture_transfer_schema')).toMatchObject([
    { code: 'capture_transfer_schema', family: undefined },
  ]);
});

test('a status finds only its own codes, starting with the codes that every operation has', () => {
  for (const status of new Set(Object.values(ERRORS).map((definition) => definition.status))) {
    const hits = searchErrors(String(status));
    const found = hits.flatMap(({ code, family }) => family?.codes ?? [code]);
    expect(found.toSorted()).toEqual(ERROR_CODES.filter((code) => ERRORS[code].status === status).toSorted());
    if (status === 400) expect(hits[0]?.family?.kind).toBe('schema');
    if (status === 500) expect(hits[0]?.family?.kind).toBe('unknown');
  }
});

test('any text can be searched', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => void searchErrors(text)));
});

test.each([
  ['card_closd', 'card_closed'],
  ['insufficent_funds', 'insufficient_funds'],
  ['insufficient-funds', 'insufficient_funds'],
  ['InsufficientFunds', 'insufficient_funds'],
  ['CARD_EXPIRED', 'card_expired'],
  ['insufficient', 'insufficient_funds'],
  ['unknown_create_transfers', 'unknown_create_transfer'],
])('for the unknown code %s, suggests %s first', (written, code) => {
  expect(codesLike(written, precedenceOf('create_transfer'))[0]).toBe(code);
});

test.each(['nonsense', '', 'xyzzy'])('finds no code like %j', (written) => {
  expect(codesLike(written, precedenceOf('create_transfer'))).toEqual([]);
});
