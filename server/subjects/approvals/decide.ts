import type { ApprovalRecord } from '../../../contract/approvals.ts';
import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { type ApprovalDecision, type Checker, refuseDecision } from '../../../domain/approvals/approval.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, credentialOf, hasScope, OperationFailure, type Reply, type Service } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transact } from '../../commit/transaction.ts';
import {
  decideApproval,
  FIND_OPEN_APPROVALS,
  listApprovals as listStatement,
  lockApproval,
  readApproval,
  type ShownApproval,
  toApproval,
} from '../../store/approval.ts';
import { auditOf } from '../audit/audit.ts';
import { auditOfEnd, carryOut, eventOf, findCredential, type MakerNow, readMaker, toCall } from './carry-out.ts';
import type { Runs } from './gate.ts';
import { type Run, readSubject, toApprovalRecord, valuesOf } from './subject.ts';

type DecisionCall = Call<'approve_change'> | Call<'reject_change'> | Call<'withdraw_change'>;

export async function listApprovals(service: Service, call: Call<'list_approvals'>): Promise<Reply<'list_approvals'>> {
  const { status = null, program_id: programId } = call.query;
  const filter = { status, programId: readProgramFilter(call, programId) };
  const record = await readPage(service, call, {
    prefix: 'apr',
    statement: (after, count) => listStatement(filter, after, count),
    read: (row) => ({ approval: toApproval(row), now: row.now as Date }),
    idOf: ({ approval }) => approval.approvalId,
    show: ({ approval, now }) => toApprovalRecord(approval, now.getTime()),
  });
  return { record };
}

/** get_approval: returns the approval. While it is pending, also returns the current state of its subject. */
export async function getApproval(
  run: Run,
  service: Service,
  call: Call<'get_approval'>,
): Promise<Reply<'get_approval'>> {
  const { approval, now } = await readOne(service, call.params.approval_id);
  const record = toApprovalRecord(approval, now);
  if (record.status !== 'pending') return { record };
  const found = await readSubject(run, toCall(approval, call.caller, call.deadline), record.operation);
  return { record: { ...record, values_now: valuesOf(record.operation, found) } };
}

async function readOne(service: Service, sentId: string): Promise<{ approval: ShownApproval; now: number }> {
  const approvalId = fromWireId('apr', sentId);
  const [row] = approvalId === undefined ? [] : await readRows(service.database, readApproval({ approvalId }));
  if (row === undefined) throw approvalMissing(sentId);
  return { approval: toApproval(row), now: (row.now as Date).getTime() };
}

/**
 * approve_change: carries out the request and returns the approval. The current balances, rules and switch apply. While transfers
 * are disabled, the approval stays pending, because a refusal would end it.
 */
export async function approveChange(
  { run, tryOut }: Runs,
  service: Service,
  call: Call<'approve_change'>,
): Promise<Reply<'approve_change'>> {
  const { approval, now } = await readOne(service, call.params.approval_id);
  const people = await readPeople(service, call, approval);
  if (approval.status === 'pending') {
    const refusal = examine('approve', approval, people, now);
    if (refusal !== undefined) throw refusal;
    await refuseDisabled(tryOut, approval, people.caller, call.deadline);
  }
  const decided = await decide(service, call, 'approve', approval, people, call.body?.reason ?? null);
  if (decided.isRepeated && decided.approval.status !== 'approved') {
    const known = decided.approval.status === 'carried_out' ? movedBefore(decided.record) : 'no';
    return { record: decided.record, moneyMoved: known };
  }
  try {
    const ended = await carryOut(service, run, approval.approvalId, call.deadline);
    return { record: toApprovalRecord(ended.approval, ended.now), moneyMoved: ended.moneyMoved };
  } catch (thrown) {
    // The decision is stored, and the job will carry out the request. An error response would say the opposite.
    if (!(thrown instanceof OperationFailure)) throw thrown;
    return { record: decided.record, moneyMoved: thrown.moneyMoved === 'no' ? 'unknown' : thrown.moneyMoved };
  }
}

/** Returns whether a request that was carried out earlier may have moved money. `no` if its operation never moves money. */
function movedBefore({ operation }: ApprovalRecord): 'no' | 'unknown' {
  return OPERATIONS[operation].movesMoney ? 'unknown' : 'no';
}

async function refuseDisabled(
  tryOut: Run,
  approval: ShownApproval,
  caller: Call<'approve_change'>['caller'],
  deadline: number,
): Promise<void> {
  if (!OPERATIONS[approval.operation as OperationId].movesMoney) return;
  try {
    await tryOut(toCall(approval, caller, deadline));
  } catch (thrown) {
    // Any other refusal ends the approval when the request is carried out.
    if (!(thrown instanceof Refusal) || thrown.code === 'service_disabled') throw thrown;
  }
}

export async function rejectChange(service: Service, call: Call<'reject_change'>): Promise<Reply<'reject_change'>> {
  const { approval } = await readOne(service, call.params.approval_id);
  const people = await readPeople(service, call, approval);
  return { record: (await decide(service, call, 'reject', approval, people, call.body.reason)).record };
}

export async function withdrawChange(
  service: Service,
  call: Call<'withdraw_change'>,
): Promise<Reply<'withdraw_change'>> {
  const { approval } = await readOne(service, call.params.approval_id);
  const people = await readPeople(service, call, approval);
  return { record: (await decide(service, call, 'withdraw', approval, people, null)).record };
}

