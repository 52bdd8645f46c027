import type { Row, Statement } from './connection/database.ts';
import { columns, INTEGER, NUMBER, nullable, rows, SMALLINT, statement, TEXT, TIME, UUID, wordList } from './sql.ts';

// Invariant: error.recorded counts every stored Server and Process Error once
// Kept by: the statement that stores errors
// Tested by: `test/errors/reports.test.ts`

/** Events report errors of these types. For other errors, the response already tells the caller everything. */
export const REPORTED_TYPES: readonly string[] = ['Server Error', 'Process Error'];

/** The time between two events for one code and program. Errors that are stored in between are only counted. */
const INTERVAL = "interval '1 minute'";

/**
 * SQL: part of the statement that stores errors. It counts the rows of `stored` for the next event, in sorted order, so that two
 * processes that count the same errors never deadlock.
 */
export const REPORT_STORED = `reported as (
      insert into error_report (program_id, code, count, since, last_at, request_id, status, type, message)
      select program_id, code, count(*), min(created_at), max(created_at),
        (array_agg(request_id order by created_at desc, request_id desc))[1],
        (array_agg(status order by created_at desc, request_id desc))[1],
        (array_agg(type order by created_at desc, request_id desc))[1],
        (array_agg(message order by created_at desc, request_id desc))[1]
      from stored where type in (${wordList(REPORTED_TYPES)})
      group by program_id, code order by program_id, code
      on conflict (program_id, code) do update set
        count = error_report.count + excluded.count,
        since = least(error_report.since, excluded.since),
        (last_at, request_id, status, type, message) = (
          select last_at, request_id, status, type, message from (values
            (error_report.last_at, error_report.request_id, error_report.status, error_report.type, error_report.message),
            (excluded.last_at, excluded.request_id, excluded.status, excluded.type, excluded.message)
          ) as both_of (last_at, request_id, status, type, message)
          order by last_at desc nulls last limit 1
        )
    )`;

const REPORT = columns({
  programId: nullable(UUID),
  code: TEXT,
  count: NUMBER,
  since: TIME,
  requestId: UUID,
  status: SMALLINT,
  type: TEXT,
  message: TEXT,
});

/** The errors of one code and program that no event has reported yet, with the message and the ids of the latest error. */
export type ErrorReport = ReturnType<typeof REPORT.read>;

/**
 * SQL: whether an event is due. Uses the real clock, because a sandbox's clock can be moved. A report with a future time is from
 * before the clock was set back.
 */
const IS_DUE = `count > 0 and (reported_at is null
    or reported_at not between statement_timestamp() - ${INTERVAL} and statement_timestamp())`;

/** Reads, as `due`, whether an event must be written now. */
export const READ_WHETHER_ERRORS_ARE_DUE: Statement = {
  name: 'read_whether_errors_are_due',
  text: `select exists (select from error_report where ${IS_DUE}) as due`,
  values: [],
};

const LOCK_DUE_ERRORS = statement(
  'lock_due_errors',
  { count: INTEGER },
  `select ${REPORT.names}, (extract(epoch from service_now()) * 1000)::bigint as now from error_report where ${IS_DUE}
    order by program_id, code limit :count for no key update skip locked`,
);

/** Locks and reads the errors that an event must report now. Skips errors that another process is about to report. */
export function lockDueErrors(count: number): Statement {
  return LOCK_DUE_ERRORS({ count });
}

/** Returns the reports from the rows of {@link lockDueErrors}, and the service's time in milliseconds since 1970. */
export function toErrorReports(found: readonly Row[]): {
  readonly now: number;
  readonly reports: readonly ErrorReport[];
} {
  return { now: Number(found[0]?.now), reports: found.map(REPORT.read) };
}

const MARK_ERRORS_REPORTED = statement(
  'mark_errors_reported',
  { reports: rows(REPORT.pick('programId', 'code')) },
  `update error_report set count = 0, since = null, last_at = null, request_id = null, status = null, type = null,
      message = null, reported_at = statement_timestamp()
    from :reports
    where error_report.program_id is not distinct from reports.program_id and error_report.code = reports.code`,
);

export function markErrorsReported(reports: readonly ErrorReport[]): Statement {
  return MARK_ERRORS_REPORTED({ reports: reports.map(({ programId, code }) => ({ programId, code })) });
}

/**
 * Deletes at most `count` reports that are no longer needed for the next error of their code. Returns their number as `forgotten`.
 */
export const forgetErrorReports = (count: number): Statement => FORGET_ERROR_REPORTS({ count });

const FORGET_ERROR_REPORTS = statement(
  'forget_error_reports',
  { count: INTEGER },
  `with forgotten as (
      delete from error_report where ctid = any (array(
        select ctid from error_report
        where count = 0 and reported_at not between statement_timestamp() - ${INTERVAL} and statement_timestamp()
        limit :count for update skip locked
      )) and count = 0 returning 1
    )
    select count(*) as forgotten from forgotten`,
);
