import { hash } from 'node:crypto';
import { newId } from '../ids.ts';
import type { Row, Statement } from './connection/database.ts';
import { joinTexts, plainArray, splitTexts } from './texts.ts';

/** What is written of one action; its number, time and place in the chain are the database's to give. */
export type AuditNote = {
  /** Id on the wire of the key, or `sandbox`, `host`, `anonymous`. */
  readonly actor: string;
  readonly action: string;
  /** Inner UUID. */
  readonly programId: string | null;
  /** Id on the wire of what the action was about. */
  readonly subjectId: string | null;
  /** Inner UUID of the request; null where it was none. */
  readonly requestId: string | null;
  /** JSON text. */
  readonly details: string;
};

/** A row of the audit log, as it is. */
export type AuditEntry = AuditNote & {
  readonly position: bigint;
  readonly entryId: string;
  readonly createdAt: Date;
  /** Microseconds since 1970: what is hashed. */
  readonly createdAt_us: bigint;
  readonly previousHash: Buffer;
  readonly hash: Buffer;
};

/** Where the chain ends. */
export type AuditHead = { readonly position: bigint; readonly hash: Buffer };

/** What the first row has as the hash before it. */
export const NO_HASH: Buffer = Buffer.alloc(32);

const COLUMNS = `position, entry_id, created_at, (extract(epoch from created_at) * 1000000)::bigint as created_at_us,
  actor, action, program_id, subject_id, request_id, details, previous_hash, hash`;

/**
 * Writes rows in the transaction of what they tell of, in the order given, as the last of its writes: they lock the head
 * of the chain, which comes after every other lock (see locks.ts).
 */
export function insertAuditEntries(notes: readonly AuditNote[]): Statement {
  return {
    name: 'insert_audit_entries',
    text: `insert into audit_entry (entry_id, actor, action, program_id, subject_id, request_id, details)
      select entry_id, actor, action, program_id, subject_id, request_id, details
      from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::uuid[], ${splitTexts('$7')})
        with ordinality as noted(entry_id, actor, action, program_id, subject_id, request_id, details, place)
      order by place`,
    values: [
      plainArray(notes.map(() => newId())),
      plainArray(notes.map((note) => note.actor)),
      plainArray(notes.map((note) => note.action)),
      plainArray(notes.map((note) => note.programId)),
      notes.map((note) => note.subjectId),
      plainArray(notes.map((note) => note.requestId)),
      joinTexts(notes.map((note) => note.details)),
    ],
  };
}

/** Which rows are meant; null where it does not matter. */
export type AuditFilter = { readonly action: string | null; readonly from: Date | null; readonly to: Date | null };

/** Reads a page of rows, newest first, that come after the row `after` (inner UUID). */
export function listAuditEntries(filter: AuditFilter, after: string | null, count: number): Statement {
  return {
    name: 'list_audit_entries',
    text: `select ${COLUMNS} from audit_entry
      where ($1::uuid is null or position < (select position from audit_entry where entry_id = $1))
        and ($2::text is null or action = $2)
        and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at < $4)
      order by position desc limit $5`,
    values: [after, filter.action, filter.from, filter.to, count],
  };
}

/** Below any number that a row can have, also one that the chain never gives. */
export const BEFORE_ALL_ENTRIES = -(2n ** 63n);

/** Reads rows in the order of the chain, from the number `from` on. */
export function readAuditChain(from: bigint, count: number): Statement {
  return {
    name: 'read_audit_chain',
    text: `select ${COLUMNS} from audit_entry where position >= $1 order by position limit $2`,
    values: [from, count],
  };
}

/** Reads where the chain ends. */
export const READ_AUDIT_HEAD: Statement = {
  name: 'read_audit_head',
  text: 'select position, hash from audit_head',
  values: [],
};

/** A row from one of {@link listAuditEntries} or {@link readAuditChain}. */
export function toAuditEntry(row: Row): AuditEntry {
  return {
    position: row.position as bigint,
    entryId: row.entry_id as string,
    createdAt: row.created_at as Date,
    createdAt_us: row.created_at_us as bigint,
    actor: row.actor as string,
    action: row.action as string,
    programId: row.program_id as string | null,
    subjectId: row.subject_id as string | null,
    requestId: row.request_id as string | null,
    details: row.details as string,
    previousHash: row.previous_hash as Buffer,
    hash: row.hash as Buffer,
  };
}

/** The head from the row of {@link READ_AUDIT_HEAD}; undefined when that was removed. */
export function toAuditHead(row: Row | undefined): AuditHead | undefined {
  return row === undefined ? undefined : { position: row.position as bigint, hash: row.hash as Buffer };
}

/** The hash that a row must have: of the hash before it and of all it says, as `chain_audit_entry` makes it. */
export function hashOfEntry(entry: AuditEntry): Buffer {
  const members = [
    String(entry.position),
    entry.entryId,
    String(entry.createdAt_us),
    entry.actor,
    entry.action,
    entry.programId,
    entry.subjectId,
    entry.requestId,
    entry.details,
  ];
  const content = members.map((member) => (member === null ? '-\n' : `${Buffer.byteLength(member)}:${member}\n`));
  return hash('sha256', Buffer.concat([entry.previousHash, Buffer.from(content.join(''))]), 'buffer');
}
