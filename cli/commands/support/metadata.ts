import { InvalidArgumentError } from 'commander';
import type { OptionsFor } from '../../command.ts';

export type Pairs = Readonly<Record<string, string>>;

export const METADATA_OPTION = {
  flag: '--metadata <name=value>',
  help: 'metadata pair; can be repeated',
  read: readPair,
} as const;

export const METADATA_FILTER = {
  flag: '--metadata <name=value>',
  help: 'filter by a metadata pair',
  read: readOnlyPair,
} as const;

export type MetadataChange = {
  readonly metadata?: Pairs;
  readonly removed?: Readonly<Record<string, null>>;
  readonly clear?: boolean;
};

export const METADATA_CHANGE_OPTIONS: OptionsFor<MetadataChange> = {
  metadata: { flag: '--metadata <name=value>', help: 'metadata pair to set; can be repeated', read: readPair },
  removed: {
    flag: '--remove-metadata <name>',
    help: 'name of a metadata pair to remove; can be repeated',
    read: readName,
  },
  clear: { flag: '--clear-metadata', help: 'remove all metadata pairs', conflicts: ['metadata', 'removeMetadata'] },
};

/** Returns the merge patch of a change, or undefined if no option was given. */
export function metadataPatch(change: { readonly [Name in keyof MetadataChange]?: MetadataChange[Name] | undefined }) {
  const { metadata, removed, clear } = change;
  if (metadata === undefined && removed === undefined && clear === undefined) return undefined;
  return clear ? null : { ...metadata, ...removed };
}

/** Returns the query with the metadata filter in the API's form. */
export function queryOf<Given extends { readonly metadata?: Pairs }>({ metadata = {}, ...filters }: Given) {
  const [name, value] = Object.entries(metadata)[0] ?? [];
  return { ...filters, metadata_name: name, metadata_value: value };
}

function readPair(text: string, before: Pairs | undefined): Pairs {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must have the form name=value.');
  return Object.fromEntries([...Object.entries(before ?? {}), [text.slice(0, at), text.slice(at + 1)]]);
}

function readOnlyPair(text: string, before: Pairs | undefined): Pairs {
  if (before !== undefined) throw new InvalidArgumentError('It can be given only once.');
  return readPair(text, undefined);
}

function readName(name: string, before: Readonly<Record<string, null>> | undefined): Record<string, null> {
  return Object.fromEntries([...Object.entries(before ?? {}), [name, null]]);
}
