import type { CommitFault } from '../../test/harness/proxy.ts';
import { type Findings, pause, type Setting } from '../campaign.ts';
import { attackWire } from '../environments/processes/ledgers.ts';
import { hitCommit } from '../nemeses/placement.ts';

/** The number of cuts per ledger. The whole ledger is compared afterwards. */
const CUTS_PER_LEDGER = 500;

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
export function run(setting: Setting): Promise<Findings> {
  return attackWire(setting, {
    perLedger: CUTS_PER_LEDGER,
    run: async ({ proxy }, { done, attacks }, tally, random) => {
      for (let made = 1; made <= attacks; made += 1) {
        const kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'cut_after';
        tally.add(kind);
        tally.add(`in_flight_${await hitCommit(proxy, kind)}`);
        setting.progress(done + made, `${tally.count('violations')} violations`);
        // Lets some commits succeed, so that some transfers are acknowledged normally.
        await pause(random() * 12);
      }
    },
  });
}
