// A transfer and an error through the functions of orval.
import { type CreateTransfer409, createTransfer, getTransfer } from './generated/orval';

/** Creates a transfer, and returns its id and the code with which a closed card refuses one. */
export async function tryOrval(): Promise<readonly [string, string]> {
  const made = await createTransfer({ amount: 1000, card_id: 'card_active' });
  if (made.status !== 201) throw new Error(made.data.Message);
  const read = await getTransfer(made.data.transfer_id);
  if (read.status !== 200 || read.data.status !== 'completed') throw new Error('the transfer is not completed');
  const refused = await createTransfer({ amount: 1000, card_id: 'card_closed' });
  if (refused.status !== 409) throw new Error(`a closed card responds with ${refused.status}`);
  const record: CreateTransfer409 = refused.data;
  return [made.data.transfer_id, record.Code];
}
