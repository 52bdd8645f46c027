import type { Pool } from './pool.ts';
import { SERVER, STANDBY_IS_REQUIRED, serverOf } from './session-settings.ts';
import { type Row, type Statement, toQuery } from './work.ts';

// Invariant: With a synchronous standby, a transfer is acknowledged only after the standby has received it
// Kept by: a later commit on the same server must be acknowledged
// Tested by: `test/crashes/standby.test.ts`, `test/store/standby.test.ts`

// Invariant: If a standby is required, every acknowledged write has waited for one
// Kept by: `LACKS_STANDBY` in the fence and in readiness, `READ_WAITS` after a commit
// Tested by: `test/crashes/required-standby.test.ts`, `test/crashes/lost-mark.test.ts`

/** SQL: whether commits wait for a standby: the settings name one and allow it to connect. A reload can change them at any time. */
const WAITS = "(current_setting('synchronous_standby_names') <> '' and current_setting('max_wal_senders') <> '0')";

/** SQL: whether a standby is required but not configured. Then commits are forbidden. */
export const LACKS_STANDBY = `(${STANDBY_IS_REQUIRED} and not ${WAITS})`;

/** SQL: the server, if its commits wait for a standby or would have to. Otherwise null. */
export const REPLICATED = `case when ${WAITS} or ${STANDBY_IS_REQUIRED} then ${SERVER} end as replicated`;

/** SQL: when this session last read the settings of the server. Null if no standby is required. */
export const SETTINGS_READ = `case when ${STANDBY_IS_REQUIRED} then pg_catalog.pg_conf_load_time()::text end as settings_read`;

/**
 * Sent after a COMMIT if a standby is required. If `synchronous_standby_names` is emptied while a commit waits, PostgreSQL ends the
 * wait without a warning. But that session then reloads its settings before its next statement: sessions receive the signal to
 * reload before the checkpointer does, and the checkpointer ends the waits. One case is not noticed: the names are set again before
 * the checkpointer has seen that they were empty.
 */
export const READ_WAITS: Statement = {
  name: 'read_waits',
  text: `select ${WAITS} as waits, ${SETTINGS_READ}`,
  values: [],
};

/**
 * Returns whether a commit waited for a standby, if one is required. It did if the names were set before and after the commit, and
 * the session did not reload its settings in between. Both rows have {@link SETTINGS_READ}.
 */
export function hasWaited(before: Row | undefined, after: Row | undefined): boolean {
  return after?.waits === true && after.settings_read === before?.settings_read;
}

/**
 * Writes to the WAL and commits. The commit is acknowledged when the standby has this record, and with it all earlier commits.
 * It commits inside the statement, because `statement_timeout` ends the wait for an absent standby only there. PostgreSQL then
 * warns, and no session waits forever. The message in the WAL leaves no row.
 */
const BARRIER = `do $$ begin
  perform pg_catalog.pg_logical_emit_message(true, 'transfer_service', 'barrier');
  commit;
end $$`;

/**
 * The maximum time from reading the clock in a transaction to the acknowledgment of its commit. All time limits of a transaction
 * together are shorter.
 */
export const COMMIT_MILLISECONDS = 60_000;

/** The pause before the second barrier if the first was not acknowledged. */
const PAUSE_MILLISECONDS = 50;

/**
 * The data that the standby is known to have, under synchronous replication. The standby may lack a visible row: if the primary
 * crashes while a commit waits for the standby, recovery makes the commit visible, but a failover undoes it. So a row that was
 * found in the database is only known to be durable after a later commit was acknowledged. That commit must come from the same
 * server. After a failover, connections may still go to the old primary, while new ones go to the standby that has replaced it.
 * Commits of the new primary prove nothing about the old one.
 */
