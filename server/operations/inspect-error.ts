import type { Call, Reply } from './call.ts';
import { toInspectedErrorRecord } from './error-records.ts';
import { findError } from './get-error.ts';
import type { Service } from './service.ts';

/** inspect_error: any error with all that is known about it, down to its causes, or `error_dne`. */
export async function inspectError(service: Service, call: Call): Promise<Reply> {
  const error = await findError(service, call, null);
  return { status: 200, body: JSON.stringify(toInspectedErrorRecord(error)) };
}
