import { readBooksAt } from '../crashes/books.ts';
import { Load } from '../crashes/load.ts';
import { openStage, type Stage, untilAtRest } from '../faults/stage.ts';
import type { TrapPlace } from '../harness/proxy.ts';
import {
  answersOf,
  brokenRecordsIn,
  contradictionsIn,
  makeCards,
  silencesOf,
  tallyLoad,
  untilAtWork,
} from './loads.ts';
import { type Findings, pause, type Row, type Setting, streamOf, Tally } from './row.ts';

const CLIENTS = 24;

const FAULTS_OF_LEDGER = 100;

const SENT_AGAIN = 200;

/** Back to normal after healing, in milliseconds at most. */
const HEALED = 10_000;

const PLACES: readonly TrapPlace[] = ['during_load', 'after_commit'];

/** A way in which a network is bad; `spoil` ends when it has been long enough. */
type Fault = { readonly name: string; readonly spoil: (stage: Stage, random: () => number) => Promise<void> };

const FAULTS: readonly Fault[] = [
  {
    name: 'latency',
    spoil: async ({ proxy }, random) => {
      proxy.delayBy(5 + random() * 400);
      await pause(300 + random() * 900);
      proxy.delayBy(0);
    },
  },
  {
    name: 'reset',
    spoil: async ({ proxy }, random) => {
      for (let cut = 0; cut < 1 + random() * 5; cut += 1) {
        proxy.cutAll();
        await pause(random() * 80);
      }
    },
  },
  {
    name: 'refused',
    spoil: async ({ proxy }, random) => {
      await proxy.listen(false);
      proxy.cutAll();
      await pause(random() * 800);
      await proxy.listen(true);
    },
  },
  {
    // Bytes that a network has swallowed never come later on the same connection: healed, it is a new one.
    name: 'black_hole',
    spoil: async ({ proxy }, random) => {
      proxy.mute(true);
      await pause(200 + random() * (random() < 0.2 ? 5_000 : 800));
      proxy.mute(false);
      proxy.cutAll();
    },
  },
  {
    name: 'slices',
    spoil: async ({ proxy }, random) => {
      proxy.slice(true);
      await pause(200 + random() * 600);
      proxy.slice(false);
    },
  },
  {
    // The server gets everything and answers, and nothing of that ever gets back.
    name: 'half_open',
    spoil: async ({ proxy }, random) => {
      for (let trap = 0; trap < 1 + random() * 3; trap += 1) {
        const at = PLACES[Math.floor(random() * PLACES.length)] ?? 'after_commit';
        proxy.traps.push({ at, spring: () => 'swallow' });
      }
      await pause(200 + random() * 600);
      proxy.traps.length = 0;
    },
  },
];

async function spoilLedger(setting: Setting, tally: Tally, ledger: number, faults: number): Promise<void> {
  const stage = await openStage();
  const end = setting.belongings.add('the stage', () => stage.end());
  try {
    const random = streamOf(setting.seed, ledger, 1);
    const load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(setting.seed, ledger, 2));
    const { url } = stage.service();
    await makeCards(load, stage.service());
    load.start(url);
    for (let at = 1; at <= faults; at += 1) {
      const fault = FAULTS[Math.floor(random() * FAULTS.length)];
      if (fault === undefined) continue;
      await fault.spoil(stage, random);
      tally.add(fault.name);
      const healing = await untilAtWork(url);
      tally.time('healing', healing);
      if (healing > HEALED) tally.violate(`fault ${ledger * FAULTS_OF_LEDGER + at}`, [`${fault.name}: ${healing} ms`]);
      await pause(random() * 150);
      setting.progress(ledger * FAULTS_OF_LEDGER + at, `${tally.count('violations')} violations`);
    }
    await load.pause();
    await check(stage, load, tally, `ledger ${ledger}`);
    await load.settle(url, SENT_AGAIN);
    tallyLoad(tally, load, await check(stage, load, tally, `ledger ${ledger}, everything sent again`));
  } finally {
    await end();
  }
}

async function check(stage: Stage, load: Load, tally: Tally, where: string) {
  await untilAtRest(stage);
  const books = await readBooksAt(stage.server.connection, load.cards);
  tally.violate(where, contradictionsIn(load, books));
  tally.violate(
    where,
    brokenRecordsIn(answersOf(load)).map((text) => `no error record: ${text}`),
  );
  const silences = silencesOf(load);
  if (silences > 0) tally.violate(where, [`${silences} requests had no answer, and the service was there`]);
  return books;
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  for (let ledger = 0; ledger * FAULTS_OF_LEDGER < setting.count && !tally.isEnough; ledger += 1) {
    await spoilLedger(setting, tally, ledger, Math.min(FAULTS_OF_LEDGER, setting.count - ledger * FAULTS_OF_LEDGER));
  }
  return { figures: { clients: CLIENTS, ...tally.figures() }, violations: tally.violations };
}

/** A bad network between the service and its database, under load. */
export const PROXY_FAULTS: Row = {
  name: 'proxy-faults',
  unit: 'faults',
  counts: { small: 50, middle: 200, large: 2000 },
  run,
};
