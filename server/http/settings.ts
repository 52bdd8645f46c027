/** Limits and times of the HTTP server. Every one can be set, so that a test need not wait for the real ones. */
export type HttpSettings = {
  /** Bytes of a body that is read; the largest real request (20 pairs of metadata) stays below. */
  readonly bodyMost: number;
  /** Bytes of the request line and headers together: a bearer key and a trace id fit, cookie jars do not. */
  readonly maxHeadBytes: number;
  /** Headers of one request; beyond that somebody is experimenting. */
  readonly maxHeaders: number;
  /** Milliseconds for the head of a request: a phone on a bad line makes it, a connection held on purpose does not. */
  readonly headTimeoutMilliseconds: number;
  /** Milliseconds for the whole request, head and body. */
  readonly requestTimeoutMilliseconds: number;
  /** Milliseconds between two looks for requests that take too long; the timeouts are exact to this. */
  readonly timeoutCheckIntervalMilliseconds: number;
  /** Milliseconds an idle connection is kept for the next request. */
  readonly keepAliveTimeoutMilliseconds: number;
  /** Requests on one connection; 0 is without limit, which spares a busy caller the reconnecting. */
  readonly maxRequestsPerConnection: number;
  /** Milliseconds in which an operation must have its answer; it is told the moment as its deadline. */
  readonly operationTimeoutMilliseconds: number;
  /** Milliseconds beyond the deadline before http answers in its stead: a net for operations that miss it. */
  readonly operationGraceMilliseconds: number;
  /**
   * Milliseconds in which a caller must take an answer that is whole, or the next bytes of an export; one that has
   * stalled is cut off.
   */
  readonly readTimeoutMilliseconds: number;
  /** Answers that wait for their callers to take them beyond which there is patience with none of these. */
  readonly maxUnreadResponses: number;
  /** Milliseconds in which a caller must take a whole answer while there is none. */
  readonly crowdedReadTimeoutMilliseconds: number;
  /** Bytes that are read and thrown away so that a caller who is still sending can read why it was refused. */
  readonly maxDiscardedBytes: number;
  /** Milliseconds for the same, and for a closed connection's last answer to reach the caller. */
  readonly lingerMilliseconds: number;
  /**
   * Milliseconds that `close` waits for requests in flight before it cuts them. An operation that begins in the grace
   * has ended by itself before: only one that misses its own deadline is cut.
   */
  readonly maxDrainMilliseconds: number;
  /**
   * Milliseconds in which `close` still takes requests, at most: every answer closes its connection, and the readiness
   * is no more, so that callers learn of it by an answer and not by a cut. It ends when none has come for `drainQuietMilliseconds`.
   */
  readonly drainGraceMilliseconds: number;
  /** Milliseconds without a request after which nobody is taken to be on the way. */
  readonly drainQuietMilliseconds: number;
  /** Requests without an answer; each waits for the database, and no queue of this length is worked off in time. */
  readonly maxRequestsInFlight: number;
  /** Mean delay of the event loop, in milliseconds over about a second, from which requests are shed; 0 is never. */
  readonly maxLagMilliseconds: number;
  /** Milliseconds after which a request that waits for its operation is late: a healthy one takes a tenth of it. */
  readonly lateAfterMilliseconds: number;
  /** Late requests beyond which more are shed: with them, what is accepted is answered well before its deadline. */
  readonly maxLateRequests: number;
  /**
   * Requests a second from one address, on average over ten seconds, whatever they ask for; 0 is without limit. Pages
   * count more than one.
   */
  readonly addressRatePerSecond: number;
  /** Requests a second with one API key, on average over ten seconds; 0 is without limit. */
  readonly keyRatePerSecond: number;
  /** Proxies in front of the service, whose word in X-Forwarded-For is taken. */
  readonly trustedProxies: number;
};

/** What holds unless the caller of createHttpServer says otherwise. */
export const DEFAULT_SETTINGS: HttpSettings = {
  bodyMost: 16_384,
  maxHeadBytes: 8_192,
  maxHeaders: 100,
  headTimeoutMilliseconds: 10_000,
  requestTimeoutMilliseconds: 15_000,
  timeoutCheckIntervalMilliseconds: 1_000,
  keepAliveTimeoutMilliseconds: 5_000,
  maxRequestsPerConnection: 0,
  operationTimeoutMilliseconds: 5_000,
  operationGraceMilliseconds: 1_000,
  readTimeoutMilliseconds: 30_000,
  maxUnreadResponses: 1_024,
  crowdedReadTimeoutMilliseconds: 2_000,
  maxDiscardedBytes: 1_048_576,
  lingerMilliseconds: 1_000,
  maxDrainMilliseconds: 8_000,
  drainGraceMilliseconds: 1_000,
  drainQuietMilliseconds: 50,
  maxRequestsInFlight: 8_192,
  maxLagMilliseconds: 100,
  lateAfterMilliseconds: 1_500,
  maxLateRequests: 512,
  addressRatePerSecond: 0,
  keyRatePerSecond: 0,
  trustedProxies: 0,
};
