import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from './child-program.ts';
import { median } from './figures.ts';
import type { DatabaseServer } from './ledger/server.ts';
import type { Tool } from './machine.ts';
import { type Run, readCosts } from './measure.ts';
import type { Resources } from './resources.ts';
import type { Stage } from './stage.ts';

/**
 * Scales of TPC-B. Scale 1 has one branch, and every transaction updates its row, as every transfer updates the hot account.
 * Scale 100 spreads the transactions over a hundred branches and ten million accounts.
 */
export type Scale = 1 | 100;

/** Threads of pgbench. A single thread cannot drive 48 clients at the measured rates. */
const MAX_THREADS = 2;

function databaseOf(scale: Scale): string {
  return `bench_pgbench_${scale}`;
}

/** Fills a database for pgbench, with 100,000 accounts for each unit of the scale. */
export async function preparePgbench(
  resources: Resources,
  server: DatabaseServer,
  pgbench: Tool,
  scale: Scale,
): Promise<void> {
  const database = databaseOf(scale);
  await server.query('postgres', `create database ${database}`);
  await runProgram(resources, pgbench.path, [...connectionOf(server), '-i', '-s', `${scale}`, '-q', database]);
}

/**
 * Runs pgbench's built-in TPC-B-like script with prepared statements, after a warm-up. Unlike the runs of the service, it
 * requests no checkpoint. After one, at scale 100, every transaction would write a full page to the log for the rest of the run.
 * Between two ordinary checkpoints that is rare. Before it starts, pgbench vacuums its small tables, as it does by default.
 * `withMedian` logs every latency, which costs a little.
 */
export async function measurePgbench(
  stage: Stage,
  scale: Scale,
  clients: number,
  { seconds = stage.options.seconds, withMedian = false } = {},
): Promise<Run> {
  const { resources, server, pgbench, options } = stage;
  if (pgbench === undefined) throw new Error('pgbench is not installed');
  const directory = await mkdtemp(join(server.directory, 'pgbench-'));
  const threads = `${Math.min(MAX_THREADS, clients)}`;
  const log = withMedian ? ['--log', '--log-prefix', 'run'] : [];
  const run = (length: number, more: readonly string[]) => {
    const settings = ['-M', 'prepared', '-c', `${clients}`, '-j', threads, '-T', `${length}`, ...more];
    return runProgram(resources, pgbench.path, [...connectionOf(server), ...settings, databaseOf(scale)], {
      cwd: directory,
    });
  };
  await run(options.warmUpSeconds / 2, []);
  const before = await readCosts(server, 0);
  const ending = await run(seconds, log);
  const after = await readCosts(server, 0);
  const rate = readNumber(ending.output, /^tps = ([0-9.]+)/m);
  const count = readNumber(ending.output, /^number of transactions actually processed: ([0-9]+)/m);
  const failed = /^number of failed transactions: ([0-9]+)/m.exec(ending.output)?.[1] ?? '0';
  if (failed !== '0') throw new Error(`transactions of pgbench failed: ${ending.output}`);
  const p50 = withMedian ? await readMedian(directory) : Number.NaN;
  await rm(directory, { recursive: true });
  return {
    count,
    elapsedSeconds: count / rate,
    rate,
    latenciesMilliseconds: { p50, p90: Number.NaN, p99: Number.NaN, p999: Number.NaN, maximum: Number.NaN },
    serviceMicroseconds: 0,
    postgresMicroseconds: ((after.postgresMilliseconds - before.postgresMilliseconds) * 1000) / count,
    generatorMicroseconds: (ending.processorTimeMilliseconds * 1000) / count,
    generatorCores: ending.processorTimeMilliseconds / ending.elapsedMilliseconds,
    logBytes: (after.logBytes - before.logBytes) / count,
  };
}

function readNumber(output: string, pattern: RegExp): number {
  const found = pattern.exec(output)?.[1];
  if (found === undefined) throw new Error(`cannot read the output of pgbench: ${output}`);
  return Number(found);
}

/** Each line of the log has the client, the number of the transaction, the microseconds, and three more columns. */
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
