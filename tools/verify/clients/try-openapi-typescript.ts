// A transfer and an error through the types of openapi-typescript. `tsc` is half of the test: what is not typed is an error.
import createClient from 'openapi-fetch';
import type { components, paths } from './generated/openapi-typescript';

/** Creates a transfer, and returns its id and the code with which a closed card refuses one. */
export async function tryOpenapiTypescript(baseUrl: string): Promise<readonly [string, string]> {
  const client = createClient<paths>({ baseUrl });
  const made = await client.POST('/api/v0.1/core/transfer', { body: { amount: 1000, card_id: 'card_active' } });
  if (made.data === undefined) throw new Error(made.error.Message);
  const transfer: components['schemas']['TransferRecord'] = made.data;
  const read = await client.GET('/api/v0.1/core/transfer/{transfer_id}', {
    params: { path: { transfer_id: transfer.transfer_id } },
  });
  const status: 'scheduled' | 'pending' | 'completed' | 'canceled' | 'expired' | 'failed' | undefined =
    read.data?.status;
  if (status !== 'completed') throw new Error(`the transfer is ${status}`);
  const refused = await client.POST('/api/v0.1/core/transfer', { body: { amount: 1000, card_id: 'card_closed' } });
  if (refused.error === undefined) throw new Error('a closed card received money');
  const record: components['schemas']['ErrorRecord'] = refused.error;
  return [transfer.transfer_id, record.Code];
}
