/** The trace of a request whose spans are sent to a collector. Most requests have no trace. */
export type RequestTrace = {
  /** Called when the request begins to wait for a group. */
  readonly submitted: () => void;
  /** Called when a group begins with these requests, which include this one. */
  readonly beginGroup: (requests: readonly RequestTrace[]) => GroupTrace;
  /** Called when the response has been written. */
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
  /** Called when everything is loaded and the decisions begin. */
  readonly loaded: () => void;
  /** Called when the decisions are made and the group is saved. */
  readonly decided: () => void;
  readonly ended: (size: number, outcome: 'committed' | 'failed') => void;
};
