import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { EXAMPLE_REQUEST_ID } from './samples.ts';
import { checkedName, cursor, idText, limit, moment, nullable, pageOf, raw, text, textOrNull } from './schema-parts.ts';

/** The actions in the audit log that are not operations. */
export const OTHER_ACTIONS = [
  'refuse_credential',
  'seed_sandbox',
  'sign_in',
  'request_approval',
  'end_approval',
] as const;

export const AuditEntryRecord = Type.Object({
  entry_id: Type.String({ description: 'aud_ and 32 hex digits' }),
  position: Type.Integer({ description: 'Position in the chain: 1, 2, 3 …, without gaps' }),
  created_at: moment('When it happened, in actual time even if the sandbox clock was moved'),
  actor: Type.String({
    description:
      'Id of the key or the person; `sandbox`, `host` (a command on the host), or `anonymous` (a refused credential)',
  }),
  action: Type.String({ description: 'The operation, or `refuse_credential`, `seed_sandbox`' }),
  program_id: textOrNull('The card program; null if the action concerns none, or all of them'),
  subject_id: textOrNull(
    'The subject of the action; for a refused credential, the part of the key that is not secret; null for the whole service',
  ),
  request_id: textOrNull('Request-Id of the request; null for a command on the host'),
  details: Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'The result of the action' }),
  previous_hash: Type.String({ description: 'Hash of the previous entry, 64 hex digits' }),
  hash: Type.String({ description: 'SHA-256 of the previous hash and of every field of this entry, 64 hex digits' }),
});

const HASH = '64 hex digits';

/** The findings of verify_audit in a portion of the log. */
export const AuditPortion = Type.Object({
  intact: Type.Boolean({ description: 'Whether no entry of this portion was changed, removed, inserted or moved' }),
  verified: Type.Integer({ description: 'Number of entries that were verified' }),
  position: Type.Integer({ description: 'Position of the last entry that was verified; 0 in an empty log' }),
  hash: Type.String({ description: `Hash of that entry, ${HASH}` }),
  next_after: nullable(
    Type.Integer({ description: 'Send it as `after` to verify the next entries; null at the end of the log' }),
  ),
  head: nullable(
    Type.Object(
      {
        position: Type.Integer({ description: 'Position of the last entry of the log' }),
        hash: Type.String({ description: `Its hash, ${HASH}` }),
      },
      { description: 'The end of the log, to be recorded outside of the service; null if its row was removed' },
    ),
  ),
  first_broken: nullable(
    Type.Object(
      {
        position: Type.Integer({ description: 'Position where it was detected' }),
        message: Type.String({ description: 'What is wrong, in a sentence' }),
      },
      { description: 'The first problem in this portion; null if there is none' },
    ),
  ),
});

const FILTERS = {
  action: Type.Optional(checkedName('AuditAction', 'Only this action, such as change_switch')),
  actor: Type.Optional(
    text(255, 'Only actions of this actor: the id of a key or a person, `sandbox`, `host` or `anonymous`'),
  ),
  program_id: Type.Optional(idText('prog', 'Only entries about this card program')),
  created_from: Type.Optional(moment('Only entries at or after this time')),
  created_to: Type.Optional(moment('Only entries before this time')),
};

const PATH = '/api/v0.1/operator/audit';
const DISABLED = {
  actor: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
  action: 'change_switch',
  program_id: null,
  subject_id: 'service',
  request_id: EXAMPLE_REQUEST_ID,
  details: { scope: 'service', disabled: true, reason: 'Maintenance' },
} as const;

export const AUDIT = [
  operation({
    id: 'list_audit_entries',
    method: 'GET',
    path: PATH,
    summary: 'List what operators did and which credentials were refused, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ limit, cursor, ...FILTERS }),
    reply: pageOf(AuditEntryRecord),
    failure: 'The audit log could not be listed',
    example: { reply: DISABLED },
  }),
  operation({
    id: 'export_audit_entries',
    method: 'GET',
    path: `${PATH}/export`,
    summary: 'Export the audit log as comma-separated values, oldest entry first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ ...FILTERS, raw }),
    csv: true,
    reply: AuditEntryRecord,
    failure: 'The audit log could not be exported',
    example: { reply: DISABLED },
  }),
  operation({
    id: 'verify_audit',
    method: 'GET',
    path: `${PATH}/verify`,
    summary: 'Verify that no entry of the audit log was changed or removed, up to 1,000 entries at a time',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      after: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: '`next_after` of the previous portion; begins with the first entry of the log if omitted',
        }),
      ),
    }),
    reply: AuditPortion,
    failure: 'The audit log could not be verified',
    example: { reply: { intact: true, verified: 42 } },
  }),
] as const;

export type AuditEntryRecord = Static<typeof AuditEntryRecord>;
export type AuditPortion = Static<typeof AuditPortion>;
