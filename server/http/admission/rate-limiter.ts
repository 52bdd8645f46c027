import { isIPv6 } from 'node:net';

/** Seconds over which rates are averaged; the allowance of a whole window can be used at once. */
export const WINDOW_SECONDS = 10;

const WINDOW_MILLISECONDS = WINDOW_SECONDS * 1000;

/** Tolerance for rounding errors of sums of milliseconds. */
const TOLERANCE = 0.001;

/** Maximum number of callers in each half of the memory; an entry takes some hundred bytes. */
const MAX_REMEMBERED_CALLERS = 100_000;

/** The state of one rate limit for a caller, as in the RateLimit header. */
export type Allowance = {
  readonly isRefused: boolean;
  /** Requests that the caller can send at once now. */
  readonly remaining: number;
  /** Time until the full allowance is available again. */
  readonly fullAfterMilliseconds: number;
  /** Time until the next request is accepted; 0 when it is accepted now. */
  readonly waitMilliseconds: number;
};

/**
 * Allows each caller `rate` requests per second on average, and ten seconds' worth at once: a leaky bucket that stores
 * one number per caller (GCRA), the time at which the bucket is empty again. Extra costs of a request are charged
 * afterwards and can leave a debt, which delays the next request.
 *
 * There are no timers. Callers are stored in two halves; once per window, and when a half is full, the newer half
 * becomes the older, and the older is dropped except for callers in debt: the others have their full allowance again.
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

  /** Number of callers in memory. */
  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  /** Counts a request of a caller, or refuses it; a refused request costs nothing. `now` is in milliseconds. */
  take(caller: string, now: number): Allowance {
    const before = this.#emptyAt(caller, now);
    const after = before + this.#costMilliseconds;
    const waitMilliseconds = after - now - WINDOW_MILLISECONDS;
    const isRefused = waitMilliseconds > TOLERANCE;
    if (isRefused) return { ...this.#allowance(before, now), isRefused, waitMilliseconds: roundUp(waitMilliseconds) };
    this.#newer.set(caller, after);
    return this.#allowance(after, now);
  }

  /** Charges `requests` more to a caller, beyond its allowance if necessary: the next request then has to wait. */
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

/** What a limit counts: the requests of one address, or those with one key. */
export type Policy = 'address' | 'key';

/** The state of each limit that a request was counted for, for the RateLimit headers of its response. */
export type RateStatus = readonly {
  readonly policy: Policy;
  readonly limiter: RateLimiter;
  readonly allowance: Allowance;
}[];

/**
 * The address that the limits count a request for: an IPv4 address, or the first 64 bits of an IPv6 address, because a
 * caller usually has all addresses of a /64. Each trusted proxy appends its caller's address to X-Forwarded-For, so the
 * caller of the outermost one is `trustedProxies` from the end. Without a usable entry, the connection's address counts.
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
