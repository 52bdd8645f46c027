// A transfer and an error through the client of @hey-api/openapi-ts.
import { client } from './generated/hey-api/client.gen';
import { createTransfer, getTransfer } from './generated/hey-api/sdk.gen';
import type { ErrorRecord, TransferRecord } from './generated/hey-api/types.gen';

/** Creates a transfer, and returns its id and the code with which a closed card refuses one. */
export async function tryHeyApi(): Promise<readonly [string, string]> {
  const made = await createTransfer({ body: { amount: 1000, card_id: 'card_active' } });
  if (made.data === undefined) throw new Error(made.error.Message);
  const transfer: TransferRecord = made.data;
  const read = await getTransfer({ path: { transfer_id: transfer.transfer_id } });
  if (read.data?.status !== 'completed') throw new Error(`the transfer is ${read.data?.status}`);
  const refused = await createTransfer({ body: { amount: 1000, card_id: 'card_closed' } });
  if (refused.error === undefined) throw new Error('a closed card received money');
  const record: ErrorRecord = refused.error;
  return [transfer.transfer_id, record.Code];
}

/** The URL that the generated client calls: the first server of the document. */
export const heyApiUrl = (): string | undefined => client.getConfig().baseUrl;
