import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXTRAS, type Options, ROWS, readCommandLine, USAGE, UsageProblem } from './command-line.ts';
import { makeSeed } from './ledger/seed.ts';
import { readSettings, startEmbeddedServer, startOwnServer } from './ledger/server.ts';
import { describeMachine, findOwnPostgres, findPgbench } from './machine.ts';
import { isMet } from './outcome.ts';
import { measureParts, PGBENCH_ROWS } from './parts.ts';
import { preparePgbench } from './pgbench.ts';
import type { Results } from './report/results.ts';
import { terminalProfile, terminalTable } from './report/tables.ts';
import { COMMITTED, writeResults } from './report/write.ts';
import { Resources } from './resources.ts';
import type { Site, Stage } from './stage.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Maximum size of the filled ledger, of pgbench's databases and of the write-ahead log, in bytes. */
const MAX_DISK_BYTES = 40 * 1024 ** 3;

/** A run with fewer rounds is not recorded as a full run. */
const MIN_ROUNDS = 3;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const resources = new Resources();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void resources.endAll(say).then(() => process.exit(130)));
}
try {
  await bench(readCommandLine(process.argv.slice(2)));
} catch (error) {
  const description = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const text = error instanceof UsageProblem ? `${error.message}\n\n${USAGE}` : `The bench failed: ${description}\n`;
  process.stderr.write(`\n${text}`);
  process.exitCode = 1;
} finally {
  await resources.endAll(say);
}

async function bench(options: Options): Promise<void> {
  const begun = performance.now();
  const isWhole =
    options.rows.length === ROWS.length && options.extras.length === EXTRAS.length && options.rounds >= MIN_ROUNDS;
  const form = !isWhole ? 'partial' : options.quick ? 'quick' : 'full';
  const directory = resolve(ROOT, options.out ?? (form === 'full' ? COMMITTED : 'data/bench'));
  const stage = await prepare(options);
  const machine = await describeMachine(stage.server.directory);
  const findings = await measureParts(stage, machine.cores, resolve(ROOT, 'data/bench'));
  const { out, ...kept } = options;
  const results: Results = {
    measuredOn: new Date().toISOString().slice(0, 10),
    form,
    options: kept,
    machine,
    pgbench: stage.pgbench?.version ?? null,
    settings: await readSettings(stage.server),
    ownSettings: stage.ownSite === undefined ? null : await readSettings(stage.ownSite.server),
    ...findings,
    elapsedSeconds: (performance.now() - begun) / 1000,
  };
  report(results);
  await writeResults(results, directory);
  say(`\n${Math.round(results.elapsedSeconds)} s. Results in ${directory}`);
}

function report(results: Results): void {
  const { outcomes, omitted, failed, profile } = results;
  if (profile !== null) say(`\n${terminalProfile(profile)}`);
  if (outcomes.length > 0) say(`\n${terminalTable(outcomes)}\n`);
  for (const { row, notes } of outcomes) for (const note of notes) say(`${row}: ${note}`);
  for (const reason of omitted) say(`Omitted: ${reason}`);
  for (const reason of failed) say(`Failed: ${reason}`);
  if (!outcomes.every(isMet)) say('Some targets were missed.');
  if (failed.length > 0) process.exitCode = 1;
}

async function prepare(options: Options): Promise<Stage> {
  const needs = (...rows: readonly number[]): boolean => options.rows.some((row) => rows.includes(row));
  say('Starting the embedded PostgreSQL through the service, in live mode.');
  const server = await startEmbeddedServer(resources, { countsStatements: isProfileOnly(options) });
  const { bavail, bsize } = await statfs(server.directory);
  if (!options.quick && needs(10) && bavail * bsize < MAX_DISK_BYTES) {
    throw new Error(
      `row 10 needs ${MAX_DISK_BYTES / 1024 ** 3} GiB of free disk below ${server.directory}; try --quick`,
    );
  }
  say('Creating programs, cards and funding through the API.');
  const seed = await makeSeed(resources, server, { unlimited: needs(6), spread: needs(7, 18) });
  const pgbench = needs(...PGBENCH_ROWS) ? findPgbench() : undefined;
  if (pgbench !== undefined) {
    say('Filling the databases of pgbench.');
    if (needs(1, 23)) await preparePgbench(resources, server, pgbench, 1);
    if (needs(2, 3, 8)) await preparePgbench(resources, server, pgbench, 100);
  }
  const ownSite = needs(12) ? await prepareOwnSite(server.directory) : undefined;
  return { options, resources, server, seed, pgbench, ownSite, say };
}

/** While rows are measured, PostgreSQL does not count statements, because counting would lower the rate. */
function isProfileOnly({ rows, extras }: Options): boolean {
  return rows.length === 0 && extras.includes('profile');
}

async function prepareOwnSite(directory: string): Promise<Site | undefined> {
  const binaries = findOwnPostgres();
  if (binaries === undefined) return undefined;
  say("Starting Debian's PostgreSQL 15.");
  const server = await startOwnServer(resources, binaries, directory);
  return { server, seed: await makeSeed(resources, server, { unlimited: false, spread: false }) };
}
