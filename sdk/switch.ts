import type { Answered, ChangeSwitchBody, SwitchRecord, SwitchState } from './records.ts';
import type { CallOptions, KeyedCallOptions } from './request.ts';
import type { Send } from './send.ts';

/** The switch that stops transfers, as a whole or in part (specification, section 4, rule 3); for operators. */
export class Switch {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** get_switch: every setting there is. */
  get(options?: CallOptions): Promise<Answered<SwitchState>> {
    return this.#send('get_switch', { options });
  }

  /**
   * change_switch: once a disable has answered, nothing in its scope completes any more.
   * Codes: `change_switch_schema`, `program_not_found`, `idempotency_key_exists`.
   */
  change(body: ChangeSwitchBody, options?: KeyedCallOptions): Promise<Answered<SwitchRecord>> {
    return this.#send('change_switch', { body, options });
  }
}
