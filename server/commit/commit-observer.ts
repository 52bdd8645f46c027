import type { Settlement } from '../store/connection/database.ts';

/** How a group was committed: in a chain, or with its accounts locked. */
export type CommitPath = 'chained' | 'locking';

/** Told what a lane does. It is called for every group, so it must cost next to nothing. */
export type CommitObserver = {
  /** A group is committed; `milliseconds` since its load began. */
  readonly onGroup: (path: CommitPath, size: number, milliseconds: number) => void;
  /** A chain broke: its groups are committed again, with locks. */
  readonly onBreak: () => void;
  /** A commit had no certain response, and was looked up. */
  readonly onSettled: (settlement: Settlement) => void;
  /** Of so many transfers it is not known, when their requests end, whether they were made. */
  readonly onUnknown: (transfers: number) => void;
};
