import type { RecordedErrors } from '../../../contract/events/errors.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toErrorRecord } from '../../calls/records/error.ts';
import { transact } from '../../commit/transaction.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  type ErrorReport,
  lockDueErrors,
  markErrorsReported,
  READ_WHETHER_ERRORS_ARE_DUE,
  toErrorReports,
} from '../../store/error.ts';
import { insertEvents } from '../../store/events/insert-events.ts';

const MAX_REPORTS = 100;

const TIMEOUT_MILLISECONDS = 5_000;

/**
 * Writes the events error.recorded that are due. The statement that stores errors only counts them. This separate transaction
 * writes the events, so that a failure to write an event never prevents storing the error. Several processes can do this at once,
 * because only one of them writes each event.
 */
export async function reportErrors(database: Database): Promise<void> {
  const [row] = await readRows(database, READ_WHETHER_ERRORS_ARE_DUE);
  if (row?.due !== true) return;
  let reported = MAX_REPORTS;
  while (reported === MAX_REPORTS) {
    const deadline = performance.now() + TIMEOUT_MILLISECONDS;
    reported = await transact(database, deadline, { due: lockDueErrors(MAX_REPORTS) }, ({ due }, batchId) => {
      const { now, reports } = toErrorReports(due);
      const writes =
        reports.length === 0 ? [] : [insertEvents(batchId, reports.map(toEvent), now), markErrorsReported(reports)];
      return { result: reports.length, writes, readsOnly: reports.length === 0 };
    });
  }
}

function toEvent({ programId, count, since, requestId, ...error }: ErrorReport): DomainEvent {
  const record: RecordedErrors = {
    error: toErrorRecord(error),
    request_id: toWireId('req', requestId),
    count,
    since: new Date(since).toISOString(),
  };
  return { type: 'error.recorded', programId, subjectId: record.request_id, payload: JSON.stringify(record) };
}
