import type { Stage } from '../../test/faults/stage.ts';
import type { CommitFault } from '../../test/harness/proxy.ts';
import { type Findings, pause, type Setting, Tally } from '../campaign.ts';
import { attackWire, overLedgers } from '../environments/processes/ledgers.ts';
import { hitCommit } from '../nemeses/placement.ts';

/** Enough for several groups to be in flight when a connection is cut. */
const CLIENTS = 96;

/** Cuts per ledger. Its whole books are compared afterwards. */
const CUTS_PER_LEDGER = 500;

const SENT_AGAIN = 400;

/**
 * Cuts before and after COMMIT, equally often, and between the parts of a chained group. Sometimes a server loses its client,
 * or a successful COMMIT is reported as an error.
 */
const KINDS: readonly CommitFault[] = [
  'cut_before',
  'cut_after',
  'cut_before',
  'cut_after',
  'cut_early',
  'cut_early',
  'orphan',
  'deny_after',
];

/** Makes one cut at a time, and waits for the COMMIT that it hits. */
async function feed(
  { proxy }: Stage,
  random: () => number,
  cuts: number,
  report: (kind: CommitFault, made: number, inFlight: number) => void,
): Promise<void> {
  for (let made = 1; made <= cuts; made += 1) {
    const kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'cut_after';
    report(kind, made, await hitCommit(proxy, kind));
    // Lets some commits succeed, so that some transfers are acknowledged normally.
    await pause(random() * 12);
  }
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  await overLedgers(setting, tally, CUTS_PER_LEDGER, async (ledger) => {
    const cut = (stage: Stage, random: () => number): Promise<void> =>
      feed(stage, random, ledger.attacks, (kind, made, inFlight) => {
        tally.add(kind);
        tally.add(`in_flight_${inFlight}`);
        setting.progress(ledger.done + made, `${tally.count('violations')} violations`);
      });
    await attackWire(setting, tally, ledger, { clients: CLIENTS, sentAgain: SENT_AGAIN, run: cut });
  });
  return tally.findings({ clients: CLIENTS });
}
