import type { DatabaseServer } from './ledger/server.ts';

export type StatementTime = {
  /** The beginning of its text. */
  readonly text: string;
  /** How often it runs for a thousand transfers. */
  readonly callsPerThousand: number;
  /** The time from arrival to end. Includes waits for locks and the disk, but not planning. */
  readonly microseconds: number;
  readonly logBytes: number;
};

const EXTENSION = 'pg_stat_statements';

export async function countsStatements(server: DatabaseServer): Promise<boolean> {
  const { rows } = await server.query('postgres', 'select from pg_extension where extname = $1', [EXTENSION]);
  return rows.length > 0;
}

export async function resetStatements(server: DatabaseServer): Promise<void> {
  await server.query('postgres', `select ${EXTENSION}_reset()`);
}

/** Reads the counts of one database, the largest first. */
export async function readStatements(
  server: DatabaseServer,
  database: string,
  transfers: number,
): Promise<readonly StatementTime[]> {
  const { rows } = await server.query(
    'postgres',
    `select query, sum(calls) as calls, sum(total_exec_time) as milliseconds, sum(wal_bytes) as log_bytes
      from ${EXTENSION} join pg_database on pg_database.oid = dbid
      where datname = $1 group by query order by milliseconds desc`,
    [database],
  );
  return rows.map(({ query, calls, milliseconds, log_bytes }) => ({
    text: String(query).replaceAll(/\s+/g, ' ').trim(),
    callsPerThousand: (Number(calls) * 1000) / transfers,
    microseconds: (Number(milliseconds) * 1000) / transfers,
    logBytes: Number(log_bytes) / transfers,
  }));
}
