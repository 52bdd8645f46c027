import { hash } from 'node:crypto';
import { newId } from '../foundation/ids.ts';
import type { Row, Statement } from './connection/database.ts';
import {
  BIGINT,
  BYTES,
  columns,
  DATE,
  INTEGER,
  JSON_TEXT,
  NUMBER,
  nullable,
  type RowOf,
  rows,
  statement,
  TEXT,
  UUID,
} from './sql.ts';

const NOTE = columns({
  /** The id on the wire of the key or the person, or `sandbox`, `host`, `anonymous`. */
  actor: TEXT,
  action: TEXT,
  programId: nullable(UUID),
  /** Id on the wire of the subject of the action. */
  subjectId: nullable(TEXT),
  /** Null if there was no request. */
  requestId: nullable(UUID),
  details: JSON_TEXT,
});

const AUDIT_ENTRY = columns({
  ...NOTE.columns,
  position: BIGINT,
  entryId: UUID,
  createdAt: DATE,
  /** The time that is hashed, in microseconds since 1970. */
  createdAtMicroseconds: BIGINT,
  previousHash: BYTES,
  hash: BYTES,
});

const HEAD = columns({ position: BIGINT, hash: BYTES });

/** The part of an audit row that describes the action. The database adds its position, time and hashes. */
export type AuditNote = RowOf<typeof NOTE.columns>;

export type AuditEntry = RowOf<typeof AUDIT_ENTRY.columns>;

export type AuditHead = RowOf<typeof HEAD.columns>;

/** The first row has this value as its previous hash. */
export const NO_HASH: Buffer = Buffer.alloc(32);

const COLUMNS = `${AUDIT_ENTRY.omit('createdAtMicroseconds').names},
  (extract(epoch from created_at) * 1000000)::bigint as created_at_microseconds`;

const INSERT_AUDIT_ENTRIES = statement(
  'insert_audit_entries',
  { notes: rows(columns({ ...NOTE.columns, entryId: UUID, place: INTEGER })) },
  `insert into audit_entry (entry_id, ${NOTE.names})
    select entry_id, ${NOTE.names} from :notes order by place`,
);

/**
 * Inserts rows in this order. Must be the last write in the transaction of the actions that they record. It locks the head of the
 * chain, which comes after every other lock (see locks.ts).
 */
export function insertAuditEntries(notes: readonly AuditNote[]): Statement {
  return INSERT_AUDIT_ENTRIES({ notes: notes.map((note, place) => ({ ...note, entryId: newId(), place })) });
}

/** The conditions of a list of rows. Null means no condition. */
export type AuditFilter = {
  readonly action: string | null;
  readonly actor: string | null;
  /** Inner UUID. */
  readonly programId: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
};

const FILTER = {
  action: nullable(TEXT),
  actor: nullable(TEXT),
  programId: nullable(UUID),
  from: nullable(DATE),
  to: nullable(DATE),
};

/** SQL: whether a row meets all conditions of an {@link AuditFilter}. */
const MATCHES = `(:action::text is null or action = :action)
      and (:actor::text is null or actor = :actor)
      and (:programId::uuid is null or program_id = :programId)
      and (:from::timestamptz is null or created_at >= :from) and (:to::timestamptz is null or created_at < :to)`;

const LIST_AUDIT_ENTRIES = statement(
  'list_audit_entries',
  {
    after: nullable(UUID),
    ...FILTER,
    count: NUMBER,
  },
  `select ${COLUMNS} from audit_entry
    where (:after::uuid is null or position < (select position from audit_entry where entry_id = :after))
      and ${MATCHES}
    order by position desc limit :count`,
);

/** Reads a page of rows, newest first, after the row `after` (inner UUID). */
export function listAuditEntries(filter: AuditFilter, after: string | null, count: number): Statement {
  return LIST_AUDIT_ENTRIES({ ...filter, after, count });
}

/** Reads the position of the last row. Null if the log is empty. */
export const READ_LAST_POSITION: Statement = {
  name: 'read_last_audit_position',
  text: 'select max(position) as position from audit_entry',
  values: [],
};

/** Limits for the next rows of an export: at most `count` of the `maxExamined` rows after one position and up to another. */
type AuditChunk = {
  readonly after: bigint;
  readonly until: bigint;
  readonly count: number;
  readonly maxExamined: number;
};

