import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, CallContext, Reply } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toInspectedErrorRecord, toLoggedErrorRecord } from '../../calls/records/error.ts';
import type { Service } from '../../calls/service.ts';
import { transact } from '../../commit/transaction.ts';
import { type LoggedError, readError, toLoggedError } from '../../store/error.ts';
import { auditOf } from '../audit/audit.ts';

/** get_error: an error of the card program. Errors of other programs, or of none, are `error_not_found`. */
export async function getError(service: Service, call: Call<'get_error'>): Promise<Reply<'get_error'>> {
  const error = await findError(service, call, call.programId);
  return { record: toLoggedErrorRecord(error) };
}

/** The error that the path names, in one card program or, if `programId` is null, in any. Throws `error_not_found`. */
export async function findError(
  service: Service,
  call: CallContext & { readonly params: { readonly request_id: string } },
  programId: string | null,
): Promise<LoggedError> {
  const { request_id: sentId } = call.params;
  const requestId = fromWireId('req', sentId);
  const rows = requestId === undefined ? [] : await readRows(service.database, readError(requestId, programId));
  const [row] = rows;
  if (row !== undefined) return toLoggedError(row);
  const hint = requestId === undefined ? ' A request id is req_ and 32 hex digits.' : '';
  const where = programId === null ? '' : ' in this card program';
  throw new Refusal('error_not_found', `There is no error with the request id '${sentId}'${where}.${hint}`);
}

/**
 * inspect_error: any error with all stored details, including causes, or `error_not_found`. It shows more than a card
 * program may see, so the request is recorded in the audit log before the response is sent.
 */
export async function inspectError(service: Service, call: Call<'inspect_error'>): Promise<Reply<'inspect_error'>> {
  const error = await findError(service, call, null);
  const { programId, requestId, code } = error;
  const audited = { programId, subjectId: toWireId('req', requestId), details: JSON.stringify({ code }) };
  await transact(service.database, call.deadline, {}, () => ({ result: null, writes: auditOf(call, audited) }));
  return { record: toInspectedErrorRecord(error) };
}
