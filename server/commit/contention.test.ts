import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ANY_NEED, Contention } from './contention.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

function itemsOf(contention: Contention) {
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const take = (name: string, ...needs: readonly string[]): Promise<string> =>
    contention.takeTurn(needs, () => {
      began.push(name);
      return new Promise((resolve) => ends.set(name, () => resolve(name)));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await turnOfLoop();
  };
  return { began, take, end };
}

test('forgets names that no item needs any more', () => {
  const contention = new Contention();
  for (let number = 0; number < 1_000; number += 1) {
    contention.begin(`key_${number}`);
    vi.advanceTimersByTime(1);
  }
  expect([contention.isQuiet, contention.concerns(['key_0']), contention.concerns([ANY_NEED])]).toEqual([
    false,
    true,
    true,
  ]);
  vi.advanceTimersByTime(1_500);
  expect(['key_0', 'key_499', 'key_501', 'key_999'].map((name) => contention.concerns([name]))).toEqual([
    false,
    false,
    true,
    true,
  ]);
  vi.advanceTimersByTime(2_000);
  expect(contention.concerns([ANY_NEED])).toBe(false);
  vi.advanceTimersByTime(2_000);
  expect(contention.isQuiet).toBe(true);
});

test('remembers a name that is repeatedly found locked, until it can be locked', () => {
  const contention = new Contention();
  for (let times = 0; times < 20; times += 1) {
    contention.begin('card');
    vi.advanceTimersByTime(1_900);
    expect([contention.isQuiet, contention.concerns(['card', 'other'])]).toEqual([false, true]);
  }
  contention.end(['card']);
  expect([contention.isQuiet, contention.concerns(['card']), contention.concerns([ANY_NEED])]).toEqual([
    true,
    false,
    false,
  ]);
});

test('lets items that need the same locked name take turns in order, and lets others continue', async () => {
  const contention = new Contention();
  for (const name of ['a', 'b']) contention.begin(name);
  const { began, take, end } = itemsOf(contention);
  const all = [
    take('1', 'a', 'a', 'free'),
    take('2', 'a', 'b'),
    take('3', 'b'),
    take('4', 'a'),
    take('5', 'free'),
    take('6'),
  ];
  expect([began, contention.waiting]).toEqual([['1', '5', '6'], 3]);
  await end('5');
  await end('6');
  expect(began).toEqual(['1', '5', '6']);
  await end('1');
  expect(began.slice(3)).toEqual(['2']);
  await end('2');
  expect([began.slice(4), contention.waiting]).toEqual([['4', '3'], 0]);
  await end('3');
  await end('4');
  expect(await Promise.all(all)).toEqual(['1', '2', '3', '4', '5', '6']);
});

test('tries three items at a time, and gives the turn of a failed item to the next one', async () => {
  const contention = new Contention();
  const { began, take, end } = itemsOf(contention);
  const all = [take('1'), take('2')];
  contention.begin('a');
  const failing = contention.takeTurn(['a'], () => Promise.reject(new Error('no')));
  all.push(take('3', 'a'), take('4'));
  expect(began).toEqual(['1', '2']);
  await expect(failing).rejects.toThrow('no');
  await turnOfLoop();
  expect([began, contention.waiting]).toEqual([['1', '2', '4'], 1]);
  for (const name of ['1', '2', '4', '3']) await end(name);
  expect(await Promise.all(all)).toHaveLength(4);
});
