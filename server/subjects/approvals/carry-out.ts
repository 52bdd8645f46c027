import type { ApprovalRecord } from '../../../contract/approvals.ts';
import { errorRecord } from '../../../contract/errors/catalogue.ts';
import type { ErrorRecord } from '../../../contract/errors/record.ts';
import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { readFields } from '../../../contract/reading/read-fields.ts';
import { includesScope, inOrder, scopesOf } from '../../../contract/scope.ts';
import type { Maker } from '../../../domain/approvals/approval.ts';
import { isSame, type StoredResponse } from '../../../domain/idempotency.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { readAccess } from '../../../domain/people/access.ts';
import { type MoneyMoved, Refusal } from '../../../domain/refusal.ts';
import {
  type AnyCall,
  type AnyReply,
  type CallContext,
  type Caller,
  ownedBy,
  type Service,
  schemaRefusal,
} from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import { parseStrictJson } from '../../calls/strict-json.ts';
import { transact } from '../../commit/transaction.ts';
import { refusedResponse } from '../../commit/under-key.ts';
import {
  type Credential,
  endApproval,
  lockApproval,
  readApproval,
  readCredential,
  type ShownApproval,
  toApproval,
  toCredential,
} from '../../store/approval.ts';
import type { Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import {
  insertStoredResponses,
  type KeyedResponse,
  type KeyInScope,
  keyInScope,
  NO_PROGRAM,
  readStoredResponses,
  toStoredResponses,
} from '../../store/idempotency.ts';
import { lockNames } from '../../store/locks.ts';
import { auditOther, withoutHolderValues } from '../audit/audit.ts';
import { type Run, toApprovalRecord, toEventPayload, toRecord } from './subject.ts';

/** The maker of a request with their current permissions, and as a caller. */
export type MakerNow = { readonly maker: Maker; readonly caller: Caller };

/** Reads the maker of a request, and whether their key or the person may still send it. */
export async function readMaker(service: Service, { requestedBy, operation }: ShownApproval): Promise<MakerNow> {
  const credential = await findCredential(service, requestedBy);
  const scopes = credential === undefined ? [] : scopesNow(credential);
  const isPerson = credential?.roles !== null;
  const maker = {
    credentialId: requestedBy,
    behind: credential?.behind ?? [requestedBy],
    lost: lostBy(credential, scopes, operation),
  };
  const caller: Caller = isPerson
    ? { kind: 'operator_person', personId: requestedBy, scopes, sessionId: NO_PROGRAM, signedInAt: 0 }
    : { kind: 'operator_key', keyId: requestedBy, ...ownedBy(credential?.personId ?? null), scopes };
  return { maker, caller };
}

export async function findCredential({ database }: Service, credentialId: string): Promise<Credential | undefined> {
  const [row] = await readRows(database, readCredential({ credentialId }));
  return row === undefined ? undefined : toCredential(row);
}

function scopesNow({ scopes, roles }: Credential): readonly string[] {
  if (scopes !== null) return inOrder(scopes);
  // An operator's roles apply to all card programs.
  const access = (roles ?? []).flatMap((text) => readAccess(text) ?? []);
  return scopesOf(access.filter(({ programId }) => programId === null));
}

function lostBy(credential: Credential | undefined, scopes: readonly string[], operation: string): string | null {
  if (credential === undefined) return 'no longer exists';
  const isPerson = credential.roles !== null;
  if (credential.lost === 'blocked')
    return isPerson ? 'has been blocked' : 'used a key of a person who has been blocked';
  if (credential.lost !== null)
    return `used a key that ${credential.lost === 'revoked' ? 'was revoked' : 'has expired'}`;
  const needed = OPERATIONS[operation as OperationId].scope;
  return needed === null || includesScope(scopes, needed) ? null : `no longer has the scope '${needed}'`;
}

/** Returns the request of an approval as a call of the requester. */
export function toCall(approval: ShownApproval, caller: Caller, deadline: number): AnyCall {
  const operation = approval.operation as OperationId;
  const { body: schema, method, reach, query } = OPERATIONS[operation];
  const sent = approval.body === null ? {} : parseStrictJson(Buffer.from(approval.body));
  const reading = schema === undefined ? undefined : readFields(schema, sent, method === 'PATCH' ? 'patch' : 'body');
  // An earlier version may have accepted a request that this version no longer allows.
  if (reading !== undefined && 'problem' in reading) {
    throw schemaRefusal({ operation }, reading.problem.message, reading.problem.field);
  }
  return {
    operation,
    requestId: approval.requestId,
    caller,
    programId: reach === 'program' ? (approval.programId ?? '') : '',
    params: approval.path,
    query: query === undefined ? undefined : {},
    body: reading?.fields,
    sent,
    idempotencyKey: approval.idempotencyKey,
    ifMatch: approval.ifMatch ?? undefined,
    deadline,
    approvalId: approval.approvalId,
  };
}

export type Ended = { readonly approval: ShownApproval; readonly now: number; readonly moneyMoved: MoneyMoved };

// Invariant: An approved request is carried out at most once, even if several processes try, and never after its approval has
//   failed
// Kept by: for requests of card programs, their idempotency key. Failures are stored under it, too. For other requests,
//   `noteCarriedOut` in their transaction (`auditOf`)
// Tested by: `test/security/approvals.test.ts`, `verification/campaigns/approvals.ts`

/**
 * Carries out an approved request as the requester, under the request's idempotency key, and stores the result. A refusal ends the
 * approval and is not retried. Rejects if the outcome is unknown. Then the job tries again.
 */
export async function carryOut(service: Service, run: Run, approvalId: string, deadline: number): Promise<Ended> {
  const [row] = await readRows(service.database, readApproval({ approvalId }));
  if (row === undefined) throw new Error('the approval of an approved request does not exist');
  const approval = toApproval(row);
  const outcome = approval.timesCarriedOut > 0 ? CARRIED_OUT : await tryToCarryOut(service, run, approval, deadline);
  return end(service, approval, outcome, deadline);
}

type Outcome =
  | {
      readonly status: 'carried_out';
      readonly result: string | null;
      readonly error: null;
      readonly moneyMoved: MoneyMoved;
    }
  | {
      readonly status: 'failed';
      readonly result: null;
      readonly error: ErrorRecord;
      readonly moneyMoved: 'no';
    };

const CARRIED_OUT = { status: 'carried_out', result: null, error: null, moneyMoved: 'unknown' } as const;

async function tryToCarryOut(service: Service, run: Run, approval: ShownApproval, deadline: number): Promise<Outcome> {
  const { maker, caller } = await readMaker(service, approval);
  try {
    if (maker.lost !== null) throw new Refusal('forbidden', `The requester ${maker.lost}.`);
    const reply = await run(toCall(approval, caller, deadline));
    const result = toResult(approval.operation, reply);
    return { status: 'carried_out', result, error: null, moneyMoved: movedBy(reply) };
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    return { status: 'failed', result: null, error: errorRecord(thrown.code, thrown.message), moneyMoved: 'no' };
  }
}

function movedBy(reply: AnyReply): MoneyMoved {
  return 'moneyMoved' in reply ? (reply.moneyMoved ?? 'no') : 'no';
}

/**
 * Returns the result to store with the approval. It is kept forever and an erasure would not find it, so it contains no text about
 * the holder of a card. It also omits the secret of a new key or webhook, because everyone who can read the approval would see it.
 * To get a secret, the requester rolls the key or the webhook's secret.
 */
function toResult(operation: string, reply: AnyReply): string | null {
  const record = toRecord(reply);
  if (record === null) return null;
  const kept = withoutHolderValues(record);
  if (operation === 'create_key') return JSON.stringify({ ...kept, key: null });
  return JSON.stringify(operation === 'create_operator_webhook' ? { ...kept, secret: null } : kept);
}

/**
 * Stores how an approval has ended. If this process was refused, another process may have carried out the request, or may be
 * about to. So a failure is decided in a transaction that excludes both: it finds out whether the request was already carried
 * out, and prevents it from being carried out later.
 */
function end(service: Service, known: ShownApproval, outcome: Outcome, deadline: number): Promise<Ended> {
  const { approvalId } = known;
  const key = outcome.status === 'failed' ? keyOfProgram(known) : undefined;
  const load = {
    names: key === undefined ? null : lockNames([key]),
    approval: lockApproval({ approvalId }),
    response: key === undefined ? null : readStoredResponses([key]),
  };
  return transact<Ended, keyof typeof load>(service.database, deadline, load, (loaded, batchId) => {
    const [row] = loaded.approval;
    if (row === undefined) throw new Error('the approval of an approved request does not exist');
    const before = toApproval(row);
    const now = (row.now as Date).getTime();
    // Another process has already ended the approval.
    if (before.status !== 'approved') {
      const known = before.status === 'failed' ? 'no' : 'unknown';
      const moneyMoved = outcome.status === 'carried_out' ? outcome.moneyMoved : known;
      return { result: { approval: before, now, moneyMoved }, writes: [] };
    }
    const [response] = toStoredResponses(loaded.response).values();
    const { moneyMoved, ...stored } =
      (outcome.status === 'failed' ? carriedOutBefore(before, response) : undefined) ?? outcome;
    const approval = { ...before, ...stored, body: null };
    const { status, error } = stored;
    const writes = [
      ...(key === undefined || response !== undefined || error === null
        ? []
        : [insertStoredResponses([toFailure(before, key, error)], batchId, now)]),
      endApproval({ approvalId, ...stored }),
      ...(status === 'failed' ? [eventOf(status, toApprovalRecord(approval, now), batchId, now)] : []),
      auditOfEnd(approval, { status, error }),
    ];
    return { result: { approval, now, moneyMoved }, writes };
  });
}

/** Returns the idempotency key under which a card program's request is carried out. Undefined for requests of the service. */
function keyOfProgram({ operation, programId, idempotencyKey }: ShownApproval): KeyInScope | undefined {
  if (OPERATIONS[operation as OperationId].reach !== 'program') return undefined;
  return keyInScope(programId ?? NO_PROGRAM, operation, idempotencyKey);
}

function carriedOutBefore(approval: ShownApproval, response: StoredResponse | undefined): Outcome | undefined {
  if (approval.timesCarriedOut > 0) return CARRIED_OUT;
  // A result of a different request with the same key says nothing about this one.
  const request = { asSent: approval.fingerprint, ofMeaning: approval.meaning };
  if (response === undefined || response.code !== null || !isSame(response, request)) return undefined;
  const { body } = response;
  return { ...CARRIED_OUT, result: body === null ? null : toResult(approval.operation, { json: body }) };
}

/** Returns the failure to store under the request's key. A repeated request gets it again. */
function toFailure(
  { fingerprint, meaning, requestId }: ShownApproval,
  key: KeyInScope,
  { Code: code, Message: message }: ErrorRecord,
): KeyedResponse {
  const first = { fingerprint: { asSent: fingerprint, ofMeaning: meaning }, requestId };
  return { ...key, ...refusedResponse(first, { code, message, field: null }), eventIndex: null };
}

type Reported = Extract<ApprovalRecord['status'], 'approved' | 'failed' | 'rejected' | 'withdrawn' | 'expired'>;

/** Inserts the event of a status. `call` is the request that caused the status. */
export function eventOf(
  status: Reported,
  record: ApprovalRecord,
  batchId: string,
  now: number,
  call?: CallContext,
): Statement {
  const payload = toEventPayload(record);
  const event = { type: `approval.${status}` as const, programId: null, subjectId: record.approval_id, payload };
  return insertEvents(batchId, [event], now, call);
}

/** Inserts the audit log entry for an approval that ended without a request. */
export function auditOfEnd({ approvalId, programId }: ShownApproval, details: object): Statement {
  const subjectId = toWireId('apr', approvalId);
  return auditOther('end_approval', { actor: 'service', programId, subjectId, details: JSON.stringify(details) });
}
