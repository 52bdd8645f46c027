import { median, short, whole } from '../figures.ts';
import type { Latencies } from '../load/traffic.ts';
import type { Run } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import type { Rounds } from '../rounds/run-rounds.ts';
import { FAR_MILLISECONDS } from '../rounds/workloads.ts';
import { compare, figures, medianOf, runsOf } from './compare.ts';

/** Row 8: one connection that sends one transfer at a time, against one client of pgbench. */
export function latencyOfLoneCaller(rounds: Rounds): Outcome {
  const lone = runsOf(rounds, 'lone');
  const own = percentile(lone, 'p50');
  const { ratio, ratios, other } = compare(own, percentile(runsOf(rounds, 'pgbench lone'), 'p50'));
  return {
    row: 8,
    title: 'a lone caller, against one client of pgbench (`-s 100`), median latency',
    measured: `${short(median(own))} ms`,
    against: `${short(median(other))} ms`,
    value: ratio,
    unit: '',
    target: { at: 'most', value: 2 },
    aim: null,
    runs: { ratio: ratios, 'transfer, ms': own, 'pgbench, ms': other },
    notes: [
      `CPU of such a transfer: service ${whole(medianOf(lone, 'serviceMicroseconds'))} µs, PostgreSQL ` +
        `${whole(medianOf(lone, 'postgresMicroseconds'))} µs; the rest is the disk and waking up.`,
    ],
  };
}

/** Row 24: one connection, with the database 5 ms away, in round trips to the database. */
export function latencyOfDistantCaller(rounds: Rounds): Outcome {
  const own = percentile(runsOf(rounds, 'lone, 5 ms away'), 'p50');
  const trips = own.map((milliseconds) => milliseconds / FAR_MILLISECONDS);
  return {
    row: 24,
    title: 'a lone caller, the database 5 ms away, median latency in round trips',
    measured: `${short(median(own))} ms`,
    against: `${FAR_MILLISECONDS} ms`,
    value: median(trips),
    unit: '',
    target: { at: 'most', value: 2.2 },
    aim: null,
    runs: { ratio: trips, 'transfer, ms': own },
    notes: [],
  };
}

/** Row 9: the 99th percentile at half the maximum rate, open loop, against the median of a lone caller. */
export function latencyAtHalfTheRate(rounds: Rounds): Outcome {
  const half = runsOf(rounds, 'half');
  const own = percentile(half, 'p99');
  const { ratio, ratios, other } = compare(own, percentile(runsOf(rounds, 'lone'), 'p50'));
  return {
    row: 9,
    title: '99th percentile at half the maximum rate (open loop), against the median of a lone caller',
    measured: `${short(median(own))} ms at ${whole(medianOf(half, 'rate'))}/s`,
    against: `${short(median(other))} ms`,
    value: ratio,
    unit: '',
    target: { at: 'most', value: 12 },
    aim: null,
    runs: {
      ratio: ratios,
      '99th percentile, ms': own,
      'lone median, ms': other,
      'half the maximum, per second': figures(half, 'rate'),
    },
    notes: [`At half the rate the median was ${short(median(percentile(half, 'p50')))} ms.`],
  };
}

export function percentile(runs: readonly Run[], name: keyof Latencies): readonly number[] {
  return runs.map(({ latenciesMilliseconds }) => latenciesMilliseconds[name]);
}
