import { hash } from 'node:crypto';
import type { RefusalCode } from '../../domain/error-codes.ts';
import type { StoredResponse } from '../../domain/idempotency.ts';
import { toWireId } from '../../domain/identifier.ts';
import type { Row, Statement } from './connection/database.ts';
import { fullPayload } from './events/transfer-payload.ts';
import {
  columns,
  HEX,
  INTEGER,
  JSON_TEXT,
  many,
  NUMBER,
  nullable,
  rows,
  SMALLINT,
  statement,
  statementOfRows,
  TEXT,
  TIME,
  UUID,
  word,
} from './sql.ts';

/**
 * The card program of keys for operations of operators, which belong to no program. The whole service shares these keys, so that an
 * operator whose own API key was replaced still gets the first response.
 */
export const NO_PROGRAM = '00000000-0000-0000-0000-000000000000';

export type KeyInScope = {
  readonly programId: string;
  readonly operation: string;
  readonly key: string;
  /** The hash that identifies the row. See {@link hashKey}. */
  readonly keyHash: string;
};

export function keyInScope(programId: string, operation: string, key: string): KeyInScope {
  return { programId, operation, key, keyHash: hashKey(programId, operation, key) };
}

/**
 * Returns the first half of the SHA-256 of a key in its scope, as a UUID. `idempotency_key_hash` computes the same in SQL. If the
 * index contained the key itself, its entries would be three times as large.
 */
export function hashKey(programId: string, operation: string, key: string): string {
  const digits = hash('sha256', `${programId}\n${operation}\n${key}`);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20, 32)}`;
}

const KEY_HASH = columns({ keyHash: UUID });

const SCOPE = columns({ ...KEY_HASH.columns, programId: UUID, operation: word(), key: nullable(TEXT) });

const OUTCOME = columns({
  fingerprint: HEX,
  meaning: nullable(HEX),
  requestId: nullable(UUID),
  status: SMALLINT,
  subjectId: nullable(UUID),
  code: nullable(word<RefusalCode>()),
  message: nullable(TEXT),
  field: nullable(TEXT),
});

const RESPONSE = columns({ ...OUTCOME.columns, body: nullable(JSON_TEXT) });

const IDEMPOTENCY = columns({ ...SCOPE.columns, ...RESPONSE.columns, eventIndex: nullable(INTEGER) });

/**
 * A first response with its key. If `eventIndex` is set, the body is the payload of the event with this index in the same batch,
 * and is not stored a second time.
 */
export type KeyedResponse = KeyInScope & StoredResponse & { readonly eventIndex: number | null };

/**
 * Reads the first responses to keys. The body comes from the row, or from the event that the row refers to. Must come after the
 * keys were locked, in a separate statement.
 */
export const readStoredResponses = statementOfRows(
  'read_stored_responses',
  KEY_HASH,
  `select found.* from :sent
    cross join lateral (
      select ${KEY_HASH.names}, ${OUTCOME.names}, program_id,
        case when batch_id is null then body else event_payload(batch_id, event_index, created_at) end as body
      from idempotency
      where idempotency.key_hash = sent.key_hash limit 1
    ) as found`,
);

/** Returns the responses that {@link readStoredResponses} found, by the hash of the key. */
export function toStoredResponses(found: readonly Row[]): Map<string, StoredResponse> {
  return new Map(found.map((row) => [row.key_hash as string, toStoredResponse(row)]));
}

function toStoredResponse(row: Row): StoredResponse {
  const { body, ...outcome } = RESPONSE.read(row);
  if (body === null || outcome.subjectId === null) return { ...outcome, body };
  // Only the payloads of transfers are stored in a form that differs from the body.
  const origin = { programId: row.program_id as string, subjectId: toWireId('tr', outcome.subjectId) };
  return { ...outcome, body: fullPayload(body, origin) };
}

const INSERT_RESPONSES = statement(
  'insert_stored_responses',
  { responses: rows(IDEMPOTENCY), batchId: UUID, now: TIME },
  `insert into idempotency (${IDEMPOTENCY.names}, batch_id, created_at)
    select responses.*, case when event_index is not null then :batchId::uuid end, :now::timestamptz from :responses`,
);

/** Returns whether the key's text is already stored with the transfer that it created. This saves 33 bytes of WAL per transfer. */
function isInTransfer({ operation, status }: KeyedResponse): boolean {
  return operation === 'create_transfer' && status === 201;
}

/**
 * Inserts the first responses to keys. If a key already exists, the transaction fails (23505). The events that they refer to must
 * be inserted with the same `now`.
 */
export function insertStoredResponses(responses: readonly KeyedResponse[], batchId: string, now: number): Statement {
  const stored = responses.map((response) => ({
    ...response,
    key: isInTransfer(response) ? null : response.key,
    body: response.eventIndex === null ? response.body : null,
  }));
  return INSERT_RESPONSES({ responses: stored, batchId, now });
}

/**
 * The exact first response is stored for at least this number of days. After that, bodies in the rows of keys are deleted. Other
 * bodies are kept as long as their events.
 */
export const KEPT_DAYS = 30;

const FORGET_REFUSED_KEYS = statement(
  'forget_refused_keys',
  { days: INTEGER, count: NUMBER },
  `with old as (
      select ctid from idempotency
      where status = 409 and created_at < statement_timestamp() - make_interval(days => :days)
      order by created_at limit :count
      for update skip locked
    ), gone as (delete from idempotency where ctid in (select ctid from old) returning 1)
    select count(*) as forgotten from gone`,
);

/** Deletes at most `count` refused keys that are older than `days`. Returns their number as `forgotten`. */
export function forgetRefusedKeys(count: number, days: number = KEPT_DAYS): Statement {
  return FORGET_REFUSED_KEYS({ count, days });
}

/**
 * The frequent operations, on transfers and cards. Earlier versions stored the bodies of their first responses in the rows
 * of the keys. These bodies are deleted after some time, because the created records still provide them. Operators' operations have
 * few bodies, and these are kept.
 */
const FREQUENT: readonly string[] = [
  'create_transfer',
  'capture_transfer',
  'cancel_transfer',
  'reverse_transfer',
  'create_card',
  'erase_card_holder',
];

const FORGET_BODIES = statement(
  'forget_bodies',
  { operations: many(word()), count: NUMBER },
  `with old as (
      select ctid from idempotency
      where body is not null and operation = any (:operations)
        and created_at < statement_timestamp() - interval '${KEPT_DAYS} days'
      order by created_at limit :count
      for update skip locked
    ), gone as (update idempotency set body = null where ctid in (select ctid from old) returning 1)
    select count(*) as forgotten from gone`,
);

/**
 * Deletes the bodies of at most `count` first responses that are old enough. Returns their number as `forgotten`. The key is kept
 * as long as the record that it created: a replay then responds with the record's current state.
 */
export function forgetBodies(count: number): Statement {
  return FORGET_BODIES({ operations: FREQUENT, count });
}

const FORGET_BODIES_ABOUT = statement(
  'forget_bodies_about',
  { subjectId: UUID, operations: many(word()) },
  `update idempotency set body = null
    where program_id = '${NO_PROGRAM}' and operation = any (:operations) and subject_id = :subjectId`,
);

/**
 * Deletes the bodies of first responses about a subject that belongs to no card program, because they contain text that was
 * erased.
 */
export function forgetBodiesAbout(subjectId: string, operations: readonly string[]): Statement {
  return FORGET_BODIES_ABOUT({ subjectId, operations });
}
