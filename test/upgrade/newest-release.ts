// Runs the newest released version and the current one on one ledger. It is part of `npm run verify`, and can also run
// alone:
//
//   node tools/run.mjs test/upgrade/newest-release.ts [--from <commit>] [--kills <number>] [--transfers <number>]

import { parseArgs } from 'node:util';
import { Resources } from '../../bench/resources.ts';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { reportMissing } from '../../tools/command.ts';
import { streamOf, Tally } from '../../verification/campaign.ts';
import { readBooksAt, readTexts } from '../../verification/checkers/books.ts';
import { type Fleet, startFleet } from '../../verification/environments/processes/fleet.ts';
import { Load } from '../../verification/generators/load.ts';
import { runToEnd, temporaryDirectory, waitFor } from '../harness/process.ts';
import { type Arrivals, SENDS_WEBHOOKS, startReceiver, wrongArrivals } from './receiver.ts';
import { findNewestTag, NoRelease, type Release, unpackRelease } from './release.ts';

const CLIENTS = 16;

/** The number of requests that are sent again to each version at the end. */
const SENT_AGAIN = 400;

/**
 * The event type for webhooks in strict order. Such a webhook allows one request in flight, so it gets a rare type.
 */
const STRICT_TYPE = 'reversal.completed';

/** If no event arrives for this many milliseconds, no more events are expected. */
const SILENCE = 60_000;

const NEW = new URL('../../server/main.ts', import.meta.url).pathname;
const NEW_ADMINISTRATION = new URL('../../server/host/administration.ts', import.meta.url).pathname;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const resources = new Resources();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void resources.endAll(say).finally(() => process.exit(130)));
}

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    kills: { type: 'string', default: '4' },
    transfers: { type: 'string', default: '500' },
  },
});
/** The number of transfers in each state of the upgrade, in addition to those during the kills. */
const STEP = Number(values.transfers);

try {
  const release = await unpackRelease(resources, values.from ?? (await findNewestTag()));
  const tally = new Tally();
  await upgradeAndGoBack(release, Number(values.kills), tally);
  for (const violation of tally.violations) say(`VIOLATION  ${violation}`);
  const figures = Object.entries(tally.findings({}).figures).map(([name, value]) => `${name} ${value}`);
  say(`${tally.violations.length === 0 ? 'kept' : 'VIOLATED'}: ${figures.join(', ')}`);
  if (tally.violations.length > 0) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof NoRelease)) throw error;
  reportMissing(error.message);
} finally {
  await resources.endAll(say);
}

/**
 * Runs these versions under load, with kills in each state: the old version, the old version on the new schema, both
 * versions, the new version, both again, and the old version again.
 */
async function upgradeAndGoBack(release: Release, kills: number, tally: Tally): Promise<void> {
  const directory = await temporaryDirectory();
  resources.add('the ledger', directory.remove);
  const embedded = await startEmbeddedPostgres({ dataDirectory: directory.path });
  const server = { connection: embedded.connection, embedded, stop: () => embedded.stop() };
  const fleet = await startFleet(resources, 2, { server, main: release.main, settings: SENDS_WEBHOOKS });
  const webhooks = await createWebhooks(fleet);
  const load = new Load(CLIENTS, 'upgrade', streamOf(1));
  await load.makeCards(fleet.process(0));
  load.start(...fleet.urls);
  const operators = startOperators(fleet);
  const state = async (what: string, mains: readonly string[]): Promise<void> => {
    for (const [index, main] of mains.entries()) await replace(fleet, load, index, main, tally);
    const { made } = load;
    for (let kill = 0; kill < kills; kill += 1) {
      await goOn(load, STEP / Math.max(1, kills));
      await killOne(fleet, load, kill % mains.length, mains[kill % mains.length] ?? NEW, tally);
    }
    await goOn(load, STEP);
    say(`${what}: ${load.made - made} transfers, ${kills} kills, ${tally.violations.length} violations`);
  };
  const { main: old, reference } = release;
  await state(`${reference} on its schema`, [old, old]);
  say(`migrate: ${(await command(NEW_ADMINISTRATION, 'migrate', embedded.url)).trim().replaceAll('\n', ' ')}`);
  await state(`${reference} on the current schema`, [old, old]);
  await state('both versions', [old, NEW]);
  await state('the current version', [NEW, NEW]);
  await state('both versions again', [NEW, old]);
  await state(`${reference} alone again`, [old, old]);
  await operators.stop();
  await load.pause();

  // The release shows records without newer fields.
  let members: readonly string[] | undefined;
  for (const [what, main] of [
    [reference, old],
    ['the current version', NEW],
  ] as const) {
    await replace(fleet, load, 0, main, tally);
    await load.settle(fleet.urls[0] ?? '', SENT_AGAIN);
    const texts = await readTexts(fleet.process(0).client);
    members ??= Object.keys(JSON.parse([...texts.values()][0] ?? '{}'));
    const books = await readBooksAt(embedded.connection, load.cards, texts);
    load.judge(tally, `everything sent again to ${what}`, { ...books, members });
    if (main === NEW) load.count(tally, books);
  }
  const dishonest = load.responses.filter(({ status }) => ![200, 201, 409, 503].includes(status));
  tally.violate(
    'responses',
    dishonest.map(({ status, text }) => `a ${status}: ${text}`),
  );
  const events = await compareReadings(release, fleet, tally);
  for (const webhook of webhooks) await judgeArrivals(webhook, events, tally);
  for (const [what, administration] of [
    [reference, `${release.path}/server/administration.ts`],
    ['present', NEW_ADMINISTRATION],
  ] as const) {
    for (const task of ['verify-books', 'verify-audit'] as const) {
      const output = await command(administration, task, embedded.url);
      const [, entries] = /entries: +([0-9]+)/.exec(output) ?? [];
      if (task === 'verify-audit' && Number(entries) < operators.made)
        tally.violate(what, [`only ${entries} audit entries`]);
    }
  }
  tally.add('changes_by_operators', operators.made);
  await fleet.end();
}

