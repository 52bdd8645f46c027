import { expect, test } from 'vitest';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { startService, waitFor } from '../harness/process.ts';
import { isThorough } from '../harness/run/ring.ts';
import { readBooks, readTexts } from './books.ts';
import { findContradictions, isKept } from './checker.ts';
import { killPostgres, replaceDatabase } from './killing.ts';
import { Load } from './load.ts';

/** How often the service is killed; before every second time PostgreSQL is too, and with every fifth. More with npm run verify. */
const KILLS = isThorough ? 20 : 2;
/** Where so many have met too little to prove anything, something is wrong. */
const MOST_KILLS = 60;
const CLIENTS = 16;
/** Requests that are sent once more at the end, when the processes that answered them first are long gone. */
const SENT_AGAIN = 500;
const MAX_MILLISECONDS = 900_000;

/** Until every client has got something done on average, however slow the machine is, and a random while longer. */
async function somewhileUnderLoad(load: Load): Promise<void> {
  const { made } = load;
  await waitFor('the load to do something', async () => load.made >= made + CLIENTS);
  await new Promise((wake) => setTimeout(wake, Math.random() * 100));
}

/** Fails on the first difference between the responses that clients got and what the books say. */
async function check(load: Load, path: string, texts?: ReadonlyMap<string, string>): Promise<void> {
  const books = await readBooks(path, load.cards, texts);
  expect(books.faults).toEqual({});
  expect(findContradictions(load.stories, books, load.changes)).toEqual([]);
}

test(
  `${KILLS} kills of the service and PostgreSQL lose nothing, double nothing and change no response`,
  async () => {
    const directory = await ledgerDirectory();
    const environment = { DATA_DIR: directory.path };
    const load = new Load(CLIENTS);
    const recoveries: number[] = [];
    let service = await startService(environment);
    try {
      for (const card_id of load.cards) await service.client.cards.create({ card_id });
      // More kills than that where they met too little, so that what the run was made of never depends on luck.
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

/** Says what the run was made of: a load that did nothing would prove nothing. */
function report(load: Load, recoveries: readonly number[]): void {
  const stories = [...load.stories, ...load.changes];
  const responses = stories.flatMap((story) => story.responses);
  const count = (test: (status: number) => boolean) => responses.filter(({ status }) => test(status)).length;
  const silences = stories.reduce((sum, story) => sum + story.silences, 0);
  const learntLater = stories.filter(({ silences: lost, responses: heard }) => lost > 0 && heard.some(isReplay)).length;
  console.log(
    `kills: ${recoveries.length}, keys: ${stories.length}, responses 201: ${count((status) => status === 201)}, ` +
      `200: ${count((status) => status === 200)}, 409: ${count((status) => status === 409)}, 5xx: ${count((status) => status >= 500)}, ` +
      `lost responses: ${silences}, of them learnt by a replay: ${learntLater}, ` +
      `longest recovery: ${Math.round(Math.max(...recoveries))} ms`,
  );
  expect(isTooLittle(load)).toBe(false);
  expect(stories.every(({ responses: heard }) => heard.some(isKept))).toBe(true);
}

/** Whether the kills have met less than it takes to prove anything: responses of each kind, lost ones, and a reversal. */
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
