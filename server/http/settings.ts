import { MAX_HEAD_BYTES } from '../../contract/reading/request-size.ts';
import { WATCH_LIMITS, type WatchLimits } from './admission/watchers.ts';

/** Limits and timeouts of the HTTP server. Tests set shorter ones. */
export type HttpSettings = {
  /** Request line and headers together. */
  readonly maxHeadBytes: number;
  /** Maximum headers of one request. */
  readonly maxHeaders: number;
  /** Time for the head of a request to arrive. */
  readonly headTimeoutMilliseconds: number;
  /** Time for the whole request to arrive, head and body. */
  readonly requestTimeoutMilliseconds: number;
  /** Interval at which Node checks these two timeouts, and so their precision. */
  readonly timeoutCheckIntervalMilliseconds: number;
  /** Time for which an idle connection is kept open for the next request, as `Keep-Alive: timeout=` says in seconds. */
  readonly keepAliveTimeoutMilliseconds: number;
  /**
   * Further time for which it is kept open. A request that is sent while its connection closes gets no response; this
   * must not happen to a caller that honours the timeout, even if its request is delayed. Together they are longer than
   * a request can take: after a stall, callers reuse connections that have been idle since the stall began.
   */
  readonly keepAliveBufferMilliseconds: number;
  /** Number of open connections above which idle ones are kept for {@link crowdedKeepAliveMilliseconds} only. */
  readonly maxKeptConnections: number;
  /** Time for which an idle connection is kept open while there are too many. */
  readonly crowdedKeepAliveMilliseconds: number;
  /** Maximum requests on one connection; 0 is unlimited, so that a busy caller need not reconnect. */
  readonly maxRequestsPerConnection: number;
  /** Time for an operation to respond; the operation receives the deadline. */
  readonly operationTimeoutMilliseconds: number;
  /** Time after the deadline until the server responds itself, for an operation that misses its deadline. */
  readonly operationGraceMilliseconds: number;
  /** Time for a caller to read a complete response, or the next bytes of an export, before the connection is cut. */
  readonly readTimeoutMilliseconds: number;
  /** Number of unread responses above which {@link crowdedReadTimeoutMilliseconds} applies instead. */
  readonly maxUnreadResponses: number;
  /** Time for a caller to read a complete response while too many are unread. */
  readonly crowdedReadTimeoutMilliseconds: number;
  /** Time after which an idle stream of events sends a comment, because proxies close idle connections. */
  readonly streamPulseMilliseconds: number;
  /** Pause of a stream before it reads again after a failure of the database. */
  readonly streamRetryMilliseconds: number;
  /** Maximum bytes read and discarded, so that a caller that is still sending can read the refusal. */
  readonly maxDiscardedBytes: number;
  /** Time for discarding them, and for the last response on a closing connection to reach the caller. */
  readonly lingerMilliseconds: number;
  /** Time for which `close` waits for requests in flight. Operations that meet their deadline are never cut. */
  readonly maxDrainMilliseconds: number;
  /**
   * Maximum time for which `close` still accepts requests. The service reports that it is not ready, and every response
   * closes its connection. Ends early when no request arrives for {@link drainQuietMilliseconds}.
   */
  readonly drainGraceMilliseconds: number;
  /** Time without a request after which no more are expected. */
  readonly drainQuietMilliseconds: number;
  /** Maximum requests in progress; a longer queue for the database would not be served in time. */
  readonly maxRequestsInFlight: number;
  /** Maximum requests that watch for events, or wait for the end of a transfer. */
  readonly watchLimits: WatchLimits;
  /** Mean delay of the event loop over about a second above which requests are refused; 0 is never. */
  readonly overloadDelayMilliseconds: number;
  /** Time after which a waiting request counts as late: about ten times the usual time. */
  readonly lateAfterMilliseconds: number;
  /** Number of late requests above which new ones are refused, so that accepted ones meet their deadline. */
  readonly maxLateRequests: number;
  /** Requests per second from one address, averaged over ten seconds; 0 is unlimited. A page counts as several. */
  readonly addressRatePerSecond: number;
  /** Requests per second with one API key, averaged over ten seconds; 0 is unlimited. */
  readonly keyRatePerSecond: number;
  /** Number of proxies in front of the service whose X-Forwarded-For entries are trusted. */
  readonly trustedProxies: number;
  /** The origin that callers use; null takes it from each request. The pages and the OpenAPI document show it. */
  readonly publicUrl: string | null;
};

/** The defaults. */
export const DEFAULT_SETTINGS: HttpSettings = {
  maxHeadBytes: MAX_HEAD_BYTES,
  maxHeaders: 100,
  headTimeoutMilliseconds: 10_000,
  requestTimeoutMilliseconds: 15_000,
  timeoutCheckIntervalMilliseconds: 1_000,
  keepAliveTimeoutMilliseconds: 75_000,
  keepAliveBufferMilliseconds: 5_000,
  maxKeptConnections: 4_096,
  crowdedKeepAliveMilliseconds: 5_000,
  maxRequestsPerConnection: 0,
  operationTimeoutMilliseconds: 5_000,
  operationGraceMilliseconds: 1_000,
  readTimeoutMilliseconds: 30_000,
  maxUnreadResponses: 1_024,
  crowdedReadTimeoutMilliseconds: 2_000,
  streamPulseMilliseconds: 15_000,
  streamRetryMilliseconds: 1_000,
  maxDiscardedBytes: 1_048_576,
  lingerMilliseconds: 1_000,
  maxDrainMilliseconds: 8_000,
  drainGraceMilliseconds: 1_000,
  drainQuietMilliseconds: 50,
  maxRequestsInFlight: 8_192,
  watchLimits: WATCH_LIMITS,
  overloadDelayMilliseconds: 100,
  lateAfterMilliseconds: 1_500,
  maxLateRequests: 512,
  addressRatePerSecond: 0,
  keyRatePerSecond: 0,
  trustedProxies: 0,
  publicUrl: null,
};

/** The defaults, with the given settings instead of theirs. Settings that this server does not have are ignored. */
export function settingsWith(differing: Partial<HttpSettings>): HttpSettings {
  const known = Object.entries(differing).filter(([name]) => Object.hasOwn(DEFAULT_SETTINGS, name));
  return { ...DEFAULT_SETTINGS, ...Object.fromEntries(known) };
}
