import { hash } from 'node:crypto';
import { isStored } from '../../contract/errors/catalogue.ts';
import { OPERATIONS, type OperationId, type ReplyOf } from '../../contract/operations.ts';
import { canonicalJson, normalForm } from '../../contract/reading/json.ts';
import type { RefusalCode } from '../../domain/error-codes.ts';
import {
  type Fingerprint,
  originalDetails,
  originalOf,
  replay,
  type StoredResponse,
} from '../../domain/idempotency.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call, CallContext, JsonReply } from '../calls/call.ts';
import type { Database, Decision, Loaded, Statement, Steps } from '../store/connection/database.ts';
import {
  insertStoredResponses,
  type KeyInScope,
  keyInScope,
  NO_PROGRAM,
  readStoredResponses,
  toStoredResponses,
} from '../store/idempotency.ts';
import { type LockedName, lockNames } from '../store/locks.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { transact } from './transaction.ts';

// Invariant: Every POST that creates or changes something does so once per key
// Kept by: the response is stored in the transaction of the change
// Tested by: `test/api/transfers/idempotent-operations.test.ts`

/** The work of an operation. It is done in the transaction that also stores the response to the idempotency key. */
export type KeyedWork<Record, Name extends string> = {
  /** Inner UUID of the card program that the key belongs to. Omitted by operations outside card programs. */
  readonly programId?: string;
  /** Locks the switch exclusively, before all other locks. Only for operations that need this. */
  readonly hold?: Statement;
  readonly names?: readonly LockedName[];
  /** The statements that are sent once the names are locked. */
  readonly load: Steps<unknown, Name>['load'];
  /** Decides about a request that is not a replay. If it throws a refusal whose status is stored, the refusal is stored. */
  readonly decide: (loaded: Loaded<Name>, moment: Moment) => Done<Record>;
  /**
   * Reads the current record of the subject, for a key whose stored response was deleted. Operations that move money must use
   * `readAgain` for this, so that a failure does not contradict the first response.
   */
  readonly recall?: (subjectId: string) => Promise<Record>;
};

/** The moment of a decision: the batch of its events, and its time in milliseconds since 1970. */
export type Moment = { readonly batchId: string; readonly now: number };

export type Done<Record> = {
  readonly record: Record;
  readonly json?: string;
  /** The record to store under the key if the real one contains a secret. */
  readonly stored?: Record;
  /**
   * Index, among the written events, of the event whose payload is `json`. A replay reads the response from the event. When the
   * event was deleted, it uses `recall`.
   */
  readonly eventIndex?: number;
  /** Whether the record existed before. See `ExistingReply`. */
  readonly existing?: true;
  /** Inner UUID of the subject that was created or changed. */
  readonly subjectId: string;
  readonly writes: readonly Statement[];
};

type OwnName = 'hold' | 'lockNames' | 'switch' | 'responses';

/** A replay whose response was deleted. `forgotten` is the inner UUID of the created subject. */
type Forgotten = { readonly forgotten: string; readonly originalRequestId: string | undefined };

type Outcome<Record> = JsonReply<Record> | Refusal | Forgotten;

/**
 * Runs an operation under the idempotency key of its request, if it has one. The first request with a key is executed, and its
 * response is stored in the same transaction as its effects. Later requests get the same response again. The lock on the key
 * serializes concurrent requests: the second request finds the response to the first.
 */
export async function transactUnderKey<Id extends OperationId, Name extends string>(
  { database }: { readonly database: Database },
  call: Call<Id>,
  work: KeyedWork<ReplyOf<Id>, Name>,
): Promise<JsonReply<ReplyOf<Id>>> {
  const outcome = await transact(
    database,
    call.deadline,
    loadFor(call, work),
    (loaded, batchId): Decision<Outcome<ReplyOf<Id>>> => decide(call, work, loaded, batchId),
  );
  if (outcome instanceof Refusal) throw outcome;
  if (!('forgotten' in outcome)) return outcome;
  if (work.recall === undefined)
    throw new Error('the body of a stored response was deleted, and the operation cannot recreate it');
  const { forgotten, originalRequestId } = outcome;
  return { json: JSON.stringify(await work.recall(forgotten)), replayed: true, originalRequestId };
}

function scopeOf(call: CallContext, programId: string | undefined): KeyInScope | undefined {
  if (call.idempotencyKey === null) return undefined;
  return keyInScope(programId ?? NO_PROGRAM, call.operation, call.idempotencyKey);
}

function loadFor<Record, Name extends string>(
  call: CallContext,
  work: KeyedWork<Record, Name>,
): { readonly [Key in Name | OwnName]: Statement | null } {
  const scope = scopeOf(call, work.programId);
  const names = [...(work.names ?? []), ...(scope === undefined ? [] : [scope])];
  return {
    hold: work.hold ?? null,
    lockNames: names.length === 0 ? null : lockNames(names),
    ...work.load,
    switch: READ_SWITCH,
    responses: scope === undefined ? null : readStoredResponses([scope]),
  };
}

