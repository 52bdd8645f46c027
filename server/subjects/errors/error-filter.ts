import { ERRORS, isErrorCode } from '../../../contract/errors/catalogue.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import type { Refusal } from '../../../domain/refusal.ts';
import { type Call, type CallContext, schemaRefusal } from '../../calls/call.ts';
import type { ErrorFilter } from '../../store/error.ts';

/** Reads the filter of a list of errors. An unknown code or operation is refused, because an empty list would hide a typo. */
export function readErrorFilter(
  call: Call<'list_errors'> | Call<'search_errors'>,
): Omit<ErrorFilter, 'after' | 'count' | 'programId'> {
  const { query } = call;
  const { code, operation } = query;
  if (code !== undefined) requireCode(call, code);
  if (operation !== undefined && !Object.hasOwn(OPERATIONS, operation)) {
    throw invalidParameter(call, 'operation', `'operation' is '${operation}', which is not an operation.`);
  }
  return {
    codes: code === undefined && query.type === undefined ? null : codesOf(code, query.type),
    operation: operation ?? null,
    cardName: query.card_id ?? null,
    from: toDate(query.created_from),
    to: toDate(query.created_to),
  };
}

/** Refuses a code that is not in the catalogue. */
export function requireCode(call: CallContext, code: string): void {
  if (isErrorCode(code)) return;
  throw invalidParameter(call, 'code', `'code' is '${code}', which is not an error code. All codes are at /errors.`);
}

/** The refusal of an invalid query parameter. */
export function invalidParameter(call: CallContext, name: string, message: string): Refusal {
  return schemaRefusal(call, message, `/${name}`);
}

/** A code never changes its type (specification, section 7.2), so a type selects its codes. */
function codesOf(code: string | undefined, type: string | undefined): readonly string[] {
  return Object.entries(ERRORS)
    .filter(([name, entry]) => (code ?? name) === name && (type ?? entry.type) === entry.type)
    .map(([name]) => name);
}

function toDate(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}
