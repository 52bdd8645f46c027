import { toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { toInspectedErrorRecord } from '../../calls/records/error.ts';
import type { Service } from '../../calls/service.ts';
import { transact } from '../../commit/transaction.ts';
import { auditOf } from '../audit/audit.ts';
import { findError } from './get-error.ts';

/**
 * inspect_error: any error with all stored details, including causes, or `error_not_found`. It shows more than a card
 * program may see, so the request is in the audit log before the response is sent.
 */
export async function inspectError(service: Service, call: Call<'inspect_error'>): Promise<Reply<'inspect_error'>> {
  const error = await findError(service, call, null);
  const { programId, requestId, code } = error;
  const audited = { programId, subjectId: toWireId('req', requestId), details: JSON.stringify({ code }) };
  await transact(service.database, call.deadline, {}, () => ({ result: null, writes: auditOf(call, audited) }));
  return { record: toInspectedErrorRecord(error) };
}
