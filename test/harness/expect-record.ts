import { expect } from 'vitest';
import { ERRORS } from '../../contract/errors/catalogue.ts';
import { isErrorCode } from '../../domain/error-codes.ts';
import type { RawResponse } from './raw-connection.ts';

const INTERNAL = /\bat \S+ \(|node:|FST_|HPE_|ERR_|ECONN|secret|Error:|undefined|\[object/;

/** Holds an answer against everything that an error must be, whatever brought it about. */
export function expectRecord(answer: RawResponse, status: number, code: string, method = 'GET'): void {
  expect(answer.headers.get('error-code')).toBe(code);
  expect(answer.statusLine).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z][A-Za-z' -]+$`));
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('link')).toBe(`</errors/${code}>; rel="describedby"`);
  expect(answer.headers.get('should-retry')).toMatch(/^(true|false)$/);
  for (const value of answer.headers.values()) expect(value).not.toMatch(/411111/);
  if (method === 'HEAD') {
    expect(answer.body).toBe('');
    return;
  }
  expect(Number(answer.headers.get('content-length'))).toBe(Buffer.byteLength(answer.body));
  const record: unknown = JSON.parse(answer.body);
  expect(Object.keys(Object(record))).toEqual(['Message', 'Status', 'Code', 'Type']);
  const type = isErrorCode(code) ? ERRORS[code].type : 'Server Error';
  expect(record).toEqual({ Message: expect.any(String), Status: status, Code: code, Type: type });
  expect(answer.body).not.toMatch(INTERNAL);
  expect(answer.body).not.toMatch(/[0-9]{8}(?![0-9a-f]*\.)/);
  const says = /contact support \(support@example\.com\) and quote the request id req_[0-9a-f]{32}/;
  if (type === 'Request Error') expect(answer.body).not.toMatch(/contact support/);
  else expect(answer.body).toMatch(says);
}

/** The message of a record. */
export function messageOf(answer: RawResponse): string {
  const record: { readonly Message?: unknown } = JSON.parse(answer.body);
  return String(record.Message);
}