const EXPORT_AUDIT_ENTRIES = statement(
  'export_audit_entries',
  {
    after: BIGINT,
    until: BIGINT,
    ...FILTER,
    count: NUMBER,
    maxExamined: NUMBER,
  },
  `with examined as materialized (
      select * from audit_entry where position > :after and position <= :until order by position limit :maxExamined
    )
    select walk.last_examined, entry.* from (select max(position) as last_examined from examined) as walk
    left join lateral (
      select ${COLUMNS} from examined
      where ${MATCHES}
      order by position limit :count
    ) as entry on true
    order by entry.position`,
);

/** Reads the next rows of an export, oldest first. */
export function exportAuditEntries(filter: AuditFilter, chunk: AuditChunk): Statement {
  return EXPORT_AUDIT_ENTRIES({ ...filter, ...chunk });
}

const WALK = columns({ lastExamined: nullable(BIGINT) });

/** Returns the rows of {@link exportAuditEntries}, and the position to continue after, or null at the end. */
export function toAuditChunk(
  rows: readonly Row[],
  { count }: AuditChunk,
): { readonly entries: readonly AuditEntry[]; readonly next: bigint | null } {
  const entries = rows.filter(({ position }) => position !== null).map(toAuditEntry);
  const last = entries.length === count ? entries.at(-1)?.position : undefined;
  const [walk] = rows;
  return { entries, next: last ?? (walk === undefined ? null : WALK.read(walk).lastExamined) };
}

export const findAuditEntry = statement(
  'find_audit_entry',
  { entryId: UUID },
  'select position from audit_entry where entry_id = :entryId',
);

/** Maximum number of entries that are compared with a request. Operators cause fewer in the seconds that a request takes. */
const MAX_EXAMINED = 50_000;

const FIND_AUDIT_ENTRIES = statement(
  'find_audit_entries_of_request',
  { requestId: UUID, from: DATE, to: DATE, maxExamined: NUMBER, count: NUMBER },
  `select ${COLUMNS} from (
      select * from audit_entry where created_at >= :from and created_at < :to order by created_at, position limit :maxExamined
    ) as audit_entry
    where request_id = :requestId order by position limit :count`,
);

/** Finds the rows of a request, oldest first, within a range of time. */
export function findAuditEntries(requestId: string, from: Date, to: Date, count: number): Statement {
  return FIND_AUDIT_ENTRIES({ requestId, from, to, maxExamined: MAX_EXAMINED, count });
}

/** A position below the position of every row, including positions that the chain never assigns. */
export const BEFORE_ALL_ENTRIES = -(2n ** 63n);

const READ_AUDIT_CHAIN = statement(
  'read_audit_chain',
  { from: BIGINT, count: NUMBER },
  `select ${COLUMNS} from audit_entry where position >= :from order by position limit :count`,
);

/** Reads rows in the order of the chain, starting at the position `from`. */
export function readAuditChain(from: bigint, count: number): Statement {
  return READ_AUDIT_CHAIN({ from, count });
}

export const READ_AUDIT_HEAD: Statement = {
  name: 'read_audit_head',
  text: `select ${HEAD.names} from audit_head`,
  values: [],
};

export function toAuditEntry(row: Row): AuditEntry {
  return AUDIT_ENTRY.read(row);
}

/** Returns the head, from the row of {@link READ_AUDIT_HEAD}. Undefined if it was deleted. */
export function toAuditHead(row: Row | undefined): AuditHead | undefined {
  return row === undefined ? undefined : HEAD.read(row);
}

/**
 * Returns the hash that a row must have. It covers the previous hash and the row's values, as the function `chain_audit_entry`
 * computes it.
 */
export function hashOfEntry(entry: AuditEntry): Buffer {
  const values = [
    String(entry.position),
    entry.entryId,
    String(entry.createdAtMicroseconds),
    entry.actor,
    entry.action,
    entry.programId,
    entry.subjectId,
    entry.requestId,
    entry.details,
  ];
  const content = values.map((value) => (value === null ? '-\n' : `${Buffer.byteLength(value)}:${value}\n`));
  return hash('sha256', Buffer.concat([entry.previousHash, Buffer.from(content.join(''))]), 'buffer');
}
