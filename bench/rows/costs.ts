import { short, whole } from '../figures.ts';
import type { Run } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import type { Rounds } from '../rounds/run-rounds.ts';
import { bestOfPgbench, compare, medianOf, runsOf } from './compare.ts';

/**
 * Row 3: the CPU that the service and its PostgreSQL use for a transfer, against the CPU that PostgreSQL and pgbench use for a
 * transaction. The sender of the transfers does not count, because it is a client of the service. pgbench does count, because it
 * stands in for the service.
 */
export function costAgainstPgbench(rounds: Rounds, clientCounts: readonly number[]): Outcome {
  const hot = runsOf(rounds, 'hot');
  const { clients, runs } = bestOfPgbench(rounds, 100, clientCounts);
  const own = hot.map((run) => run.serviceMicroseconds + run.postgresMicroseconds);
  const other = runs.map((run) => run.generatorMicroseconds + run.postgresMicroseconds);
  const { ratio, ratios } = compare(own, other);
  const cost = (all: readonly Run[], name: 'serviceMicroseconds' | 'postgresMicroseconds' | 'generatorMicroseconds') =>
    medianOf(all, name);
  const service = cost(hot, 'serviceMicroseconds');
  const postgres = cost(hot, 'postgresMicroseconds');
  const otherPostgres = cost(runs, 'postgresMicroseconds');
  const pgbench = cost(runs, 'generatorMicroseconds');
  return {
    row: 3,
    title: 'CPU of the service and PostgreSQL for a transfer, against PostgreSQL and pgbench for a TPC-B transaction',
    measured: `${whole(service)} + ${whole(postgres)} µs`,
    against: `${whole(otherPostgres)} + ${whole(pgbench)} µs (\`-s 100\`, ${clients} clients)`,
    value: ratio,
    unit: '',
    target: { at: 'most', value: 0.42 },
    aim: null,
    runs: { ratio: ratios, 'a transfer, µs': own, 'a TPC-B transaction, µs': other },
    notes: [
      `The generator of the transfers used ${short(medianOf(hot, 'generatorMicroseconds'))} µs each, not included.`,
    ],
  };
}
