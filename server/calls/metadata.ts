import { type Metadata, type MetadataOperation, refuseMetadata } from '../../domain/metadata.ts';
import { type CallContext, schemaRefusal } from './call.ts';

/** Refuses metadata with too many pairs. */
export function checkMetadata({ operation }: { readonly operation: MetadataOperation }, metadata: Metadata): void {
  const refusal = refuseMetadata(operation, metadata);
  if (refusal !== undefined) throw refusal;
}

/** A pair of metadata to filter a list by. */
export type MetadataPair = { readonly name: string; readonly value: string };

type PairQuery = { readonly metadata_name?: string; readonly metadata_value?: string };

/** The pair in the query of a list; null without one. Half a pair is refused, because it would filter nothing. */
export function readPair(call: CallContext & { readonly query: PairQuery }): MetadataPair | null {
  const { metadata_name: name, metadata_value: value } = call.query;
  if (name !== undefined && value !== undefined) return { name, value };
  if (name === undefined && value === undefined) return null;
  const [sent, missing] =
    name === undefined ? ['metadata_value', 'metadata_name'] : ['metadata_name', 'metadata_value'];
  const message = `'${sent}' can only be sent together with '${missing}': a pair of the metadata has a name and a value.`;
  throw schemaRefusal(call, message, `/${missing}`);
}