async function goOn(load: Load, transfers: number): Promise<void> {
  const before = load.made;
  await waitFor('transfers', async () => load.made >= before + transfers);
}

/** Stops a process as an operator does, and starts a different version in its slot. */
async function replace(fleet: Fleet, load: Load, index: number, main: string, tally: Tally): Promise<void> {
  load.expectDeath(fleet.urls[index] ?? '');
  const { exitCode } = await fleet.stop(index);
  if (exitCode !== 0) tally.violate('a stop', [`the process ended with ${exitCode}`]);
  await fleet.start(index, main);
  load.redirect(...fleet.urls);
  tally.add('restarts');
}

async function killOne(fleet: Fleet, load: Load, index: number, main: string, tally: Tally): Promise<void> {
  load.expectDeath(fleet.urls[index] ?? '');
  await fleet.process(index).kill();
  await fleet.start(index, main);
  load.redirect(...fleet.urls);
  tally.add('kills');
}

/** Makes changes as an operator, on alternating processes. Each change adds an entry to the audit log. */
function startOperators(fleet: Fleet): { readonly made: number; readonly stop: () => Promise<void> } {
  let isOver = false;
  let made = 0;
  const working = (async () => {
    for (let turn = 0; !isOver; turn += 1) {
      try {
        await fleet
          .process(turn % fleet.urls.length)
          .client.programs.create({ name: `program ${turn}`, currency: 'USD' });
        made += 1;
      } catch {
        // The process was stopped or killed.
      }
      await new Promise((wake) => setTimeout(wake, 100));
    }
  })();
  return {
    get made() {
      return made;
    },
    stop: async () => {
      isOver = true;
      await working;
    },
  };
}

/** Checks that both versions show the same events in the same order, without a gap. */
async function compareReadings(release: Release, fleet: Fleet, tally: Tally): Promise<readonly ReadEvent[]> {
  await replace(fleet, new Load(0), 0, release.main, tally);
  await replace(fleet, new Load(0), 1, NEW, tally);
  const [ofOld = [], ofNew = []] = await Promise.all(
    [0, 1].map((index) => Array.fromAsync(fleet.process(index).client.events.listAll({ after: 0, limit: 100 }))),
  );
  if (ofOld.length === 0 || JSON.stringify(ofOld) !== JSON.stringify(ofNew)) {
    tally.violate('events', [`the versions differ: ${ofOld.length} and ${ofNew.length} events`]);
  }
  const gap = ofNew.findIndex(({ position }, index) => position !== index + 1);
  if (gap !== -1) tally.violate('events', [`position ${gap + 1} is missing`]);
  tally.add('events', ofNew.length);
  return ofNew;
}

type ReadEvent = { readonly position: number; readonly type: string };

type Webhook = { readonly arrivals: Arrivals; readonly after: number; readonly type: string | undefined };

/** Creates one webhook in each order, for all later events of the program. */
function createWebhooks(fleet: Fleet): Promise<readonly Webhook[]> {
  const { client } = fleet.process(0);
  return Promise.all(
    [undefined, STRICT_TYPE].map(async (type) => {
      const arrivals = await startReceiver(resources);
      const { position: after } = await client.events.list({ limit: 1 });
      const order = type === undefined ? {} : ({ order: 'strict', types: [type] } as const);
      await client.webhooks.create({ url: arrivals.url, after, ...order });
      return { arrivals, after, type };
    }),
  );
}

/** Checks that every event arrived at least once. Does not wait for events after the last event that was read. */
async function judgeArrivals(
  { arrivals, after, type }: Webhook,
  events: readonly ReadEvent[],
  tally: Tally,
): Promise<void> {
  const isStrict = type !== undefined;
  const order = isStrict ? 'strict' : 'parallel';
  const wanted = events
    .filter((event) => event.position > after && (type === undefined || event.type === type))
    .map(({ position }) => position);
  for (let before = -1; arrivals.positions.length > before && wrongArrivals(arrivals, wanted, isStrict).length > 0; ) {
    before = arrivals.positions.length;
    const deadline = performance.now() + SILENCE;
    await waitFor('another event', async () => arrivals.positions.length > before || performance.now() > deadline);
  }
  tally.violate(`webhook in ${order} order`, wrongArrivals(arrivals, wanted, isStrict));
  tally.add(`sent_${order}`, arrivals.positions.length);
  tally.add(`sent_again_${order}`, arrivals.positions.length - new Set(arrivals.positions).size);
}

/** Runs a host command of either version. Throws if it fails. */
async function command(administration: string, task: string, url: string): Promise<string> {
  const { exitCode, output, errors } = await runToEnd([administration, task], { DATABASE_URL: url });
  if (exitCode !== 0) throw new Error(`${administration} ${task} ended with ${exitCode}: ${errors}${output}`);
  return output;
}
