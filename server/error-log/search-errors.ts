import type { QueryOf } from '../../contract/operations.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { answerPage } from '../operations/page.ts';
import type { Service } from '../operations/service.ts';
import { countDrops, type LoggedError, listErrors, toLoggedError } from '../store/error.ts';
import { readErrorFilter, readProgramFilter } from './error-filter.ts';
import { toOperatorErrorRecord } from './error-records.ts';

/**
 * search_errors: a page of the errors of all card programs, and of none, newest first. `dropped` is the number of errors
 * in the requested period that could not be recorded; the other filters do not apply to it.
 */
export async function searchErrors(service: Service, call: Call): Promise<Reply> {
  const query = call.members as QueryOf<'search_errors'>;
  const programId = readProgramFilter(call, query.program_id);
  const filter = readErrorFilter(call);
  const [row] = await readRows(service.database, countDrops(filter.from, filter.to));
  const listing = {
    prefix: 'req' as const,
    statement: (after: string | null, count: number) => listErrors({ ...filter, after, count, programId }),
    read: toLoggedError,
    idOf: (error: LoggedError) => error.requestId,
    show: toOperatorErrorRecord,
  };
  return answerPage(service, call, listing, { dropped: Number(row?.count ?? 0n) });
}
