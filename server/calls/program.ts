import { fromWireId } from '../../domain/identifier.ts';
import { isCurrency } from '../../domain/ledger/money.ts';
import { type Program, readProgram, toProgram } from '../store/program.ts';
import { type CallContext, type Service, schemaRefusal } from './call.ts';
import { programMissing } from './missing.ts';
import { readRows } from './read-rows.ts';

/** Reads a program by its wire id. Throws `program_not_found`. */
export async function loadProgram({ database }: Pick<Service, 'database'>, sentId: string): Promise<Program> {
  const programId = fromWireId('prog', sentId);
  const [row] = programId === undefined ? [] : await readRows(database, readProgram(programId));
  if (row !== undefined) return toProgram(row);
  throw programMissing(sentId);
}

/** Returns the request's currency, or the program's if the request sent none. */
export function currencyFor(call: CallContext, program: Program, sent: string | undefined): string {
  return sent === undefined ? program.currency : checkCurrency(call, sent);
}

/** Refuses a currency that is not in ISO 4217. */
export function checkCurrency(call: CallContext, sent: string): string {
  if (isCurrency(sent)) return sent;
  const message = `'currency' is '${sent}', which is not an ISO 4217 currency code, such as USD, EUR or JPY.`;
  throw schemaRefusal(call, message, '/currency');
}

export function readProgramFilter(call: CallContext, programId: string | undefined): string | null {
  if (programId === undefined) return null;
  const inner = fromWireId('prog', programId);
  if (inner !== undefined) return inner;
  throw schemaRefusal(
    call,
    `'program_id' is '${programId}', which is not a program id (prog_ and 32 hex digits).`,
    '/program_id',
  );
}