function decide<Record, Name extends string>(
  call: CallContext,
  work: KeyedWork<Record, Name>,
  loaded: Loaded<Name | OwnName>,
  batchId: string,
): Decision<Outcome<Record>> {
  const scope = scopeOf(call, work.programId);
  const fingerprint = fingerprintOf(call);
  const [found] = toStoredResponses(loaded.responses).values();
  if (found !== undefined) {
    const first = replay(found, fingerprint);
    // If a different request has used the key, that proves nothing about this one. A replay proves that the first request had an
    // effect.
    if (first instanceof Refusal) return { result: first, writes: [], readsOnly: true };
    return { result: storedRefusal(first) ?? replayOf(first, call.operation), writes: [] };
  }
  const { now } = toSwitchReading(loaded.switch);
  const first = { fingerprint, requestId: call.requestId };
  try {
    const done = work.decide(loaded, { batchId, now });
    const { record, json = JSON.stringify(record), stored, eventIndex = null, subjectId, writes } = done;
    const result = { record, json, ...(done.existing && { existing: true as const }) };
    if (scope === undefined) return { result, writes };
    const status = done.existing === true ? 200 : OPERATIONS[call.operation].status;
    const kept = stored === undefined ? json : JSON.stringify(stored);
    const response = { ...scope, ...successToStore(first, status, subjectId, kept), eventIndex };
    // The response is stored first, because the row of the audit log must come last.
    return { result, writes: [insertStoredResponses([response], batchId, now), ...writes] };
  } catch (thrown) {
    const response = thrown instanceof Refusal && scope !== undefined ? refusalToStore(first, thrown) : undefined;
    if (!(thrown instanceof Refusal) || scope === undefined || response === undefined) throw thrown;
    const refused = { ...scope, ...response, eventIndex: null };
    return { result: thrown, writes: [insertStoredResponses([refused], batchId, now)] };
  }
}

function replayOf(stored: StoredResponse, operation: OperationId): Exclude<Outcome<never>, Refusal> {
  const { body, subjectId, status } = stored;
  const originalRequestId = originalOf(stored);
  if (body === null) return { forgotten: subjectId ?? '', originalRequestId };
  const existing = OPERATIONS[operation].existing && status === 200;
  return { json: body, replayed: true, originalRequestId, ...(existing && { existing: true as const }) };
}

/** Part of every fingerprint. If later versions compute fingerprints differently, they cannot match old keys by mistake. */
const FINGERPRINT_VERSION = 1;

type Fingerprinted = Pick<CallContext, 'operation' | 'params' | 'sent'>;

/**
 * Identifies equal requests by operation, path parameters, and the meaning of the body. Version 0.1.0 uses the body as sent, so
 * that is compared as well. Most bodies are sent in their normal form, so both are usually equal.
 */
export function fingerprintOf({ operation, params, sent }: Fingerprinted): Fingerprint {
  const path = Object.entries(params).sort(([left], [right]) => (left < right ? -1 : 1));
  const start = `${FINGERPRINT_VERSION}\n${operation}\n${JSON.stringify(path)}\n`;
  const text = canonicalJson(sent);
  const normal = canonicalJson(normalForm(OPERATIONS[operation].body, sent));
  const asSent = hash('sha256', start + text, 'hex');
  return { asSent, ofMeaning: normal === text ? asSent : hash('sha256', start + normal, 'hex') };
}

function toStore({ asSent, ofMeaning }: Fingerprint): Pick<StoredResponse, 'fingerprint' | 'meaning'> {
  return { fingerprint: asSent, meaning: ofMeaning === asSent ? null : ofMeaning };
}

type FirstRequest = { readonly fingerprint: Fingerprint; readonly requestId: string };

export function successToStore(
  { fingerprint, requestId }: FirstRequest,
  status: 200 | 201,
  subjectId: string,
  body: string,
): StoredResponse {
  return { ...toStore(fingerprint), requestId, status, subjectId, body, code: null, message: null, field: null };
}

/** Returns the stored form of a refusal under its key. Undefined if a later attempt might not be refused. */
export function refusalToStore({ fingerprint, requestId }: FirstRequest, refusal: Refusal): StoredResponse | undefined {
  if (!isStored(refusal.code)) return undefined;
  const { code, message, details } = refusal;
  return refusedResponse({ fingerprint, requestId }, { code, message, field: details.field ?? null });
}

/**
 * Returns a refusal in the form that is stored under a key. Its row has the status 409 for any code, so that a job deletes it in
 * time.
 */
export function refusedResponse(
  { fingerprint, requestId }: FirstRequest,
  refused: { readonly code: RefusalCode; readonly message: string; readonly field: string | null },
): StoredResponse {
  return { ...toStore(fingerprint), requestId, status: 409, subjectId: null, body: null, ...refused };
}

/** Returns a stored refusal. Undefined for a stored success. */
export function storedRefusal(response: StoredResponse): Refusal | undefined {
  if (response.code === null) return undefined;
  return new Refusal(response.code, response.message ?? '', {
    replayed: true,
    ...originalDetails(originalOf(response)),
    ...(response.field === null ? {} : { field: response.field }),
  });
}
