import { expect, test } from 'vitest';
import { Latencies } from '../../calls/responses/latencies.ts';
import type { StoredMinute } from '../../store/overview/service-process.ts';
import { figuresOf } from './minute.ts';

function minuteOf(members: Partial<StoredMinute>, milliseconds: readonly number[] = []): StoredMinute {
  const latencies = new Latencies();
  for (const one of milliseconds) latencies.note(one);
  const counts = { transfers: 0, succeeded: 0, refused: 0, invalid: 0, failed: 0 };
  return { milliseconds: 60_000, ...counts, ...members, latencies: latencies.counts() };
}

test('several processes: rates are added up, and percentiles are those of all requests', () => {
  const busy = minuteOf({ transfers: 600, succeeded: 8, refused: 2 }, Array<number>(98).fill(4));
  const young = minuteOf({ transfers: 10, succeeded: 9, failed: 1, milliseconds: 10_000 }, [500, 500]);
  expect(figuresOf([busy, young])).toEqual({
    seconds: 60,
    transfers_per_second: 11,
    requests: 20,
    succeeded: 17,
    refused: 2,
    invalid: 0,
    failed: 1,
    success_ratio: 0.85,
    p50_milliseconds: expect.closeTo(4, 0),
    p99_milliseconds: expect.closeTo(500, -2),
  });
});

test('no process, and one that has just started', () => {
  const nothing = { seconds: 0, transfers_per_second: 0, requests: 0, success_ratio: null, p99_milliseconds: null };
  expect(figuresOf([])).toMatchObject(nothing);
  expect(figuresOf([minuteOf({ milliseconds: 0 })])).toMatchObject(nothing);
});
