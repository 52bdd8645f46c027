// Calls a sandbox through each generated client, to create a transfer and to cause an error: node try-clients.mjs <url of the sandbox>
import createClient from 'openapi-fetch';
import { client as heyApi } from './generated/hey-api/client.gen';
import * as heyApiSdk from './generated/hey-api/sdk.gen';
import type { ErrorRecord, EventRecord, TransferRecord } from './generated/hey-api/types.gen';
import type { components, paths } from './generated/openapi-typescript';
import * as orval from './generated/orval';

declare const process: { readonly argv: readonly string[] };

const url = process.argv[2] ?? '';
if (heyApiUrl() !== url) throw new Error(`the client of hey-api calls ${heyApiUrl()} instead of ${url}`);
for (const [generator, attempt] of [
  ['openapi-typescript', () => tryOpenapiTypescript(url)],
  ['@hey-api/openapi-ts', tryHeyApi],
  ['orval', tryOrval],
] as const) {
  const [transferId, code] = await attempt();
  if (!/^tr_[0-9a-f]{32}$/.test(transferId) || code !== 'card_closed') {
    throw new Error(`${generator}: the transfer is '${transferId}' and the code '${code}'`);
  }
  console.log(`${generator}: ${transferId}, and ${code} from a closed card`);
}

/** Creates a transfer. Returns its id, and the code of a refused transfer to a closed card. */
async function tryHeyApi(): Promise<readonly [string, string]> {
  const made = await heyApiSdk.createTransfer({ body: { amount: 1000, card_id: 'card_active' } });
  if (made.data === undefined) throw new Error(made.error.Message);
  // A transfer of an operator can wait for an approval (202). A transfer of a card program's key never waits.
  if ('approval_id' in made.data) throw new Error(`the transfer waits for ${made.data.approval_id}`);
  const transfer: TransferRecord = made.data;
  const read = await heyApiSdk.getTransfer({ path: { transfer_id: transfer.transfer_id } });
  if (read.data?.status !== 'completed') throw new Error(`the transfer is ${read.data?.status}`);
  const refused = await heyApiSdk.createTransfer({ body: { amount: 1000, card_id: 'card_closed' } });
  if (refused.error === undefined) throw new Error('a closed card received money');
  const record: ErrorRecord = refused.error;
  return [transfer.transfer_id, record.Code];
}

/** The type of an event tells the compiler which record its data is. */
type TypedEvent = EventRecord | orval.EventRecord | components['schemas']['EventRecord'];

/** Checked by `tsc` only. */
export function cardOf(event: TypedEvent): string | undefined {
  const position: number = event.position;
  if (event.type === 'transfer.completed') return event.data.card_id;
  if (event.type === 'key.created') return event.data.key_id;
  return `${event.type} at ${position}`;
}

/** The URL that the generated client calls: the first server of the document. */
function heyApiUrl(): string | undefined {
  return heyApi.getConfig().baseUrl;
}

/** Creates the transfers with the types of openapi-typescript. `tsc` does half of the test: untyped values are errors. */
async function tryOpenapiTypescript(baseUrl: string): Promise<readonly [string, string]> {
  const client = createClient<paths>({ baseUrl });
  const made = await client.POST('/api/v0.1/core/transfer', { body: { amount: 1000, card_id: 'card_active' } });
  if (made.data === undefined) throw new Error(made.error.Message);
  if ('approval_id' in made.data) throw new Error(`the transfer waits for ${made.data.approval_id}`);
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

/** Creates the transfers with the functions of orval. */
async function tryOrval(): Promise<readonly [string, string]> {
  const made = await orval.createTransfer({ amount: 1000, card_id: 'card_active' });
  if (made.status === 202) throw new Error(`the transfer waits for ${made.data.approval_id}`);
  if (made.status !== 201) throw new Error(made.data.Message);
  const read = await orval.getTransfer(made.data.transfer_id);
  if (read.status !== 200 || read.data.status !== 'completed') throw new Error('the transfer is not completed');
  const refused = await orval.createTransfer({ amount: 1000, card_id: 'card_closed' });
  if (refused.status !== 409) throw new Error(`a closed card responds with ${refused.status}`);
  const record: orval.CreateTransfer409 = refused.data;
  return [made.data.transfer_id, record.Code];
}
