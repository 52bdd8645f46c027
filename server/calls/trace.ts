/** The trace of a request whose spans are sent to a collector. Most requests have none. */
export type RequestTrace = {
  /** The request now waits for a group. */
  readonly submitted: () => void;
  /** A group begins with these requests, which include this one. */
  readonly beginGroup: (requests: readonly RequestTrace[]) => GroupTrace;
  /** The response was written. */
  readonly end: (ended: EndedRequest) => void;
};

export type EndedRequest = {
  readonly requestId: string;
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly operation: string | undefined;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly programId: string | undefined;
};

/** A group of transfers with at least one traced request. */
export type GroupTrace = {
  /** Everything is loaded, and the decisions begin. */
  readonly loaded: () => void;
  /** The decisions are made, and the group is saved. */
  readonly decided: () => void;
  readonly ended: (size: number, outcome: 'committed' | 'failed') => void;
};
