import type { Stage } from '../../faults/stage.ts';
import type { CommitFault } from '../../harness/proxy.ts';
import { attackWire, overLedgers } from '../ledgers.ts';
import { type Findings, pause, type Row, type Setting, Tally } from '../row.ts';

const CLIENTS = 32;

/** Cuts on one ledger, whose books are then compared whole. */
const CUTS_OF_LEDGER = 500;

const SENT_AGAIN = 400;

/** Before and after in equal parts, and now and then a server that works on for nobody. */
const KINDS: readonly CommitFault[] = ['cut_before', 'cut_after', 'cut_before', 'cut_after', 'orphan'];

/** Lays one cut after the other, each for some COMMIT to come. */
async function feed(
  { proxy }: Stage,
  random: () => number,
  cuts: number,
  report: (kind: CommitFault, made: number) => void,
): Promise<void> {
  for (let made = 1; made <= cuts; made += 1) {
    const kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'cut_after';
    proxy.faults.push(kind);
    const laidAt = performance.now();
    while (proxy.faults.length > 0) {
      await pause(1);
      if (performance.now() - laidAt > 60_000) throw new Error('no COMMIT came for a minute');
    }
    report(kind, made);
    // Some of the commits pass unharmed, or nothing would ever be acknowledged in peace.
    await pause(random() * 12);
  }
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  await overLedgers(setting, tally, CUTS_OF_LEDGER, async (ledger) => {
    const cut = (stage: Stage, random: () => number): Promise<void> =>
      feed(stage, random, ledger.attacks, (kind, made) => {
        tally.add(kind);
        setting.progress(ledger.done + made, `${tally.count('violations')} violations`);
      });
    await attackWire(setting, tally, ledger, { clients: CLIENTS, sentAgain: SENT_AGAIN, run: cut });
  });
  return { figures: { clients: CLIENTS, ...tally.figures() }, violations: tally.violations };
}

/** Connections to the database that are cut just before and just after COMMIT, under load. */
export const COMMIT_CUTS: Row = {
  name: 'commit-cuts',
  unit: 'cuts',
  counts: { small: 200, middle: 1000, large: 10_000 },
  run,
};
