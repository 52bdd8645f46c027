import { isIPv6 } from 'node:net';

/** Number of seconds over which rates are averaged. A caller can use the allowance of a whole window at once. */
export const WINDOW_SECONDS = 10;

const WINDOW_MILLISECONDS = WINDOW_SECONDS * 1000;

/** Tolerance for rounding errors in sums of milliseconds. */
const TOLERANCE = 0.001;

/** Maximum number of callers in each half of the memory. An entry takes a few hundred bytes. */
const MAX_REMEMBERED_CALLERS = 100_000;

/** The state of one rate limit for a caller, as in the RateLimit header. */
export type Allowance = {
  readonly isRefused: boolean;
  /** Requests that the caller can send immediately. */
  readonly remaining: number;
  /** Time until the full allowance is available again. */
  readonly fullAfterMilliseconds: number;
  /** Time until the next request is accepted, or 0 if it is accepted now. */
  readonly waitMilliseconds: number;
};

/**
 * Allows each caller `rate` requests per second on average. A caller can send the requests of ten seconds at once. This is a
 * leaky bucket (GCRA) that stores one number per caller: the time when its bucket will be empty. Extra costs of a request are
 * charged afterwards. They can leave a debt, which delays the next request.
 *
 * There are no timers. Callers are stored in two halves. Once per window, or when a half is full, the newer half becomes the
 * older one. The previous older half is dropped, except for callers whose bucket is not empty. All others have their full
 * allowance again.
 */
export class RateLimiter {
  /** Requests per window. */
  readonly quota: number;
  readonly #costMilliseconds: number;
  readonly #maxCallers: number;
  #newer = new Map<string, number>();
  #older = new Map<string, number>();
  #rotatedAt = 0;

  constructor(rate: number, maxCallers = MAX_REMEMBERED_CALLERS) {
    this.quota = rate * WINDOW_SECONDS;
    this.#costMilliseconds = WINDOW_MILLISECONDS / this.quota;
    this.#maxCallers = maxCallers;
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  /** Counts a caller's request, or refuses it. A refused request does not count. `now` is in milliseconds. */
  take(caller: string, now: number): Allowance {
    const before = this.#emptyAt(caller, now);
    const after = before + this.#costMilliseconds;
    const waitMilliseconds = after - now - WINDOW_MILLISECONDS;
    const isRefused = waitMilliseconds > TOLERANCE;
    if (isRefused) return { ...this.#allowance(before, now), isRefused, waitMilliseconds: roundUp(waitMilliseconds) };
    this.#newer.set(caller, after);
    return this.#allowance(after, now);
  }

  /** Charges further requests to a caller, even beyond its allowance. The next request then has to wait. */
  charge(caller: string, requests: number, now: number): Allowance {
    const emptyAt = this.#emptyAt(caller, now) + requests * this.#costMilliseconds;
    this.#newer.set(caller, emptyAt);
    return this.#allowance(emptyAt, now);
  }

  #allowance(emptyAt: number, now: number): Allowance {
    const remaining = Math.max(
      0,
      Math.floor((WINDOW_MILLISECONDS - (emptyAt - now)) / this.#costMilliseconds + TOLERANCE),
    );
    return { isRefused: false, remaining, fullAfterMilliseconds: roundUp(emptyAt - now), waitMilliseconds: 0 };
  }

  #emptyAt(caller: string, now: number): number {
    if (now - this.#rotatedAt >= WINDOW_MILLISECONDS || this.#newer.size >= this.#maxCallers) this.#rotate(now);
    return Math.max(now, this.#newer.get(caller) ?? this.#older.get(caller) ?? 0);
  }

  #rotate(now: number): void {
    const newer = this.#newer;
    for (const [caller, emptyAt] of this.#older) {
      if (newer.size >= this.#maxCallers) break;
      if (emptyAt > now && !newer.has(caller)) newer.set(caller, emptyAt);
    }
    this.#older = newer;
    this.#newer = new Map();
    this.#rotatedAt = now;
  }
}

/** Rounds up to whole milliseconds, ignoring rounding errors. */
function roundUp(milliseconds: number): number {
  return Math.ceil(milliseconds - TOLERANCE);
}

/** The subject of a limit: requests from one address, or requests with one key. */
export type Policy = 'address' | 'key';

/** The state of each limit that has counted a request, for the RateLimit headers of its response. */
export type RateStatus = readonly {
  readonly policy: Policy;
  readonly limiter: RateLimiter;
  readonly allowance: Allowance;
}[];

/**
 * Returns the address that the limits count for a request: an IPv4 address, or the first 64 bits of an IPv6 address. A caller
 * usually has all addresses of a /64. Each trusted proxy appends its caller's address to X-Forwarded-For. So the caller of the
 * outermost proxy is at position `trustedProxies` from the end. If there is no usable entry, the connection's address counts.
 */
export function callerAddress(
  connected: string | undefined,
  forwarded: string | readonly string[] | undefined,
  trustedProxies: number,
): string {
  const own = networkOf(connected ?? '') ?? 'unknown';
  if (trustedProxies === 0 || forwarded === undefined) return own;
  const hops = String(forwarded).split(',');
  return networkOf(hops[hops.length - trustedProxies]?.trim() ?? '') ?? own;
}

function networkOf(address: string): string | undefined {
  const mapped = address.toLowerCase().startsWith('::ffff:') ? address.slice(7) : address;
  if (/^[0-9.]{7,15}$/.test(mapped)) return mapped;
  if (!isIPv6(address)) return undefined;
  const [head = '', tail] = address.toLowerCase().split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array<string>(gap).fill('0'), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}
