import { expect, test } from 'vitest';
import type { Overview } from '../../sdk/client.ts';
import {
  endsOf,
  errorsByHour,
  formatBytes,
  formatDelay,
  formatLatency,
  formatShare,
  healthOf,
  isUnused,
  padded,
  transfersByHour,
} from './overview.ts';

const NOW = Date.parse('2030-01-31T12:20:00.000Z');

test('ends the last interval at the time that the service reports', () => {
  expect(endsOf('1970-01-01T00:01:40.000Z', 5, 3)).toEqual([90, 95, 100]);
  expect(endsOf('1970-01-01T00:01:40.000Z', 5, 0)).toEqual([]);
});

test('leaves intervals before the first value empty', () => {
  expect(padded([1, 2], 4)).toEqual([null, null, 1, 2]);
  expect(padded([1, 2, 3], 2)).toEqual([2, 3]);
});

test('never shows a share below 1 as 100 %', () => {
  expect([1, 0, 0.5, 0.99999].map(formatShare)).toEqual(['100 %', '0 %', '50.00 %', '99.99 %']);
});

test('formats latencies, sizes and delays', () => {
  expect([3.4, 250, 1_234].map(formatLatency)).toEqual(['3.4 ms', '250 ms', '1.2 s']);
  expect([12, 1_234, 67_108_864, 4e15].map(formatBytes)).toEqual(['12 bytes', '1.2 kB', '67.1 MB', '4000.0 TB']);
  expect([0.4, 61, 600, 90_000, null].map((seconds) => formatDelay(seconds))).toEqual([
    'on time',
    '61 s late',
    '10 min late',
    '25 h late',
    'Unavailable while the database is down',
  ]);
  expect(formatDelay(1, 'up to date')).toBe('up to date');
});

const figures = (requests: number, failed: number, refused = 0, invalid = 0) => ({
  requests,
  failed,
  refused,
  invalid,
});
const RECENT = { failed: [0, null, 0] };
const MINUTE = { now: figures(0, 0), all: figures(2_000, 0, 20), recent: RECENT };
const STATUS = { readiness: { ready: true }, switch: { service_disabled: false } };

const health = (members: object, concerns = 0) =>
  healthOf({ status: STATUS, processes: null, ...MINUTE, ...members } as unknown as Overview, concerns);

test('reports failed requests in the first line, as a fault from a tenth of all', () => {
  expect(health({ all: figures(8, 5) })).toEqual({
    tone: 'fault',
    sentence: 'The service fails: 5 of 8 requests that move money in the last minute.',
  });
  expect(health({ all: figures(2_510, 3) })).toEqual({
    tone: 'unknown',
    sentence: 'Some requests fail: 3 of 2,510 requests that move money in the last minute.',
  });
  // While the database does not respond, only the figures of this process are known.
  expect(health({ all: null, now: figures(1, 1) })).toEqual({
    tone: 'fault',
    sentence: 'The service fails: 1 of 1 request that moves money in the last minute.',
  });
  expect(health({ all: figures(8, 1, 6) }).sentence).toBe(
    'The service fails: 1 of 8 requests that move money in the last minute. It refused 6 more.',
  );
  expect(health({ all: figures(8, 5) }, 1).sentence).toMatch(/minute\. One thing needs attention\.$/);
});

test('reports requests that failed shortly before the last minute', () => {
  expect(health({ recent: { failed: [7, null, 5] } })).toEqual({
    tone: 'unknown',
    sentence:
      'The service works again: 12 requests that move money failed in the last 15 minutes, but none in the last minute.',
  });
});

test('reports refused requests in the first line if they are many, and calmly if there were only a few requests', () => {
  expect(health({ all: figures(10, 0, 1) }).sentence).toBe('Everything works.');
  expect(health({ all: figures(10, 0, 1, 1) })).toEqual({
    tone: 'unknown',
    sentence: 'The service works, but it refused 2 of 10 requests that move money in the last minute.',
  });
  expect(health({ all: figures(2, 0, 2) })).toEqual({
    tone: '',
    sentence: 'The service works, but it refused 2 of 2 requests that move money in the last minute.',
  });
});

test('says in the first line whether the service works, and how many things need attention', () => {
  const process = { alive: true };
  expect(health({})).toEqual({ tone: '', sentence: 'Everything works.' });
  expect(health({ processes: [process] }).sentence).toBe('Everything works.');
  expect(health({ processes: [process, process] }).sentence).toBe('Everything works, with 2 processes.');
  expect(health({ processes: [process, { alive: false }] }, 1)).toEqual({
    tone: 'unknown',
    sentence: 'The service works. One thing needs attention.',
  });
  expect(health({}, 2).sentence).toBe('The service works. 2 things need attention.');
  expect(health({ status: { ...STATUS, readiness: { ready: false } } })).toMatchObject({ tone: 'fault' });
});

test('says in the first line that transfers are stopped, and how many requests failed', () => {
  const status = { ...STATUS, switch: { service_disabled: true } };
  // One of the things is the stop, and refusals are intended.
  expect(health({ status, all: figures(8, 0, 8) }, 1)).toEqual({
    tone: 'unknown',
    sentence: 'All transfers are stopped.',
  });
  expect(health({ status, all: figures(8, 1, 7) }, 3)).toEqual({
    tone: 'fault',
    sentence:
      'All transfers are stopped. The service fails: 1 of 8 requests that move money in the last minute. ' +
      '2 other things need attention.',
  });
});

test('counts a service as unused only if there was nothing at all', () => {
  const none = { transfers: [0, null], succeeded: [], refused: [], invalid: [], failed: [] };
  const now = { ...figures(0, 0), transfers_per_second: 0 };
  const isIt = (more: object) => isUnused({ all: null, now, recent: none, hours: [], ...more } as unknown as Overview);
  expect(isIt({})).toBe(true);
  expect(isIt({ recent: { ...none, refused: [0, 1] } })).toBe(false);
  expect(isIt({ all: { ...now, transfers_per_second: 0.017 } })).toBe(false);
  expect(isIt({ hours: [{}] })).toBe(false);
  expect(isIt({ hours: null })).toBe(false);
});

test('shows 0 for an hour without transfers, and leaves out anything older than a day', () => {
  const hours = [
    { start: '2030-01-29T12:00:00.000Z', type: 'load', transfers: 9 },
    { start: '2030-01-31T12:00:00.000Z', type: 'load', transfers: 2 },
    { start: '2030-01-31T12:00:00.000Z', type: 'unload', transfers: 1 },
  ] as const;
  const { times, values } = transfersByHour([...hours], ['load', 'unload'], NOW);
  expect(times).toHaveLength(25);
  expect(times.at(-1)).toBe(Date.parse('2030-01-31T12:00:00.000Z') / 1000);
  expect(values.get('load')).toEqual([...Array<number>(24).fill(0), 2]);
  expect(values.get('unload')?.at(-1)).toBe(1);
});

test('has a series for each of the seven most frequent codes, and one for all others', () => {
  const start = '2030-01-31T12:00:00.000Z';
  const counts = Array.from({ length: 9 }, (_, at) => ({ start, code: `code_${at}`, count: 10 - at }));
  const { series } = errorsByHour(counts, NOW);
  expect(series.map(({ code }) => code)).toEqual([...Array.from({ length: 7 }, (_, at) => `code_${at}`), 'other']);
  expect(series.at(-1)?.values.at(-1)).toBe(3 + 2);
  expect(errorsByHour([], NOW).series).toEqual([]);
});
