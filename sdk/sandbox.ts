import type { Answered, DatabaseState } from './records.ts';
import type { CallOptions } from './request.ts';
import type { Send } from './send.ts';

/** What only a sandbox can do: fail on purpose. */
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
}
