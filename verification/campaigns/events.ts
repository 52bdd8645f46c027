import type { Findings, Setting } from '../campaign.ts';
import { checkAcknowledged } from '../checkers/events/checker.ts';
import { ALL_BY_NUMBER } from '../checkers/events/history.ts';
import { Consumers } from '../environments/processes/consumers.ts';
import {
  type Attended,
  type KilledLedger,
  killUnderLoad,
  type Work,
} from '../environments/processes/killed-ledgers.ts';
import type { TwoSettings } from '../environments/processes/services.ts';
import { Reader, type Source } from '../generators/events/readers.ts';

/** Enough load to form groups with several programs, and to keep two relays busy. */
const WORK: Work = {
  ...{ clients: 32, callers: 8, killsPerLedger: 10, sentAgain: 100 },
  transfersUntil: (_, made) => made + 150,
};

const WRONG_CLOCK = new URL('../../test/harness/wrong-clock.ts', import.meta.url).href;

/**
 * One service's clock is an hour slow, correct, or an hour fast, in turn, because the order of events must not depend
 * on a clock.
 */
function settings(ledger: number): TwoSettings {
  const hours = (ledger % 3) - 1;
  if (hours === 0) return {};
  return { ofSecond: { NODE_OPTIONS: `--import=${WRONG_CLOCK}`, WRONG_CLOCK_HOURS: String(hours) } };
}

async function attend({ tally, services, programs, callers }: KilledLedger): Promise<Attended> {
  const addresses = (): readonly string[] => services.urls;
  const transfers = { name: 'transfers of the first program', programId: programs.demo, type: 'transfer.*' };
  const sources: readonly Source[] = [
    { name: 'the first program', programId: programs.demo },
    { name: 'the second program', programId: programs.other },
    { name: 'all programs', programId: undefined },
  ];
  const readers = [
    ...sources.flatMap((source, turn) => [
      new Reader('pull', source, addresses, turn),
      new Reader('stream', source, addresses, turn + 1),
    ]),
    new Reader('pull', transfers, addresses, 1),
  ];
  const connection = { connectionString: services.databaseUrl };
  const consumers = new Consumers({ tally, connection: () => connection, programs, readers, caughtUpWithin: 30_000 });
  const checkEnd = async (where: string): Promise<void> => {
    const timelines = await consumers.checkEnd(where, services.urls);
    const acknowledged = callers.map((caller) => caller.acknowledged);
    tally.violate(where, checkAcknowledged(acknowledged, timelines.get(ALL_BY_NUMBER) ?? []));
    tally.add('acknowledged_of_callers', acknowledged.flat().length);
  };
  return { consumers, checkEnd };
}

export function run(setting: Setting): Promise<Findings> {
  return killUnderLoad(setting, { work: WORK, settings, attend });
}
