import { MAX_HEAD_BYTES } from '../../contract/reading/request-size.ts';
import { WATCH_LIMITS, type WatchLimits } from './admission/watchers.ts';

/** Limits and timeouts of the HTTP server. Tests set shorter ones. */
export type HttpSettings = {
  /** Limit for the request line and headers together. */
  readonly maxHeadBytes: number;
  readonly maxHeaders: number;
  readonly headTimeoutMilliseconds: number;
  /** Time for the whole request to arrive, head and body. */
  readonly requestTimeoutMilliseconds: number;
  /** Interval between Node's checks of these two timeouts. It determines their precision. */
  readonly timeoutCheckIntervalMilliseconds: number;
  /** How long an idle connection stays open for the next request. `Keep-Alive: timeout=` announces it in seconds. */
  readonly keepAliveTimeoutMilliseconds: number;
  /**
   * How much longer than announced an idle connection stays open. A request that is sent while its connection closes gets no
   * response. This must not happen to a caller that respects the announced time, even if its request is delayed. Together, both
   * times are longer than the longest request: after a stall, callers reuse connections that have been idle since the stall
   * began.
   */
  readonly keepAliveBufferMilliseconds: number;
  /** If more connections than this are open, idle connections stay open only for {@link crowdedKeepAliveMilliseconds}. */
  readonly maxKeptConnections: number;
  /** How long an idle connection stays open if there are too many connections. */
  readonly crowdedKeepAliveMilliseconds: number;
  /** Maximum number of requests on one connection. 0 means no limit, so that a busy caller does not have to reconnect. */
  readonly maxRequestsPerConnection: number;
  /** Time for an operation to respond. The operation is given the deadline. */
  readonly operationTimeoutMilliseconds: number;
  /** Time after an operation's deadline until the server itself responds. */
  readonly operationGraceMilliseconds: number;
  /**
   * Time for a caller to read a complete response, or the next bytes of an export. After this time, the connection is closed.
   */
  readonly readTimeoutMilliseconds: number;
  /** If more responses than this are unread, {@link crowdedReadTimeoutMilliseconds} applies instead. */
  readonly maxUnreadResponses: number;
  /** Time for a caller to read a complete response if too many are unread. */
  readonly crowdedReadTimeoutMilliseconds: number;
  /** How long a stream of events is idle before it sends a comment, because proxies close idle connections. */
  readonly streamPulseMilliseconds: number;
  /** Pause of a stream before it reads again after a database failure. */
  readonly streamRetryMilliseconds: number;
  /** Maximum number of bytes that are read and discarded, so that a caller that is still sending can read the refusal. */
  readonly maxDiscardedBytes: number;
  /** Time limit for discarding these bytes. Also the time for the last response on a closing connection to reach the caller. */
  readonly lingerMilliseconds: number;
  /** How long `close` waits for requests in flight. Operations that meet their deadline can always finish. */
  readonly maxDrainMilliseconds: number;
  /**
   * Maximum time for which `close` still accepts requests. During this time, the service reports that it is not ready,
   * and every response closes its connection. This time ends early if no request arrives for {@link
   * drainQuietMilliseconds}.
   */
  readonly drainGraceMilliseconds: number;
  /** If no request arrives for this long, no more are expected. */
  readonly drainQuietMilliseconds: number;
  /** Maximum number of requests in progress. A longer queue for the database could not be served in time. */
  readonly maxRequestsInFlight: number;
  readonly watchLimits: WatchLimits;
  /** If the mean delay of the event loop over about a second is above this, requests are refused. 0 means never. */
  readonly overloadDelayMilliseconds: number;
  /** How long a request waits before it counts as late: about ten times the usual time. */
  readonly lateAfterMilliseconds: number;
  /** If more requests than this are late, new ones are refused, so that accepted requests meet their deadline. */
  readonly maxLateRequests: number;
  /**
   * Maximum number of requests per second from one address, averaged over ten seconds. 0 means no limit. A page
   * counts as several requests.
   */
  readonly addressRatePerSecond: number;
  /** Maximum number of requests per second with one API key, averaged over ten seconds. 0 means no limit. */
  readonly keyRatePerSecond: number;
  /** Number of proxies in front of the service whose X-Forwarded-For entries are trusted. */
  readonly trustedProxies: number;
  /** The origin that callers use. The pages and the OpenAPI document show it. If null, it is taken from each request. */
  readonly publicUrl: string | null;
};

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

/** Returns the default settings with the given changes. Unknown settings are ignored. */
export function settingsWith(differing: Partial<HttpSettings>): HttpSettings {
  const known = Object.entries(differing).filter(([name]) => Object.hasOwn(DEFAULT_SETTINGS, name));
  return { ...DEFAULT_SETTINGS, ...Object.fromEntries(known) };
}
