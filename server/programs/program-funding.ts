import { fromWireId } from '../../domain/identifier.ts';
import { isCurrency } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readRows, transact } from '../commit/transaction.ts';
import { newId } from '../ids.ts';
import { type CallContext, schemaRefusal } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { createFundingAccounts, readFundingAccount } from '../store/ledger/account.ts';
import { type Program, readProgram, toProgram } from '../store/program.ts';

/** Reads a program by its id on the wire. Throws `program_not_found`. */
export async function loadProgram({ database }: Pick<Service, 'database'>, sentId: string): Promise<Program> {
  const programId = fromWireId('prog', sentId);
  const [row] = programId === undefined ? [] : await readRows(database, readProgram(programId));
  if (row !== undefined) return toProgram(row);
  throw programMissing(sentId);
}

/** The refusal of an id that no card program has, as it was sent. */
export function programMissing(sentId: string): Refusal {
  return new Refusal('program_not_found', `There is no card program '${sentId}'.`);
}

/** The currency of a request, or that of the program. */
export function currencyFor(call: CallContext, program: Program, sent: string | undefined): string {
  return sent === undefined ? program.currency : checkCurrency(call, sent);
}

/** Refuses a currency that ISO 4217 does not have. */
export function checkCurrency(call: CallContext, sent: string): string {
  if (isCurrency(sent)) return sent;
  const message = `'currency' is '${sent}', which is not an ISO 4217 currency code, such as USD, EUR or JPY.`;
  throw schemaRefusal(call, message, '/currency');
}

/** Inner UUID of the program's funding account in a currency, which is created for the first use of the currency. */
export async function ensureFunding(
  service: Service,
  call: Pick<CallContext, 'deadline'>,
  programId: string,
  currency: string,
): Promise<string> {
  const find = async (): Promise<string | undefined> =>
    (await readRows(service.database, readFundingAccount(programId, currency)))[0]?.account_id as string | undefined;
  const found = await find();
  if (found !== undefined) return found;
  const accountIds = { funding: newId(), world: newId() };
  await transact(service.database, call.deadline, {}, () => ({
    result: undefined,
    writes: [createFundingAccounts(programId, currency, accountIds)],
  }));
  const created = await find();
  if (created === undefined) throw new Error('a funding account was created and does not exist');
  return created;
}
