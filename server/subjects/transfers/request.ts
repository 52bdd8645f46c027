import type { ReversalRecord } from '../../../contract/transfer-actions.ts';
import type { CreateTransferBody, TransferRecord } from '../../../contract/transfers.ts';
import type { Fingerprint } from '../../../domain/idempotency.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import type { MetadataChange } from '../../../domain/metadata.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { Step } from '../../../domain/processors/next-step.ts';
import type { TransferNotes, TransferTerms } from '../../../domain/transfers/transfer.ts';
import { type Call, type CallContext, isOperator, schemaRefusal } from '../../calls/call.ts';
import { creatorOf } from '../../calls/records/transfer.ts';
import type { RequestTrace } from '../../calls/trace.ts';
import { fingerprintOf } from '../../commit/under-key.ts';
import type { AuditNote } from '../../store/audit.ts';
import { type KeyInScope, keyInScope } from '../../store/idempotency.ts';
import { actorOf, withContext, withoutHolderValues } from '../audit/audit.ts';

type Origin = {
  readonly programId: string;
  readonly requestId: string;
  /** The caller's trace. The events of the request contain it too. */
  readonly traceparent?: string | undefined;
  /** Set if the spans of the request are exported. */
  readonly trace?: RequestTrace | undefined;
  /** The idempotency key, or null if there is none. */
  readonly key: (KeyInScope & { readonly fingerprint: Fingerprint }) | null;
  /** The operator who sent the request, as named in the audit log. Null for a card program. */
  readonly operator: string | null;
  /** The case that the operator works on. See `CallContext`. */
  readonly caseId?: string | undefined;
  /** The approval of the request. See `CallContext`. */
  readonly approvalId?: string | undefined;
};

/** The creator of a transfer or a reversal: the inner UUID of the caller's API key, or `NO_API_KEY`. */
type Creator = { readonly createdBy: string };

/** A request for a new transfer. The transfer gets its id, which contains the time, when the request is decided. */
export type CreateRequest = Origin &
  Creator & {
    readonly command: 'create';
    readonly terms: TransferTerms;
    readonly notes: TransferNotes;
    /** The behavior that the simulator should imitate. Only in a sandbox. */
    readonly sandboxBehavior?: string | undefined;
  };

/** A request about an existing transfer. `transferId` is its inner UUID. */
type OfTransfer = Origin & { readonly transferId: string };

/** A caller's request about an existing transfer. `sentId` is its id in the caller's spelling. */
export type ChangeRequest = OfTransfer & { readonly sentId: string } & (
    | { readonly command: 'capture'; readonly amount: bigint | null }
    | { readonly command: 'cancel' }
    | {
        readonly command: 'update';
        readonly metadata: MetadataChange | null;
        /** The versions of the transfer that the change accepts, or undefined for any. */
        readonly ifMatch?: readonly string[] | undefined;
      }
    | ({
        readonly command: 'reverse';
        readonly amount: bigint | null;
        readonly description: string | null;
        /** The operator whose limits the request counts towards. See `countedActor`. */
        readonly countedActor?: string | undefined;
      } & Creator)
  );

/** A hold that has ended, or a scheduled transfer that is due. The request comes from a job, not from a caller. */
export type DueRequest = OfTransfer & {
  readonly command: 'expire' | 'execute';
  readonly key: null;
  readonly operator: null;
};

/** A processor's answer about an attempt, and the step that it leads to. */
export type ReportRequest = OfTransfer & {
  readonly command: 'report';
  readonly key: null;
  /** Inner UUID of the attempt. */
  readonly attemptId: string;
  readonly attempt: Attempt;
  readonly step: Step;
};

export type TransferRequest = CreateRequest | ChangeRequest | DueRequest | ReportRequest;

/** A UUID that no transfer has. It replaces a malformed id, so that the look-up finds nothing. */
const NO_TRANSFER = '00000000-0000-0000-0000-000000000000';

type CreateCall = CallContext & Pick<Call<'create_transfer'>, 'body'>;

