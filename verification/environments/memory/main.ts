import { once } from 'node:events';
import { availableParallelism, constants, setPriority } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { reportCount } from '../../../tools/command.ts';
import { type Campaign, describeFailure, runCampaign } from './campaign.ts';

// node tools/run.mjs verification/environments/memory/main.ts [--schedules 100000] [--seconds 1200] [--seed 1]: runs schedules on
// all cores until one fails. After `--seconds` it starts no more schedules, and prints how many it ran. Running fewer
// schedules than requested is not a failure.

/** How many schedules a thread runs before it reports. Few, so that all threads end at about the same time. */
const PORTION = 250;

type Portion = { readonly firstSeed: number; readonly schedules: number; readonly milliseconds?: number };

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      schedules: { type: 'string', default: '100000' },
      seconds: { type: 'string', default: 'Infinity' },
      seed: { type: 'string', default: '1' },
    },
  });
  const schedules = Number(values.schedules);
  const firstSeed = Number(values.seed);
  const seconds = Number(values.seconds);
  if (!Number.isSafeInteger(schedules) || !Number.isSafeInteger(firstSeed) || schedules < 1 || !(seconds > 0)) {
    throw new Error('--schedules and --seed must be whole numbers, --seconds a number above 0');
  }
  const left = (): number => seconds * 1000 - performance.now();
  const portions: Portion[] = [];
  for (let begun = 0; begun < schedules; begun += PORTION) {
    portions.push({ firstSeed: firstSeed + begun, schedules: Math.min(PORTION, schedules - begun) });
  }
  const done = { schedules: 0, steps: 0 };
  const failures: string[] = [];
  const threads = Math.min(availableParallelism(), portions.length);
  const work = async (): Promise<void> => {
    const thread = new Worker(new URL(import.meta.url));
    for (let portion = portions.shift(); portion !== undefined && failures.length === 0; portion = portions.shift()) {
      const milliseconds = left();
      if (milliseconds <= 0 && done.schedules > 0) break;
      const { schedules: run, steps, failed } = await inThread(thread, { ...portion, milliseconds });
      done.schedules += run;
      done.steps += steps;
      if (failed !== undefined) failures.push(describeFailure(failed));
    }
    await thread.terminate();
  };
  await Promise.all(Array.from({ length: threads }, work));
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  const failed = failures.length;
  reportCount(done.schedules, schedules, `schedules, ${done.steps} steps`);
  process.stdout.write(`${done.schedules - failed} passed, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/**
 * Each thread has its own clock, timers and randomness. It runs many batches, because its first schedules cost twice as much as
 * later ones: their code is not compiled yet.
 */
async function inThread(thread: Worker, portion: Portion): Promise<Campaign> {
  thread.postMessage(portion);
  const [campaign] = await once(thread, 'message');
  return campaign;
}

if (isMainThread) {
  // Gives other processes priority: this one only computes, and its results do not depend on its speed. Its threads inherit the
  // priority.
  setPriority(constants.priority.PRIORITY_LOW);
  await main();
} else {
  parentPort?.on('message', async ({ firstSeed, ...extent }: Portion) => {
    parentPort?.postMessage(await runCampaign(firstSeed, extent));
  });
}
