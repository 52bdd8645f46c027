import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import { listArchive } from './archive.ts';
import { type Copy, listCopies, type Manifest, segmentsOf } from './manifest.ts';
import { type ArchiveState, readArchiveState } from './ownership.ts';
import {
  type Branch,
  type Chain,
  followChain,
  historyName,
  parseHistory,
  parseHistoryName,
  parsePosition,
  parseSegment,
  segmentName,
} from './wal-files.ts';

/** The last time to restore. Undefined for everything in the backup. */
export type RestoreTime = Date | undefined;

export type Candidate = { readonly copy: Copy; readonly manifest: Manifest; readonly chain: Chain };

export type RestorePlan = {
  /** The copies to try, newest first. If one is damaged, the next one is used. */
  readonly candidates: readonly Candidate[];
  /** For a restore to the latest time: the newest copy if it has a gap in the WAL after it. */
  readonly beforeGap: Candidate | undefined;
  readonly timeline: number;
  readonly state: ArchiveState | undefined;
};

/**
 * The contents of a backup directory. The times from the end of a candidate to the end of its chain can be restored.
 */
export type BackupSurvey = {
  readonly copies: readonly Copy[];
  readonly timeline: number;
  readonly state: ArchiveState | undefined;
  readonly candidates: readonly Candidate[];
};

/**
 * Examines the contents of a backup directory for a timeline. By default, this is the timeline of the ledger that archived last.
 */
export async function surveyBackups(
  { path, wal, base }: { readonly path: string; readonly wal: string; readonly base: string },
  asked?: number,
): Promise<BackupSurvey> {
  const [copies, names, state] = await Promise.all([listCopies(base), listArchive(wal), readArchiveState(path)]);
  const timeline = asked ?? state?.timeline ?? newestTimeline(copies, names);
  const branches = await readBranches(wal, timeline);
  const candidates = copies.flatMap((copy) => {
    const { manifest } = copy;
    if (manifest === undefined || !isOnTheWay(manifest, timeline, branches)) return [];
    return [{ copy, manifest, chain: followChain(names, segmentsOf(manifest).first, timeline, branches) }];
  });
  return { copies, timeline, state, candidates: markBroken(candidates) };
}

/**
 * Marks a chain as broken if it ends before the WAL of any copy does. A copy proves that there was WAL up to the copy's
 * end, even if that WAL is missing now.
 */
function markBroken(candidates: readonly Candidate[]): readonly Candidate[] {
  const end = Math.max(-1, ...candidates.map(({ manifest }) => segmentsOf(manifest).last));
  return candidates.map((candidate) => {
    const { chain } = candidate;
    return { ...candidate, chain: { ...chain, isBroken: chain.isBroken || (chain.last?.number ?? -1) < end } };
  });
}

function newestTimeline(copies: readonly Copy[], names: ReadonlySet<string>): number {
  const histories = [...names].map((name) => parseHistoryName(name) ?? 0);
  return Math.max(1, ...histories, ...copies.map(({ manifest }) => manifest?.timeline ?? 0));
}

async function readBranches(wal: string, timeline: number): Promise<readonly Branch[]> {
  if (timeline === 1) return [];
  try {
    return parseHistory(await readFile(join(wal, historyName(timeline)), 'utf8'));
  } catch (error) {
    throw new StartupProblem(
      'restore-incomplete',
      `The file ${join(wal, historyName(timeline))} is missing or cannot be read. It says where timeline ${timeline} began, and ` +
        'without it nothing on that timeline can be restored. Get it from another copy of the backup.',
      { cause: error },
    );
  }
}

/** Returns whether a recovery from a copy leads to a timeline. */
function isOnTheWay(manifest: Manifest, timeline: number, branches: readonly Branch[]): boolean {
  if (manifest.timeline === timeline) return true;
  const branch = branches.find((one) => one.timeline === manifest.timeline);
  return branch !== undefined && parsePosition(manifest.stopPosition) <= branch.end;
}

/**
 * Returns how to restore the requested time. If that is impossible, throws {@link StartupProblem} that lists the possible times.
 */
export function planRestore({ copies, timeline, state, candidates }: BackupSurvey, time: RestoreTime): RestorePlan {
  const usable = candidates.filter(({ manifest, chain }) => (chain.last?.number ?? -1) >= segmentsOf(manifest).last);
  const [oldest] = usable;
  if (oldest === undefined) throw describeNothing(copies, candidates, timeline);
  if (time === undefined) {
    const newest = usable.at(-1) ?? oldest;
    if (newest.chain.isBroken) throw describeGap(newest, state);
    // A restore from a copy before a gap ends at the gap, and would lack everything after it.
    const whole = usable.filter(({ chain }) => !chain.isBroken);
    const beforeGap = usable.findLast(({ chain }) => chain.isBroken);
    return { candidates: whole.toReversed(), beforeGap, timeline, state };
  }
  if (time.getTime() > Date.now()) {
    throw new StartupProblem('restore-refused', `--to ${time.toISOString()} is in the future. Use "--to latest".`);
  }
  const before = usable.filter(({ manifest }) => Date.parse(manifest.endedAt) <= time.getTime());
  if (before.length === 0) {
    throw new StartupProblem(
      'restore-refused',
      `--to ${time.toISOString()} is before the first copy that can be restored: the earliest time is ${oldest.manifest.endedAt}.`,
    );
  }
  return { candidates: before.toReversed(), beforeGap: undefined, timeline, state };
}

function describeNothing(copies: readonly Copy[], candidates: readonly Candidate[], timeline: number): StartupProblem {
  const [first] = candidates;
  if (first !== undefined) {
    const missing = segmentName(first.chain.missing);
    return new StartupProblem(
      'restore-incomplete',
      `No copy can be restored, because the WAL file ${missing}, which is part of one, is missing in the directory wal. Get it from another copy of the backup.`,
    );
  }
  const reasons = copies.map(({ name, problem }) => `${name}: ${problem ?? `it is not on timeline ${timeline}`}`);
  const found = reasons.length === 0 ? 'there is none' : reasons.join('; ');
  return new StartupProblem(
    'restore-refused',
    `No copy of the ledger in the directory base can be restored: ${found}.`,
  );
}

function describeGap({ chain: { last, missing } }: Candidate, state: ArchiveState | undefined): StartupProblem {
  const before = last === undefined ? 'the copy' : segmentName(last);
  const covered = parseSegment(state?.coveredSegment ?? '');
  const all = covered === undefined ? '' : ' Later files are there, but cannot be used without it.';
  return new StartupProblem(
    'restore-incomplete',
    `The WAL file ${segmentName(missing)} is missing in the directory wal.${all} Get it from another copy of the backup. ` +
      `Otherwise, only earlier commits can be restored: use "--to" with a time before ${before} was archived.`,
  );
}
