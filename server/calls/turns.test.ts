import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { CallerGone, type OperationFailure } from './call.ts';
import { forEachPiece, type TurnCall, Turns } from './turns.ts';

const LIMITS = { waitingOfOne: 10, waitingOfAll: 20 };
const MINUTE = 60_000;

const callOf = (programId: string, isGone?: (isWaiting: boolean) => boolean): TurnCall => ({
  programId,
  isGone,
  deadline: performance.now() + MINUTE,
});

const BUSY = expect.objectContaining({ name: 'OperationFailure', busy: true, moneyMoved: 'no' }) as OperationFailure;

/** Starts work that ends on request, and records the order of the starts. */
function bench() {
  const began: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => (): Promise<string> => {
    began.push(name);
    return new Promise((resolve) => ends.push(() => resolve(name)));
  };
  /** Ends the work that has been running longest. */
  const end = async (): Promise<void> => {
    ends.shift()?.();
    await turnOfLoop();
  };
  return { began, work, end };
}

test('runs a limited number of pieces of work at a time, and lets waiting programs take turns', async () => {
  const turns = new Turns({ atOnce: 2, ...LIMITS });
  const { began, work, end } = bench();
  const all = [
    ...Array.from({ length: 6 }, (_, at) => turns.take(callOf('many'), work(`many ${at}`))),
    turns.take(callOf('few'), work('few 0')),
    turns.take(callOf('few'), work('few 1')),
    turns.take(callOf('one'), work('one 0')),
  ];
  await turnOfLoop();
  expect(began).toEqual(['many 0', 'many 1']);
  for (let ended = 0; ended < 9; ended += 1) await end();
  expect(began.slice(2)).toEqual(['many 2', 'few 0', 'one 0', 'many 3', 'few 1', 'many 4', 'many 5']);
  expect(await Promise.all(all)).toHaveLength(9);
});

test('passes the turn on after a failure', async () => {
  const turns = new Turns({ atOnce: 1, ...LIMITS });
  const failing = turns.take(callOf('a'), () => Promise.reject(new Error('no')));
  const next = turns.take(callOf('b'), () => Promise.resolve('done'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
  expect(await turns.take(callOf('c'), () => Promise.resolve('free again'))).toBe('free again');
});

test('keeps giving turns to a half-closed connection after its first turn', async () => {
  const turns = new Turns({ atOnce: 1, ...LIMITS });
  const halfClosed = callOf('a', (isWaiting) => isWaiting);
  const all = ['one', 'two', 'three'].map((name) => turns.take(halfClosed, () => Promise.resolve(name)));
  expect(await Promise.all(all)).toEqual(['one', 'two', 'three']);
});

test('does not begin work after its caller has disconnected, and serves the next caller immediately', async () => {
  const turns = new Turns({ atOnce: 1, ...LIMITS });
  const { began, work, end } = bench();
  let hasGone = false;
  const running = turns.take(callOf('a'), work('running'));
  const gone = Promise.allSettled(
    Array.from({ length: 9 }, (_, at) =>
      turns.take(
        callOf('a', () => hasGone),
        work(`gone ${at}`),
      ),
    ),
  );
  const other = turns.take(callOf('b'), work('other'));
  const last = turns.take(callOf('a'), work('last'));
  hasGone = true;
  await end();
  expect(await gone).toEqual(Array(9).fill({ status: 'rejected', reason: expect.any(CallerGone) }));
  await end();
  await end();
  expect(began).toEqual(['running', 'last', 'other']);
  expect(await Promise.all([running, other, last])).toEqual(['running', 'other', 'last']);
  await expect(
    turns.take(
      callOf('a', () => true),
      work('never'),
    ),
  ).rejects.toBeInstanceOf(CallerGone);
  expect(began).toHaveLength(3);
});

test('serves a caller that has ended its input only if the caller does not have to wait', async () => {
  const turns = new Turns({ atOnce: 1, ...LIMITS });
  const { began, work, end } = bench();
  const halfClosed = () => callOf('a', (isWaiting) => isWaiting);
  const served = turns.take(halfClosed(), work('served'));
  await expect(turns.take(halfClosed(), work('never'))).rejects.toBeInstanceOf(CallerGone);
  await end();
  expect(await served).toBe('served');
  expect(began).toEqual(['served']);
});

test('refuses work beyond the limits of a program and of all programs, without counting disconnected callers', async () => {
  const turns = new Turns({ atOnce: 1, waitingOfOne: 2, waitingOfAll: 3 });
  const { began, work, end } = bench();
  let hasGone = false;
  const all = [
    turns.take(callOf('a'), work('running')),
    turns
      .take(
        callOf('a', () => hasGone),
        work('leaves'),
      )
      .catch((error: unknown) => error),
    turns.take(callOf('a'), work('a')),
  ];
  await expect(turns.take(callOf('a'), work('too many'))).rejects.toEqual(BUSY);
  all.push(turns.take(callOf('b'), work('b')));
  await expect(turns.take(callOf('c'), work('too many'))).rejects.toEqual(BUSY);
  hasGone = true;
  all.push(turns.take(callOf('c'), work('c')));
  await expect(turns.take(callOf('a'), work('too many'))).rejects.toEqual(BUSY);
  for (let ended = 0; ended < 4; ended += 1) await end();
  expect(began).toEqual(['running', 'a', 'b', 'c']);
  expect((await Promise.all(all))[1]).toBeInstanceOf(CallerGone);
});

test('refuses work that waits until its deadline', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  try {
    const turns = new Turns({ atOnce: 1, ...LIMITS });
    const { began, work, end } = bench();
    const call = forEachPiece(callOf('a'));
    const running = turns.take(call, work('running'));
    const late = expect(turns.take(call, work('late'))).rejects.toEqual(BUSY);
    vi.advanceTimersByTime(MINUTE / 2);
    const next = turns.take(call, work('next'));
    vi.advanceTimersByTime(MINUTE / 2);
    await late;
    await end();
    await end();
    expect([began, await running, await next]).toEqual([['running', 'next'], 'running', 'next']);
    await expect(turns.take({ ...callOf('a'), deadline: performance.now() }, work('never'))).rejects.toEqual(BUSY);
    expect([began.length, vi.getTimerCount()]).toEqual([2, 0]);
  } finally {
    vi.useRealTimers();
  }
});
