import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { OperationFailure } from '../../server/calls/call.ts';
import type { CommitObserver } from '../../server/commit/group-work.ts';
import { holdWith } from '../faults/stage.ts';
import { useLedger, useProxy, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const proxy = await useProxy(server);

const seen = {
  groups: [] as (readonly [string, number])[],
  milliseconds: [] as number[],
  breaks: 0,
  settled: [] as string[],
  unknown: 0,
};
const observer: CommitObserver = {
  onGroup: (path, size, milliseconds) => {
    seen.milliseconds.push(milliseconds);
    seen.groups.push([path, size]);
  },
  onBreak: () => {
    seen.breaks += 1;
  },
  onSettled: (settlement) => void seen.settled.push(settlement),
  onUnknown: (transfers) => {
    seen.unknown += transfers;
  },
};
const ledger = useLedger({ ...server.connection, host: proxy.host }, undefined, observer);

const send = (milliseconds?: number) =>
  ledger.call(
    'create_transfer',
    { amount: 1, card_id: 'card_active' },
    {
      idempotencyKey: randomUUID(),
      ...(milliseconds !== undefined && { deadline: performance.now() + milliseconds }),
    },
  );

test('observes each transfer in exactly one group', async () => {
  await Promise.all(Array.from({ length: 100 }, () => send()));
  expect(seen.groups.reduce((sum, [, size]) => sum + size, 0)).toBe(100);
  expect(Math.min(...seen.milliseconds)).toBeGreaterThan(0);
  expect(seen.unknown).toBe(0);
});

test('observes a commit with a lost response as settled, and its transfers as known', async () => {
  proxy.faults.push('cut_after');
  await send();
  expect(seen.settled).toEqual(['committed']);
  expect(seen.breaks).toBeGreaterThan(0);
  expect(seen.unknown).toBe(0);
});

test('observes a transfer as unknown only once if its outcome cannot be looked up in time', async () => {
  seen.settled.length = 0;
  let release: (() => Promise<void>) | undefined;
  proxy.traps.push({
    at: 'after_commit',
    spring: async () => {
      release = await holdWith(server, 'lock table write_batch in access exclusive mode');
      return 'cut' as const;
    },
  });
  try {
    const failed = await send(5_000).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(OperationFailure);
    expect(failed).toMatchObject({ moneyMoved: 'unknown' });
  } finally {
    await release?.();
  }
  expect(seen.settled).toEqual(['unknown']);
  expect(seen.unknown).toBe(1);
});
