import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { asText } from './log.ts';

const NO_TERMINAL = new PassThrough();
const line = (record: object): string =>
  `${JSON.stringify({ level: 30, time: '2030-01-31T09:00:00.000Z', ...record })}\n`;

test('writes time, level, event, sentence and fields', () => {
  const text = asText(line({ event: 'service_ready', port: 8080, msg: 'the service takes requests' }), NO_TERMINAL);
  expect(text).toBe('2030-01-31T09:00:00.000Z info  service_ready: the service takes requests port=8080\n');
});

test('writes no sentence in the line of a request', () => {
  const text = asText(line({ event: 'request', method: 'POST', status: 201 }), NO_TERMINAL);
  expect(text).toBe('2030-01-31T09:00:00.000Z info  request method=POST status=201\n');
});

test('keeps several lines separate, and text that is not a record unchanged', () => {
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
