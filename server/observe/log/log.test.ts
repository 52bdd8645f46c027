import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { asText, openFaultLog } from './log.ts';

const NO_TERMINAL = new PassThrough();
const line = (record: object): string =>
  `${JSON.stringify({ level: 30, time: '2030-01-31T09:00:00.000Z', ...record })}\n`;

test('writes time, level, event, sentence and fields', () => {
  const text = asText(line({ event: 'service_ready', port: 8080, msg: 'the service accepts requests' }), NO_TERMINAL);
  expect(text).toBe('2030-01-31T09:00:00.000Z info  service_ready: the service accepts requests port=8080\n');
});

test('omits the sentence in the line of a request', () => {
  const text = asText(line({ event: 'request', method: 'POST', status: 201 }), NO_TERMINAL);
  expect(text).toBe('2030-01-31T09:00:00.000Z info  request method=POST status=201\n');
});

test('keeps several lines separate, and leaves text that is not a record unchanged', () => {
  const lines = `${line({ event: 'a' })}\n${line({ event: 'b' })}half a line`;
  expect(asText(lines, NO_TERMINAL)).toBe(
    '2030-01-31T09:00:00.000Z info  a\n\n2030-01-31T09:00:00.000Z info  b\nhalf a line',
  );
});

test('escapes control characters for a terminal', () => {
  const text = asText(line({ event: 'e', msg: 'a\u001b[2Jb\nc', cause: 'd\u202ee f' }), NO_TERMINAL);
  expect(text).toBe('2030-01-31T09:00:00.000Z info  e: a\\u001b[2Jb\\u000ac cause="d\\u202ee f"\n');
});

test('writes values that are not plain words as JSON', () => {
  const text = asText(line({ event: 'e', hosts: ['::1'], empty: '', words: 'two words', none: null }), NO_TERMINAL);
  expect(text).toBe('2030-01-31T09:00:00.000Z info  e hosts=["::1"] empty="" words="two words" none=null\n');
});

test('logs an outage as one line with its causes and then a count each second, and other faults as separate lines', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const note = openFaultLog({
    error: ({ event, requestId = '', count = '' }, sentence) =>
      void lines.push(`${event} ${requestId}${count}: ${sentence}`),
  });
  for (const requestId of ['a', 'b', 'c']) note({ requestId }, 'lost', true);
  note({ requestId: 'bug' }, 'a bug', false);
  expect(lines).toEqual(['server_error a: lost', 'server_error bug: a bug']);
  vi.advanceTimersByTime(1_000);
  note({ requestId: 'd' }, 'lost', true);
  vi.advanceTimersByTime(1_000);
  const rest = 'failed within a second because the database is unavailable; the error log has each';
  expect(lines.slice(2)).toEqual([
    `server_errors 2: 2 more requests ${rest}`,
    `server_errors 1: 1 more request ${rest}`,
  ]);
  vi.advanceTimersByTime(10_001);
  expect(lines).toHaveLength(4);
  note({ requestId: 'e' }, 'lost', true);
  expect(lines.at(-1)).toBe('server_error e: lost');
});
