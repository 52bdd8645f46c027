import type { ApprovalRecord } from '../../../contract/approvals.ts';
import { StatedTotal } from '../../../contract/move-ins.ts';
import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { isJsonObject, type JsonValue } from '../../../contract/reading/json.ts';
import { readFields } from '../../../contract/reading/read-fields.ts';
import { inOrder, ROLES, type Role } from '../../../contract/scope.ts';
import { approvalStatusAt } from '../../../domain/approvals/approval.ts';
import type { ApprovableId, RuledRequest } from '../../../domain/approvals/policy.ts';
import { describeRequest } from '../../../domain/approvals/sentence.ts';
import { fromWireId, toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { type AmountAsSent, readAmount } from '../../../domain/ledger/money.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { AnyCall, AnyReply } from '../../calls/call.ts';
import type { ShownApproval } from '../../store/approval.ts';

/** Calls the handler of an operation. */
export type Run = (call: AnyCall) => Promise<AnyReply>;

/** The operation that reads a request's subject, and the subject's fields that a second person needs to decide. */
type Subject = { readonly operation: OperationId; readonly shows: readonly string[] };

const PROGRAM: Subject = {
  operation: 'get_program',
  shows: ['funding', 'limits', 'card_limits', 'funding_low_threshold'],
};
const TRANSFER: Subject = { operation: 'get_transfer', shows: ['status', 'amount', 'currency', 'reversed_amount'] };
const CARD: Subject = { operation: 'get_card', shows: ['status', 'currency', 'balance', 'available'] };

/** The subject of each approvable request. Null if the subject has no values to compare. */
const SUBJECTS: Readonly<Record<ApprovableId, Subject | null>> = {
  create_transfer: CARD,
  reverse_transfer: TRANSFER,
  erase_card_holder: null,
  resolve_attempt: null,
  close_break: null,
  create_operator_webhook: null,
  update_program: PROGRAM,
  create_deposit: PROGRAM,
  create_withdrawal: PROGRAM,
  create_move_in: null,
  cut_over: {
    operation: 'get_comparison',
    shows: ['program_id', 'name', 'sha256', 'status', 'report', 'compared_at'],
  },
  create_key: null,
  erase_person: null,
  change_approval_policy: { operation: 'get_approval_policy', shows: ['rules', 'expires_after_hours'] },
};

type Found = Readonly<Record<string, unknown>>;

/** Reads the subject of a request, as the API shows it. Null if there is none or it does not exist. */
export async function readSubject(run: Run, call: AnyCall, operation: ApprovableId): Promise<Found | null> {
  const subject = SUBJECTS[operation];
  if (subject === null) return null;
  const { card_id: cardId } = call.body ?? {};
  const params = { ...call.params, ...(typeof cardId === 'string' && { card_id: cardId }) };
  return await readRecord(run, { ...call, params }, subject.operation);
}

/** Returns the subject's values that are stored with an approval. */
export function valuesOf(operation: ApprovableId, found: Found | null): Found | null {
  const shows = SUBJECTS[operation]?.shows ?? [];
  return found === null ? null : Object.fromEntries(shows.map((name) => [name, found[name] ?? null]));
}

async function readRecord(run: Run, call: AnyCall, operation: OperationId): Promise<Found | null> {
  const { requestId, caller, programId, params, deadline } = call;
  const read = { requestId, caller, programId, params, deadline, sent: {}, idempotencyKey: null, body: undefined };
  try {
    const reply = await run({ ...read, operation, query: OPERATIONS[operation].query === undefined ? undefined : {} });
    return toRecord(reply);
  } catch (thrown) {
    // Not reported here, because the validation of the request itself will report it.
    if (thrown instanceof Refusal) return null;
    throw thrown;
  }
}

/** The record of a reply. Null for a reply without one. */
export function toRecord(reply: AnyReply): Found | null {
  if ('record' in reply) return reply.record as Found;
  return 'json' in reply ? (parseJson(reply.json) as Found) : null;
}

/** Returns the inner UUID of the card program that a request is about, or null. */
export function programOf({ programId, params, body }: Pick<AnyCall, 'programId' | 'params' | 'body'>): string | null {
  if (programId !== '') return programId;
  const sent = params.program_id ?? body?.program_id;
  return typeof sent === 'string' ? (fromWireId('prog', sent) ?? null) : null;
}

/** Returns the parts of a request that the rules check. */
export function toRuledRequest(call: AnyCall, found: Found | null): RuledRequest {
  const { operation, body = {} } = call;
  const { amount: sent, currency, role } = body;
  const scopes = typeof role === 'string' ? ROLES[role as Role] : ((body.scopes ?? []) as readonly string[]);
  const reading = sent === undefined ? undefined : readAmount(sent as AmountAsSent);
  const amount = reading === undefined ? restOf(found) : 'amount' in reading ? reading.amount : null;
  const ofSubject = typeof found?.currency === 'string' ? found.currency : null;
  return {
    operation,
    amount,
    currency: typeof currency === 'string' ? currency : ofSubject,
    ...(operation === 'create_move_in' && statedBalance(body)),
    scopes: inOrder(scopes),
    fields: Object.keys(body),
  };
}

/**
 * Returns the balance that a move-in states, if it states the sums of exactly one currency. With several currencies, every rule about
 * an amount matches, because the amount of another currency matches it. Without stated sums, the amount is not known.
 */
function statedBalance(body: Found): Pick<RuledRequest, 'amount' | 'currency'> {
  const unknown = { amount: null, currency: null };
  const [total, ...others] = (body.totals ?? []) as readonly JsonValue[];
  if (!isJsonObject(total) || others.length > 0) return unknown;
  const reading = readFields(StatedTotal, total, 'body');
  // Not reported here, because the validation of the request itself will report it.
  if ('problem' in reading) return unknown;
  const { balance, currency } = reading.fields;
  return { amount: BigInt(balance), currency };
}

/** Returns the amount of a transfer that can still be reversed. Null for other subjects. */
function restOf(found: Found | null): bigint | null {
  const { amount, reversed_amount: reversed } = found ?? {};
  return typeof amount === 'number' && typeof reversed === 'number' ? BigInt(amount) - BigInt(reversed) : null;
}

/** Describes a request in one sentence. */
export async function summaryOf(run: Run, call: AnyCall, request: RuledRequest): Promise<string> {
  const programId = programOf(call);
  const params = programId === null ? {} : { program_id: toWireId('prog', programId) };
  const program = programId === null ? null : await readRecord(run, { ...call, params }, 'get_program');
  const { program_id: _, ...others } = call.params;
  const [inPath] = Object.values(others);
  const {
    card_id: card,
    destination_card_id: destination,
    type,
    book_against: against,
    attempt_ids: orders,
  } = call.body ?? {};
  return describeRequest({
    ...request,
    subject: inPath ?? (typeof card === 'string' ? card : null),
    destination: typeof destination === 'string' ? destination : null,
    type: typeof type === 'string' ? type : null,
    against: typeof against === 'string' ? against : null,
    orders: Array.isArray(orders) ? orders.length : null,
    program: typeof program?.name === 'string' ? program.name : null,
  });
}

type Values = ApprovalRecord['values_then'];

/** Returns the record of an approval at the time `now`, in milliseconds since 1970. */
export function toApprovalRecord(approval: ShownApproval, now: number, valuesNow: Values = null): ApprovalRecord {
  const { decidedBy, programId } = approval;
  return {
    approval_id: toWireId('apr', approval.approvalId),
    status: approvalStatusAt({ status: approval.status, expiresAt: approval.expiresAt.getTime() }, now),
    operation: approval.operation as ApprovableId,
    program_id: programId === null ? null : toWireId('prog', programId),
    summary: approval.summary,
    path: approval.path,
    body: readJson(approval.body),
    values_then: readJson(approval.valuesThen),
    values_now: valuesNow,
    request_id: toWireId('req', approval.requestId),
    requested_by: toCredentialId(approval.requestedBy),
    requested_by_name: approval.requestedByName,
    requested_at: approval.requestedAt.toISOString(),
    expires_at: approval.expiresAt.toISOString(),
    decided_by: decidedBy === null ? null : toCredentialId(decidedBy),
    decided_by_name: approval.decidedByName,
    decided_at: approval.decidedAt?.toISOString() ?? null,
    reason: approval.reason,
    result: readJson(approval.result),
    error: approval.error as ApprovalRecord['error'],
  };
}

/**
 * Returns the approval for events: without the request's body and without people's names, because an erasure does not look for
 * those in events.
 */
export function toEventPayload(approval: ApprovalRecord): string {
  return JSON.stringify({ ...approval, body: null, requested_by_name: null, decided_by_name: null });
}

function readJson(text: string | null): Values {
  return text === null ? null : (parseJson(text) as Values);
}
