import type { Row, Statement } from '../connection/database.ts';
import { columns, DATE, json, NUMBER, type RowOf, statement, TEXT, UUID } from '../sql.ts';

/** The activity of a process in a period, in a form that can be added to that of other processes. */
export type StoredMinute = {
  readonly milliseconds: number;
  readonly transfers: number;
  readonly succeeded: number;
  readonly refused: number;
  readonly invalid: number;
  readonly failed: number;
  readonly latencies: readonly (readonly [bucket: number, count: number])[];
};

const PROCESS = columns({
  /** A UUID that the process generates for itself. */
  processId: UUID,
  host: TEXT,
  pid: NUMBER,
  version: TEXT,
  startedAt: DATE,
  minute: json<StoredMinute>('json'),
});

const LISTED = columns({ ...PROCESS.columns, seenAt: DATE, secondsAgo: NUMBER });

export type StoredProcess = RowOf<typeof PROCESS.columns>;

/** A process, as other processes see it. `secondsAgo` is negative if the clock was set back in the meantime. */
export type ListedProcess = RowOf<typeof LISTED.columns>;

/** If a process has not been seen for this long, it no longer counts. */
const KEPT_SECONDS = 3_600;

/** SQL: whether a process still counts. A time in the future is from before the clock was set back. */
const IS_KEPT = `seen_at between statement_timestamp() - make_interval(secs => ${KEPT_SECONDS})
      and statement_timestamp() + make_interval(secs => ${KEPT_SECONDS})`;

const STORE_PROCESS = statement(
  'store_service_process',
  PROCESS.columns,
  `with gone as (
      delete from service_process
      where not (${IS_KEPT}) and process_id <> :processId
    )
    insert into service_process (${PROCESS.names}, seen_at)
      values (:processId, :host, :pid, :version, :startedAt, :minute, statement_timestamp())
      on conflict (process_id) do update set seen_at = excluded.seen_at, minute = excluded.minute`,
);

/** Stores a process's recent activity, and that it is alive. Deletes processes that have not been seen for an hour. */
export function storeProcess(process: StoredProcess): Statement {
  return STORE_PROCESS(process);
}

const DELETE_PROCESS = statement(
  'delete_service_process',
  { processId: UUID },
  'delete from service_process where process_id = :processId',
);

export function deleteProcess(processId: string): Statement {
  return DELETE_PROCESS({ processId });
}

const LIST_PROCESSES = statement(
  'list_service_processes',
  { most: NUMBER },
  `select ${PROCESS.names}, seen_at,
      floor(extract(epoch from statement_timestamp() - seen_at))::bigint as seconds_ago
    from service_process where ${IS_KEPT}
    order by started_at, process_id limit :most`,
);

/** Reads at most `most` processes that were seen in the last hour, oldest first. */
export function listProcesses(most: number): Statement {
  return LIST_PROCESSES({ most });
}

export function toListedProcess(row: Row): ListedProcess {
  return LISTED.read(row);
}
