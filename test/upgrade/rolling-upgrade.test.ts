import { expect, test } from 'vitest';
import { Resources } from '../../bench/resources.ts';
import { streamOf, Tally } from '../../verification/campaign.ts';
import { judgeResponses, restartOne } from '../../verification/campaigns/rolling-restart.ts';
import { readBooksAt, readTexts } from '../../verification/checkers/books.ts';
import { findContradictions, findMadeInSilence } from '../../verification/checkers/responses.ts';
import { startFleet } from '../../verification/environments/processes/fleet.ts';
import { Load } from '../../verification/generators/load.ts';
import { startInVain, waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { useDirectory } from '../harness/service.ts';
import { useNextVersion } from './next-version.ts';
import { PLANTED_MIGRATIONS } from './planted.ts';

const { expand, contract } = PLANTED_MIGRATIONS;
const next = await useNextVersion(expand);
const { path } = await useDirectory();
const afterNext = await useNextVersion(expand, contract);

/** The number of transfers before the next step. */
const STEP = 25;

const CLIENTS = 8;

test('this version runs on the schema of the next version, alone and next to it, until it refuses the schema', {
  timeout: 280_000,
}, async () => {
  const resources = new Resources();
  const tally = new Tally();
  try {
    const fleet = await startFleet(resources, 2);
    const settings = { DATABASE_URL: fleet.server.embedded.url };
    const load = new Load(CLIENTS, 'upgrade', streamOf(1));
    await load.makeCards(fleet.process(0));
    load.start(...fleet.urls);
    const goOn = async (what: string): Promise<void> => {
      const before = load.made;
      await waitFor(`transfers ${what}`, async () => load.made >= before + STEP);
    };
    const restartAll = async (main: string | undefined, what: string): Promise<void> => {
      for (const [index] of fleet.urls.entries()) {
        const setting = { seed: 1, count: 2, resources, main, progress: () => undefined, isQuick: true };
        await restartOne(setting, fleet, load, index, tally, `${what}, process ${index}`);
        await goOn(`with process ${index} restarted`);
      }
    };
    const isReady = () =>
      Promise.all(fleet.urls.map(async (url) => (await sendRaw(url, { method: 'GET', path: '/health/ready' })).status));

    await goOn('before the upgrade');
    expect(await next.migrate(settings)).toMatchObject({ exitCode: 0, output: expect.stringContaining(expand.name) });
    await goOn('by this version on the next schema');
    expect(await isReady()).toEqual([200, 200]);
    await restartAll(next.main, 'forward');
    await restartAll(undefined, 'back');
    await load.pause();

    judgeResponses(load, tally, 'the upgrade');
    await load.settle(fleet.urls[0] ?? '', 100);
    const books = await readBooksAt(fleet.server.connection, load.cards, await readTexts(fleet.process(0).client));
    tally.violate('the books', [
      ...findContradictions(load.operations, books),
      ...findMadeInSilence(load.responses, books),
    ]);
    expect(tally.violations).toEqual([]);

    expect(await afterNext.migrate(settings)).toMatchObject({ exitCode: 0 });
    const refused = await startInVain({ ...settings, DATA_DIR: path });
    expect(refused).toMatchObject({
      exitCode: 1,
      errors: expect.stringMatching(/9002_contract\.sql[\s\S]*runbook\/schema-too-new\.md/),
    });
    // A process that is still running must also report this.
    await waitFor('no process to be ready', async () => (await isReady()).every((status) => status === 503));
    await fleet.end();
  } finally {
    await resources.endAll(() => undefined);
  }
});
