import { expect, test } from 'vitest';
import { readBooks, readTexts } from '../../verification/checkers/transfers/books.ts';
import { findContradictions, findMadeInSilence } from '../../verification/checkers/transfers/checker.ts';
import { watchLateness } from '../../verification/checkers/transfers/lateness.ts';
import { Load } from '../../verification/generators/load.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { embeddedServerOf, isRunning, startService } from '../harness/process.ts';

const CLIENTS = 16;

/** In milliseconds. A closing service assumes that its callers are gone after twice this time without requests. */
const MAX_LATENESS = 50;

test('answers every accepted request after SIGTERM under load and loses nothing acknowledged', async () => {
  const directory = await ledgerDirectory();
  const environment = { DATA_DIR: directory.path };
  const load = new Load(CLIENTS);
  let service = await startService(environment);
  try {
    for (const card_id of load.cards) await service.client.cards.create({ card_id });
    load.start(service.url);
    const enough = () => load.stories.length > 500;
    while (!enough()) await new Promise((wake) => setTimeout(wake, 10));
    const { processId } = await embeddedServerOf(directory.path);
    const stoppedAt = performance.now();
    const watch = watchLateness();
    const exitCode = await service.stop();
    const seconds = (performance.now() - stoppedAt) / 1000;
    await load.pause();
    const lateness = watch.end();
    const isThere = await isRunning(processId);
    expect({ exitCode, isThere }).toEqual({ exitCode: 0, isThere: false });
    // Each response of a closing service closes its connection, so no client sends a request on a kept connection. A client
    // that did not run in time may send a request after the service closed its connection. HTTP/1.1 cannot prevent that.
    if (lateness < MAX_LATENESS) expect(load.brokenConnections).toBe(0);
    const histories = [...load.stories, ...load.changes];
    const responses = histories.flatMap((story) => story.responses);
    expect(responses.filter(({ status }) => ![200, 201, 409, 503].includes(status))).toEqual([]);
    for (const { text, moneyMoved } of responses.filter(({ status }) => status === 503)) {
      expect(JSON.parse(text)).toMatchObject({ Status: 503, Code: 'service_unavailable', Type: 'Server Error' });
      expect(moneyMoved).toBe('no');
    }
    console.log(
      `stopped in ${seconds.toFixed(1)} s; responses: ${responses.length}, 503: ` +
        `${responses.filter(({ status }) => status === 503).length}, unanswered: ` +
        `${histories.reduce((sum, { silences }) => sum + silences, 0)}`,
    );
    service = await startService(environment);
    const { faults, ...books } = await readBooks(directory.path, load.cards, await readTexts(service.client));
    expect(faults).toEqual({});
    expect(findContradictions(load.stories, books, load.changes)).toEqual([]);
    expect(findMadeInSilence(responses, books)).toEqual([]);
    expect(await service.stop()).toBe(0);
  } finally {
    await service.stop();
    await directory.remove();
  }
});
