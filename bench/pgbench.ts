import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Belongings } from './belongings.ts';
import { runProgram } from './child-program.ts';
import { median } from './figures.ts';
import type { DatabaseServer } from './ledger/server.ts';
import type { Tool } from './machine.ts';
import { withCheckpoint } from './measure.ts';
import { familyProcessorTimeMilliseconds } from './processor-time.ts';
import type { Stage } from './stage.ts';

const DATABASE = 'bench_pgbench';

/** A run of pgbench's built-in TPC-B-like script. */
export type PgbenchRun = {
  readonly clients: number;
  readonly rate: number;
  /** Median latency in milliseconds; NaN where it was not asked for. */
  readonly p50Milliseconds: number;
  /** CPU of PostgreSQL and of pgbench for one transaction, in microseconds. */
  readonly postgres_us: number;
  readonly generator_us: number;
};

/** Fills pgbench's own database; 100,000 accounts for each unit of the scale. */
export async function preparePgbench(
  belongings: Belongings,
  server: DatabaseServer,
  pgbench: Tool,
  scale: number,
): Promise<string> {
  await server.query('postgres', `create database ${DATABASE}`);
  await runProgram(belongings, pgbench.path, [...connectionOf(server), '-i', '-s', `${scale}`, '-q', DATABASE]);
  return DATABASE;
}

/** Client counts of which the best counts. On two cores the fewest were the best, so more than these are not tried. */
export const PGBENCH_CLIENTS = [16, 32, 48] as const;

/** Runs it once, as it is run by default: prepared statements, one vacuum of its small tables before. */
export async function runPgbench(
  { belongings, server, pgbench, options }: Stage,
  clients: number,
  { seconds = options.seconds, withMedian = false } = {},
): Promise<PgbenchRun> {
  if (pgbench === undefined) throw new Error('there is no pgbench');
  const directory = await mkdtemp(join(server.directory, 'pgbench-'));
  const threads = `${Math.min(2, clients)}`;
  const log = withMedian ? ['--log', '--log-prefix', 'run'] : [];
  const settings = ['-M', 'prepared', '-c', `${clients}`, '-j', threads, '-T', `${seconds}`, ...log];
  const words = [...connectionOf(server), ...settings, DATABASE];
  const beforeMilliseconds = familyProcessorTimeMilliseconds(server.processId);
  const ending = await runProgram(belongings, pgbench.path, words, { cwd: directory });
  const postgresMilliseconds = familyProcessorTimeMilliseconds(server.processId) - beforeMilliseconds;
  const rate = Number(/^tps = ([0-9.]+)/m.exec(ending.output)?.[1]);
  const failed = Number(/^number of failed transactions: ([0-9]+)/m.exec(ending.output)?.[1] ?? 0);
  if (failed > 0 || Number.isNaN(rate)) throw new Error(`pgbench did not succeed: ${ending.output}`);
  const p50Milliseconds = withMedian ? await readMedian(directory) : Number.NaN;
  await rm(directory, { recursive: true });
  const made = Number(/^number of transactions actually processed: ([0-9]+)/m.exec(ending.output)?.[1]);
  const each_us = (spentMilliseconds: number): number => (spentMilliseconds * 1000) / made;
  return {
    clients,
    rate,
    p50Milliseconds,
    postgres_us: each_us(postgresMilliseconds),
    generator_us: each_us(ending.processorTimeMilliseconds),
  };
}

/** A measured run with a checkpoint in it, as the service's runs have. */
export function measurePgbench(stage: Stage, clients: number, withMedian = false): Promise<PgbenchRun> {
  return withCheckpoint(stage, stage.options.seconds, () => runPgbench(stage, clients, { withMedian }));
}

/** Lines of the log are: client, number of the transaction, microseconds, and what does not matter here. */
async function readMedian(directory: string): Promise<number> {
  const latencies: number[] = [];
  for (const name of await readdir(directory)) {
    for (const line of (await readFile(join(directory, name), 'utf8')).split('\n')) {
      if (line !== '') latencies.push(Number(line.split(' ')[2]) / 1000);
    }
  }
  return median(latencies);
}

function connectionOf({ host, port }: DatabaseServer): readonly string[] {
  return ['-h', host, '-p', `${port}`, '-U', 'postgres'];
}
