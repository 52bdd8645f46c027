import { expect } from 'vitest';
import { ERRORS, familyOf } from '../../contract/errors/catalogue.ts';
import {
  type ErrorCode,
  OPERATIONS,
  type OperationId,
  precedenceOf,
  saysIfMoneyMoved,
} from '../../contract/operations.ts';
import { searchErrors } from '../../contract/search/error-search.ts';
import { CASE_PATH } from '../../contract/support/cases.ts';
import type { RawResponse } from '../harness/raw-connection.ts';
import { send } from './send.ts';

/** Expectations for a response, in addition to the catalog entry of its code. */
export type Expected = {
  readonly code: ErrorCode;
  /** The operation, or undefined if the request did not reach one. */
  readonly operation: OperationId | undefined;
  readonly method?: string;
  /** The expected `Money-Moved` header. The default is `no`. */
  readonly moneyMoved?: 'unknown';
  /** Whether the request had an idempotency key. If so, the caller may repeat it even if its outcome is unknown. */
  readonly keyed?: true;
  /** The maximum number of seconds until a disabled service is enabled again, if known. */
  readonly opensWithin?: number;
  /**
   * The `Error-Field` header. If set to undefined, the header must be missing. If this property is omitted, any value
   * is accepted.
   */
  readonly field?: string | undefined;
};

/** All headers of error responses. Any other header fails the test. */
const HEADERS: ReadonlySet<string> = new Set([
  ...['content-type', 'content-length', 'date', 'connection', 'keep-alive', 'cache-control', 'x-content-type-options'],
  ...['request-id', 'client-request-id', 'error-code', 'link', 'should-retry', 'money-moved', 'transfer-id'],
  ...['retry-after', 'error-field', 'idempotent-replayed', 'allow', 'accept', 'www-authenticate', 'ignored-fields'],
  ...['etag', 'sandbox', 'ignored-headers', 'readiness', 'runbook', 'original-request-id', 'support-case', 'incident'],
  // This header is sent with responses that are pages in a browser.
  'vary',
  ...['ratelimit-policy', 'ratelimit'],
]);

/** Compares a response with the catalog: status, record, and required and forbidden headers. */
export function expectResponse(response: RawResponse, expected: Expected): void {
  const { code, operation, method = 'GET' } = expected;
  const entry = ERRORS[code];
  const header = (name: string): string | undefined => response.headers.get(name);
  expect(`${response.status} ${header('error-code')}`, response.body).toBe(`${entry.status} ${code}`);
  expect(header('link')).toBe(`</errors/${code}>; rel="describedby"`);
  expect(header('request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  expect(header('content-type')).toBe('application/json; charset=utf-8');
  expect(header('cache-control')).toBe('no-store');
  expect(header('x-content-type-options')).toBe('nosniff');
  expect([...response.headers.keys()].filter((name) => !HEADERS.has(name))).toEqual([]);
  if (operation !== undefined) expect(precedenceOf(operation), `${operation} answered`).toContain(code);
  expectMoney(response, expected);
  expectCauseHeaders(response, expected);
  if (method === 'HEAD') expect(response.body).toBe('');
  else expectRecord(response, code);
}

function expectMoney({ headers }: RawResponse, { code, operation, moneyMoved, keyed }: Expected): void {
  const { retryable, moneyMoved: reported } = ERRORS[code];
  const isMoney = operation !== undefined && saysIfMoneyMoved(operation);
  const moved = isMoney ? (moneyMoved ?? 'no') : undefined;
  expect(headers.get('money-moved')).toBe(moved);
  if (moved === 'unknown') expect(reported).toBe('no or unknown');
  const isSafe = keyed === true || (operation !== undefined && OPERATIONS[operation].repeatable);
  expect(headers.get('should-retry')).toBe(String(retryable && (moved !== 'unknown' || isSafe)));
  if (moved !== 'unknown') expect(headers.get('transfer-id')).toBeUndefined();
}

/** Returns the sums of a sandbox's accounts by currency. The database must be running. */
export async function balancesOf(url: string): Promise<unknown> {
  const { status, body } = await send(url, { method: 'GET', path: OPERATIONS.get_trial_balance.path });
  expect(status, body).toBe(200);
  return JSON.parse(body).currencies;
}

/** Checks the headers that only some codes have. */
function expectCauseHeaders({ headers }: RawResponse, expected: Expected): void {
  const { code, opensWithin } = expected;
  const header = (name: string): string | undefined => headers.get(name);
  const isChallenge = code === 'unauthenticated';
  expect(header('www-authenticate')).toBe(isChallenge ? 'Bearer realm="transfer-service"' : undefined);
  expect(header('accept')).toBe(code === 'unsupported_media_type' ? 'application/json' : undefined);
  const isOfKey = code === 'idempotency_key_exists' || header('idempotent-replayed') === 'true';
  if (!isOfKey) expect(header('original-request-id')).toBeUndefined();
  if (code === 'method_not_allowed') expect(header('allow')).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
  else expect(header('allow')).toBeUndefined();
  if (code === 'precondition_failed') expect(header('etag')).toMatch(/^"[^"]+"$/);
  else expect(header('etag')).toBeUndefined();
  if (code === 'rate_limited') expect(Number(header('retry-after'))).toBeGreaterThanOrEqual(1);
  else if (code === 'service_unavailable') {
    // Some causes need an operator to act, so the caller must wait longer.
    expect(header('retry-after')).toMatch(header('readiness') === undefined ? /^1$/ : /^10?$/);
  } else if (code.startsWith('unknown_')) {
    // `Retry-After` is present while the database is stopped, unless the caller must first check the outcome.
    const isAllowed = header('should-retry') === 'true' ? /^1?$/ : /^$/;
    expect(header('retry-after') ?? '').toMatch(isAllowed);
  } else if (opensWithin === undefined) expect(header('retry-after')).toBeUndefined();
  else {
    const seconds = Number(header('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(opensWithin);
  }
  expect(header('error-field') ?? '/').toMatch(/^\//);
  // `Support-Case` is missing while the database is stopped.
  if (ERRORS[code].type === 'Request Error') expect(header('support-case') ?? header('incident')).toBeUndefined();
  else expect(header('support-case') ?? CASE_PATH).toBe(CASE_PATH);
  if ('field' in expected) expect(header('error-field')).toBe(expected.field);
}

function expectRecord({ body, status, headers }: RawResponse, code: ErrorCode): void {
  expect(Number(headers.get('content-length'))).toBe(Buffer.byteLength(body));
  const record: Record<string, unknown> = JSON.parse(body);
  expect(Object.keys(record)).toEqual(['Message', 'Status', 'Code', 'Type']);
  const { type } = ERRORS[code];
  expect(record).toEqual({ Message: expect.any(String), Status: status, Code: code, Type: type });
  const support = `contact support (support@example.com) and quote the request id ${headers.get('request-id')}.`;
  if (type === 'Request Error') expect(record.Message).not.toContain('contact support');
  else expect(record.Message).toContain(support);
  expect(String(record.Message)).toMatch(/^[A-Z'].*\.$/);
  expectFound(String(record.Message), code);
}

/**
 * Checks that a search for the message finds the code or its family first. If it does not, `KNOWN_MESSAGES` lacks the
 * message.
 */
export function expectFound(message: string, code: ErrorCode): void {
  const [hit] = searchErrors(message);
  const found = hit?.family?.kind ?? hit?.code;
  expect(`${message} finds ${found}`).toBe(`${message} finds ${familyOf(code)?.kind ?? code}`);
}
