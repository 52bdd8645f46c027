import { Refusal } from './refusal.ts';

/** Key-value pairs that a caller attaches to a record; no rule uses them. */
export type Metadata = Readonly<Record<string, string>>;

/** A merge patch (RFC 7396) of metadata: a string sets a pair, null removes it, and other pairs keep their values. */
export type MetadataChange = Readonly<Record<string, string | null>>;

export const MAX_METADATA_PAIRS = 20;

/** The operations that change metadata. */
export type MetadataOperation = 'update_transfer' | 'update_card' | 'update_program';

/** The metadata after a change: null removes all pairs, undefined keeps them. It may exceed {@link MAX_METADATA_PAIRS}. */
export function changeMetadata(before: Metadata, change: MetadataChange | null | undefined): Metadata {
  if (change === undefined) return before;
  if (change === null) return {};
  const pairs = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) pairs.delete(name);
    else pairs.set(name, value);
  }
  return Object.fromEntries(pairs);
}

/** Refuses metadata with too many pairs (`<operation>_schema`). Their number is known only after a change is applied. */
export function refuseMetadata(operation: MetadataOperation, metadata: Metadata): Refusal | undefined {
  const count = Object.keys(metadata).length;
  if (count <= MAX_METADATA_PAIRS) return undefined;
  const message =
    `'metadata' can have ${MAX_METADATA_PAIRS} pairs, but with this change it would have ${count}. Send null for ` +
    'the names of the pairs to remove.';
  return new Refusal(`${operation}_schema`, message, { field: '/metadata' });
}

/** Whether two records have the same pairs, in any order. */
export function sameMetadata(left: Metadata, right: Metadata): boolean {
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && left[name] === right[name])
  );
}
