import { OPERATIONS } from '../../../contract/operations.ts';
import { canonicalJson } from '../../../contract/reading/json.ts';
import { type ApprovableId, needsApproval } from '../../../domain/approvals/policy.ts';
import { isSame } from '../../../domain/idempotency.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type AcceptedReply, type AnyCall, type AnyReply, credentialOf, type Service } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transact } from '../../commit/transaction.ts';
import { fingerprintOf } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import {
  type Approval,
  findApprovalOfKey,
  findEqualApproval,
  findPendingAbout,
  insertApproval,
  readCredential,
  type ShownApproval,
  toApproval,
  toCredential,
} from '../../store/approval.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { type KeyInScope, keyInScope, NO_PROGRAM } from '../../store/idempotency.ts';
import { lockNames } from '../../store/locks.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { actorOf, auditOther } from '../audit/audit.ts';
import type { CurrentPolicy, PolicyMemory } from './policy.ts';
import {
  programOf,
  type Run,
  readSubject,
  summaryOf,
  toApprovalRecord,
  toEventPayload,
  toRecord,
  toRuledRequest,
  valuesOf,
} from './subject.ts';

// Invariant: An operator's request that matches an approval rule is carried out only after its approval
// Kept by: `withApproval`, around the handlers of all approvable operations for operators (`server/handlers.ts`)
// Tested by: `test/security/approvals.test.ts`, `verification/campaigns/approvals.ts`

/** Calls handlers: `run` normally, `tryOut` in transactions that write nothing. */
export type Runs = { readonly run: Run; readonly tryOut: Run };

/**
 * Carries out an operator's request, or, if a rule matches it, answers with a pending approval. Before such an answer, the request is
 * tried without writing anything, so that a request that would be refused is refused immediately.
 *
 * @throws {Refusal} approval_pending, idempotency_key_exists, and every refusal of the operation
 */
export async function withApproval(
  service: Service,
  policy: PolicyMemory,
  { run, tryOut }: Runs,
  call: AnyCall,
  operation: ApprovableId,
): Promise<AnyReply> {
  const current = await policy.read();
  const isConcerned = needsApproval(current.rules, { ...toRuledRequest(call, null), ...NOTHING_KNOWN });
  if (!isConcerned) return run(call);
  const earlier = await findByKey(service, call);
  if (earlier !== undefined)
    return earlier.approval.status === 'carried_out' ? run(call) : accept(earlier.approval, earlier.now, true);
  const found = await readSubject(run, call, operation);
  const request = toRuledRequest(call, found);
  if (!needsApproval(current.rules, request)) return run(call);
  const tried = await tryOut(call);
  if ('replayed' in tried && tried.replayed === true) return tried;
  // The request changes nothing, because what it would create exists.
  if ('existing' in tried && tried.existing === true) return tried;
  const { currency } = toRecord(tried) ?? {};
  const known = { ...request, currency: request.currency ?? (typeof currency === 'string' ? currency : null) };
  const [values, summary] = [valuesOf(operation, found), await summaryOf(run, call, known)];
  return await propose(service, call, current, { values: values === null ? null : JSON.stringify(values), summary });
}

/** Rules about amounts match an unknown amount, so this finds every rule that may match. */
const NOTHING_KNOWN = { amount: null, currency: null } as const;

/** The operations that read the subject of a request, and the path parameter with the subject's id. */
const READS_SUBJECT = {
  get_program: 'program_id',
  get_transfer: 'transfer_id',
  get_transfer_timeline: 'transfer_id',
  get_card: 'card_id',
} as const;

type ReadsSubject = keyof typeof READS_SUBJECT;

export function readsSubject(operation: string): operation is ReadsSubject {
  return Object.hasOwn(READS_SUBJECT, operation);
}

/** Reads a record for an operator, and adds the id of the pending approval of a request about it, if there is one. */
export async function withPending(
  { database }: Service,
  policy: PolicyMemory,
  run: Run,
  call: AnyCall,
  operation: ReadsSubject,
): Promise<AnyReply> {
  const reply = await run(call);
  if (!('record' in reply) || !(await policy.read()).isSet) return reply;
  const field = READS_SUBJECT[operation];
  const programId = call.programId === '' ? null : call.programId;
  const [found] = await readRows(database, findPendingAbout({ field, name: call.params[field] ?? '', programId }));
  if (found === undefined) return reply;
  const pending = { pending_approval_id: toWireId('apr', found.approval_id as string) };
  const record = reply.record as { readonly transfer?: object };
  const { transfer } = record;
  return {
    ...reply,
    record: transfer === undefined ? { ...record, ...pending } : { ...record, transfer: { ...transfer, ...pending } },
  };
}

/** Refuses an operator's batch if single transfers need an approval, because an approver could not see what they approve. */
export async function refuseBatch(policy: PolicyMemory): Promise<void> {
  const { rules } = await policy.read();
  if (!rules.some(({ operation }) => operation === 'create_transfer')) return;
  const message =
    "Transfers of operators can need an approval here, and a batch cannot wait for one. Send its transfers one by one, or use the card program's key.";
  throw new Refusal('forbidden', message, { saw: { refused_because: 'approval policy' } });
}

function keyOf(call: AnyCall): KeyInScope | undefined {
  if (call.idempotencyKey === null) return undefined;
  return keyInScope(programOf(call) ?? NO_PROGRAM, call.operation, call.idempotencyKey);
}

