/** Limits on how many unauthenticated errors are recorded. */
export type UnauthenticatedSettings = {
  /** Maximum number at once, over all addresses. */
  readonly maxUnauthenticatedBurst: number;
  /** Errors per second in the long run, over all addresses. */
  readonly unauthenticatedPerSecond: number;
  /** Maximum number per address and minute. */
  readonly maxUnauthenticatedPerAddressMinute: number;
};

const MINUTE_MILLISECONDS = 60_000;

/** Maximum number of addresses that are counted separately in a minute. Further addresses share one budget. */
const MAX_ADDRESSES = 10_000;

/**
 * Limits the recording of unauthenticated errors: those with neither caller nor card program. Anyone on the network can
 * cause them without a key, and could fill the disk of the ledger.
 */
export class UnauthenticatedBudget {
  readonly #settings: UnauthenticatedSettings;
  #left: number;
  #filledAt = 0;
  #minute = 0;
  readonly #ofAddress = new Map<string, number>();

  constructor(settings: UnauthenticatedSettings) {
    this.#settings = settings;
    this.#left = settings.maxUnauthenticatedBurst;
  }

  /** Whether an error of an address is recorded. `now` is in milliseconds of any monotonic clock. */
  take(address: string | undefined, now: number): boolean {
    this.#fill(now);
    const sender = this.#addressKey(address ?? '');
    const before = this.#ofAddress.get(sender) ?? 0;
    if (this.#left < 1 || before >= this.#settings.maxUnauthenticatedPerAddressMinute) return false;
    this.#left -= 1;
    this.#ofAddress.set(sender, before + 1);
    return true;
  }

  #fill(now: number): void {
    const { maxUnauthenticatedBurst, unauthenticatedPerSecond } = this.#settings;
    this.#left = Math.min(
      maxUnauthenticatedBurst,
      this.#left + ((now - this.#filledAt) / 1000) * unauthenticatedPerSecond,
    );
    this.#filledAt = now;
    const minute = Math.floor(now / MINUTE_MILLISECONDS);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#ofAddress.clear();
  }

  #addressKey(address: string): string {
    return this.#ofAddress.has(address) || this.#ofAddress.size < MAX_ADDRESSES ? address : '';
  }
}
