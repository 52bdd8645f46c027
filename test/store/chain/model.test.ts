import { expect, test } from 'vitest';
import { readBooksAt } from '../../../verification/checkers/books.ts';
import { freezeClock } from '../../../verification/environments/domain/lane-ledger.ts';
import { runThroughLane } from '../../../verification/environments/domain/lane-run.ts';
import { drawStory } from '../../../verification/environments/domain/run.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const client = await useConnection(server.connection);
await freezeClock(client);

/** The number of stories that run at the same time. */
const BESIDE = 24;

test('returns what the plain model returns for concurrent requests in one lane, in the order of sending', async () => {
  const seed = 1 + Math.floor(Math.random() * 999_999_999);
  const stories = Array.from({ length: BESIDE }, (_, index) => drawStory(seed + index));
  let round = 0;
  const next = (): boolean => {
    round += 1;
    return round % 2 === 0;
  };
  const { steps, problems } = await runThroughLane(client, ledger, stories, { next });
  console.log(`${steps} steps, seed ${seed}`);
  expect(problems, `seed ${seed}`).toEqual([]);
  expect((await readBooksAt(server.connection, [])).faults).toEqual({});
});
