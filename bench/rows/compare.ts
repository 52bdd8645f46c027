import { median } from '../figures.ts';
import type { Run } from '../measure.ts';
import type { Scale } from '../pgbench.ts';
import type { Rounds } from '../rounds/run-rounds.ts';
import type { WorkloadName } from '../rounds/workloads.ts';

export type Comparison = {
  /** The median of the ratios of the rounds. Changes of the machine that are slower than a round do not affect it. */
  readonly ratio: number;
  readonly ratios: readonly number[];
  readonly own: readonly number[];
  readonly other: readonly number[];
};

/** The runs of a workload. Throws if it was not run. */
export function runsOf(rounds: Rounds, name: WorkloadName): readonly Run[] {
  const runs = rounds[name];
  if (runs === undefined || runs.length === 0) throw new Error(`the workload '${name}' was not run`);
  return runs;
}

/** Compares one figure of two workloads. */
export function compare(own: readonly number[], other: readonly number[]): Comparison {
  const ratios = own.map((value, round) => value / (other[round] ?? Number.NaN));
  return { ratio: median(ratios), ratios, own, other };
}

/** The best run of each round, and the numbers of clients of these runs. */
export function bestOfPgbench(
  rounds: Rounds,
  scale: Scale,
  clientCounts: readonly number[],
): { readonly clients: string; readonly runs: readonly Run[] } {
  const tried = clientCounts.map((clients) =>
    runsOf(rounds, `pgbench ${scale}, ${clients}`).map((run) => ({ clients, run })),
  );
  const [first = [], ...others] = tried;
  const best = first.map((one, round) =>
    others.reduce((most, runs) => {
      const next = runs[round];
      return next !== undefined && next.run.rate > most.run.rate ? next : most;
    }, one),
  );
  const clients = [...new Set(best.map((one) => one.clients))].sort((one, other) => one - other);
  return { clients: clients.join(' or '), runs: best.map(({ run }) => run) };
}

type Figure = {
  [Name in keyof Run]-?: Run[Name] extends number ? Name : never;
}[keyof Run];

export function figures(runs: readonly Run[], name: Figure): readonly number[] {
  return runs.map((run) => run[name]);
}

export function medianOf(runs: readonly Run[], name: Figure): number {
  return median(figures(runs, name));
}
