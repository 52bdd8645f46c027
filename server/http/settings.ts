/** Limits and times of the HTTP server. Every one can be set, so that a test need not wait for the real ones. */
export type HttpSettings = {
  /** Bytes of a body that is read; the largest real request (20 pairs of metadata) stays below. */
  readonly bodyMost: number;
  /** Bytes of the request line and headers together: a bearer key and a trace id fit, cookie jars do not. */
  readonly headMost: number;
  /** Headers of one request; beyond that somebody is experimenting. */
  readonly headersMost: number;
  /** Milliseconds for the head of a request: a phone on a bad line makes it, a connection held on purpose does not. */
  readonly headTimeout_ms: number;
  /** Milliseconds for the whole request, head and body. */
  readonly requestTimeout_ms: number;
  /** Milliseconds between two looks for requests that take too long; the timeouts are exact to this. */
  readonly timeoutCheck_ms: number;
  /** Milliseconds an idle connection is kept for the next request. */
  readonly keepAlive_ms: number;
  /** Requests on one connection; 0 is without limit, which spares a busy caller the reconnecting. */
  readonly requestsPerConnection: number;
  /** Milliseconds in which an operation must have its answer; it is told the moment as its deadline. */
  readonly answerWithin_ms: number;
  /** Milliseconds beyond the deadline before http answers in its stead: a net for operations that miss it. */
  readonly answerGrace_ms: number;
  /**
   * Milliseconds in which a caller must take an answer that is whole, or the next bytes of an export; one that has
   * stalled is cut off.
   */
  readonly takeWithin_ms: number;
  /** Answers that wait for their callers to take them beyond which there is patience with none of these. */
  readonly untakenMost: number;
  /** Milliseconds in which a caller must take a whole answer while there is none. */
  readonly takeWithinCrowd_ms: number;
  /** Bytes that are read and thrown away so that a caller who is still sending can read why it was refused. */
  readonly discardMost: number;
  /** Milliseconds for the same, and for a closed connection's last answer to reach the caller. */
  readonly linger_ms: number;
  /**
   * Milliseconds that `close` waits for requests in flight before it cuts them. An operation that begins in the grace
   * has ended by itself before: only one that misses its own deadline is cut.
   */
  readonly drainMost_ms: number;
  /**
   * Milliseconds in which `close` still takes requests, at most: every answer closes its connection, and the readiness
   * is no more, so that callers learn of it by an answer and not by a cut. It ends when none has come for `drainQuiet_ms`.
   */
  readonly drainGrace_ms: number;
  /** Milliseconds without a request after which nobody is taken to be on the way. */
  readonly drainQuiet_ms: number;
  /** Requests without an answer; each waits for the database, and no queue of this length is worked off in time. */
  readonly inFlightMost: number;
  /** Mean delay of the event loop, in milliseconds over about a second, from which requests are shed; 0 is never. */
  readonly lagMost_ms: number;
  /** Milliseconds after which a request that waits for its operation is late: a healthy one takes a tenth of it. */
  readonly lateAfter_ms: number;
  /** Late requests beyond which more are shed: with them, what is accepted is answered well before its deadline. */
  readonly lateMost: number;
  /**
   * Requests a second from one address, on average over ten seconds, whatever they ask for; 0 is without limit. Pages
   * count more than one.
   */
  readonly addressRate: number;
  /** Requests a second with one API key, on average over ten seconds; 0 is without limit. */
  readonly keyRate: number;
  /** Proxies in front of the service, whose word in X-Forwarded-For is taken. */
  readonly trustedProxies: number;
};

/** What holds unless the caller of createHttpServer says otherwise. */
export const DEFAULT_SETTINGS: HttpSettings = {
  bodyMost: 16_384,
  headMost: 8_192,
  headersMost: 100,
  headTimeout_ms: 10_000,
  requestTimeout_ms: 15_000,
  timeoutCheck_ms: 1_000,
  keepAlive_ms: 5_000,
  requestsPerConnection: 0,
  answerWithin_ms: 5_000,
  answerGrace_ms: 1_000,
  takeWithin_ms: 30_000,
  untakenMost: 1_024,
  takeWithinCrowd_ms: 2_000,
  discardMost: 1_048_576,
  linger_ms: 1_000,
  drainMost_ms: 8_000,
  drainGrace_ms: 1_000,
  drainQuiet_ms: 50,
  inFlightMost: 8_192,
  lagMost_ms: 100,
  lateAfter_ms: 1_500,
  lateMost: 512,
  addressRate: 0,
  keyRate: 0,
  trustedProxies: 0,
};
