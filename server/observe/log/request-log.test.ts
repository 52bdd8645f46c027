import { expect, test } from 'vitest';
import type { ResponseEntry } from '../../http/reports.ts';
import { openRequestLog } from './request-log.ts';

const entry: ResponseEntry = {
  requestId: '01920000-0000-7000-8000-000000000001',
  method: 'POST',
  path: '/api/v0.1/core/transfer',
  operation: 'create_transfer',
  status: 201,
  code: undefined,
  isStray: false,
  milliseconds: 1.23456,
  programId: '01920000-0000-7000-8000-000000000002',
  keyId: '01920000-0000-7000-8000-000000000003',
  moneyMoved: undefined,
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
};

function logged(which: 'errors' | 'all', ...entries: readonly ResponseEntry[]): readonly Record<string, unknown>[] {
  let text = '';
  const add = (line: string): void => {
    text += line;
  };
  for (const one of entries) openRequestLog(which, { add })?.(one);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

test('writes everything known about a request, with ids as on the wire', () => {
  expect(logged('all', entry)).toEqual([
    {
      level: 30,
      time: expect.stringMatching(/^20\d\d-.*Z$/),
      event: 'request',
      requestId: 'req_01920000000070008000000000000001',
      operation: 'create_transfer',
      method: 'POST',
      path: '/api/v0.1/core/transfer',
      status: 201,
      milliseconds: 1.235,
      program: 'prog_01920000000070008000000000000002',
      key: 'key_01920000000070008000000000000003',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    },
  ]);
});

test('leaves out unknown fields', () => {
  const unread = { ...entry, method: undefined, path: undefined, operation: undefined, status: 400 };
  const [line] = logged('all', {
    ...unread,
    code: 'malformed_request',
    programId: undefined,
    keyId: undefined,
    traceparent: undefined,
  });
  expect(Object.keys(line ?? {})).toEqual(['level', 'time', 'event', 'requestId', 'code', 'status', 'milliseconds']);
});

test('with `errors`, logs errors, requests that were cut off or partly refused, and requests that callers aborted', () => {
  const failed = { ...entry, status: 500, code: 'unknown_create_transfer', moneyMoved: 'unknown' } as const;
  const refusedRow = { ...entry, status: 200, code: 'card_closed' } as const;
  const gone = { ...entry, status: undefined };
  const lines = logged('errors', entry, failed, refusedRow, gone);
  expect(lines.map(({ status, code, moneyMoved }) => [status, code, moneyMoved])).toEqual([
    [500, 'unknown_create_transfer', 'unknown'],
    [200, 'card_closed', undefined],
    [undefined, undefined, undefined],
  ]);
});

test('with `off`, registers no listener', () => {
  expect(openRequestLog('off', { add: () => undefined })).toBeUndefined();
});
