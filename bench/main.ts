import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Belongings } from './belongings.ts';
import { type Options, PARTS, type Part, readCommandLine, USAGE, UsageProblem } from './command-line.ts';
import { measureConcurrency } from './concurrency.ts';
import { makeSeed } from './ledger/seed.ts';
import { type DatabaseServer, readSettings, startDatabaseServer } from './ledger/server.ts';
import { describeMachine, findPgbench, findWrk } from './machine.ts';
import { isMet, type Outcome } from './outcome.ts';
import { preparePgbench, runPgbench } from './pgbench.ts';
import { profileTransfers } from './profile.ts';
import type { Results } from './report/results.ts';
import { terminalTable } from './report/tables.ts';
import { COMMITTED, writeResults } from './report/write.ts';
import type { Stage } from './stage.ts';
import { againstBareRoute } from './targets/bare-route.ts';
import { batchAgainstSingle } from './targets/batch.ts';
import { atHalfTheRate } from './targets/half-rate.ts';
import { againstPgbench } from './targets/hot-account.ts';
import { aloneAgainstPgbench } from './targets/lone-caller.ts';
import { memoryStaysFlat } from './targets/memory.ts';
import { againstSpreadPrograms } from './targets/spread-programs.ts';
import { filledAgainstEmpty } from './targets/stored-ledger.ts';
import { twoAgainstOne } from './targets/two-processes.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** What the tables, indexes and write-ahead log of the filled ledger and of pgbench take at most, in bytes. */
const ROOM_FOR_FULL = 40 * 1024 ** 3;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const belongings = new Belongings();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void belongings.endAll(say).then(() => process.exit(130)));
}
try {
  await bench(readCommandLine(process.argv.slice(2)));
} catch (error) {
  const text =
    error instanceof UsageProblem ? `${error.message}\n\n${USAGE}` : `The bench failed: ${describe(error)}\n`;
  process.stderr.write(`\n${text}`);
  process.exitCode = 1;
} finally {
  await belongings.endAll(say);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function bench(options: Options): Promise<void> {
  const begun = performance.now();
  say('Starting PostgreSQL through the service, in live mode.');
  const stage = await prepare(options);
  const machine = await describeMachine(stage.server.directory);
  const findings = await runParts(stage);
  const { out, ...kept } = options;
  const isWhole = PARTS.every((part) => options.parts.includes(part));
  const results: Results = {
    measuredOn: new Date().toISOString().slice(0, 10),
    form: !isWhole ? 'partial' : options.quick ? 'quick' : 'full',
    options: kept,
    machine,
    tools: { pgbench: stage.pgbench?.version ?? null, wrk: stage.wrk?.version ?? null },
    settings: await agreedSettings(stage.server, stage),
    ...findings,
    elapsed_s: (performance.now() - begun) / 1000,
  };
  const directory = resolve(ROOT, out ?? (results.form === 'full' ? COMMITTED : 'data/bench'));
  await writeResults(results, directory);
  say(`\n${terminalTable(results.outcomes)}\n`);
  for (const { target, notes } of results.outcomes) for (const note of notes) say(`${target}: ${note}`);
  for (const reason of results.leftOut) say(`Left out: ${reason}`);
  for (const reason of results.failed) say(`Failed: ${reason}`);
  say(`\n${Math.round(results.elapsed_s)} s. Results in ${directory}`);
  if (!results.outcomes.every(isMet)) say('Some targets were missed.');
  if (results.failed.length > 0) process.exitCode = 1;
}

async function prepare(options: Options): Promise<Stage> {
  const pgbench = findPgbench();
  const wrk = findWrk();
  const server = await startDatabaseServer(belongings);
  const { bavail, bsize } = await statfs(server.directory);
  if (!options.quick && options.parts.includes('6') && bavail * bsize < ROOM_FOR_FULL) {
    throw new Error(
      `target 6 needs ${ROOM_FOR_FULL / 1024 ** 3} GB of free disk below ${server.directory}; try --quick`,
    );
  }
  say('Sowing: programs, cards and funding, through the API.');
  const seed = await makeSeed(belongings, server);
  const stage = { options, belongings, server, seed, pgbench, wrk, say };
  if (pgbench !== undefined) {
    say(`Filling pgbench's own database, scale ${options.pgbenchScale}.`);
    await preparePgbench(belongings, server, pgbench, options.pgbenchScale);
    await runPgbench(stage, 16, { seconds: options.warmUp_s });
  }
  if (wrk === undefined) say('There is no wrk: our own generator takes its place, at a higher cost in CPU.');
  return stage;
}

type Findings = Pick<Results, 'outcomes' | 'latencies' | 'stored' | 'concurrency' | 'profile' | 'leftOut' | 'failed'>;

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

async function runParts(stage: Stage): Promise<Findings> {
  const failed: string[] = [];
  const findings: Mutable<Omit<Findings, 'leftOut' | 'failed'>> = {
    outcomes: [],
    latencies: null,
    stored: null,
    concurrency: null,
    profile: null,
  };
  const outcomes: Outcome[] = [];
  findings.outcomes = outcomes;
  const keep = async (outcome: Promise<Outcome>): Promise<void> => void outcomes.push(await outcome);
  const tasks: Readonly<Record<Part, () => Promise<void>>> = {
    '1': () => keep(againstPgbench(stage)),
    '2': () => keep(againstBareRoute(stage)),
    '3': () => keep(againstSpreadPrograms(stage)),
    '4': () => keep(aloneAgainstPgbench(stage)),
    '5': async () => {
      const { outcome, latencies } = await atHalfTheRate(stage);
      outcomes.push(outcome);
      findings.latencies = latencies;
    },
    '6': async () => {
      const { outcome, stored } = await filledAgainstEmpty(stage);
      outcomes.push(outcome);
      findings.stored = stored;
    },
    '7': () => keep(batchAgainstSingle(stage)),
    '8': () => keep(twoAgainstOne(stage)),
    '9': () => keep(memoryStaysFlat(stage)),
    concurrency: async () => {
      findings.concurrency = await measureConcurrency(stage);
    },
    profile: async () => {
      findings.profile = await profileTransfers(stage);
    },
  };
  const needPgbench: readonly Part[] = stage.pgbench === undefined ? ['1', '4'] : [];
  for (const part of PARTS.filter((name) => stage.options.parts.includes(name))) {
    if (needPgbench.includes(part)) continue;
    const name = /^[0-9]/.test(part) ? `target ${part}` : part;
    say(`${clock()}  ${name}`);
    const belongingsBefore = belongings.count;
    try {
      await tasks[part]();
    } catch (error) {
      if (belongings.isOver) throw error;
      // What one part found stands without the next; the bench still ends as failed.
      failed.push(`${name}: ${String(error)}`);
      say(`  ${name} failed: ${describe(error)}`);
      await belongings.endAll(say, belongingsBefore);
    }
  }
  const leftOut = needPgbench
    .filter((part) => stage.options.parts.includes(part))
    .map((part) => `target ${part}, which needs pgbench (Debian: postgresql)`);
  return { ...findings, leftOut, failed };
}

function clock(): string {
  return new Date().toTimeString().slice(0, 8);
}

/** The settings under which both sides ran; throws when a database has settings of its own. */
async function agreedSettings(server: DatabaseServer, stage: Stage): Promise<Readonly<Record<string, string>>> {
  const settings = await readSettings(server, stage.seed.database);
  const others = await readSettings(server, stage.pgbench === undefined ? 'postgres' : 'bench_pgbench');
  for (const [name, value] of Object.entries(settings)) {
    if (others[name] !== value) throw new Error(`${name} is ${value} for the service and ${others[name]} for pgbench`);
  }
  return settings;
}
