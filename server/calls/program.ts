import { EVERY_PROGRAM } from '../../domain/event.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { isCurrency } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Program, readProgram, toProgram } from '../store/program.ts';
import { type CallContext, type Service, schemaRefusal } from './call.ts';
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

// Invariant: An id of another program gets the same response as an unknown id
// Kept by: the program in every key and query
// Tested by: `test/security/programs-apart.test.ts`, with and without row-level security

export function transferMissing(sentId: string): Refusal {
  const hint = /^tr_[0-9a-f]{32}$/.test(sentId) ? '' : ' A transfer id is tr_ and 32 hex digits.';
  return new Refusal('transfer_not_found', `There is no transfer '${sentId}' in this card program.${hint}`);
}

export function cardMissing(name: string): Refusal {
  return new Refusal('card_not_found', `There is no card '${name}' in this card program.`);
}

export function personMissing(sentId: string): Refusal {
  return new Refusal('person_not_found', `There is no person with the id '${sentId}'.`);
}

export function programMissing(sentId: string): Refusal {
  return new Refusal('program_not_found', `There is no card program '${sentId}'.`);
}

/** Returns the refusal of a position (or number, for {@link EVERY_PROGRAM}) if the events after it were deleted. */
export function eventsExpired(headOf: string, after: number, oldest: number): Refusal {
  const what = headOf === EVERY_PROGRAM ? 'number' : 'position';
  const message =
    `The events after ${what} ${after} are no longer stored. ` +
    `The oldest stored event has ${what} ${oldest}: to continue with it, send after=${oldest - 1}.`;
  return new Refusal('events_expired', message, { field: '/after' });
}
