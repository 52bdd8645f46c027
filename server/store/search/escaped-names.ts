import type { Row, Statement } from '../connection/database.ts';
import { columns, json, type RowOf, TEXT, UUID } from '../sql.ts';

/** The records whose metadata a caller can change. */
export const KINDS_WITH_METADATA = ['program', 'card', 'transfer'] as const;

type Kind = (typeof KINDS_WITH_METADATA)[number];

/** The last record of a page, in the order of the table's key. */
export type LastRecord = { readonly programId: string; readonly id: string };

const RECORD = columns({ programId: UUID, id: UUID, shown: TEXT, names: json<readonly string[]>('json') });

/**
 * A record, and the names in its metadata that contain an escape in JSON. `shown` is the id of a program or transfer, or the name
 * of a card.
 */
export type RecordWithEscapes = RowOf<typeof RECORD.columns>;

const SHOWN: Readonly<Record<Kind, string>> = { program: 'program_id', card: 'name', transfer: 'transfer_id' };

/** Finds the next records with such names, in one pass over the table. */
export function findEscapedNames(kind: Kind, after: LastRecord | undefined, count: number): Statement {
  return {
    name: `find_escaped_names_of_${kind}`,
    text: `select program_id, ${kind}_id as id, ${SHOWN[kind]}::text as shown, found.names
      from ${kind}, lateral (
        select json_agg(name order by name) as names from jsonb_object_keys(metadata) as name
        where strpos(to_json(name)::text, '\\') > 0
      ) as found
      where strpos(metadata::text, '\\') > 0 and found.names is not null
        and ($1::uuid is null or (program_id, ${kind}_id) > ($1, $2::uuid))
      order by program_id, ${kind}_id limit $3`,
    values: [after?.programId ?? null, after?.id ?? null, count],
  };
}

export function toRecordWithEscapes(row: Row): RecordWithEscapes {
  return RECORD.read(row);
}
