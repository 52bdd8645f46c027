import { isCurrency } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readRows, transact } from '../commit/transaction.ts';
import { newId } from '../ids.ts';
import type { Call } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { createFundingAccounts, readFundingAccount } from '../store/ledger/account.ts';
import { type Program, readProgram, toProgram } from '../store/program.ts';

/** Reads a program by its inner UUID, or refuses with `program_not_found`, naming it as the caller did. */
export async function loadProgram(
  { database }: Pick<Service, 'database'>,
  programId: string | undefined,
  asked: string,
): Promise<Program> {
  const rows = programId === undefined ? [] : await readRows(database, readProgram(programId));
  const [row] = rows;
  if (row !== undefined) return toProgram(row);
  throw programMissing(asked);
}

/** The refusal of a card program that is not there, named as the caller did. */
export function programMissing(asked: string): Refusal {
  return new Refusal('program_not_found', `There is no card program '${asked}'.`);
}

/** The currency that a request names, or the program's; a code that is none is a fault of the body. */
export function currencyFor(call: Call, program: Program, sent: string | undefined): string {
  return sent === undefined ? program.currency : checkCurrency(call, sent);
}

/** Refuses a currency that ISO 4217 does not know. */
export function checkCurrency(call: Call, sent: string): string {
  if (isCurrency(sent)) return sent;
  const message = `'currency' is '${sent}', which is no ISO 4217 currency code, such as USD, EUR or JPY.`;
  throw new Refusal(`${call.operation}_schema`, message, { field: '/currency' });
}

/** Inner UUID of the program's funding account in a currency; it is made when this is the first use of the currency. */
export async function ensureFunding(
  service: Service,
  call: Pick<Call, 'deadline'>,
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
  const made = await find();
  if (made === undefined) throw new Error('a funding account was made and is not there');
  return made;
}