const STATUS_AFTER = { approve: 'approved', reject: 'rejected', withdraw: 'withdrawn' } as const;

type Decided = { readonly approval: ShownApproval; readonly record: ApprovalRecord; readonly isRepeated: boolean };

/** Stores a decision. If the same caller repeats the decision, nothing changes. */
async function decide(
  service: Service,
  call: DecisionCall,
  decision: ApprovalDecision,
  { approvalId }: ShownApproval,
  people: People,
  reason: string | null,
): Promise<Decided> {
  const load = { approval: lockApproval({ approvalId }) };
  return transact<Decided, 'approval'>(service.database, call.deadline, load, ({ approval: [row] }, batchId) => {
    if (row === undefined) throw approvalMissing(toWireId('apr', approvalId));
    const before = toApproval(row);
    const decidedAt = row.now as Date;
    const now = decidedAt.getTime();
    const { credentialId: decidedBy } = people.checker;
    if (isRepeated(decision, before, decidedBy)) {
      return { result: { approval: before, record: toApprovalRecord(before, now), isRepeated: true }, writes: [] };
    }
    const refusal = examine(decision, before, people, now);
    if (refusal !== undefined) throw refusal;
    const status = STATUS_AFTER[decision];
    const after = { ...before, status, decidedBy, decidedAt, reason, body: status === 'approved' ? before.body : null };
    const record = toApprovalRecord(after, now);
    const { operation, summary } = before;
    const details = JSON.stringify({ operation, summary, requested_by: record.requested_by, reason });
    const audited = { programId: before.programId, subjectId: record.approval_id, details };
    const writes = [
      decideApproval({ approvalId, status, decidedBy, decidedAt, reason }),
      eventOf(status, record, batchId, now, call),
      ...auditOf(call, audited),
    ];
    return { result: { approval: after, record, isRepeated: false }, writes };
  });
}

function examine(
  decision: ApprovalDecision,
  { status, operation, expiresAt, decidedByName: decidedBy }: ShownApproval,
  { checker, maker }: People,
  now: number,
): Refusal | undefined {
  return refuseDecision(
    decision,
    { status, operation, expiresAt: expiresAt.getTime(), decidedBy },
    checker,
    maker,
    now,
  );
}

function isRepeated(decision: ApprovalDecision, { status, decidedBy }: ShownApproval, by: string | null): boolean {
  if (decidedBy === null || decidedBy !== by) return false;
  if (decision === 'approve') return status === 'approved' || status === 'carried_out' || status === 'failed';
  return status === STATUS_AFTER[decision];
}

/** The requester, and the person or key that decides. */
type People = MakerNow & { readonly checker: Checker };

async function readPeople(service: Service, call: DecisionCall, approval: ShownApproval): Promise<People> {
  const [made, checker] = await Promise.all([
    readMaker(service, approval),
    readChecker(service, call, approval.operation as OperationId),
  ]);
  return { ...made, checker };
}

async function readChecker(service: Service, { caller }: DecisionCall, operation: OperationId): Promise<Checker> {
  const credentialId = credentialOf(caller) ?? null;
  const needed = OPERATIONS[operation].scope;
  const mayDecide = hasScope(caller, 'approvals:write') || needed === null || hasScope(caller, needed);
  if (credentialId === null) return { credentialId, behind: [], personId: null, mayDecide };
  const credential = await findCredential(service, credentialId);
  const personId = 'personId' in caller ? caller.personId : (credential?.personId ?? null);
  return { credentialId, behind: credential?.behind ?? [credentialId], personId, mayDecide };
}

/** Ends one approval. It must finish by `deadline` (a time of `performance.now()`, in milliseconds). */
export type EndApproval = (deadline: number) => Promise<unknown>;

/**
 * Finds the approvals that no other request will end, and returns a function to end each of them. They expired while pending, or
 * they were approved and the process stopped before it carried out their request.
 */
export async function findUnsettled(service: Service, run: Run): Promise<readonly EndApproval[]> {
  const rows = await service.database.read(FIND_OPEN_APPROVALS);
  return rows.map((row): EndApproval => {
    const approvalId = row.approval_id as string;
    if (row.status === 'approved') return (deadline) => carryOut(service, run, approvalId, deadline);
    return (deadline) => expire(service, approvalId, deadline);
  });
}

function expire(service: Service, approvalId: string, deadline: number): Promise<void> {
  const load = { approval: lockApproval({ approvalId }) };
  return transact<void, 'approval'>(service.database, deadline, load, ({ approval: [row] }, batchId) => {
    const before = row === undefined ? undefined : toApproval(row);
    if (row === undefined || before?.status !== 'pending') return { result: undefined, writes: [] };
    const now = (row.now as Date).getTime();
    const status = 'expired';
    const expired = { ...before, status, body: null } as const;
    const undecided = { decidedBy: null, decidedAt: null, reason: null };
    const writes = [
      decideApproval({ approvalId, status, ...undecided }),
      eventOf(status, toApprovalRecord(expired, now), batchId, now),
      auditOfEnd(expired, { status }),
    ];
    return { result: undefined, writes };
  });
}

function approvalMissing(sentId: string): Refusal {
  return new Refusal('approval_not_found', `There is no approval with the id '${sentId}'.`);
}
