import type { Answer } from '../../../domain/processors/order.ts';

/** Answers are counted over this time. */
const WINDOW_MILLISECONDS = 30_000;

/** So many in a row without a valid answer open the breaker. */
const IN_A_ROW = 5;

/** From so many answers in the window on, half of them without a valid answer open it. */
const ENOUGH = 10;

/**
 * What this process has seen of a connector: whether so many questions had no valid answer that no new orders should be sent.
 * Times are those of `performance.now()`.
 */
export class Breaker {
  #inARow = 0;
  #answers: { readonly at: number; readonly isBad: boolean }[] = [];

  /** Notes an answer; returns why the breaker should open, if it should. */
  note({ outcome }: Pick<Answer, 'outcome'>, now: number): string | undefined {
    const isBad = outcome === 'unknown' || outcome === 'not_sent';
    this.#inARow = isBad ? this.#inARow + 1 : 0;
    this.#answers = this.#answers.filter(({ at }) => now - at < WINDOW_MILLISECONDS);
    this.#answers.push({ at: now, isBad });
    if (this.#inARow >= IN_A_ROW) return `The last ${this.#inARow} requests had no valid answer.`;
    const bad = this.#answers.filter((answer) => answer.isBad).length;
    const all = this.#answers.length;
    if (all < ENOUGH || 2 * bad < all) return undefined;
    return `${bad} of the last ${all} requests had no valid answer.`;
  }

  /** Begins anew: the connector has answered that it works. */
  reset(): void {
    this.#inARow = 0;
    this.#answers = [];
  }
}
