import { type Copy, segmentsOf } from './manifest.ts';
import { followChain } from './wal-files.ts';

/** How often a copy is taken. Between copies, a restore replays up to as much WAL. */
export const COPY_DAYS = 7;

const DAY_MILLISECONDS = 86_400_000;

/**
 * Whether a copy is due: without a usable one, after a week, on a new timeline, and where the WAL after the last one has a
 * gap, as after a time in which the service ran without BACKUP_DIR.
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
