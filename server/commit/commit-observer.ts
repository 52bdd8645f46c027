import type { Settlement } from '../store/connection/database.ts';

/** How a group was committed: in a chain, or with its accounts locked. */
export type CommitPath = 'chained' | 'locking';

/** Listens to a lane. Called for every group, so it must cost next to nothing. */
export type CommitObserver = {
  /** A group is committed; `milliseconds` since its load began. */
  readonly onGroup: (path: CommitPath, size: number, milliseconds: number) => void;
  /** A chain broke: its groups are committed again, with locks. */
  readonly onBreak: () => void;
  /** A commit of unknown outcome was looked up. */
  readonly onSettled: (settlement: Settlement) => void;
  /** For this many transfers it was not known, when their requests ended, whether they were made. */
  readonly onUnknown: (transfers: number) => void;
};
