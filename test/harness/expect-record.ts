import { expect } from 'vitest';
import { ERRORS, isErrorCode } from '../../contract/errors/catalogue.ts';
import type { RawResponse } from './raw-connection.ts';

const INTERNAL = /\bat \S+ \(|node:|FST_|HPE_|ERR_|ECONN|secret|Error:|undefined|\[object/;

/** Checks a response against the rules for all errors. */
export function expectRecord(response: RawResponse, status: number, code: string, method = 'GET'): void {
  expect(response.headers.get('error-code')).toBe(code);
  expect(response.statusLine).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z][A-Za-z' -]+$`));
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(response.headers.get('request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('link')).toBe(`</errors/${code}>; rel="describedby"`);
  expect(response.headers.get('should-retry')).toMatch(/^(true|false)$/);
  for (const value of response.headers.values()) expect(value).not.toMatch(/411111/);
  if (method === 'HEAD') {
    expect(response.body).toBe('');
    return;
  }
  expect(Number(response.headers.get('content-length'))).toBe(Buffer.byteLength(response.body));
  const record: unknown = JSON.parse(response.body);
  expect(Object.keys(Object(record))).toEqual(['Message', 'Status', 'Code', 'Type']);
  const type = isErrorCode(code) ? ERRORS[code].type : 'Server Error';
  expect(record).toEqual({ Message: expect.any(String), Status: status, Code: code, Type: type });
  expect(response.body).not.toMatch(INTERNAL);
  expect(response.body).not.toMatch(/[0-9]{8}(?![0-9a-f]*\.)/);
  const says = /contact support \(support@example\.com\) and quote the request id req_[0-9a-f]{32}/;
  if (type === 'Request Error') expect(response.body).not.toMatch(/contact support/);
  else expect(response.body).toMatch(says);
}

export function messageOf(response: RawResponse): string {
  const record: { readonly Message?: unknown } = JSON.parse(response.body);
  return String(record.Message);
}
