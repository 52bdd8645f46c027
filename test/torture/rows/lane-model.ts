import fc from 'fast-check';
import { readBooksAt } from '../../crashes/books.ts';
import { connect, openLedger, startServer } from '../../harness/ledger.ts';
import { freezeClock } from '../../properties/lane-ledger.ts';
import { runThroughLane } from '../../properties/lane-run.ts';
import { anyStory } from '../../properties/transfer-commands.ts';
import { countChained, recordHistory } from '../changes/history.ts';
import { type Ledger, overLedgers } from '../ledgers.ts';
import { type Findings, type Row, type Setting, streamOf, Tally } from '../row.ts';

/** Steps on one ledger. */
const STEPS_OF_LEDGER = 10_000;

/** Random stories that run at the same time. */
const BESIDE = 24;

/** The chance that a new lane, with an empty memory, replaces the current one. */
const NEW_LANE = 0.5;

async function tell(setting: Setting, tally: Tally, { number, done, attacks }: Ledger): Promise<void> {
  const server = await startServer();
  const stop = setting.resources.add('the database', server.stop);
  const ledger = openLedger(server.connection);
  const client = await connect(server.connection);
  const random = streamOf(setting.seed, number);
  try {
    await freezeClock(client);
    await recordHistory(client);
    for (let taken = 0; taken < attacks && !tally.isEnough; ) {
      const seed = 1 + Math.floor(random() * 999_999_999);
      const stories = fc.sample(anyStory, { numRuns: BESIDE, seed });
      const { steps, problems } = await runThroughLane(client, ledger, stories, { next: () => random() < NEW_LANE });
      tally.violate(`seed ${seed} of the stories`, problems);
      tally.add('steps', steps);
      tally.add('stories', BESIDE);
      taken += steps;
      setting.progress(done + Math.min(taken, attacks), `${tally.count('violations')} violations`);
    }
    const chained = await countChained(client);
    tally.add('chained', chained);
    if (chained === 0) tally.violate('chains', ['no group was chained: this was no trial of them']);
    const { faults } = await readBooksAt(server.connection, []);
    tally.violate(
      'books',
      Object.entries(faults).map(([what, count]) => `${what}: ${count}`),
    );
  } finally {
    await client.end();
    await ledger.close();
    await stop();
  }
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  await overLedgers(setting, tally, STEPS_OF_LEDGER, (ledger) => tell(setting, tally, ledger));
  return { figures: tally.figures(), violations: tally.violations };
}

/** Random stories through the lane of a real ledger, sent without waiting, against the plain model. */
export const LANE_MODEL: Row = {
  name: 'lane-model',
  unit: 'steps',
  counts: { small: 2_000, middle: 20_000, large: 100_000 },
  run,
};
