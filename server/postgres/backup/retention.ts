import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listArchive } from './archive.ts';
import { type Copy, findIncompleteFile, listCopies, segmentsOf, UNFINISHED } from './manifest.ts';
import { followChain, parseSegment } from './wal-files.ts';

// Invariant: A file is kept while it is needed to restore any second of the retention period, and the last good copy is never
//   deleted
// Kept by: `backup/retention.ts`
// Tested by: `server/postgres/backup/retention.test.ts`

/** Files that are not needed to restore any second from `keptFrom` on. */
export type Surplus = { readonly copies: readonly Copy[]; readonly wal: readonly string[] };

const DAY_MILLISECONDS = 86_400_000;

/**
 * Chooses the files to delete. The window that must be restorable begins at `keptFrom`. The last good copy before the
 * window stays, because it is needed to restore the seconds at the beginning of the window. The most recent good copy
 * also stays, even if it is very old. Unusable copies are deleted only if a newer good copy stays.
 *
 * @param good whether a copy is unchanged since it was stored.
 */
export function findSurplus(
  copies: readonly Copy[],
  names: Iterable<string>,
  keptFrom: Date,
  good: (copy: Copy) => boolean,
): Surplus {
  const usable = copies.filter((copy) => copy.manifest !== undefined && good(copy));
  const isBefore = ({ manifest }: Copy): boolean => Date.parse(manifest?.endedAt ?? '') <= keptFrom.getTime();
  const oldest = usable.findLast(isBefore) ?? usable[0];
  if (oldest?.manifest === undefined) return { copies: [], wal: [] };
  const { first } = segmentsOf(oldest.manifest);
  const { timeline } = oldest.manifest;
  const isSurplus = (name: string): boolean => {
    // For each backup, PostgreSQL archives a note whose name begins with the name of a WAL file.
    const segment = parseSegment(name.replace(/\.[0-9A-F]{8}\.backup$/, ''));
    return segment !== undefined && segment.timeline <= timeline && segment.number < first;
  };
  return { copies: copies.filter(({ name }) => name < oldest.name), wal: [...names].filter(isSurplus) };
}

/**
 * Deletes copies that are older than the window, and the WAL that only they need. The caller must hold the lock of the copies.
 * Returns the number of deleted copies.
 */
export async function removeSurplus(
  { base, wal }: { readonly base: string; readonly wal: string },
  retentionDays: number,
  now: Date,
): Promise<number> {
  const copies = await listCopies(base);
  const incomplete = new Set<Copy>();
  for (const copy of copies) if ((await findIncompleteFile(copy)) !== undefined) incomplete.add(copy);
  const keptFrom = new Date(now.getTime() - retentionDays * DAY_MILLISECONDS);
  const surplus = findSurplus(copies, await listArchive(wal), keptFrom, (copy) => !incomplete.has(copy));
  for (const { name, path } of surplus.copies) {
    // Renamed first, so that files that remain after a kill do not look like a copy.
    const temporary = join(base, `${UNFINISHED}${name}`);
    await rename(path, temporary);
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
  }
  for (const name of surplus.wal) await rm(join(wal, name), { force: true });
  return surplus.copies.length;
}

/**
 * Returns the last usable copy. Ignores copies that ended more than a day in the future: they are from before the clock
 * was set back, and must not delay the next copy until the clock reaches that time again. A smaller difference counts
 * as now.
 */
export function findLastCopy(copies: readonly Copy[], now: Date): Copy | undefined {
  return copies.findLast(
    ({ manifest }) => manifest !== undefined && Date.parse(manifest.endedAt) - now.getTime() <= DAY_MILLISECONDS,
  );
}

/** How often a copy is taken, in days. A restore replays at most the WAL of this time. */
export const COPY_DAYS = 7;

/**
 * Returns whether a copy is due: if there is no usable copy, after a week, on a new timeline, or if the WAL after the last copy has
 * a gap. There is a gap, for example, if the service ran without BACKUP_DIR.
 */
export function isCopyDue(
  last: Copy | undefined,
  names: ReadonlySet<string>,
  currentTimeline: number,
  now: Date,
): boolean {
  if (last?.manifest === undefined) return true;
  const { endedAt, timeline } = last.manifest;
  if (now.getTime() - Date.parse(endedAt) >= COPY_DAYS * DAY_MILLISECONDS) return true;
  if (timeline !== currentTimeline) return true;
  const { last: end, isBroken } = followChain(names, segmentsOf(last.manifest).first, timeline, []);
  return isBroken || (end?.number ?? -1) < segmentsOf(last.manifest).last;
}
