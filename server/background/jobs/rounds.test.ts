import { expect, test } from 'vitest';
import { waitFor } from '../../../test/harness/process.ts';
import { startRounds, takeAllSteps } from './rounds.ts';

const fail = (words: string) => (): Promise<never> => Promise.reject(new Error(words));

test('reports each failed round, and marks all but the first of several in a row as repeated', async () => {
  const outcomes = ['fails', 'fails', 'fails', 'succeeds', 'fails', 'succeeds'];
  const reported: unknown[] = [];
  const job = startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: 0,
    onFailure: (_error, isRepeated) => reported.push(isRepeated),
    run: async () => {
      if (outcomes.shift() === 'fails') throw new Error('it fails');
      return 0;
    },
  });
  await waitFor('all rounds', async () => outcomes.length === 0);
  await job.stop();
  expect(reported).toEqual([false, true, true, false]);
});

test('does not count a round as failed if it ends because the job stops', async () => {
  const reported: unknown[] = [];
  let hasBegun = false;
  const job = startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: 0,
    onFailure: (error) => reported.push(error),
    run: (signal) => {
      hasBegun = true;
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    },
  });
  await waitFor('the round', async () => hasBegun);
  await job.stop();
  expect(reported).toEqual([]);
});

test('runs all steps, and throws the first error', async () => {
  const taken: string[] = [];
  const take = (name: string) => async () => void taken.push(name);
  await expect(takeAllSteps([take('a'), fail('first'), take('b'), fail('second'), take('c')])).rejects.toThrow('first');
  expect(taken).toEqual(['a', 'b', 'c']);
});

test('runs no step after the signal aborts', async () => {
  const end = new AbortController();
  const taken: string[] = [];
  await takeAllSteps([async () => end.abort(), async () => void taken.push('late')], end.signal);
  expect(taken).toEqual([]);
});
