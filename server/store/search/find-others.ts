import type { Row, Statement } from '../connection/database.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  DATE,
  many,
  NUMBER,
  nullable,
  type RowOf,
  SMALLINT,
  statement,
  TEXT,
  UUID,
  word,
} from '../sql.ts';

const LIST_PROGRAM_IDS = statement(
  'list_program_ids',
  { count: NUMBER },
  'select program_id from program order by program_id desc limit :count',
);

export function listProgramIds(count: number): Statement {
  return LIST_PROGRAM_IDS({ count });
}

const PROGRAM = columns({ programId: UUID, name: TEXT, currency: CURRENCY, createdAt: DATE });

const FIND_PROGRAMS = statement(
  'find_programs',
  { programIds: many(UUID), text: TEXT, count: NUMBER },
  `select ${PROGRAM.names} from program
    where program_id = any (:programIds) and (:text = '' or position(lower(:text) in lower(name)) > 0)
    order by lower(name) = lower(:text) desc, program_id desc limit :count`,
);

/** Finds the programs whose name contains a string. If the string is empty, finds all programs. */
export function findPrograms(programIds: readonly string[], text: string, count: number): Statement {
  return FIND_PROGRAMS({ programIds, text, count });
}

export const toFoundProgram: (row: Row) => RowOf<typeof PROGRAM.columns> = PROGRAM.read;

const KEY_USE = columns({
  programId: UUID,
  operation: word(),
  status: SMALLINT,
  subjectId: nullable(UUID),
  code: nullable(TEXT),
  requestId: nullable(UUID),
  createdAt: DATE,
});

const FIND_KEY_USES = statement(
  'find_uses_of_idempotency_key',
  { programIds: many(UUID), operations: many(word()), key: TEXT, count: NUMBER },
  `select found.* from unnest(:programIds) as wanted(program_id) cross join unnest(:operations) as sought(operation)
    cross join lateral (
      select ${KEY_USE.names} from idempotency
      where idempotency.key_hash = idempotency_key_hash(wanted.program_id, sought.operation, :key) limit 1
    ) as found
    order by found.created_at desc limit :count`,
);

export type KeyUse = RowOf<typeof KEY_USE.columns>;

/** Finds the uses of an idempotency key, in its stored form, in any of the programs. */
export function findKeyUses(
  programIds: readonly string[],
  operations: readonly string[],
  key: string,
  count: number,
): Statement {
  return FIND_KEY_USES({ programIds, operations, key, count });
}

export const toKeyUse: (row: Row) => KeyUse = KEY_USE.read;

const REVERSAL = columns({
  programId: UUID,
  reversalId: UUID,
  transferId: UUID,
  amount: BIGINT,
  currency: CURRENCY,
  createdAt: DATE,
});

const FIND_REVERSALS = statement(
  'find_reversals',
  { programIds: many(UUID), reversalIds: many(UUID), count: NUMBER },
  `select found.* from unnest(:programIds) as wanted(program_id) cross join unnest(:reversalIds) as sought(reversal_id)
    cross join lateral (
      select ${REVERSAL.names} from reversal
      where reversal.program_id = wanted.program_id and reversal.reversal_id = sought.reversal_id limit 1
    ) as found
    order by found.reversal_id desc limit :count`,
);

export function findReversals(programIds: readonly string[], reversalIds: readonly string[], count: number): Statement {
  return FIND_REVERSALS({ programIds, reversalIds, count });
}

export const toFoundReversal: (row: Row) => RowOf<typeof REVERSAL.columns> = REVERSAL.read;

const MOVEMENT = columns({
  programId: UUID,
  movementId: UUID,
  kind: word<'deposit' | 'withdrawal'>(),
  amount: BIGINT,
  currency: CURRENCY,
  createdAt: DATE,
});

const FIND_MOVEMENTS = statement(
  'find_funding_movements',
  { programIds: many(UUID), movementId: UUID },
  `select found.* from unnest(:programIds) as wanted(program_id) cross join lateral (
      select ${MOVEMENT.names} from funding_movement
      where funding_movement.program_id = wanted.program_id and funding_movement.movement_id = :movementId limit 1
    ) as found limit 2`,
);

export function findMovements(programIds: readonly string[], movementId: string): Statement {
  return FIND_MOVEMENTS({ programIds, movementId });
}

const FIND_MOVEMENTS_BY_REFERENCE = statement(
  'find_funding_movements_by_reference',
  { programIds: many(UUID), reference: TEXT, count: NUMBER },
  `select found.* from unnest(:programIds) as wanted(program_id) cross join lateral (
      select ${MOVEMENT.names} from funding_movement
      where funding_movement.program_id = wanted.program_id and funding_movement.reference = :reference limit 1
    ) as found
    order by found.movement_id desc limit :count`,
);

/** Finds the deposits and withdrawals with a reference. There is at most one in each program. */
export function findMovementsByReference(programIds: readonly string[], reference: string, count: number): Statement {
  return FIND_MOVEMENTS_BY_REFERENCE({ programIds, reference, count });
}

export const toFoundMovement: (row: Row) => RowOf<typeof MOVEMENT.columns> = MOVEMENT.read;

const API_KEY = columns({
  keyId: UUID,
  programId: nullable(UUID),
  name: TEXT,
  createdAt: DATE,
  revokedAt: nullable(DATE),
});

const FIND_KEY = statement(
  'find_api_key',
  { keyId: UUID, programId: nullable(UUID) },
  `select ${API_KEY.names} from api_key
    where key_id = :keyId and (:programId::uuid is null or program_id = :programId)`,
);

/** Reads an API key by its id. If a program is given, the key must be bound to it. */
export function findKey(keyId: string, programId: string | null): Statement {
  return FIND_KEY({ keyId, programId });
}

const FIND_KEYS_BY_NAME = statement(
  'find_api_keys_by_name',
  { text: TEXT, programId: nullable(UUID), count: NUMBER },
  `select ${API_KEY.names} from api_key
    where (:programId::uuid is null or program_id = :programId) and position(lower(:text) in lower(name)) > 0
    order by key_id desc limit :count`,
);

/** Finds the newest API keys whose name contains a string. If a program is given, the keys must be bound to it. */
export function findKeysByName(text: string, programId: string | null, count: number): Statement {
  return FIND_KEYS_BY_NAME({ text, programId, count });
}

export const toFoundKey: (row: Row) => RowOf<typeof API_KEY.columns> = API_KEY.read;

const AUDIT_ENTRY = columns({
  entryId: UUID,
  programId: nullable(UUID),
  actor: TEXT,
  action: TEXT,
  position: BIGINT,
  createdAt: DATE,
});

const FIND_AUDIT_ENTRY = statement(
  'find_audit_entry',
  { entryId: UUID, programId: nullable(UUID) },
  `select ${AUDIT_ENTRY.names} from audit_entry
    where entry_id = :entryId and (:programId::uuid is null or program_id = :programId)`,
);

export function findAuditEntry(entryId: string, programId: string | null): Statement {
  return FIND_AUDIT_ENTRY({ entryId, programId });
}

export const toFoundAuditEntry: (row: Row) => RowOf<typeof AUDIT_ENTRY.columns> = AUDIT_ENTRY.read;
