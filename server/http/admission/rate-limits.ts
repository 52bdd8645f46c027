import { performance } from 'node:perf_hooks';
import { Refusal } from '../../../domain/refusal.ts';
import type { Caller } from '../../operations/call.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpSettings } from '../settings.ts';
import { callerAddress, type Policy, RateLimiter, type RateStanding, WINDOW_SECONDS } from './rate-limit.ts';

/** What a refused credential counts, in requests, beside its own: guessing gets a tenth of the rate and less. */
const REFUSED_CREDENTIAL_COUNTS = 9;

/** What a page counts, beside its own request: it is large, and anybody may ask for it. */
const PAGE_COUNTS = 9;

/** What a search of the catalogue counts more. It reads every entry for each word. */
const SEARCH_COUNTS = 40;

/** A body counts one request more for each of so many bytes: a megabyte to read is no trifle. */
const BYTES_OF_A_REQUEST = 1024;

/**
 * Exports that one card program reads at the same time, where keys are limited at all. Each holds a page and a place in
 * the queue of those who read much for as long as its reader pleases: without a bound, one program that opens thousands
 * and reads none takes a gigabyte, and nobody else's export begins in time.
 */
const EXPORTS_MOST = 20;

/**
 * The limits of a process: requests of one address, before anything is known of them, and requests with one key. Where
 * a rate is 0, nothing is counted and nothing said. Several processes count each for itself.
 */
export class RateLimits {
  readonly #ofAddress: RateLimiter | undefined;
  readonly #ofKey: RateLimiter | undefined;
  readonly #trustedProxies: number;
  /** How many exports are under way, by card program. */
  readonly #exports = new Map<string, number>();

  constructor({ addressRate, keyRate, trustedProxies }: HttpSettings) {
    this.#ofAddress = addressRate === 0 ? undefined : new RateLimiter(addressRate);
    this.#ofKey = keyRate === 0 ? undefined : new RateLimiter(keyRate);
    this.#trustedProxies = trustedProxies;
  }

  /**
   * Counts a request for its address, whatever it asks for. Where it is one too many, {@link admitAddress} refuses it:
   * what is wrong with it as a request, and that there is nothing at its path, is told first.
   */
  countAddress(exchange: Exchange): void {
    if (this.#ofAddress === undefined) return;
    exchange.excess = count(exchange, 'address', this.#ofAddress, this.addressOf(exchange));
  }

  /**
   * Refuses a request that was one too many for its address.
   *
   * @throws {Refusal} rate_limited
   */
  admitAddress({ excess }: Exchange): void {
    if (excess !== undefined) throw excess;
  }

  /**
   * Counts a request for the key that it was sent with.
   *
   * @throws {Refusal} rate_limited
   */
  admitCaller(exchange: Exchange, caller: Caller): void {
    if (this.#ofKey === undefined || !('keyId' in caller)) return;
    const excess = count(exchange, 'key', this.#ofKey, caller.keyId);
    if (excess !== undefined) throw excess;
  }

  /** Counts what of a body has arrived, beside its request, for the key that it was sent with. */
  chargeBody(exchange: Exchange, bytes: number): void {
    this.#chargeKey(exchange, Math.floor(bytes / BYTES_OF_A_REQUEST));
  }

  /** Counts the rows of a batch but the first: a thousand transfers cost a key no less in one request. */
  chargeRows(exchange: Exchange, rows: number): void {
    this.#chargeKey(exchange, rows - 1);
  }

  #chargeKey(exchange: Exchange, requests: number): void {
    const { caller } = exchange;
    if (this.#ofKey === undefined || requests <= 0 || caller === undefined || !('keyId' in caller)) return;
    charge(exchange, 'key', this.#ofKey, caller.keyId, requests);
  }

  /**
   * Counts an export of a card program until its answer has ended.
   *
   * @throws {Refusal} rate_limited
   */
  admitExport({ response }: Exchange, programId: string): void {
    // Of a caller that has gone already no end would be told.
    if (this.#ofKey === undefined || response.closed) return;
    const underWay = this.#exports.get(programId) ?? 0;
    if (underWay >= EXPORTS_MOST) {
      const message = `This card program reads ${EXPORTS_MOST} exports already. Send this one again when one has ended.`;
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
  chargeRefusedCredential(exchange: Exchange): void {
    this.#chargeAddress(exchange, REFUSED_CREDENTIAL_COUNTS);
  }

  /** Counts a page more than other requests, and one that has to be searched for even more. */
  chargePage(exchange: Exchange, isSearch: boolean): void {
    this.#chargeAddress(exchange, isSearch ? PAGE_COUNTS + SEARCH_COUNTS : PAGE_COUNTS);
  }

  #chargeAddress(exchange: Exchange, requests: number): void {
    if (this.#ofAddress === undefined) return;
    charge(exchange, 'address', this.#ofAddress, this.addressOf(exchange), requests);
  }

  /** Where a request comes from, as the limits count it and the audit log names it; see {@link callerAddress}. */
  addressOf({ address, request, connection }: Exchange): string {
    if (address !== undefined) return address;
    if (this.#trustedProxies > 0) {
      return callerAddress(request.socket.remoteAddress, request.headers['x-forwarded-for'], this.#trustedProxies);
    }
    connection.address ??= callerAddress(request.socket.remoteAddress, undefined, 0);
    return connection.address;
  }
}

function charge(exchange: Exchange, policy: Policy, limiter: RateLimiter, who: string, requests: number): void {
  const standing = limiter.charge(who, requests, performance.now());
  exchange.rate = [...exchange.rate.filter((counted) => counted.policy !== policy), { policy, limiter, standing }];
}

function count(exchange: Exchange, policy: Policy, limiter: RateLimiter, who: string): Refusal | undefined {
  const standing = limiter.take(who, performance.now());
  exchange.rate = [...exchange.rate, { policy, limiter, standing }];
  if (!standing.isRefused) return undefined;
  const seconds = Math.ceil(standing.waits_ms / 1000);
  const sender = policy === 'address' ? 'This address' : 'This key';
  const message =
    `${sender} has sent more requests than ${limiter.quota} in ${WINDOW_SECONDS} seconds. ` +
    `Send the next one in ${seconds} second${seconds === 1 ? '' : 's'}.`;
  return new Refusal('rate_limited', message, { endsIn: standing.waits_ms });
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers: what the policies allow (`q` requests in `w` seconds), and where
 * the caller stands (`r` requests remain, all of them again in `t` seconds). None where nothing is limited.
 */
export function rateHeaders(rate: RateStanding): readonly (readonly [name: string, value: string])[] {
  if (rate.length === 0) return [];
  const policies = rate.map(({ policy, limiter }) => `"${policy}";q=${limiter.quota};w=${WINDOW_SECONDS}`);
  const standings = rate.map(
    ({ policy, standing }) => `"${policy}";r=${standing.remaining};t=${Math.ceil(standing.fullIn_ms / 1000)}`,
  );
  return [
    ['RateLimit-Policy', policies.join(', ')],
    ['RateLimit', standings.join(', ')],
  ];
}
