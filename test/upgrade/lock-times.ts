// Measures how long migrations delay requests on a large ledger. It is part of `npm run verify`, and can also run alone:
//
//   node tools/run.mjs test/upgrade/lock-times.ts [--from <commit>] [--transfers <number>]

import { parseArgs } from 'node:util';
import type { Options } from '../../bench/command-line.ts';
import type { DatabaseServer } from '../../bench/ledger/server.ts';
import { Resources } from '../../bench/resources.ts';
import type { Stage } from '../../bench/stage.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { type Migration, readMigrations, toMigration } from '../../server/store/migrations/migration-files.ts';
import { reportMissing } from '../../tools/command.ts';
import { type Pauses, type Requests, startRequests } from './pauses.ts';
import { findNewestTag, NoRelease, type Release, unpackRelease } from './release.ts';
import { watchLocks } from './watch-locks.ts';

/** The longest allowed delay, in milliseconds. */
const MOST = 500;

/**
 * How long requests run before the first migration, in milliseconds. This period shows the longest pauses of this
 * machine.
 */
const BEFORE = 10_000;

/** How long requests run after each migration, in milliseconds. */
const AFTER = 2000;

/** A migration that holds a lock for too long. The measurement must find it. */
const CONTROL = toMigration(
  '9999_control.sql',
  `lock table transfer in exclusive mode; select pg_sleep(${(1.4 * MOST) / 1000});`,
);

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const pause = (milliseconds: number) => new Promise((wake) => setTimeout(wake, milliseconds));
const resources = new Resources();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void resources.endAll(say).finally(() => process.exit(130)));
}

const { values } = parseArgs({
  options: { from: { type: 'string' }, transfers: { type: 'string', default: '5000000' } },
});
try {
  const release = await unpackRelease(resources, values.from ?? (await findNewestTag()));
  const newer = (await readMigrations()).filter(({ name }) => !release.migrations.includes(name));
  say(`The newest released version is ${release.reference}, with ${release.migrations.at(-1)}.`);
  if (newer.length === 0) say('No migration is newer: there is nothing to measure.');
  else if (!(await measure(release, newer, Number(values.transfers)))) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof NoRelease)) throw error;
  reportMissing(error.message);
} finally {
  await resources.endAll(say);
}

/**
 * Fills a ledger with the released version. Requests run against that version while the migrations are applied one by
 * one.
 */
async function measure(release: Release, newer: readonly Migration[], transfers: number): Promise<boolean> {
  const { stage, ledger, service } = await fillLedger(release, transfers);
  const { server, seed } = stage;
  const { cardName } = await release.load<typeof import('../../bench/load/traffic.ts')>('bench/load/traffic.ts');
  const requests = startRequests(service.url, seed.hot.key, (number) => cardName(1 + (number % 1000)));
  await pause(BEFORE);
  const quiet = requests.take();
  say(
    `Without a migration: ${perSecond(quiet.succeeded, BEFORE)} transfers/s, longest pause ${ms(quiet.pause)}, ` +
      `slowest response ${ms(quiet.slowest)}.`,
  );
  const migrations = await readMigrations();
  const measured = { server, database: ledger.database, requests, quiet };
  let isRight = true;
  for (const migration of newer) {
    const upToIt = migrations.slice(0, migrations.findIndex(({ name }) => name === migration.name) + 1);
    isRight = (await applyOne(measured, migration, upToIt)) && isRight;
  }
  say('Negative control, a migration that holds a lock for too long:');
  const isFound = !(await applyOne(measured, CONTROL, [...migrations, CONTROL]));
  if (!isFound) say('NOT FOUND: this measurement misses long locks.');
  await requests.stop();
  await service.stop();
  const books = await release.load<typeof import('../../bench/ledger/books.ts')>('bench/ledger/books.ts');
  await books.examineBooks(server, ledger.database, transfers);
  say(`The books of ${transfers} transfers and those since balance. The longest allowed time is ${MOST} ms.`);
  return isRight && isFound;
}

type Measured = {
  readonly server: DatabaseServer;
  readonly database: string;
  readonly requests: Requests;
  /** The requests while no migration runs. */
  readonly quiet: Pauses;
};

/** Applies a migration under load and prints the delays. Returns whether they are short enough. */
async function applyOne(
  { server, database, requests, quiet }: Measured,
  migration: Migration,
  upToIt: readonly Migration[],
): Promise<boolean> {
  const { host, port } = server;
  const client = await server.connect(database);
  const stop = await watchLocks(client);
  requests.take();
  let tries = 1;
  const onWait = (): void => {
    tries += 1;
  };
  const started = performance.now();
  await migrate({ host, port, user: 'transfer_service', database }, { migrations: upToIt, onWait });
  const took = performance.now() - started;
  await pause(AFTER);
  const { held, waited } = await stop();
  await client.end();
  const { pause: longest, slowest, failures } = requests.take();
  // A busy machine also pauses without a migration.
  const isSlow = Math.max(held.milliseconds, waited.milliseconds) > MOST || longest > Math.max(MOST, quiet.pause);
  say(
    `${isSlow ? 'TOO SLOW' : 'ok      '}  ${migration.name}: took ${ms(took)} in ${tries} attempts; locks held at most ` +
      `${ms(held.milliseconds)} (${held.table}), waited for at most ${ms(waited.milliseconds)} (${waited.table}); ` +
      `longest pause of requests ${ms(longest)}, slowest response ${ms(slowest)}`,
  );
  for (const failure of failures.slice(0, 3)) say(`FAILED    a request during ${migration.name}: ${failure}`);
  return !isSlow && failures.length === 0;
}

/** Fills a ledger with the modules of the released version, which work with its own code and schema. */
async function fillLedger(release: Release, transfers: number) {
  const servers = await release.load<typeof import('../../bench/ledger/server.ts')>('bench/ledger/server.ts');
  const seeds = await release.load<typeof import('../../bench/ledger/seed.ts')>('bench/ledger/seed.ts');
  const ledgers = await release.load<typeof import('../../bench/ledger/ledger.ts')>('bench/ledger/ledger.ts');
  const { Fill } = await release.load<typeof import('../../bench/ledger/fill.ts')>('bench/ledger/fill.ts');
  const server = await servers.startEmbeddedServer(resources);
  const seed = await seeds.makeSeed(resources, server, { unlimited: false, spread: false });
  const stored = { transfers, cards: Math.max(2000, Math.min(1_000_000, transfers / 5)) };
  const options = { stored } as Options;
  const given: Stage = { server, seed, options, resources, pgbench: undefined, ownSite: undefined, say };
  // Version 0.1.0 uses a different name for the resources.
  const stage = { ...given, belongings: resources };
  const ledger = await ledgers.createLedger(stage);
  const started = performance.now();
  const fill = new Fill(stage, ledger);
  await fill.addCards();
  await fill.fillUpTo(transfers);
  say(`Filled with ${stored.cards} cards and ${transfers} transfers in ${ms(performance.now() - started)}.`);
  const service = await ledgers.serve(stage, ledger);
  return { stage, ledger, service: { ...service, url: service.traffic.url } };
}

function ms(milliseconds: number): string {
  return milliseconds < 10_000 ? `${Math.round(milliseconds)} ms` : `${Math.round(milliseconds / 1000)} s`;
}

function perSecond(count: number, milliseconds: number): number {
  return Math.round((count * 1000) / milliseconds);
}
