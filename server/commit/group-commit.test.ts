import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { RequestTrace } from '../calls/trace.ts';
import type { ChainedSteps, Database, Work } from '../store/connection/database.ts';
import type { ChainPlace } from '../store/connection/work.ts';
import { GroupCommit } from './group-commit.ts';
import { Blocked, type CommitObserver } from './group-work.ts';

/** Returns a database that commits every transaction, and the list of the committed items. */
function committing(): { readonly committed: number[]; readonly database: Database } {
  const committed: number[] = [];
  const transact = async ({ batchId, decide }: Work<readonly number[], never>): Promise<readonly number[]> => {
    const { result } = decide({}, batchId);
    committed.push(...result);
    return result;
  };
  const transactChained = async (
    { batchId, decide }: ChainedSteps<readonly number[], never> & { readonly batchId: string },
    place: ChainPlace,
  ): Promise<readonly number[]> => {
    const { result } = decide({}, batchId);
    place.onDecided();
    await place.baseCommitted();
    committed.push(...result);
    return result;
  };
  const database = { transact, transactChained, forProgram: () => database } as unknown as Database;
  return { committed, database };
}

const fail = (): never => {
  throw new Error('a listener has a bug');
};

const FAILING_OBSERVER: CommitObserver = { onGroup: fail, onBreak: fail, onSettled: fail, onUnknown: fail };
const FAILING_GROUP = { loaded: fail, decided: fail, ended: fail };
const FAILING_TRACES: readonly (readonly [string, RequestTrace])[] = [
  ['a request', { submitted: fail, beginGroup: fail, end: fail }],
  ['a group', { submitted: () => undefined, beginGroup: () => FAILING_GROUP, end: fail }],
];

describe.for([
  ['chained', true],
  ['locking', false],
] as const)('commits a %s group once, and keeps it committed, even if', ([, isChained]) => {
  async function submitFive(observer?: CommitObserver, trace?: RequestTrace, onCommitted?: () => void) {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    onTestFinished(() => warn.mockRestore());
    const { committed, database } = committing();
    const decided = (items: readonly number[]) => ({ result: items, writes: [] });
    const stepsOf = (items: readonly number[]) => ({ load: {}, decide: () => decided(items) });
    const chained = {
      begin: () => (items: readonly number[]) => ({
        load: {},
        decide: () => ({ result: items, early: [], late: [], check: null, readsOnly: false }),
      }),
      changeOf: () => undefined,
    };
    const lane = new GroupCommit<number, number, never>(
      database,
      {
        stepsOf,
        programOf: () => 'program',
        needsOf: () => [],
        transferOf: () => undefined,
        traceOf: () => trace,
        ...(onCommitted === undefined ? {} : { onCommitted }),
        ...(isChained ? { chained } : {}),
      },
      undefined,
      observer,
    );
    const items = [1, 2, 3, 4, 5];
    const outcomes = await Promise.all(items.map((item) => lane.submit(item, performance.now() + 3_600_000)));
    expect(outcomes).toEqual(items);
    expect(committed).toEqual(items);
    await expect.poll(() => warn.mock.calls.flat().map(String)).toContain('Error: a listener has a bug');
  }

  test('the observer throws', () => submitFive(FAILING_OBSERVER));

  test('a listener for outcomes throws', () => submitFive(undefined, undefined, fail));

  test.for(FAILING_TRACES)('the trace of %s throws', ([, trace]) => submitFive(undefined, trace));
});

test('counts items that wait for locks toward the limit of a lane, even between two attempts', async () => {
  const { database } = committing();
  let attempts = 0;
  let isHeld = true;
  const work = {
    stepsOf: (items: readonly string[]) => ({
      load: {},
      decide: () => {
        attempts += 1;
        return { result: items.map((item) => (isHeld ? new Blocked(item) : item)), writes: [] };
      },
    }),
    programOf: () => 'program',
    needsOf: (item: string) => [item],
    transferOf: () => undefined,
    traceOf: () => undefined,
  };
  const lane = new GroupCommit<string, string, never>(database, work, { batch: 10, waiting: 2 });
  const submit = (item: string) => lane.submit(item, performance.now() + 3_600_000);
  const both = Promise.all([submit('a'), submit('b')]);
  await expect.poll(() => attempts).toBeGreaterThan(5);
  await expect(submit('c')).rejects.toMatchObject({ busy: true, moneyMoved: 'no' });
  isHeld = false;
  expect(await both).toEqual(['a', 'b']);
  await expect.poll(() => lane.waiting).toBe(0);
});

test.for([
  ['admits items that can be committed in time at the pace of the last groups', 1, 0],
  ['refuses items that would wait too long at the pace of the last groups', 100, 88],
] as const)('%s', async ([, groupMilliseconds, refused]) => {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const decide = (items: readonly number[]) => {
    now += groupMilliseconds;
    return { result: items, writes: [] };
  };
  const work = {
    stepsOf: (items: readonly number[]) => ({ load: {}, decide: () => decide(items) }),
    programOf: () => 'program',
    needsOf: () => [],
    transferOf: () => undefined,
    traceOf: () => undefined,
  };
  const lane = new GroupCommit<number, number, never>(committing().database, work, { batch: 10, waiting: 10_000 });
  const submit = (count: number) =>
    Promise.allSettled(Array.from({ length: count }, (_, item) => lane.submit(item, now + 3_600_000)));
  await submit(200);
  // The first 512 items may always wait.
  const outcomes = await submit(600);
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  expect(reasons.length).toBe(refused);
  for (const reason of reasons) expect(reason).toMatchObject({ busy: true, moneyMoved: 'no' });
});

test('divides callers that return immediately into even groups, even if the first one came alone', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { database } = committing();
  const delay = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  const transactChained = async (
    { batchId, decide }: ChainedSteps<readonly number[], never> & { readonly batchId: string },
    place: ChainPlace,
  ): Promise<readonly number[]> => {
    await delay();
    const { result } = decide({}, batchId);
    place.onDecided();
    await place.baseCommitted();
    await delay();
    return result;
  };
  const distant = { ...database, transactChained, forProgram: () => distant } as unknown as Database;
  const sizes: number[] = [];
  const observer = { onGroup: (_path: string, size: number) => void sizes.push(size) };
  const work = {
    stepsOf: (items: readonly number[]) => ({ load: {}, decide: () => ({ result: items, writes: [] }) }),
    programOf: () => 'program',
    needsOf: () => [],
    transferOf: () => undefined,
    traceOf: () => undefined,
    chained: {
      begin: () => (items: readonly number[]) => ({
        load: {},
        decide: () => ({ result: items, early: [], late: [], check: null, readsOnly: false }),
      }),
      changeOf: () => undefined,
    },
  };
  const lane = new GroupCommit<number, number, never>(distant, work, undefined, observer as unknown as CommitObserver);
  /** The callers return one after the other. */
  const call = async (_: unknown, caller: number): Promise<void> => {
    for (let count = 0; count < 10; count += 1) {
      await lane.submit(count, performance.now() + 3_600_000);
      for (let turn = 0; turn <= caller; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const calls = Promise.all(Array.from({ length: 8 }, call));
  await vi.runAllTimersAsync();
  await calls;
  // The first item begins a group alone, and the last callers to end have no others to wait for.
  expect(sizes[0]).toBe(1);
  const settled = sizes.slice(2, -4);
  const alone = settled.filter((size) => size === 1);
  expect(alone.length / settled.length).toBeLessThan(1 / 4);
});