/** Finds the approval that was created under the request's idempotency key. Refuses a different request with the same key. */
async function findByKey(
  service: Service,
  call: AnyCall,
): Promise<{ readonly approval: ShownApproval; readonly now: number } | undefined> {
  const key = keyOf(call);
  if (key === undefined) return undefined;
  const [row] = await readRows(service.database, findApprovalOfKey({ keyHash: key.keyHash }));
  if (row === undefined) return undefined;
  return { approval: sameRequest(toApproval(row), call), now: (row.now as Date).getTime() };
}

function sameRequest(approval: ShownApproval, call: AnyCall): ShownApproval {
  if (isSame(approval, fingerprintOf(call))) return approval;
  const approvalId = toWireId('apr', approval.approvalId);
  const message =
    `This Idempotency-Key was already used with a different request, which is waiting for the approval ${approvalId}. ` +
    'Use a new key for a new request, or repeat the first request.';
  throw new Refusal('idempotency_key_exists', message);
}

type Preview = { readonly values: string | null; readonly summary: string };

/** Stores the request with its approval, event and audit log entry. */
function propose(service: Service, call: AnyCall, policy: CurrentPolicy, preview: Preview): Promise<AcceptedReply> {
  const fingerprint = fingerprintOf(call);
  const programId = programOf(call);
  const key = keyOf(call);
  const makerId = credentialOf(call.caller) ?? NO_PROGRAM;
  const load = {
    // Serializes identical requests and requests with the same key.
    names: lockNames([
      { programId: NO_PROGRAM, kind: 'approval', name: fingerprint.ofMeaning },
      ...(key === undefined ? [] : [key]),
    ]),
    clock: READ_SWITCH,
    ofKey: key === undefined ? null : findApprovalOfKey({ keyHash: key.keyHash }),
    maker: readCredential({ credentialId: makerId }),
    equal: findEqualApproval({ meaning: fingerprint.ofMeaning }),
  };
  return transact<AcceptedReply, keyof typeof load>(
    service.database,
    call.deadline,
    load,
    ({ clock, ofKey: [ofKey], maker: [maker], equal: [equal] }, batchId) => {
      const { now } = toSwitchReading(clock);
      if (ofKey !== undefined) {
        return { result: accept(sameRequest(toApproval(ofKey), call), now, true), writes: [], readsOnly: false };
      }
      if (equal !== undefined) throw isPending(toApproval(equal));
      const approvalId = idAt(now);
      const approval: Approval = {
        approvalId,
        status: 'pending',
        operation: call.operation,
        programId,
        path: call.params,
        body: OPERATIONS[call.operation].body === undefined ? null : canonicalJson(call.sent),
        ifMatch: call.ifMatch ?? null,
        fingerprint: fingerprint.asSent,
        meaning: fingerprint.ofMeaning,
        ...keyFor(call, programId, approvalId),
        summary: preview.summary,
        valuesThen: preview.values,
        requestId: call.requestId,
        requestedBy: makerId,
        requestedAt: new Date(now),
        expiresAt: new Date(now + policy.expiresAfterHours * 3_600_000),
        decidedBy: null,
        decidedAt: null,
        reason: null,
        result: null,
        error: null,
      };
      const requestedByName = maker === undefined ? null : toCredential(maker).name;
      const shown = { ...approval, ...UNDECIDED, requestedByName };
      const result = accept(shown, now);
      const payload = toEventPayload(toApprovalRecord(shown, now));
      const subjectId = toWireId('apr', approvalId);
      const details = JSON.stringify({ operation: call.operation, summary: preview.summary, case_id: call.caseId });
      const event = { type: 'approval.requested' as const, programId: null, subjectId, payload };
      const writes = [
        insertApproval(approval),
        insertEvents(batchId, [event], now, call),
        auditOther('request_approval', { actor: actorOf(call.caller), programId, subjectId, details }, call.requestId),
      ];
      return { result, writes };
    },
  );
}

const UNDECIDED = { decidedByName: null, timesCarriedOut: 0 } as const;

/**
 * Returns the key of a request, or a new one if it has none. With a key, the approval is carried out at most once, even after
 * several attempts.
 */
function keyFor(
  call: AnyCall,
  programId: string | null,
  approvalId: string,
): { readonly idempotencyKey: string; readonly keyHash: string } {
  const key = call.idempotencyKey ?? toWireId('apr', approvalId);
  const { keyHash } = keyInScope(programId ?? NO_PROGRAM, call.operation, key);
  return { idempotencyKey: key, keyHash };
}

function accept(approval: ShownApproval, now: number, isReplay = false): AcceptedReply {
  const record = toApprovalRecord(approval, now);
  const accepted = { json: JSON.stringify(record), approvalId: record.approval_id, moneyMoved: 'no' } as const;
  return isReplay ? { ...accepted, replayed: true, originalRequestId: record.request_id } : accepted;
}

function isPending(approval: ShownApproval): Refusal {
  const approvalId = toWireId('apr', approval.approvalId);
  const message = `An identical request is already waiting for the approval ${approvalId}. Ask a second person to decide on it, or withdraw it.`;
  return new Refusal('approval_pending', message, { saw: { approval_id: approvalId } });
}
