import type { Options, Row } from '../command-line.ts';
import { median, whole } from '../figures.ts';
import type { Outcome } from '../outcome.ts';
import type { Scale } from '../pgbench.ts';
import type { Rounds } from '../rounds/run-rounds.ts';
import { BATCH_CALLERS, BATCH_ROWS, FEWER_CONNECTIONS, type WorkloadName } from '../rounds/workloads.ts';
import { bestOfPgbench, compare, figures, medianOf, runsOf } from './compare.ts';
import { costAgainstPgbench } from './costs.ts';
import { latencyAtHalfTheRate, latencyOfDistantCaller, latencyOfLoneCaller } from './latencies.ts';

export type Circumstances = { readonly cores: number; readonly options: Options };

/** A machine with this many cores or fewer is compared with the targets for two cores. */
const TWO_CORES = 2;

/** The rows that are computed from the rounds. Rows 10, 13, 14, 18 and 21 have separate runs. */
export const ROUND_ROWS: Readonly<Partial<Record<Row, (rounds: Rounds, circumstances: Circumstances) => Outcome>>> = {
  1: (rounds, circumstances) => againstPgbench(rounds, circumstances, 1),
  2: (rounds, circumstances) => againstPgbench(rounds, circumstances, 100),
  3: (rounds, { options }) => costAgainstPgbench(rounds, options.pgbenchClients),
  5: (rounds) =>
    compareRates(rounds, ['fewer', 'hot'], {
      row: 5,
      title: `${FEWER_CONNECTIONS} connections, against 256`,
      least: 0.75,
    }),
  6: (rounds) =>
    compareRates(rounds, ['hot', 'unlimited'], {
      row: 6,
      title: 'five limits set (three of the program, two of the card), against none',
      least: 0.95,
    }),
  7: (rounds) =>
    compareRates(rounds, ['spread', 'hot'], { row: 7, title: '1,000 funding accounts, against one', least: 0.75 }),
  8: latencyOfLoneCaller,
  9: latencyAtHalfTheRate,
  11: (rounds) => {
    const outcome = compareRates(rounds, ['batch', 'hot'], {
      row: 11,
      title: `batches of ${whole(BATCH_ROWS)}, against single transfers`,
      least: 2.2,
    });
    const cost = (name: WorkloadName) => whole(medianOf(runsOf(rounds, name), 'serviceMicroseconds'));
    return {
      ...outcome,
      notes: [
        `${BATCH_CALLERS} callers of the batch. CPU of the service for a transfer: ${cost('batch')} µs in a batch, ` +
          `${cost('hot')} µs alone.`,
      ],
    };
  },
  12: (rounds) =>
    compareRates(rounds, ['own', 'hot'], {
      row: 12,
      title: "own PostgreSQL 15 with Debian's default settings, against the embedded PostgreSQL 18",
      least: 0.9,
    }),
  20: besideWebhookRow,
  22: (rounds) =>
    compareRates(rounds, ['1 ms away', 'hot'], { row: 22, title: 'the database 1 ms away, against local', least: 0.9 }),
  23: (rounds) =>
    compareRates(rounds, ['5 ms away', 'pgbench 5 ms away'], {
      row: 23,
      title: 'the database 5 ms away, against TPC-B with one hot row at the same distance',
      least: 50,
    }),
  24: latencyOfDistantCaller,
};

function besideWebhookRow(rounds: Rounds): Outcome {
  const title = 'with a webhook that gets 1,000 events a second, against without one';
  const outcome = compareRates(rounds, ['delivering', 'hot'], { row: 20, title, least: 0.9 });
  const delivered = runsOf(rounds, 'delivering').map(({ deliveriesPerSecond = Number.NaN }) => deliveriesPerSecond);
  return {
    ...outcome,
    runs: { ...outcome.runs, 'deliveries per second': delivered },
    notes: [`The webhook got ${whole(median(delivered))} events a second.`],
  };
}

function againstPgbench(rounds: Rounds, { options, cores }: Circumstances, scale: Scale): Outcome {
  const { clients, runs } = bestOfPgbench(rounds, scale, options.pgbenchClients);
  const hot = runsOf(rounds, 'hot');
  const { ratio, ratios } = compare(figures(hot, 'rate'), figures(runs, 'rate'));
  const targets = cores <= TWO_CORES ? { 1: 5, 100: 2.5 } : { 1: 6.5, 100: 1.5 };
  const others = options.pgbenchClients.map((count) => {
    const tried = runsOf(rounds, `pgbench ${scale}, ${count}`);
    return [`pgbench -s ${scale}, ${count} clients, per second`, figures(tried, 'rate')] as const;
  });
  return {
    row: scale === 1 ? 1 : 2,
    title:
      scale === 1
        ? 'one hot account, 256 connections, against TPC-B with one hot row (`-s 1`)'
        : 'the same, against TPC-B without contention (`-s 100`)',
    measured: `${whole(medianOf(hot, 'rate'))}/s`,
    against: `${whole(medianOf(runs, 'rate'))}/s at ${clients} clients`,
    value: ratio,
    unit: '',
    target: { at: 'least', value: targets[scale] },
    aim: null,
    runs: { ratio: ratios, 'transfers per second': figures(hot, 'rate'), ...Object.fromEntries(others) },
    notes: [],
  };
}

function compareRates(
  rounds: Rounds,
  [own, other]: readonly [WorkloadName, WorkloadName],
  { row, title, least }: { readonly row: Row; readonly title: string; readonly least: number },
): Outcome {
  const { ratio, ratios } = compare(figures(runsOf(rounds, own), 'rate'), figures(runsOf(rounds, other), 'rate'));
  const rates = (name: WorkloadName) => figures(runsOf(rounds, name), 'rate');
  return {
    row,
    title,
    measured: `${whole(medianOf(runsOf(rounds, own), 'rate'))}/s`,
    against: `${whole(medianOf(runsOf(rounds, other), 'rate'))}/s`,
    value: ratio,
    unit: '',
    target: { at: 'least', value: least },
    aim: null,
    runs: { ratio: ratios, 'measured, per second': rates(own), 'against, per second': rates(other) },
    notes: [],
  };
}
