import { readBooksAt } from '../crashes/books.ts';
import { Load } from '../crashes/load.ts';
import { openStage, type Stage, untilAtRest } from '../faults/stage.ts';
import type { CommitFault } from '../harness/proxy.ts';
import { answersOf, brokenRecordsIn, contradictionsIn, makeCards, silencesOf, tallyLoad } from './loads.ts';
import { type Findings, pause, type Row, type Setting, streamOf, Tally } from './row.ts';

const CLIENTS = 32;

/** Cuts on one ledger, whose books are then compared whole. */
const CUTS_OF_LEDGER = 500;

const SENT_AGAIN = 400;

/** Before and after in equal parts, and now and then a server that works on for nobody. */
const KINDS: readonly CommitFault[] = ['cut_before', 'cut_after', 'cut_before', 'cut_after', 'orphan'];

async function cutThrough(setting: Setting, tally: Tally, ledger: number, cuts: number): Promise<void> {
  const stage = await openStage();
  const end = setting.belongings.add('the stage', () => stage.end());
  try {
    const random = streamOf(setting.seed, ledger, 1);
    const load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(setting.seed, ledger, 2));
    await makeCards(load, stage.service());
    load.start(stage.service().url);
    await feed(stage, random, cuts, (kind, made) => {
      tally.add(kind);
      setting.progress(ledger * CUTS_OF_LEDGER + made, `${tally.count('violations')} violations`);
    });
    await load.pause();
    await check(stage, load, tally, `ledger ${ledger}`);
    await load.settle(stage.service().url, SENT_AGAIN);
    tallyLoad(tally, load, await check(stage, load, tally, `ledger ${ledger}, everything sent again`));
  } finally {
    await end();
  }
}

/** Lays one cut after the other, each for some COMMIT to come. */
async function feed(
  { proxy }: Stage,
  random: () => number,
  cuts: number,
  told: (kind: CommitFault, made: number) => void,
): Promise<void> {
  for (let made = 1; made <= cuts; made += 1) {
    const kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'cut_after';
    proxy.faults.push(kind);
    const laidAt = performance.now();
    while (proxy.faults.length > 0) {
      await pause(1);
      if (performance.now() - laidAt > 60_000) throw new Error('no COMMIT came for a minute');
    }
    told(kind, made);
    // Some of the commits pass unharmed, or nothing would ever be acknowledged in peace.
    await pause(random() * 12);
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
  for (let ledger = 0; ledger * CUTS_OF_LEDGER < setting.count && !tally.isEnough; ledger += 1) {
    await cutThrough(setting, tally, ledger, Math.min(CUTS_OF_LEDGER, setting.count - ledger * CUTS_OF_LEDGER));
  }
  return { figures: { clients: CLIENTS, ...tally.figures() }, violations: tally.violations };
}

/** Connections to the database that are cut just before and just after COMMIT, under load. */
export const COMMIT_CUTS: Row = {
  name: 'commit-cuts',
  unit: 'cuts',
  counts: { small: 200, middle: 1000, large: 10_000 },
  run,
};
