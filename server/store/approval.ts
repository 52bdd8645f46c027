import type { ApprovalStatus } from '../../domain/approvals/approval.ts';
import type { ApprovalRule } from '../../domain/approvals/policy.ts';
import { toWireId } from '../../domain/identifier.ts';
import type { Row, Statement } from './connection/database.ts';
import {
  columns,
  DATE,
  HEX,
  INTEGER,
  insertRow,
  JSON_TEXT,
  json,
  many,
  NUMBER,
  nullable,
  type RowOf,
  SMALLINT,
  statement,
  TEXT,
  UUID,
  word,
} from './sql.ts';

const APPROVAL = columns({
  approvalId: UUID,
  status: word<ApprovalStatus>(),
  operation: word(),
  /** Inner UUID of the card program. Null if there is none. */
  programId: nullable(UUID),
  /** The ids in the path, by parameter name. */
  path: json<Readonly<Record<string, string>>>(),
  /** The body as sent, in its canonical form. Null once the approval has ended. */
  body: nullable(JSON_TEXT),
  /** The versions of the record that the request accepts (`If-Match`), or null for any. */
  ifMatch: nullable(many(TEXT)),
  /** Hashes of the request as sent and of its meaning. See `fingerprintOf`. */
  fingerprint: HEX,
  meaning: HEX,
  idempotencyKey: TEXT,
  keyHash: UUID,
  summary: TEXT,
  valuesThen: nullable(JSON_TEXT),
  requestId: UUID,
  /** Inner UUID of the key or the person. */
  requestedBy: UUID,
  requestedAt: DATE,
  expiresAt: DATE,
  decidedBy: nullable(UUID),
  decidedAt: nullable(DATE),
  reason: nullable(TEXT),
  result: nullable(JSON_TEXT),
  error: nullable(json<Readonly<Record<string, unknown>>>()),
});

export type Approval = RowOf<typeof APPROVAL.columns>;

const SHOWN = columns({
  ...APPROVAL.columns,
  requestedByName: nullable(TEXT),
  decidedByName: nullable(TEXT),
  timesCarriedOut: SMALLINT,
});

/** An approval with the names of its maker and its checker. */
export type ShownApproval = RowOf<typeof SHOWN.columns>;

const nameOf = (column: string): string =>
  `coalesce((select name from person where person_id = approval.${column}), (select name from api_key where key_id = approval.${column}))`;

const READ = `select ${APPROVAL.of('approval')}, times_carried_out, ${nameOf('requested_by')} as requested_by_name,
      ${nameOf('decided_by')} as decided_by_name, service_now() as now from approval`;

export function toApproval(row: Row): ShownApproval {
  return SHOWN.read(row);
}

export const insertApproval = insertRow('insert_approval', 'approval', APPROVAL);

/** Reads an approval. `now` is the service's time. */
export const readApproval = statement('read_approval', { approvalId: UUID }, `${READ} where approval_id = :approvalId`);

/** Reads and locks an approval. */
export const lockApproval = statement(
  'lock_approval',
  { approvalId: UUID },
  `${READ} where approval_id = :approvalId for no key update of approval`,
);

/** Finds the approval of an idempotency key, by its hash. */
export const findApprovalOfKey = statement(
  'find_approval_of_key',
  { keyHash: UUID },
  `${READ} where key_hash = :keyHash`,
);

/** Finds a pending approval of a request that is identical to the given one. */
export const findEqualApproval = statement(
  'find_equal_approval',
  { meaning: HEX },
  `${READ} where meaning = :meaning and status = 'pending' and expires_at > service_now()`,
);

/**
 * Finds the newest pending approval about a card program (without `programId`), a transfer, or a card of a program. `field` is the
 * name under which requests send its id.
 */
export const findPendingAbout = statement(
  'find_pending_about',
  { field: TEXT, name: TEXT, programId: nullable(UUID) },
  `select approval_id from approval
    where status = 'pending' and expires_at > service_now() and (:programId::uuid is null or program_id = :programId)
      and :name in (path ->> :field, body::jsonb ->> :field, body::jsonb ->> ('destination_' || :field))
    order by approval_id desc limit 1`,
);

const LIST_APPROVALS = statement(
  'list_approvals',
  { status: nullable(word()), programId: nullable(UUID), after: nullable(UUID), count: NUMBER },
  `${READ} where (:status::text is null or :status = case when status = 'pending' and expires_at <= service_now()
        then 'expired' else status end)
      and (:programId::uuid is null or program_id = :programId) and (:after::uuid is null or approval_id < :after)
    order by approval_id desc limit :count`,
);

/** The conditions of a list. Null means no condition. */
export type ApprovalFilter = { readonly status: ApprovalStatus | null; readonly programId: string | null };

/** Reads a page of approvals, newest first, after the approval `after`. */
export function listApprovals(filter: ApprovalFilter, after: string | null, count: number): Statement {
  return LIST_APPROVALS({ ...filter, after, count });
}

/** Stores a decision on a pending approval, which must be locked. Removes the body unless the change must still be carried out. */
export const decideApproval = statement(
  'decide_approval',
  {
    approvalId: UUID,
    status: word<ApprovalStatus>(),
    decidedBy: nullable(UUID),
    decidedAt: nullable(DATE),
    reason: nullable(TEXT),
  },
  `update approval set status = :status, decided_by = :decidedBy, decided_at = :decidedAt, reason = :reason,
      body = case when :status = 'approved' then body end
    where approval_id = :approvalId`,
);

