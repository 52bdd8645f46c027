import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

/** Work that is done when it is told to, and the order in which pieces of it began. */
function bench() {
  const began: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => (): Promise<string> => {
    began.push(name);
    return new Promise((resolve) => ends.push(() => resolve(name)));
  };
  /** Ends the piece that has run for longest. */
  const end = async (): Promise<void> => {
    ends.shift()?.();
    await turnOfLoop();
  };
  return { began, work, end };
}

test('so many run at a time, and the programs that wait take turns', async () => {
  const turns = new Turns(2);
  const { began, work, end } = bench();
  const all = [
    ...Array.from({ length: 6 }, (_, at) => turns.take('many', work(`many ${at}`))),
    turns.take('few', work('few 0')),
    turns.take('few', work('few 1')),
    turns.take('one', work('one 0')),
  ];
  await turnOfLoop();
  expect(began).toEqual(['many 0', 'many 1']);
  for (let ended = 0; ended < 9; ended += 1) await end();
  expect(began.slice(2)).toEqual(['many 2', 'few 0', 'one 0', 'many 3', 'few 1', 'many 4', 'many 5']);
  expect(await Promise.all(all)).toHaveLength(9);
});

test('work that fails gives its turn on', async () => {
  const turns = new Turns(1);
  const failing = turns.take('a', () => Promise.reject(new Error('no')));
  const next = turns.take('b', () => Promise.resolve('done'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
  expect(await turns.take('c', () => Promise.resolve('free again'))).toBe('free again');
});
