import type { Answered, ClockRecord, DatabaseState, MoveClockBody } from './records.ts';
import type { CallOptions, KeyedCallOptions } from './request.ts';
import type { Send } from './send.ts';

/** What only a sandbox can do: fail on purpose, and let time pass. */
export class Sandbox {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** stop_database: really stops the database server, to see what the service answers then. */
  stopDatabase(options?: CallOptions): Promise<Answered<DatabaseState>> {
    return this.#send('stop_database', { options });
  }

  /** start_database: starts the database server again. */
  startDatabase(options?: CallOptions): Promise<Answered<DatabaseState>> {
    return this.#send('start_database', { options });
  }

  /**
   * move_clock: sets the sandbox's clock so many seconds ahead of the time of day, to see holds expire, limits free and
   * scheduled transfers come due; 0 sets it right again. Codes: `move_clock_schema`, `idempotency_key_exists`.
   */
  moveClock(body: MoveClockBody, options?: KeyedCallOptions): Promise<Answered<ClockRecord>> {
    return this.#send('move_clock', { body, options });
  }
}
