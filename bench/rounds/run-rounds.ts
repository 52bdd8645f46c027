import type { Row } from '../command-line.ts';
import { short, whole } from '../figures.ts';
import type { Run } from '../measure.ts';
import type { Stage } from '../stage.ts';
import { interleave } from './interleave.ts';
import { Round } from './round.ts';
import { type Memory, runWorkload, type WorkloadName } from './workloads.ts';

export type Rounds = Readonly<Partial<Record<WorkloadName, readonly Run[]>>>;

/** The workloads that the rows compare. Those with pgbench run at every number of clients. */
export function workloadsOf(rows: readonly Row[], pgbenchClients: readonly number[]): readonly WorkloadName[] {
  const hot = pgbenchClients.map((clients) => `pgbench 1, ${clients}` as const);
  const spread = pgbenchClients.map((clients) => `pgbench 100, ${clients}` as const);
  const needs: Readonly<Partial<Record<Row, readonly WorkloadName[]>>> = {
    1: ['hot', ...hot],
    2: ['hot', ...spread],
    3: ['hot', ...spread],
    5: ['hot', 'fewer'],
    6: ['hot', 'unlimited'],
    7: ['hot', 'spread'],
    8: ['lone', 'pgbench lone'],
    9: ['hot', 'lone', 'half'],
    11: ['hot', 'batch'],
    12: ['hot', 'own'],
    20: ['hot', 'delivering'],
    22: ['1 ms away', 'hot'],
    23: ['5 ms away', 'pgbench 5 ms away'],
    24: ['lone, 5 ms away'],
  };
  const needed = new Set(rows.flatMap((row) => needs[row] ?? []));
  // Workloads that are compared with each other run close together.
  const order = [
    'own',
    'unlimited',
    '1 ms away',
    'hot',
    'delivering',
    'fewer',
    'spread',
    'batch',
    'half',
    'lone',
    'pgbench lone',
    '5 ms away',
    'lone, 5 ms away',
    'pgbench 5 ms away',
  ] as const;
  return [...order, ...hot, ...spread].filter((name) => needed.has(name));
}

/** Runs all workloads in every round, each round on a new process and a new, empty ledger. */
export async function runRounds(stage: Stage, names: readonly WorkloadName[]): Promise<Rounds> {
  const { options, say } = stage;
  const memory: Memory = { hotRate: 0 };
  let round = new Round(stage);
  return interleave(
    names.length === 0 ? 0 : options.rounds,
    names,
    async (name, number) => {
      const run = await runWorkload(stage, round, name, memory);
      say(`  round ${number + 1}  ${name.padEnd(16)} ${describe(run)}`);
      return run;
    },
    async () => {
      await round.close();
      round = new Round(stage);
    },
  );
}

/** One line about a run, to show progress. */
export function describe(run: Run): string {
  const { rate, serviceMicroseconds, postgresMicroseconds, generatorMicroseconds, latenciesMilliseconds } = run;
  const { p50, p99 } = latenciesMilliseconds;
  const cpu = [serviceMicroseconds, postgresMicroseconds, generatorMicroseconds].map(whole).join(' + ');
  const latency = Number.isNaN(p50) ? '' : `, median ${short(p50)} ms`;
  const worst = Number.isNaN(p99) ? '' : `, p99 ${short(p99)} ms`;
  return `${whole(rate).padStart(7)}/s, CPU ${cpu} us, WAL ${whole(run.logBytes)} bytes${latency}${worst}`;
}