/** Returns the request of a create_transfer or explain_transfer. `amount` was already read, in minor units. */
export function toCreateRequest(call: CreateCall, amount: bigint): CreateRequest {
  const { body } = call;
  return {
    command: 'create',
    ...originOf(call),
    createdBy: creatorOf(call.caller),
    terms: {
      type: body.type ?? 'load',
      amount,
      cardName: body.card_id,
      destinationCardName: body.destination_card_id ?? null,
      currency: body.currency ?? null,
      reference: body.reference ?? null,
      capture: body.capture ?? 'automatic',
      expiresAt: body.expires_at === undefined ? null : Date.parse(body.expires_at),
      scheduledFor: body.scheduled_for === undefined ? null : Date.parse(body.scheduled_for),
    },
    notes: { description: body.description ?? null, metadata: body.metadata ?? {} },
    sandboxBehavior: call.sandboxBehavior,
  };
}

export function toChange(
  call: CallContext & { readonly params: { readonly transfer_id: string } },
): OfTransfer & { readonly sentId: string } {
  const { transfer_id: sentId } = call.params;
  return { ...originOf(call), transferId: fromWireId('tr', sentId) ?? NO_TRANSFER, sentId };
}

function originOf(call: CallContext): Origin {
  const { programId, requestId, traceparent, trace, caller, caseId, approvalId, operation, idempotencyKey } = call;
  const key = idempotencyKey === null ? null : keyInScope(programId, operation, idempotencyKey);
  return {
    programId,
    requestId,
    traceparent,
    trace,
    key: key === null ? null : { ...key, fingerprint: fingerprintOf(call) },
    operator: isOperator(caller) ? actorOf(caller) : null,
    caseId,
    approvalId,
  };
}

/** Refuses combinations of fields that a schema cannot exclude. */
export function checkTerms(call: CallContext, body: CreateTransferBody): void {
  const destination = findDestinationProblem(body.type ?? 'load', body.card_id, body.destination_card_id);
  if (destination !== undefined) throw schemaRefusal(call, destination, '/destination_card_id');
  if (body.scheduled_for !== undefined && call.sandboxBehavior !== undefined) {
    // The simulator would ignore the token now, and move the money when the transfer is due.
    const message =
      "The Sandbox-Processor header is for a transfer that is sent at once. Omit it or 'scheduled_for', or use a card whose " +
      "'processor_token' says what the simulator does.";
    throw schemaRefusal(call, message);
  }
  if (body.expires_at === undefined || body.capture === 'manual') return;
  const message = "'expires_at' can only be sent with 'capture': 'manual'. It says when the hold ends.";
  throw schemaRefusal(call, message, '/expires_at');
}

function findDestinationProblem(type: string, card: string, destination: string | undefined): string | undefined {
  if (type === 'card_to_card' && destination === undefined) {
    return "The required field 'destination_card_id' is missing. A card_to_card transfer needs the receiving card.";
  }
  if (type !== 'card_to_card' && destination !== undefined) {
    return `'destination_card_id' can only be sent with 'type': 'card_to_card', but 'type' is '${type}'.`;
  }
  if (destination === card) return "'destination_card_id' must be a different card than 'card_id'.";
  return undefined;
}

/** Returns the audit entry for an operator's request that changed something, or undefined for a card program's request. */
export function auditNoteOf(
  request: TransferRequest,
  record: TransferRecord | ReversalRecord,
  subjectId: string,
): AuditNote | undefined {
  const { operator: actor, programId, requestId } = request;
  if (actor === null) return undefined;
  const change = request.command === 'update' && { change: withoutHolderValues({ metadata: request.metadata }) };
  const resolved = request.command === 'report' && { note: request.step.detail };
  const details = JSON.stringify(
    withContext({ ...withoutHolderValues({ ...record, ...resolved }), ...change }, request),
  );
  const about =
    request.command === 'report'
      ? { action: 'resolve_attempt', subjectId: toWireId('pat', request.attemptId) }
      : { action: `${request.command}_transfer`, subjectId };
  return { actor, ...about, programId, requestId, details };
}
