import type { CallContext, Service } from '../calls/call.ts';
import { readRows } from '../calls/read-rows.ts';
import { newId } from '../foundation/ids.ts';
import { createFundingAccounts, readFundingAccount } from '../store/ledger/account.ts';
import { lockProgram } from '../store/program.ts';
import { transact } from './transaction.ts';

/**
 * Returns the inner UUID of the program's funding account in a currency. Creates the account if the currency is used for the first
 * time.
 */
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
  // Without the lock, an event about a change of the program could omit an account on which money has already moved. This
  // transaction writes even in a trial of a request (`forWrites`), because an empty account changes nothing.
  await transact(service.database.forWrites(), call.deadline, { lock: lockProgram(programId) }, () => ({
    result: undefined,
    writes: [createFundingAccounts(programId, currency, accountIds)],
  }));
  const created = await find();
  if (created === undefined) throw new Error('a funding account was created but does not exist');
  return created;
}
