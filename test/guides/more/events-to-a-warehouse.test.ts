import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { waitFor } from '../../harness/process.ts';
import { useDirectory } from '../../harness/service.ts';
import { useTroubledService } from '../../sdk/troubled-service.ts';
import { GuideRunner, readListings } from '../guide-runner.ts';

const GUIDE = resolve(import.meta.dirname, '../../../docs/events-to-a-warehouse.md');
const listings = readListings(readFileSync(GUIDE, 'utf8'));

const service = await useTroubledService();
const { path: folder } = await useDirectory();

/** How many times the test kills the loop, in addition to stopping the service. */
const KILLS = 15;

/** Returns the positions in the files that the loop has written, in the order of the files. */
function handedOver(): readonly number[] {
  const files = existsSync(join(folder, 'events')) ? readdirSync(join(folder, 'events')) : [];
  const complete = files
    .filter((file) => file.endsWith('.jsonl'))
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  return complete.flatMap((file) =>
    readFileSync(join(folder, 'events', file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { position: number }).position),
  );
}

test("the guide's loop hands over every event once, even if the loop and the service are killed often", async () => {
  const commands = listings.filter(({ kind }) => kind === 'command');
  expect(commands).toMatchObject([{ command: 'node pull.mjs', shown: [] }]);
  const start = async (): Promise<GuideRunner> => {
    const runner = new GuideRunner(folder, { TRANSFER_SERVICE_URL: service.url });
    for (const listing of listings) if (listing.kind === 'file') runner.save(listing.name, listing.text);
    runner.start(`${process.execPath} pull.mjs`);
    return runner;
  };
  const isTroubled = service.goThroughTrouble();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = handedOver().length;
    const runner = await start();
    // The loop hands over nothing while the service is down.
    await waitFor('the loop to hand over events', async () => handedOver().length > before + kill);
    await runner.end('SIGKILL');
  }
  const runner = await start();
  await isTroubled;
  const last = await service.settle();
  await waitFor('the loop to hand over the last event', async () => (handedOver().at(-1) ?? 0) >= last);
  await runner.end('SIGKILL');
  const positions = handedOver();
  expect(positions).toEqual(positions.map((_, index) => index + 1));
});
