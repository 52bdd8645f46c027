import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockCopies } from '../../postgres/backup/base-copy.ts';
import type { BackupSurvey } from '../../postgres/backup/restore-plan.ts';
import { deleteOlder, describeReach } from './back-up.ts';

const ENDED_AT = '2030-01-31T12:00:10.000Z';
const manifest = {
  format: 1,
  systemIdentifier: '1',
  postgresVersion: 18,
  timeline: 1,
  startPosition: '0/2000028',
  stopPosition: '0/2000158',
  startedAt: '2030-01-31T12:00:05.000Z',
  endedAt: ENDED_AT,
  bytes: 1,
  directories: [],
  files: [],
} as const;

/**
 * Describes the times that can be restored from one copy, given the last archived file and the service's note about the archive.
 */
function reachOf(lastNumber: number, coveredUntil: string | null): readonly string[] {
  const last = { timeline: 1, number: lastNumber };
  const candidate = {
    copy: { name: '20300131T120005Z', path: '/backups/base/20300131T120005Z', manifest, problem: undefined },
    manifest,
    chain: { last, isBroken: false, missing: { timeline: 1, number: lastNumber + 1 } },
  };
  const state: BackupSurvey['state'] = {
    format: 1,
    systemIdentifier: '1',
    owner: '1',
    host: 'host',
    dataDirectory: '/data',
    seenAt: null,
    timeline: 1,
    coveredUntil,
    coveredSegment: null,
  };
  return describeReach({ candidates: [candidate], state });
}

test('begins the range of restorable times at the end of the copy, and never ends it earlier', () => {
  const [before, after] = ['2030-01-31T12:00:00.000Z', '2030-01-31T12:01:00.000Z'];
  expect(reachOf(2, after)).toEqual([`Any time from ${ENDED_AT} to ${after} can be restored.`]);
  expect(reachOf(2, before)).toEqual([`Any time from ${ENDED_AT} on, as soon as it is archived, can be restored.`]);
  expect(reachOf(2, null)).toEqual([`Any time from ${ENDED_AT} on can be restored.`]);
  // The copy's own WAL is not in the archive yet.
  expect(reachOf(1, before)).toEqual(['Nothing can be restored yet.']);
});

test('succeeds after a complete copy, even if another process takes a copy while old ones must be deleted', async () => {
  const path = await mkdtemp(join(tmpdir(), 'transfer-service-back-up-'));
  const directory = { wal: join(path, 'wal'), base: join(path, 'base') };
  await mkdir(directory.wal);
  await mkdir(directory.base);
  const lock = await lockCopies(path);
  try {
    expect(await deleteOlder(directory, path, 14)).toEqual([
      expect.stringMatching(
        /^Older copies were not deleted, because another process is taking a copy or deleting old ones/,
      ),
    ]);
    lock.release();
    expect(await deleteOlder(directory, path, 14)).toEqual([]);
  } finally {
    lock.release();
    await rm(path, { recursive: true });
  }
});

test('waits while another process removes old copies, and takes no copy while another process takes one', async () => {
  const path = await mkdtemp(join(tmpdir(), 'transfer-service-back-up-'));
  const others = [await lockCopies(path, 'retention')];
  try {
    let isLocked = false;
    const waiting = lockCopies(path).then((lock) => {
      isLocked = true;
      others.push(lock);
    });
    // The lock is tried at once, and several times in this pause.
    await new Promise((wake) => setTimeout(wake, 1_000));
    expect(isLocked).toBe(false);
    others[0]?.release();
    await waiting;
    await expect(lockCopies(path)).rejects.toThrow('is already taking a copy of the ledger');
  } finally {
    for (const lock of others) lock.release();
    await rm(path, { recursive: true });
  }
});
