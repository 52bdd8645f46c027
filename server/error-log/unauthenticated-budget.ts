/** How many errors of strangers are recorded. */
export type StrangerSettings = {
  /** Errors of all strangers at once, at most. */
  readonly strangersMost: number;
  /** Errors of all strangers a second beyond that, in the long run. */
  readonly strangersASecond: number;
  /** Errors of one address in a minute, at most. */
  readonly strangersOfAddress: number;
};

const MINUTE_MS = 60_000;

/** Addresses that are told apart within a minute. Whoever comes beyond them shares one budget. */
const ADDRESSES_MOST = 10_000;

/**
 * What the error log spends on strangers: on errors that were answered before anybody knew for which card program, or to
 * whom. They need no key, so without a bound anybody on the network could fill the disk that the ledger is on.
 */
export class StrangerBudget {
  readonly #settings: StrangerSettings;
  #left: number;
  #filledAt = 0;
  #minute = 0;
  readonly #ofAddress = new Map<string, number>();

  constructor(settings: StrangerSettings) {
    this.#settings = settings;
    this.#left = settings.strangersMost;
  }

  /** Whether an error of an address is to be recorded. `now` is in milliseconds, from any moment on. */
  take(address: string | undefined, now: number): boolean {
    this.#fill(now);
    const sender = this.#tellApart(address ?? '');
    const before = this.#ofAddress.get(sender) ?? 0;
    if (this.#left < 1 || before >= this.#settings.strangersOfAddress) return false;
    this.#left -= 1;
    this.#ofAddress.set(sender, before + 1);
    return true;
  }

  #fill(now: number): void {
    const { strangersMost, strangersASecond } = this.#settings;
    this.#left = Math.min(strangersMost, this.#left + ((now - this.#filledAt) / 1000) * strangersASecond);
    this.#filledAt = now;
    const minute = Math.floor(now / MINUTE_MS);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#ofAddress.clear();
  }

  #tellApart(address: string): string {
    return this.#ofAddress.has(address) || this.#ofAddress.size < ADDRESSES_MOST ? address : '';
  }
}
