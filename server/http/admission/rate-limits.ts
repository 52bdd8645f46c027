import { performance } from 'node:perf_hooks';
import { Refusal } from '../../../domain/refusal.ts';
import { type Caller, credentialOf } from '../../calls/call.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpSettings } from '../settings.ts';
import { callerAddress, type Policy, RateLimiter, type RateStatus, WINDOW_SECONDS } from './rate-limiter.ts';

/** Extra cost of a refused credential, in requests. So a caller that guesses keys gets a tenth of the rate. */
const REFUSED_CREDENTIAL_COST = 9;

/** Maximum number of sessions per second for one key, averaged over ten seconds. Each leaves a permanent entry in the audit log. */
const SIGN_INS_PER_SECOND = 2;

/** Extra cost of a page, in requests. Pages are large, and anyone can request them without a key. */
const PAGE_COST = 9;

/**
 * Further cost of rendering a page for the Host of the request. Rendered pages are cached by Host, so a caller that sends a
 * different Host each time would make the cache useless.
 */
const RENDERING_COST = 20;

/** Further cost of a search. The most expensive search takes about 10 ms, as long as about fifty requests to operations. */
const SEARCH_COST = 40;

/** Number of bytes of a body that cost as much as one more request. */
const BYTES_PER_REQUEST = 1024;

/**
 * Maximum number of concurrent exports of one card program, if there are limits per key. Each export occupies memory for a page and
 * a slot in the export queue until its caller has read it. Without this limit, one program could use up both.
 */
const MAX_CONCURRENT_EXPORTS = 20;

/**
 * The limits of a process: for requests from one address, before their caller is identified, and for requests with one key. If a
 * rate is 0, requests are not counted and have no RateLimit headers. Each process counts separately.
 */
export class RateLimits {
  readonly #ofAddress: RateLimiter | undefined;
  readonly #ofKey: RateLimiter | undefined;
  readonly #ofSignIns = new RateLimiter(SIGN_INS_PER_SECOND);
  readonly #trustedProxies: number;
  readonly #exports = new Map<string, number>();

  constructor({ addressRatePerSecond, keyRatePerSecond, trustedProxies }: HttpSettings) {
    this.#ofAddress = addressRatePerSecond === 0 ? undefined : new RateLimiter(addressRatePerSecond);
    this.#ofKey = keyRatePerSecond === 0 ? undefined : new RateLimiter(keyRatePerSecond);
    this.#trustedProxies = trustedProxies;
  }

  /** Counts a request for its address. Only {@link admitAddress} refuses it, because malformed requests and 404 take precedence. */
  countAddress(context: RequestContext): void {
    if (this.#ofAddress === undefined) return;
    context.addressLimitRefusal = count(context, 'address', this.#ofAddress, this.addressOf(context));
  }

  /** Refuses a request above the rate of its address: `rate_limited`. */
  admitAddress({ addressLimitRefusal }: RequestContext): void {
    if (addressLimitRefusal !== undefined) throw addressLimitRefusal;
  }

  /** Counts a request for its API key or its connector. Throws `rate_limited`. */
  admitCaller(context: RequestContext, caller: Caller): void {
    const who = 'connectorId' in caller ? caller.connectorId : credentialOf(caller);
    if (this.#ofKey === undefined || who === undefined) return;
    const refusal = count(context, 'key', this.#ofKey, who);
    if (refusal !== undefined) throw refusal;
  }

  /** Counts a session that a key creates, even if the rates are 0. Throws `rate_limited`. */
  admitSignIn(caller: Caller): void {
    if (!('keyId' in caller)) return;
    const { isRefused, waitMilliseconds } = this.#ofSignIns.take(caller.keyId, performance.now());
    if (!isRefused) return;
    const message = `This key created ${this.#ofSignIns.quota} sessions in ${WINDOW_SECONDS} seconds. Retry in ${secondsText(waitMilliseconds)}.`;
    throw new Refusal('rate_limited', message, { endsIn: waitMilliseconds });
  }

  chargeBody(context: RequestContext, bytes: number): void {
    this.#chargeKey(context, Math.floor(bytes / BYTES_PER_REQUEST));
  }

  /** Charges the rows of a batch after the first to the API key, so that a batch costs as much as single requests. */
  chargeRows(context: RequestContext, rows: number): void {
    this.#chargeKey(context, rows - 1);
  }

  #chargeKey(context: RequestContext, requests: number): void {
    const { caller } = context;
    const who = credentialOf(caller);
    if (this.#ofKey === undefined || requests <= 0 || who === undefined) return;
    charge(context, 'key', this.#ofKey, who, requests);
  }

  /** Counts an export of a card program until its response ends. Throws `rate_limited`. */
  admitExport({ response }: RequestContext, programId: string): void {
    // If the response is already closed, it emits no further close event.
    if (this.#ofKey === undefined || response.closed) return;
    const inProgress = this.#exports.get(programId) ?? 0;
    if (inProgress >= MAX_CONCURRENT_EXPORTS) {
      const message = `This card program already has ${MAX_CONCURRENT_EXPORTS} exports in progress. Retry when one has ended.`;
      throw new Refusal('rate_limited', message, { endsIn: 1000 });
    }
    this.#exports.set(programId, inProgress + 1);
    response.once('close', () => {
      const left = (this.#exports.get(programId) ?? 1) - 1;
      if (left === 0) this.#exports.delete(programId);
      else this.#exports.set(programId, left);
    });
  }

  /** Charges a refused credential to its address. This slows down the guessing of keys. */
  chargeRefusedCredential(context: RequestContext): void {
    this.#chargeAddress(context, REFUSED_CREDENTIAL_COST);
  }

  chargePage(context: RequestContext, isSearch: boolean): void {
    this.#chargeAddress(context, isSearch ? PAGE_COST + SEARCH_COST : PAGE_COST);
  }

  chargeRendering(context: RequestContext): void {
    this.#chargeAddress(context, RENDERING_COST);
  }

  #chargeAddress(context: RequestContext, requests: number): void {
    if (this.#ofAddress === undefined) return;
    charge(context, 'address', this.#ofAddress, this.addressOf(context), requests);
  }

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
  const sender = policy === 'address' ? 'This address' : 'This key';
  const message =
    `${sender} sent more than ${limiter.quota} requests in ${WINDOW_SECONDS} seconds. ` +
    `Retry in ${secondsText(allowance.waitMilliseconds)}.`;
  return new Refusal('rate_limited', message, { endsIn: allowance.waitMilliseconds });
}

function secondsText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  return `${seconds} second${seconds === 1 ? '' : 's'}`;
}

/**
 * Returns the headers of draft-ietf-httpapi-ratelimit-headers: each policy (`q` requests in `w` seconds) and its state (`r`
 * requests remain, the full quota is available in `t` seconds). Empty if there are no limits.
 */
export function rateHeaders(rate: RateStatus): readonly (readonly [name: string, value: string])[] {
  if (rate.length === 0) return [];
  let policies = '';
  let allowances = '';
  for (const { policy, limiter, allowance } of rate) {
    const separator = policies === '' ? '' : ', ';
    const fullAfterSeconds = Math.ceil(allowance.fullAfterMilliseconds / 1000);
    policies += `${separator}"${policy}";q=${limiter.quota};w=${WINDOW_SECONDS}`;
    allowances += `${separator}"${policy}";r=${allowance.remaining};t=${fullAfterSeconds}`;
  }
  return [
    ['RateLimit-Policy', policies],
    ['RateLimit', allowances],
  ];
}
