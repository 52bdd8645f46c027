import type { QueryOf } from '../../contract/operations.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call } from '../operations/call.ts';
import { readPeriod } from '../operations/period.ts';
import { storedKeyOf } from '../operations/stored-key.ts';
import type { TransferFilter } from '../store/transfers/transfer-route.ts';

/** What the query of a list of transfers asks for. What cannot be meant is refused: an empty list would hide the slip. */
export function readTransferFilter(call: Call): TransferFilter {
  const query = call.members as QueryOf<'export_transfers'>;
  const { from, to } = readPeriod(call, query);
  const { minimum_amount: minimum, maximum_amount: maximum } = query;
  if (minimum !== undefined && maximum !== undefined && minimum > maximum) {
    const message = `'maximum_amount' is ${maximum}, which is less than 'minimum_amount', ${minimum}.`;
    throw new Refusal(`${call.operation}_schema`, message, { field: '/maximum_amount' });
  }
  return {
    cardName: query.card_id ?? null,
    type: query.type ?? null,
    status: query.status ?? null,
    reference: query.reference ?? null,
    idempotencyKey: query.idempotency_key === undefined ? null : storedKeyOf(query.idempotency_key),
    metadata: readPair(call, query),
    createdFrom: from,
    createdTo: to,
    minimumAmount: minimum ?? null,
    maximumAmount: maximum ?? null,
  };
}

function readPair(call: Call, query: QueryOf<'export_transfers'>): TransferFilter['metadata'] {
  const { metadata_name: name, metadata_value: value } = query;
  if (name !== undefined && value !== undefined) return { name, value };
  if (name === undefined && value === undefined) return null;
  const [there, missing] =
    name === undefined ? ['metadata_value', 'metadata_name'] : ['metadata_name', 'metadata_value'];
  const message = `'${there}' goes with '${missing}' only: a pair of the metadata has a name and a value.`;
  throw new Refusal(`${call.operation}_schema`, message, { field: `/${missing}` });
}
