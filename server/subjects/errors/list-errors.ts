import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { toLoggedErrorRecord } from '../../calls/records/error.ts';
import type { Service } from '../../calls/service.ts';
import { listErrors as listErrorsStatement, toLoggedError } from '../../store/error.ts';
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
