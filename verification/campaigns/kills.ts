import type { Findings, Setting } from '../campaign.ts';
import { killUnderLoad } from '../environments/processes/killed-ledgers.ts';

/** The number of clients, enough for several groups to be in flight when something is killed. */
const CLIENTS = 96;
const QUICK_CLIENTS = 16;

/** After twelve kills, a comparison of the books costs about as much as starting the next ledger. */
const KILLS_PER_LEDGER = 12;

/**
 * The average number of transfers per kill, for more than 500,000 in 1,000 kills, and the minimum between two kills.
 */
const BETWEEN_KILLS = 510;
const LEAST_BETWEEN = 100;
const QUICK_LEAST_BETWEEN = 20;

export function run(setting: Setting): Promise<Findings> {
  const isQuick = setting.isQuick === true;
  return killUnderLoad(setting, {
    maxRecovery: 5_000,
    work: {
      clients: isQuick ? QUICK_CLIENTS : CLIENTS,
      callers: 0,
      killsPerLedger: KILLS_PER_LEDGER,
      sentAgain: 400,
      transfersUntil: (kill, made) =>
        isQuick ? made + QUICK_LEAST_BETWEEN : Math.max(kill * BETWEEN_KILLS, made + LEAST_BETWEEN),
      // Clients of both services break each other's chains. With one service, a chain lasts until a kill.
      urlsFor: (ledger, kill, urls) => (ledger % 2 === 0 ? urls : urls.slice(kill % 2).slice(0, 1)),
    },
  });
}
