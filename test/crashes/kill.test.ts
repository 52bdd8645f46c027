import { expect, test } from 'vitest';
import { readBooks, readTexts } from '../../verification/checkers/transfers/books.ts';
import { findContradictions, isKept } from '../../verification/checkers/transfers/checker.ts';
import { Load } from '../../verification/generators/load.ts';
import { killPostgres, replaceDatabase } from '../../verification/nemeses/killing.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { startService, waitFor } from '../harness/process.ts';
import { isThorough } from '../harness/run/ring.ts';

/** The number of kills of the service. PostgreSQL is killed before every second kill and together with every fifth. */
const KILLS = isThorough ? 20 : 2;
/** The maximum number of kills if they have not interrupted enough requests to prove anything. */
const MOST_KILLS = 60;
const CLIENTS = 16;
/** The number of requests repeated at the end, when the processes that first answered them no longer exist. */
const SENT_AGAIN = 500;
const MAX_MILLISECONDS = 900_000;

/** Waits until the load has made one transfer per client on average, then up to 100 ms more. */
async function somewhileUnderLoad(load: Load): Promise<void> {
  const { made } = load;
  await waitFor('transfers of the load', async () => load.made >= made + CLIENTS);
  await new Promise((wake) => setTimeout(wake, Math.random() * 100));
}

/** Fails if the books have a fault or contradict the responses that clients received. */
async function check(load: Load, path: string, texts?: ReadonlyMap<string, string>): Promise<void> {
  const books = await readBooks(path, load.cards, texts);
  expect(books.faults).toEqual({});
  expect(findContradictions(load.stories, books, load.changes)).toEqual([]);
}

test(
  `${KILLS} kills of the service and PostgreSQL lose no transfer, double none and change no response`,
  async () => {
    const directory = await ledgerDirectory();
    const environment = { DATA_DIR: directory.path };
    const load = new Load(CLIENTS);
    const recoveries: number[] = [];
    let service = await startService(environment);
    try {
      for (const card_id of load.cards) await service.client.cards.create({ card_id });
      // More kills follow if they have interrupted too few requests, so the result does not depend on luck.
      for (let kill = 1; kill <= KILLS || (isTooLittle(load) && kill <= MOST_KILLS); kill += 1) {
        load.start(service.url);
        await somewhileUnderLoad(load);
        if (kill % 2 === 0) {
          recoveries.push(await replaceDatabase(service, directory.path, kill % 4 === 0));
          await somewhileUnderLoad(load);
        }
        if (kill % 5 === 0) await killPostgres(directory.path, true);
        load.expectDeath(service.url);
        await service.kill();
        await load.pause();
        const killedAt = performance.now();
        service = await startService(environment);
        recoveries.push(performance.now() - killedAt);
        await check(load, directory.path);
      }
      await load.settle(service.url, SENT_AGAIN);
      await check(load, directory.path, await readTexts(service.client));
      expect((await service.client.trialBalance.get()).balanced).toBe(true);
      expect(load.unansweredByTheLiving).toBe(0);
      report(load, recoveries);
      expect(await service.stop()).toBe(0);
    } finally {
      await service.stop();
      await directory.remove();
    }
  },
  MAX_MILLISECONDS,
);

/** Prints the figures of the run, and fails if the load did too little to prove anything. */
function report(load: Load, recoveries: readonly number[]): void {
  const stories = [...load.stories, ...load.changes];
  const responses = stories.flatMap((story) => story.responses);
  const count = (test: (status: number) => boolean) => responses.filter(({ status }) => test(status)).length;
  const silences = stories.reduce((sum, story) => sum + story.silences, 0);
  const learntLater = stories.filter(({ silences: lost, responses: heard }) => lost > 0 && heard.some(isReplay)).length;
  console.log(
    `kills: ${recoveries.length}, keys: ${stories.length}, responses 201: ${count((status) => status === 201)}, ` +
      `200: ${count((status) => status === 200)}, 409: ${count((status) => status === 409)}, 5xx: ${count((status) => status >= 500)}, ` +
      `lost responses: ${silences}, recovered by a replay: ${learntLater}, ` +
      `longest recovery: ${Math.round(Math.max(...recoveries))} ms`,
  );
  expect(isTooLittle(load)).toBe(false);
  expect(stories.every(({ responses: heard }) => heard.some(isKept))).toBe(true);
}

/** Whether the run lacks responses of some kind, lost responses or a reversal, and so proves too little. */
function isTooLittle(load: Load): boolean {
  const stories = [...load.stories, ...load.changes];
  const responses = stories.flatMap((story) => story.responses);
  const count = (wanted: number) => responses.filter(({ status }) => status === wanted).length;
  const silences = stories.reduce((sum, story) => sum + story.silences, 0);
  const reversed = load.changes.filter(({ change }) => change.verb === 'reverse');
  const isReversed = reversed.some(({ responses: heard }) => heard.some(({ status }) => status === 201));
  const isEnough = count(201) > KILLS * CLIENTS && count(200) > KILLS && count(409) > 0 && silences > KILLS;
  return !isEnough || !isReversed;
}

function isReplay({ replayed }: { readonly replayed: boolean }): boolean {
  return replayed;
}