export class Standby {
  /** Whether commits that did not wait for a standby must not be acknowledged. */
  readonly isRequired: boolean;
  readonly #writers: Pool;
  /** All rows that were last changed on this server before this time, by its clock, are on the standby. */
  #confirmed: { readonly server: string; readonly before: number } | undefined;
  /** The barrier in progress. It resolves to the server whose standby has acknowledged it, or undefined if none has. */
  #running: Promise<string | undefined> = Promise.resolve(undefined);
  #next: Promise<string | undefined> | undefined;

  /** `writers` provides the connections for barriers, one at a time. */
  constructor(writers: Pool, isRequired = false) {
    this.#writers = writers;
    this.isRequired = isRequired;
  }

  /**
   * Records a commit that began at this time and that the server's standby has acknowledged. The latest call counts, and not the
   * latest time, because the database's clock may have been set back.
   */
  note(begun: Date, server: string | undefined): void {
    this.#confirmed = server === undefined ? undefined : { server, before: begun.getTime() - COMMIT_MILLISECONDS };
  }

  /** Returns whether the standby is known to have a row that was last changed on a server at this time. */
  has(changedAt: Date, server: string): boolean {
    return this.#confirmed?.server === server && changedAt.getTime() < this.#confirmed.before;
  }

  /**
   * Returns whether the standby has everything that was visible on this server before the call. False if the standby
   * has not acknowledged that by `deadline` (`performance.now()`), or if commits now go to a different server.
   */
  async confirm(server: string | undefined, deadline: number): Promise<boolean> {
    const timer = Promise.withResolvers<false>();
    const timeout = setTimeout(() => timer.resolve(false), Math.max(0, deadline - performance.now()));
    const confirmed = await Promise.race([this.#tryUntil(server, deadline), timer.promise]);
    clearTimeout(timeout);
    return confirmed;
  }

  async #tryUntil(server: string | undefined, deadline: number): Promise<boolean> {
    while (performance.now() < deadline) {
      const acknowledged = await this.#barrier();
      if (acknowledged !== undefined) return acknowledged === server;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    }
    return false;
  }

  /** Sends a barrier. It serves every request that came before it began. Never rejects. */
  #barrier(): Promise<string | undefined> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      this.#running = this.#commit().catch(() => undefined);
      return this.#running;
    });
    return this.#next;
  }

  async #commit(): Promise<string | undefined> {
    const client = await this.#writers.take();
    let warned = false;
    const listen = ({ severity }: { severity?: string | undefined }): void => {
      warned ||= severity === 'WARNING';
    };
    client.on('notice', listen);
    let isFit = false;
    try {
      const { rows } = await client.query<{ now: Date }>(`select clock_timestamp() as now, ${SETTINGS_READ}`);
      await client.query(BARRIER);
      const after = this.isRequired ? (await client.query<Row>(toQuery(READ_WAITS))).rows : undefined;
      isFit = true;
      if (after !== undefined && !hasWaited(rows[0], after[0])) return undefined;
      // "Committed locally": the wait ended before the standby responded.
      if (warned) return undefined;
      const server = serverOf(client);
      for (const { now } of rows) this.note(now, server);
      return server;
    } finally {
      client.off('notice', listen);
      client.release(!isFit);
    }
  }
}

/**
 * Gives a statement as little memory as possible, and puts temporary files on the database's own disk, so that {@link TRY_TO_WRITE}
 * must write a file there.
 */
export const FORCE_A_FILE: Statement = {
  name: 'force_a_file',
  text: `select set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true)`,
  values: [],
};

/**
 * Reads whether the connection may write, whether commits wait for a standby, and whether a standby is required but none is
 * configured. Writes a temporary file of about 160 kB, because its rows do not fit in memory. Fails with 53100 if the disk is
 * full. The file leaves nothing to vacuum and always needs new space on the disk. A row that is rolled back would need a vacuum,
 * and could fit into an existing file.
 */
export const TRY_TO_WRITE: Statement = {
  name: 'try_to_write',
  text: `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only, ${REPLICATED},
    ${LACKS_STANDBY} as lacks_standby,
    (select count(*) from generate_series(1, 8000)) as rows`,
  values: [],
};
