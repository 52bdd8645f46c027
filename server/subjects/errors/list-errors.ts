import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toLoggedErrorRecord, toOperatorErrorRecord } from '../../calls/records/error.ts';
import type { Service } from '../../calls/service.ts';
import { countDrops, listErrors as listErrorsStatement, toLoggedError } from '../../store/error.ts';
import { readErrorFilter } from './error-filter.ts';

/** list_errors: a page of the card program's errors, newest first. */
export async function listErrors(service: Service, call: Call<'list_errors'>): Promise<Reply<'list_errors'>> {
  const filter = readErrorFilter(call);
  const record = await readPage(service, call, {
    prefix: 'req',
    statement: (after, count) => listErrorsStatement({ ...filter, after, count, programId: call.programId }),
    read: toLoggedError,
    idOf: (error) => error.requestId,
    show: toLoggedErrorRecord,
  });
  return { record };
}

/**
 * search_errors: a page of all errors, with or without a card program, newest first. `dropped` is the number of errors in
 * the requested period that could not be recorded; the other filters do not apply to it.
 */
export async function searchErrors(service: Service, call: Call<'search_errors'>): Promise<Reply<'search_errors'>> {
  const programId = readProgramFilter(call, call.query.program_id);
  const filter = readErrorFilter(call);
  const [row] = await readRows(service.database, countDrops(filter.from, filter.to));
  const page = await readPage(service, call, {
    prefix: 'req',
    statement: (after, count) => listErrorsStatement({ ...filter, after, count, programId }),
    read: toLoggedError,
    idOf: (error) => error.requestId,
    show: toOperatorErrorRecord,
  });
  return { record: { ...page, dropped: Number(row?.count ?? 0n) } };
}
