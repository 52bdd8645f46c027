// Attacks every promise of docs/reliability.md for a long time: npm run torture -- --help
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { dirname, resolve } from 'node:path';
import { Resources } from '../bench/resources.ts';
import type { Row } from './campaign.ts';
import { BANK } from './campaigns/bank.ts';
import { CHANGES } from './campaigns/changes.ts';
import { COMMIT_CUTS } from './campaigns/commit-cuts.ts';
import { DISK_FULL } from './campaigns/disk-full.ts';
import { EVENTS } from './campaigns/events.ts';
import { FAILOVER, FAILOVER_OF_HOSTS } from './campaigns/failovers/failover.ts';
import { ISOLATED_PRIMARY } from './campaigns/failovers/isolated-primary.ts';
import { PATRONI, PATRONI_IN_FOLDER, PATRONI_OF_HOSTS } from './campaigns/failovers/patroni.ts';
import { PLACE_COORDINATORS, PLACE_DENIALS, PLACE_MOVES, PLACE_WORKERS } from './campaigns/failovers/places.ts';
import { STANDBY_GONE } from './campaigns/failovers/standby-gone.ts';
import { SWITCHOVER, SWITCHOVER_OF_HOSTS } from './campaigns/failovers/switchover.ts';
import { KILLS } from './campaigns/kills.ts';
import { OVERLOAD } from './campaigns/overload.ts';
import { POINT_IN_TIME } from './campaigns/point-in-time.ts';
import { PROCESSORS } from './campaigns/processors.ts';
import { PROXY_FAULTS } from './campaigns/proxy-faults.ts';
import { RESTORE } from './campaigns/restore.ts';
import { ROLLING_RESTART } from './campaigns/rolling-restart.ts';
import { WEBHOOKS } from './campaigns/webhooks.ts';
import { type Options, readOptions, UsageProblem, usageOf } from './command-line.ts';
import { copyWithMistake } from './mutants/mistaken-service.ts';
import { Progress } from './progress.ts';
import { type Result, tableOf } from './result-table.ts';

const ROWS: readonly Row[] = [
  KILLS,
  COMMIT_CUTS,
  PROXY_FAULTS,
  EVENTS,
  WEBHOOKS,
  DISK_FULL,
  BANK,
  CHANGES,
  RESTORE,
  POINT_IN_TIME,
  ROLLING_RESTART,
  OVERLOAD,
  PROCESSORS,
  FAILOVER,
  FAILOVER_OF_HOSTS,
  ISOLATED_PRIMARY,
  STANDBY_GONE,
  SWITCHOVER,
  SWITCHOVER_OF_HOSTS,
  PATRONI,
  PATRONI_OF_HOSTS,
  PATRONI_IN_FOLDER,
  PLACE_MOVES,
  PLACE_WORKERS,
  PLACE_COORDINATORS,
  PLACE_DENIALS,
];

/** The mutant of the negative control: a service that responds with 201 before COMMIT has finished. */
const LIE = 'answer-before-commit';

/** Violations that reveal a lie about money: an acknowledged transfer is gone, or a denied one was made. */
const LIES = /lost: |said that no money moved, and it made/;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const resources = new Resources();
// Stands for the run itself, so that ending a row's resources does not end the run.
resources.add('the run', async () => undefined);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    say('\nStopping …');
    void resources.endAll(say).finally(() => process.exit(130));
  });
}

try {
  const options = readOptions(process.argv.slice(2), ROWS);
  if (options === undefined) say(usageOf(ROWS));
  // Clients of an aborted row may still send requests.
  else process.exit(await run(options));
} catch (error) {
  await resources.endAll(say);
  if (!(error instanceof UsageProblem)) throw error;
  process.stderr.write(`${error.message}\n\n${usageOf(ROWS)}\n`);
  process.exitCode = 2;
}

async function run(options: Options): Promise<number> {
  const isLiarNeeded = options.control && options.rows.some(({ hasOwnControl }) => hasOwnControl !== true);
  const liar = isLiarNeeded ? await copyWithMistake(resources, LIE) : undefined;
  say(
    `Seed ${options.seed}, scale ${options.scale}${options.control ? ', with a mistake that the run must detect' : ''}`,
  );
  const file = resolve(options.out ?? `data/torture/${new Date().toISOString().replaceAll(':', '-')}.json`);
  const startedAt = new Date().toISOString();
  const results: Result[] = [];
  for (const row of options.rows) {
    const count = options.count ?? row.counts[options.scale];
    results.push(await runRow(row, count, options, liar));
    // Written after each row, so that results survive if a later row is aborted.
    await write(file, {
      startedAt,
      ...options,
      rows: options.rows.map(({ name }) => name),
      machine: machine(),
      results,
    });
  }
  await resources.endAll(say);
  say(`\n${tableOf(results)}\n\n${file}`);
  return judge(results, options);
}

async function write(file: string, written: object): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(written, undefined, 2)}\n`);
}

function machine() {
  const [processor] = cpus();
  return { processor: processor?.model ?? '', processors: cpus().length, load: loadavg()[0], node: process.version };
}

async function runRow(row: Row, count: number, options: Options, liar: string | undefined): Promise<Result> {
  const { seed, control: isControl } = options;
  const main = row.hasOwnControl === true ? undefined : liar;
  say(`\n${row.name}: ${count} ${row.unit}`);
  const progress = new Progress(count, row.unit);
  const started = performance.now();
  const spared = resources.count;
  const base = { row: row.name, unit: row.unit, count, seed };
  const end = () => Math.round((performance.now() - started) / 1000);
  try {
    const setting = { seed, count, resources, main, isControl, progress: progress.tell };
    const found = await row.run(setting);
    return { ...base, ...found, seconds: end() };
  } catch (error) {
    // Errors are expected after Ctrl-C. The signal handler exits once everything has stopped.
    if (resources.isOver) return new Promise(() => undefined);
    // Only this row fails: the results of the others stay valid.
    await resources.endAll(say, spared);
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ...base, figures: {}, violations: [`the row failed with an error: ${problem}`], seconds: end() };
  } finally {
    progress.end();
  }
}

function judge(results: readonly Result[], { control, seed }: Options): number {
  for (const { row, violations } of results) for (const violation of violations) say(`VIOLATION  ${row}: ${violation}`);
  for (const { row, notRun } of results) if (notRun !== undefined) say(`NOT RUN    ${row}: ${notRun}`);
  const broken = results.filter(({ violations }) => violations.length > 0);
  const lie = control ? ' --control' : '';
  for (const { row, count } of broken)
    say(`Again: npm run torture -- --only ${row} --seed ${seed} --count ${count}${lie}`);
  if (control) {
    const isFound = results.some(({ violations }) => violations.some((violation) => LIES.test(violation)));
    say(
      isFound
        ? 'The lie was detected, so this run fails, as intended.'
        : 'THE LIE WAS NOT DETECTED: the checker does not work.',
    );
    return isFound ? 1 : 3;
  }
  if (broken.length > 0) return 1;
  return results.some(({ notRun }) => notRun !== undefined) ? 4 : 0;
}
