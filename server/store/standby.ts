import type { Pool } from './pool.ts';

/** SQL: whether commits wait for a standby. Any process reads the setting in force, which can change at a reload. */
export const REPLICATED = "current_setting('synchronous_standby_names') <> '' as replicated";

/**
 * Writes to the log and commits. The commit is acknowledged when the standby has this record, and with it everything
 * that was committed before. It is committed inside the statement, not after it, because only there does
 * `statement_timeout` end the wait for a standby that is away: PostgreSQL then warns, and no session stays behind that
 * waits for ever. A message leaves no row.
 */
const BARRIER = `do $$ begin
  perform pg_catalog.pg_logical_emit_message(true, 'transfer_service', 'barrier');
  commit;
end $$`;

/**
 * How long before its acknowledgement a commit can have taken its time from the clock, in milliseconds. The time limits
 * of a transaction add up to less.
 */
const COMMIT_TAKES = 60_000;

/** Between two barriers when the first was not acknowledged, in milliseconds. */
const PAUSE = 50;

/**
 * What the standby is known to have, under synchronous replication. A row that is visible need not be there: when the
 * primary crashes while a commit waits for the standby, recovery makes the commit visible, and a failover undoes it.
 * So nothing that was found in the database proves that it will last until a later commit has been acknowledged.
 */
export class Standby {
  readonly #writers: Pool;
  /** What was last changed before this moment, by the database's clock, is on the standby. */
  #confirmedBefore = Number.NEGATIVE_INFINITY;
  #running: Promise<boolean> = Promise.resolve(false);
  #next: Promise<boolean> | undefined;

  /** `writers` give the connections for barriers; one at a time. */
  constructor(writers: Pool) {
    this.#writers = writers;
  }

  /**
   * Notes a commit that the standby has acknowledged and that began at this moment. The latest counts, not the greatest:
   * the database's clock may have been set back.
   */
  note(begun: Date): void {
    this.#confirmedBefore = begun.getTime() - COMMIT_TAKES;
  }

  /** Whether what was last changed at this moment is known to be on the standby. */
  has(changedAt: Date): boolean {
    return changedAt.getTime() < this.#confirmedBefore;
  }

  /**
   * Whether the standby has everything that was visible before the call; false when it has not said so by `deadline`
   * (`performance.now()`).
   */
  async confirm(deadline: number): Promise<boolean> {
    const timer = Promise.withResolvers<false>();
    const timeout = setTimeout(() => timer.resolve(false), Math.max(0, deadline - performance.now()));
    const confirmed = await Promise.race([this.#tryUntil(deadline), timer.promise]);
    clearTimeout(timeout);
    return confirmed;
  }

  async #tryUntil(deadline: number): Promise<boolean> {
    while (performance.now() < deadline) {
      if (await this.#barrier()) return true;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
    return false;
  }

  /** One barrier serves everybody who asked before it began. Never rejects. */
  #barrier(): Promise<boolean> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      this.#running = this.#commit().catch(() => false);
      return this.#running;
    });
    return this.#next;
  }

  async #commit(): Promise<boolean> {
    const client = await this.#writers.take();
    let warned = false;
    const listen = ({ severity }: { severity?: string | undefined }): void => {
      warned ||= severity === 'WARNING';
    };
    client.on('notice', listen);
    let sound = false;
    try {
      const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now');
      await client.query(BARRIER);
      sound = true;
      // "Committed locally": the wait was ended before the standby has answered.
      if (warned) return false;
      for (const { now } of rows) this.note(now);
      return true;
    } finally {
      client.off('notice', listen);
      client.release(!sound);
    }
  }
}
