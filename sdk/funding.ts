import type { Answered, FundingMovementBody, FundingMovementRecord } from './records.ts';
import type { KeyedCallOptions } from './request.ts';
import type { Send } from './send.ts';

/** Money brought to a card program's funding account; for operators. */
export class Deposits {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * create_deposit: brings `amount` minor units to the program's funding.
   * Codes: `invalid_amount`, `program_not_found`, `idempotency_key_exists`, `limit_exceeded`, `unknown_create_deposit`.
   */
  create(
    programId: string,
    body: FundingMovementBody,
    options?: KeyedCallOptions,
  ): Promise<Answered<FundingMovementRecord>> {
    return this.#send('create_deposit', { parameters: { program_id: programId }, body, options });
  }
}

/** Money taken out of a card program's funding account; for operators. */
export class Withdrawals {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * create_withdrawal: takes `amount` minor units out of the program's funding.
   * Codes: `invalid_amount`, `program_not_found`, `idempotency_key_exists`, `insufficient_funds`, `unknown_create_withdrawal`.
   */
  create(
    programId: string,
    body: FundingMovementBody,
    options?: KeyedCallOptions,
  ): Promise<Answered<FundingMovementRecord>> {
    return this.#send('create_withdrawal', { parameters: { program_id: programId }, body, options });
  }
}
