import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { type LoggedError, readError, toLoggedError } from '../store/error.ts';
import { toLoggedErrorRecord } from './error-records.ts';

/** get_error: an error of the card program. Errors of other programs, or of none, are `error_not_found`. */
export async function getError(service: Service, call: Call): Promise<Reply> {
  const error = await findError(service, call, call.programId);
  return { status: 200, body: JSON.stringify(toLoggedErrorRecord(error)) };
}

/** The error in the path, of one card program or, with null, of any. Throws `error_not_found`. */
export async function findError(service: Service, call: Call, programId: string | null): Promise<LoggedError> {
  const asked = call.parameters.request_id ?? '';
  const requestId = fromWireId('req', asked);
  const rows = requestId === undefined ? [] : await readRows(service.database, readError(requestId, programId));
  const [row] = rows;
  if (row !== undefined) return toLoggedError(row);
  const hint = requestId === undefined ? ' A request id is req_ and 32 hex digits.' : '';
  const where = programId === null ? '' : ' in this card program';
  throw new Refusal('error_not_found', `There is no error with the request id '${asked}'${where}.${hint}`);
}
