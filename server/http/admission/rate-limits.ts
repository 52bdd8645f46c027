import { performance } from 'node:perf_hooks';
import { Refusal } from '../../../domain/refusal.ts';
import type { Caller } from '../../operations/call.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpSettings } from '../settings.ts';
import { callerAddress, type Policy, RateLimiter, type RateStatus, WINDOW_SECONDS } from './rate-limiter.ts';

/** What a refused credential counts, in requests, beside its own: guessing gets a tenth of the rate and less. */
const REFUSED_CREDENTIAL_COST = 9;

/** What a page counts, beside its own request: it is large, and anybody may ask for it. */
const PAGE_COST = 9;

/** What a search of the catalogue counts more. It reads every entry for each word. */
const SEARCH_COST = 40;

/** A body counts one request more for each of so many bytes: a megabyte to read is no trifle. */
const BYTES_PER_REQUEST = 1024;

/**
 * Exports that one card program reads at the same time, where keys are limited at all. Each holds a page and a place in
 * the queue of those who read much for as long as its reader pleases: without a bound, one program that opens thousands
 * and reads none takes a gigabyte, and nobody else's export begins in time.
 */
const MAX_CONCURRENT_EXPORTS = 20;

/**
 * The limits of a process: requests of one address, before anything is known of them, and requests with one key. Where
 * a rate is 0, nothing is counted and nothing values. Several processes count each for itself.
 */
export class RateLimits {
  readonly #ofAddress: RateLimiter | undefined;
  readonly #ofKey: RateLimiter | undefined;
  readonly #trustedProxies: number;
  /** How many exports are under way, by card program. */
  readonly #exports = new Map<string, number>();

  constructor({ addressRatePerSecond, keyRatePerSecond, trustedProxies }: HttpSettings) {
    this.#ofAddress = addressRatePerSecond === 0 ? undefined : new RateLimiter(addressRatePerSecond);
    this.#ofKey = keyRatePerSecond === 0 ? undefined : new RateLimiter(keyRatePerSecond);
    this.#trustedProxies = trustedProxies;
  }

  /**
   * Counts a request for its address, whatever it asks for. Where it is one too many, {@link admitAddress} refuses it:
   * what is wrong with it as a request, and that there is nothing at its path, is told first.
   */
  countAddress(context: RequestContext): void {
    if (this.#ofAddress === undefined) return;
    context.addressLimitRefusal = count(context, 'address', this.#ofAddress, this.addressOf(context));
  }

  /**
   * Refuses a request that was one too many for its address.
   *
   * @throws {Refusal} rate_limited
   */
  admitAddress({ addressLimitRefusal }: RequestContext): void {
    if (addressLimitRefusal !== undefined) throw addressLimitRefusal;
  }

  /**
   * Counts a request for the key that it was sent with.
   *
   * @throws {Refusal} rate_limited
   */
  admitCaller(context: RequestContext, caller: Caller): void {
    if (this.#ofKey === undefined || !('keyId' in caller)) return;
    const addressLimitRefusal = count(context, 'key', this.#ofKey, caller.keyId);
    if (addressLimitRefusal !== undefined) throw addressLimitRefusal;
  }

  /** Counts what of a body has arrived, beside its request, for the key that it was sent with. */
  chargeBody(context: RequestContext, bytes: number): void {
    this.#chargeKey(context, Math.floor(bytes / BYTES_PER_REQUEST));
  }

  /** Counts the rows of a batch but the first: a thousand transfers cost a key no less in one request. */
  chargeRows(context: RequestContext, rows: number): void {
    this.#chargeKey(context, rows - 1);
  }

  #chargeKey(context: RequestContext, requests: number): void {
    const { caller } = context;
    if (this.#ofKey === undefined || requests <= 0 || caller === undefined || !('keyId' in caller)) return;
    charge(context, 'key', this.#ofKey, caller.keyId, requests);
  }

  /**
   * Counts an export of a card program until its answer has ended.
   *
   * @throws {Refusal} rate_limited
   */
  admitExport({ response }: RequestContext, programId: string): void {
    // Of a caller that has gone already no end would be told.
    if (this.#ofKey === undefined || response.closed) return;
    const underWay = this.#exports.get(programId) ?? 0;
    if (underWay >= MAX_CONCURRENT_EXPORTS) {
      const message = `This card program already has ${MAX_CONCURRENT_EXPORTS} exports in progress. Retry when one has ended.`;
      throw new Refusal('rate_limited', message, { endsIn: 1000 });
    }
    this.#exports.set(programId, underWay + 1);
    response.once('close', () => {
      const left = (this.#exports.get(programId) ?? 1) - 1;
      if (left === 0) this.#exports.delete(programId);
      else this.#exports.set(programId, left);
    });
  }

  /** Counts a refused credential more than other requests, so that keys cannot be guessed at the rate of others. */
  chargeRefusedCredential(context: RequestContext): void {
    this.#chargeAddress(context, REFUSED_CREDENTIAL_COST);
  }

  /** Counts a page more than other requests, and one that has to be searched for even more. */
  chargePage(context: RequestContext, isSearch: boolean): void {
    this.#chargeAddress(context, isSearch ? PAGE_COST + SEARCH_COST : PAGE_COST);
  }

  #chargeAddress(context: RequestContext, requests: number): void {
    if (this.#ofAddress === undefined) return;
    charge(context, 'address', this.#ofAddress, this.addressOf(context), requests);
  }

  /** Where a request comes from, as the limits count it and the audit log names it; see {@link callerAddress}. */
  addressOf({ address, request, connection }: RequestContext): string {
    if (address !== undefined) return address;
    if (this.#trustedProxies > 0) {
      return callerAddress(request.socket.remoteAddress, request.headers['x-forwarded-for'], this.#trustedProxies);
    }
    connection.address ??= callerAddress(request.socket.remoteAddress, undefined, 0);
    return connection.address;
  }
}

function charge(context: RequestContext, policy: Policy, limiter: RateLimiter, who: string, requests: number): void {
  const allowance = limiter.charge(who, requests, performance.now());
  context.rate = [...context.rate.filter((counted) => counted.policy !== policy), { policy, limiter, allowance }];
}

function count(context: RequestContext, policy: Policy, limiter: RateLimiter, who: string): Refusal | undefined {
  const allowance = limiter.take(who, performance.now());
  context.rate = [...context.rate, { policy, limiter, allowance }];
  if (!allowance.isRefused) return undefined;
  const seconds = Math.ceil(allowance.waitMilliseconds / 1000);
  const sender = policy === 'address' ? 'This address' : 'This key';
  const message =
    `${sender} sent more than ${limiter.quota} requests in ${WINDOW_SECONDS} seconds.` +
    `Retry in ${seconds} second${seconds === 1 ? '' : 's'}.`;
  return new Refusal('rate_limited', message, { endsIn: allowance.waitMilliseconds });
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers: what the policies allow (`q` requests in `w` seconds), and where
 * the caller stands (`r` requests remain, all of them again in `t` seconds). None where nothing is limited.
 */
export function rateHeaders(rate: RateStatus): readonly (readonly [name: string, value: string])[] {
  if (rate.length === 0) return [];
  const policies = rate.map(({ policy, limiter }) => `"${policy}";q=${limiter.quota};w=${WINDOW_SECONDS}`);
  const allowances = rate.map(
    ({ policy, allowance }) =>
      `"${policy}";r=${allowance.remaining};t=${Math.ceil(allowance.fullAfterMilliseconds / 1000)}`,
  );
  return [
    ['RateLimit-Policy', policies.join(', ')],
    ['RateLimit', allowances.join(', ')],
  ];
}
