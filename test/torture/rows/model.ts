import fc from 'fast-check';
import { anyStory } from '../../properties/transfer-commands.ts';
import { differenceIn, runStory, simplest, type Tally as Tried } from '../../properties/transfer-run.ts';
import { DOMAIN } from '../../properties/transfer-world.ts';
import { type Findings, pause, type Row, type Setting, Tally } from '../row.ts';

/** Stories per property check: each check has its own seed, so that a failure is quickly reproduced. */
const STORIES = 500;

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  const tried: Tried = new Map();
  for (let done = 0; done < setting.count && !tally.isEnough; ) {
    const seed = setting.seed + done / STORIES;
    const numRuns = Math.min(STORIES, setting.count - done);
    const outcome = fc.check(
      fc.property(anyStory, (story) => runStory(story, DOMAIN, tried)),
      { seed, numRuns },
    );
    if (outcome.failed) {
      const [story] = outcome.counterexample ?? [];
      const shown = story === undefined ? null : differenceIn(simplest(story, DOMAIN), DOMAIN);
      const again = `{ seed: ${seed}, path: '${outcome.counterexamplePath}' }`;
      tally.violate(again, [shown ?? String(outcome.errorInstance)]);
    }
    done += numRuns;
    tally.add('stories', numRuns);
    setting.progress(done);
    // Ctrl-C takes effect between two checks.
    await pause(0);
  }
  const sum = (beginning: string): number =>
    [...tried].reduce((total, [what, count]) => (what.startsWith(beginning) ? total + count : total), 0);
  const figures = { ...tally.figures(), moves: sum('moved '), refusals: sum('refused ') };
  return { figures, violations: tally.violations };
}

/** Random stories against a plain model of transfers, cards and limits. */
export const MODEL: Row = {
  name: 'model',
  unit: 'stories',
  counts: { small: 2000, middle: 20_000, large: 100_000 },
  run,
};
