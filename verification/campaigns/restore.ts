import { join } from 'node:path';
import { embeddedServerOf, startService, temporaryDirectory } from '../../test/harness/process.ts';
import { type Findings, pause, type Setting, streamOf, Tally } from '../campaign.ts';
import { readBooks, readTexts } from '../checkers/books.ts';
import { isCreation, isDone } from '../checkers/history.ts';
import { booksOf, findContradictions } from '../checkers/responses.ts';
import { copyRunning } from '../environments/processes/physical-copy.ts';
import { Load } from '../generators/load.ts';

const CLIENTS = 24;

/** How long the load before the backup runs, in milliseconds. A second load runs from a quarter of this time before the backup to a
 * quarter after it. */
const LOAD_TIME = { usual: 2_000, quick: 500 } as const;

async function backUp(dataDirectory: string, target: string): Promise<void> {
  const { databaseUrl } = await embeddedServerOf(dataDirectory);
  const superuser = { connectionString: databaseUrl.replace('transfer_service@', 'postgres@') };
  await copyRunning(superuser, join(dataDirectory, 'postgresql'), target);
}

async function backUpAndRestore(setting: Setting, tally: Tally, round: number): Promise<void> {
  const [original, copy] = [await temporaryDirectory(), await temporaryDirectory()];
  const removeOriginal = setting.resources.add('the ledger', original.remove);
  const removeCopy = setting.resources.add('the restored ledger', copy.remove);
  const before = new Load(CLIENTS, 'before', streamOf(setting.seed, round, 1));
  const during = new Load(CLIENTS, 'during', streamOf(setting.seed, round, 2));
  const loadTime = setting.isQuick === true ? LOAD_TIME.quick : LOAD_TIME.usual;
  const service = await startService({ DATA_DIR: original.path, LOG_LEVEL: 'silent' });
  const stop = setting.resources.add('the service', async () => void (await service.stop()));
  await before.makeCards(service);
  before.start(service.url);
  await pause(loadTime);
  await before.pause();
  await before.settle(service.url, 0);
  during.start(service.url);
  await pause(loadTime / 4);
  const firstHalf = new Set(
    during.operations.filter((each) => isCreation(each) && each.responses.some(isDone)).map(({ key }) => key),
  );
  const begun = performance.now();
  await backUp(original.path, join(copy.path, 'postgresql'));
  tally.time('backup', performance.now() - begun);
  await pause(loadTime / 4);
  await during.pause();
  await stop();
  await removeOriginal();

  const started = performance.now();
  const restored = await startService({ DATA_DIR: copy.path, LOG_LEVEL: 'silent' });
  const stopRestored = setting.resources.add('the restored service', async () => void (await restored.stop()));
  tally.time('restore', performance.now() - started);
  await judge(tally, `round ${round}`, copy.path, before, async () => {
    const { balanced, differing_holds } = await restored.client.trialBalance.get();
    if (!balanced || differing_holds !== 0) tally.violate(`round ${round}`, ['the trial balance is not zero']);
    return readTexts(restored.client);
  });
  const kept = new Set((await readBooks(copy.path, before.cards)).transfers.map(({ key }) => key));
  const lost = [...firstHalf].filter((key) => !kept.has(key));
  tally.violate(
    `round ${round}`,
    lost.map((key) => `lost: ${key} was acknowledged before the backup began`),
  );
  tally.add('transfers_before', before.operations.filter(isCreation).length);
  tally.add('transfers_during', [...kept].filter((key) => key.startsWith('during')).length);
  // Requests from before the backup are sent again. They must return their original response and move no money.
  await before.settle(restored.url, Number.MAX_SAFE_INTEGER);
  await judge(tally, `round ${round}, everything sent again`, copy.path, before, () => readTexts(restored.client));
  await stopRestored();
  await removeCopy();
}

/** Compares the responses from before the backup with the restored books. */
async function judge(
  tally: Tally,
  where: string,
  path: string,
  load: Load,
  read: () => Promise<ReadonlyMap<string, string>>,
): Promise<void> {
  const books = await readBooks(path, load.cards, await read());
  tally.violate(where, findContradictions(load.operations, booksOf('before', books)));
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  for (let round = 1; round <= setting.count && !tally.isFull; round += 1) {
    await backUpAndRestore(setting, tally, round);
    setting.progress(round);
  }
  return tally.findings({ clients: CLIENTS });
}
