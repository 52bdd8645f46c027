import type { Answered, TrialBalance } from './records.ts';
import type { CallOptions } from './request.ts';
import type { Send } from './send.ts';

/** The proof that the books balance; for operators. */
export class TrialBalances {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** get_trial_balance: sums per currency and kind of account, in minor units. */
  get(options?: CallOptions): Promise<Answered<TrialBalance>> {
    return this.#send('get_trial_balance', { options });
  }
}
