import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toOperatorErrorRecord } from '../../calls/records/error.ts';
import type { Service } from '../../calls/service.ts';
import { countDrops, listErrors, toLoggedError } from '../../store/error.ts';
import { readErrorFilter } from './error-filter.ts';

/**
 * search_errors: a page of the errors of all card programs, and of none, newest first. `dropped` is the number of errors
 * in the requested period that could not be recorded; the other filters do not apply to it.
 */
export async function searchErrors(service: Service, call: Call<'search_errors'>): Promise<Reply<'search_errors'>> {
  const programId = readProgramFilter(call, call.query.program_id);
  const filter = readErrorFilter(call);
  const [row] = await readRows(service.database, countDrops(filter.from, filter.to));
  const page = await readPage(service, call, {
    prefix: 'req',
    statement: (after, count) => listErrors({ ...filter, after, count, programId }),
    read: toLoggedError,
    idOf: (error) => error.requestId,
    show: toOperatorErrorRecord,
  });
  return { record: { ...page, dropped: Number(row?.count ?? 0n) } };
}
