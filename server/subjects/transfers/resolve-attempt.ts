import { MAX_NOTE_CHARACTERS } from '../../../contract/processors/attempts.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import {
  type Attempt,
  hasFailed,
  isContradicted,
  isMovedLate,
  isUnchanged,
} from '../../../domain/processors/attempt.ts';
import { resolvedStep } from '../../../domain/processors/next-step.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, OperationFailure, type Reply } from '../../calls/call.ts';
import { readAgain, readRows } from '../../calls/read-rows.ts';
import { toOperatorAttemptRecord } from '../../calls/records/processor.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import { readAttempt, toShownAttempt } from '../../store/processors/read-attempts.ts';
import { actorOf } from '../audit/audit.ts';
import type { TransferService } from './lane.ts';
import type { ReportRequest } from './request.ts';

type ResolveCall = Call<'resolve_attempt'>;

/**
 * resolve_attempt: ends an attempt with the outcome that an operator has determined, and returns the attempt. Its transfer
 * completes or fails in the same transaction. Repeating the same outcome changes nothing. If the processor ends the attempt at
 * the same time, the first to commit decides.
 */
export async function resolveAttempt(service: TransferService, call: ResolveCall): Promise<Reply<'resolve_attempt'>> {
  const { attempt_id: sentId } = call.params;
  const attemptId = fromWireId('pat', sentId);
  const wasExecuted = call.body.outcome === 'executed';
  const moneyMoved = wasExecuted ? 'yes' : 'no';
  for (let before: Attempt | undefined; ; ) {
    const [row] = attemptId === undefined ? [] : await readRows(service.database, readAttempt({ attemptId }));
    if (attemptId === undefined || row === undefined) throw attemptMissing(sentId);
    const shown = toShownAttempt(row);
    const { attempt } = shown;
    const isSame = wasExecuted ? attempt.status === 'approved' : hasFailed(attempt.status);
    if (isSame) {
      const known = isMovedLate(attempt) ? 'yes' : isContradicted(attempt) ? 'unknown' : moneyMoved;
      return { record: toOperatorAttemptRecord(shown), moneyMoved: known };
    }
    const outcome = await service.transfers.submit(toReport(call, attempt, wasExecuted), call.deadline);
    if (!(outcome instanceof Refusal)) {
      const [after] = await readAgain(service.database, readAttempt({ attemptId }), moneyMoved);
      if (after === undefined) throw new Error('an attempt that was resolved does not exist');
      return { record: toOperatorAttemptRecord(toShownAttempt(after)), moneyMoved };
    }
    // The attempt has changed in the meantime, so it is read again.
    if (before !== undefined && isUnchanged(attempt, before)) {
      throw new OperationFailure('the transfer cannot end with the outcome of its attempt', {
        moneyMoved: 'no',
        cause: outcome,
      });
    }
    before = attempt;
  }
}

function toReport(call: ResolveCall, attempt: Attempt, wasExecuted: boolean): ReportRequest {
  const { requestId, traceparent, trace, caller, caseId, approvalId, body } = call;
  const operator = actorOf(caller);
  const step = resolvedStep(attempt, wasExecuted, operator);
  if (step === undefined) throw notResolvable(attempt, wasExecuted);
  const { programId, transferId, attemptId } = attempt;
  return {
    command: 'report',
    programId,
    requestId,
    traceparent,
    trace,
    key: null,
    operator,
    caseId,
    approvalId,
    transferId,
    attemptId,
    attempt,
    step: { ...step, detail: withoutSecrets(body.note, MAX_NOTE_CHARACTERS) },
  };
}

function attemptMissing(sentId: string): Refusal {
  const hint = /^pat_[0-9a-f]{32}$/.test(sentId) ? '' : ' An attempt id is pat_ and 32 hex digits.';
  return new Refusal('attempt_not_found', `There is no attempt '${sentId}'.${hint}`);
}

/** Returns the refusal if the attempt has ended, or if no operator needs to end it yet. */
function notResolvable({ attemptId, status }: Attempt, wasExecuted: boolean): Refusal {
  const saw = { attempt_id: toWireId('pat', attemptId), status };
  if (status === 'approved' || hasFailed(status)) {
    const known = status === 'failed' ? 'has failed' : `has been ${status}`;
    const asked = wasExecuted ? 'executed' : 'not executed';
    return new Refusal('invalid_attempt_status', `The attempt ${known} and cannot be resolved as ${asked}.`, { saw });
  }
  const message =
    status === 'ready'
      ? 'The attempt has not been sent, so there is nothing to resolve. The service will send it or fail it.'
      : 'The attempt was just sent, and its answer can still come. If none comes, its status becomes unknown.';
  return new Refusal('invalid_attempt_status', message, { saw });
}
