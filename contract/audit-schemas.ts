import { type Static, Type } from 'typebox';
import { cursor, limit, moment, text } from './schema-parts.ts';

const textOrNull = (description: string) => Type.Union([Type.String({ description }), Type.Null()]);

/** The query of list_audit_entries. */
export const ListAuditEntriesQuery = Type.Object({
  limit,
  cursor,
  action: Type.Optional(text(100, 'Only this action, such as change_switch')),
  created_from: Type.Optional(Type.String({ format: 'date-time', description: 'Only what was done then or later' })),
  created_to: Type.Optional(Type.String({ format: 'date-time', description: 'Only what was done before' })),
});

/** A row of the audit log. */
export const AuditEntryRecord = Type.Object({
  entry_id: Type.String({ description: 'aud_ and 32 hex digits' }),
  position: Type.Integer({ description: 'Its number in the chain: 1, 2, 3 …, without a gap' }),
  created_at: moment('When it was done, by the real time of day'),
  actor: Type.String({
    description: 'key_id of the key; `sandbox`, `host` (a command on the host), or `anonymous` (a refused credential)',
  }),
  action: Type.String({ description: 'The operation, or `refuse_credential`, `seed_sandbox`' }),
  program_id: textOrNull('The card program that it was about'),
  subject_id: textOrNull('What it was about; of a refused credential, the part of the key that is not secret'),
  request_id: textOrNull('The request that did it'),
  details: Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'What became of the subject' }),
  previous_hash: Type.String({ description: 'The hash of the row before, 64 hex digits' }),
  hash: Type.String({ description: 'SHA-256 of the hash before and of all that the row says, 64 hex digits' }),
});

/** The query of list_audit_entries after reading. */
export type ListAuditEntriesQuery = Static<typeof ListAuditEntriesQuery>;
/** A row of the audit log on the wire. */
export type AuditEntryRecord = Static<typeof AuditEntryRecord>;
