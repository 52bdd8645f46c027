import { isIPv6 } from 'node:net';

/** Seconds over which a rate is an average: so long can a caller send all of it at once. */
export const WINDOW_SECONDS = 10;

const WINDOW_MILLISECONDS = WINDOW_SECONDS * 1000;

/** What sums of floating-point milliseconds can be off by, and more. */
const INEXACT = 0.001;

/**
 * Callers remembered at most in half of the memory. An entry takes some hundred bytes; who comes from more addresses
 * than this in ten seconds is not stopped by a limit per address.
 */
const MAX_REMEMBERED_CALLERS = 100_000;

/** What stands in the RateLimit header for one policy, and how long a caller that is refused has to wait. */
export type Allowance = {
  readonly isRefused: boolean;
  /** Requests that could be sent at once now. */
  readonly remaining: number;
  /** Milliseconds until everything could be sent at once again. */
  readonly fullAfterMilliseconds: number;
  /** Milliseconds until the next request is taken; 0 when it is taken now. */
  readonly waitMilliseconds: number;
};

/**
 * Lets each caller send `rate` requests a second on average, and up to ten seconds' worth at once. A leaky bucket kept
 * as one number for each caller (GCRA): the moment at which its bucket would be empty again. What a request turns out to
 * cost beside itself is charged afterwards, and can leave a debt that is waited for before the next one is taken.
 *
 * There are no timers. Callers are remembered in two halves; every window, and when a half is full, the newer becomes
 * the older and the older is forgotten. Who has not called for a whole window has a full allowance anyway, but for who
 * is in debt: these stay.
 */
export class RateLimiter {
  /** What a caller may send in a window. */
  readonly quota: number;
  readonly #costMilliseconds: number;
  readonly #most: number;
  #newer = new Map<string, number>();
  #older = new Map<string, number>();
  #turnedAt = 0;

  constructor(rate: number, most = MAX_REMEMBERED_CALLERS) {
    this.quota = rate * WINDOW_SECONDS;
    this.#costMilliseconds = WINDOW_MILLISECONDS / this.quota;
    this.#most = most;
  }

  /** How many callers are remembered. */
  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  /** Takes a request of a caller, or refuses it; a refused request costs nothing. `now` is in milliseconds. */
  take(caller: string, now: number): Allowance {
    const before = this.#emptyAt(caller, now);
    const after = before + this.#costMilliseconds;
    const waitMilliseconds = after - now - WINDOW_MILLISECONDS;
    const isRefused = waitMilliseconds > INEXACT;
    if (isRefused) return { ...this.#allowance(before, now), isRefused, waitMilliseconds: whole(waitMilliseconds) };
    this.#newer.set(caller, after);
    return this.#allowance(after, now);
  }

  /** Counts `requests` more of a caller, beyond its allowance if need be: the next one waits until that is made up for. */
  charge(caller: string, requests: number, now: number): Allowance {
    const emptyAt = this.#emptyAt(caller, now) + requests * this.#costMilliseconds;
    this.#newer.set(caller, emptyAt);
    return this.#allowance(emptyAt, now);
  }

  #allowance(emptyAt: number, now: number): Allowance {
    const remaining = Math.max(
      0,
      Math.floor((WINDOW_MILLISECONDS - (emptyAt - now)) / this.#costMilliseconds + INEXACT),
    );
    return { isRefused: false, remaining, fullAfterMilliseconds: whole(emptyAt - now), waitMilliseconds: 0 };
  }

  #emptyAt(caller: string, now: number): number {
    if (now - this.#turnedAt >= WINDOW_MILLISECONDS || this.#newer.size >= this.#most) this.#turn(now);
    return Math.max(now, this.#newer.get(caller) ?? this.#older.get(caller) ?? 0);
  }

  #turn(now: number): void {
    const newer = this.#newer;
    for (const [caller, emptyAt] of this.#older) {
      if (newer.size >= this.#most) break;
      if (emptyAt > now && !newer.has(caller)) newer.set(caller, emptyAt);
    }
    this.#older = newer;
    this.#newer = new Map();
    this.#turnedAt = now;
  }
}

/** Whole milliseconds, not one more for a difference that only floating point has made. */
function whole(milliseconds: number): number {
  return Math.ceil(milliseconds - INEXACT);
}

/** What is limited: all requests of one address, and all with one key. */
export type Policy = 'address' | 'key';

/** Where a request stands under each policy that it was counted for: what the RateLimit headers of its answer say. */
export type RateStatus = readonly {
  readonly policy: Policy;
  readonly limiter: RateLimiter;
  readonly allowance: Allowance;
}[];

/**
 * Where a request comes from, as the limits count it: an IPv4 address, or the first 64 bits of an IPv6 address, of which
 * everybody has as many as they like. What proxies say is believed only as far as there are proxies: each of them adds
 * the address that called it at the end of X-Forwarded-For, so that the one of the outermost is `trustedProxies` from
 * the end. Where it says nothing usable, the address of the connection counts.
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
