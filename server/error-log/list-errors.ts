import type { Call, Reply } from '../operations/call.ts';
import { answerPage } from '../operations/page.ts';
import type { Service } from '../operations/service.ts';
import { type LoggedError, listErrors as listErrorsStatement, toLoggedError } from '../store/error.ts';
import { readErrorFilter } from './error-filter.ts';
import { toLoggedErrorRecord } from './error-records.ts';

/** list_errors: a page of the card program's errors, newest first. */
export function listErrors(service: Service, call: Call): Promise<Reply> {
  const filter = readErrorFilter(call);
  return answerPage<LoggedError>(service, call, {
    prefix: 'req',
    statement: (after, count) => listErrorsStatement({ ...filter, after, count, programId: call.programId }),
    read: toLoggedError,
    idOf: (error) => error.requestId,
    show: toLoggedErrorRecord,
  });
}