/** Stores how an approved change has ended, once. */
export const endApproval = statement(
  'end_approval',
  {
    approvalId: UUID,
    status: word<ApprovalStatus>(),
    result: nullable(JSON_TEXT),
    error: nullable(json<Readonly<Record<string, unknown>>>()),
  },
  `update approval set status = :status, result = :result, error = :error, body = null
    where approval_id = :approvalId and status = 'approved'`,
);

/**
 * Records that an approved change was carried out, in the transaction of the change. Fails (23514) if this is recorded
 * a second time, or if the approval has already ended differently.
 */
export const noteCarriedOut = statement(
  'note_carried_out',
  { approvalId: UUID },
  `update approval set times_carried_out = times_carried_out + case when status = 'approved' then 1 else 2 end
    where approval_id = :approvalId`,
);

/**
 * Finds approvals that a job must end: approved ones whose request was not carried out within ten seconds, and pending ones that
 * have expired.
 */
export const FIND_OPEN_APPROVALS: Statement = {
  name: 'find_open_approvals',
  text: `select approval_id, status from approval
    where status = 'approved' and decided_at < service_now() - interval '10 seconds'
      or status = 'pending' and expires_at <= service_now()
    order by approval_id limit 100`,
  values: [],
};

/**
 * Ends pending requests about the holder of a card, and removes their bodies. These requests name the card or one of its
 * transfers. They end because a request without its text must not be approved. A job later stores that they have expired.
 */
const EXPIRE_APPROVALS_ABOUT = statement(
  'expire_approvals_about',
  { programId: UUID, cardName: TEXT, transferIds: many(UUID), names: many(TEXT) },
  `update approval set expires_at = least(expires_at, service_now()), body = null
    where status = 'pending' and (
      program_id = :programId
        and :cardName in (path ->> 'card_id', body::jsonb ->> 'card_id', body::jsonb ->> 'destination_card_id')
      or path ->> 'transfer_id' = any (:names)
      or path ->> 'attempt_id' in (
        select 'pat_' || replace(attempt_id::text, '-', '') from processor_attempt
        where program_id = :programId and transfer_id = any (:transferIds))
      or path ->> 'break_id' in (
        select 'brk_' || replace(break_id::text, '-', '') from processor_break
        where program_id = :programId and transfer_id = any (:transferIds)))`,
);

/** A card, and some of its transfers by their inner UUIDs. */
type AboutCard = { readonly programId: string; readonly cardName: string; readonly transferIds: readonly string[] };

export function expireApprovalsAbout({ programId, cardName, transferIds }: AboutCard): Statement {
  const names = transferIds.map((id) => toWireId('tr', id));
  return EXPIRE_APPROVALS_ABOUT({ programId, cardName, transferIds, names });
}

const OF_CREDENTIAL = columns({
  name: nullable(TEXT),
  /** The scopes of a key. Null for a person. */
  scopes: nullable(many(word())),
  /** The roles of a person. Null for a key. */
  roles: nullable(many(TEXT)),
  /** The reason why the key or the person may no longer send requests, or null. */
  lost: nullable(word<'revoked' | 'expired' | 'blocked'>()),
  /** The person that the key belongs to. */
  personId: nullable(UUID),
  /** The key or the person, and everyone else who can act with it. See `Identity`. */
  behind: many(UUID),
});

/** The properties of a key or a person that approvals depend on. */
export type Credential = RowOf<typeof OF_CREDENTIAL.columns>;

/** Reads an operator key or a person by its inner UUID. */
export const readCredential = statement(
  'read_credential',
  { credentialId: UUID },
  `with recursive chain as (
      select key_id, owner_id, created_by from api_key where key_id = :credentialId
      union select api_key.key_id, api_key.owner_id, api_key.created_by
        from api_key join chain on api_key.key_id = chain.created_by
    )
    select name, scopes, null::text[] as roles, owner_id as person_id,
      (select array_agg(distinct id) from chain cross join unnest(array[key_id, owner_id, created_by]) as id
        where id is not null) as behind,
      case when revoked_at is not null then 'revoked' when expires_at <= service_now() then 'expired'
        when (select blocked_at from person where person.person_id = api_key.owner_id) is not null then 'blocked' end as lost
    from api_key where key_id = :credentialId
  union all
    select name, null, roles, person_id, array[person_id], case when blocked_at is not null then 'blocked' end
    from person where person_id = :credentialId`,
);

export function toCredential(row: Row): Credential {
  return OF_CREDENTIAL.read(row);
}

const POLICY = columns({
  rules: json<readonly ApprovalRule[]>(),
  expiresAfterHours: INTEGER,
  changedAt: DATE,
  changedBy: TEXT,
});

export type Policy = RowOf<typeof POLICY.columns>;

/** Reads the approval policy. Returns no row if it was never changed. */
export const READ_APPROVAL_POLICY: Statement = {
  name: 'read_approval_policy',
  text: `select ${POLICY.names} from approval_policy where singleton`,
  values: [],
};

export function toPolicy(row: Row): Policy {
  return POLICY.read(row);
}

export const writePolicy = statement(
  'write_approval_policy',
  POLICY.columns,
  `insert into approval_policy (${POLICY.names}) values (:rules, :expiresAfterHours, :changedAt, :changedBy)
    on conflict (singleton) do update set rules = excluded.rules, expires_after_hours = excluded.expires_after_hours,
      changed_at = excluded.changed_at, changed_by = excluded.changed_by`,
);
