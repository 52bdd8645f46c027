import { OPERATIONS, type QueryOf } from '../../contract/operations.ts';
import { CATALOGUE, isErrorCode } from '../../domain/errors.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call } from '../operations/call.ts';
import type { ErrorFilter } from '../store/error.ts';

/**
 * What the query of a list of errors asks for. A code or an operation that the service does not have is refused: an
 * empty list would hide the slip.
 */
export function readErrorFilter(call: Call): Omit<ErrorFilter, 'after' | 'count' | 'programId'> {
  const query = call.members as QueryOf<'list_errors'>;
  const { code, operation } = query;
  if (code !== undefined) insistOnCode(call, code);
  if (operation !== undefined && !Object.hasOwn(OPERATIONS, operation)) {
    throw refuse(call, 'operation', `'operation' is '${operation}', and there is no such operation.`);
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
export function insistOnCode(call: Call, code: string): void {
  if (isErrorCode(code)) return;
  throw refuse(call, 'code', `'code' is '${code}', and there is no such code. All of them are at /errors.`);
}

/** The inner UUID of the program that the query names; null where it names none. */
export function readProgramFilter(call: Call, programId: string | undefined): string | null {
  if (programId === undefined) return null;
  const inner = fromWireId('prog', programId);
  if (inner !== undefined) return inner;
  throw refuse(call, 'program_id', `'program_id' is '${programId}', but a program id is prog_ and 32 hex digits.`);
}

/** The refusal of a parameter of the query. */
export function refuse(call: Call, name: string, message: string): Refusal {
  return new Refusal(`${call.operation}_schema`, message, { field: `/${name}` });
}

/** A code has one type for ever (specification, section 7.2), so a type stands for the codes that have it. */
function codesOf(code: string | undefined, type: string | undefined): readonly string[] {
  return Object.entries(CATALOGUE)
    .filter(([name, entry]) => (code ?? name) === name && (type ?? entry.type) === entry.type)
    .map(([name]) => name);
}

function toDate(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}
