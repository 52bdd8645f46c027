import type { OperatorAttemptRecord, ProcessorAttemptRecord } from '../../../contract/processors/attempts.ts';
import type { BreakRecord } from '../../../contract/processors/breaks.ts';
import type { SettlementFileRecord } from '../../../contract/processors/settlement-files.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire, toWireSum } from '../../../domain/ledger/money.ts';
import { isEnded } from '../../../domain/processors/attempt.ts';
import { bookingsOf } from '../../../domain/processors/break.ts';
import type { Break } from '../../store/processors/break.ts';
import type { ShownAttempt } from '../../store/processors/read-attempts.ts';
import type { SettlementFile } from '../../store/processors/settlement-file.ts';

export function toAttemptRecord({ attempt, cardName }: ShownAttempt): ProcessorAttemptRecord {
  const breakId = attempt.breakId ?? attempt.contradictionBreakId;
  return {
    attempt_id: toWireId('pat', attempt.attemptId),
    transfer_id: toWireId('tr', attempt.transferId),
    card_id: cardName,
    connector_id: attempt.connectorId,
    kind: attempt.kind,
    amount: toWire(attempt.amount),
    currency: attempt.currency,
    status: attempt.status,
    tries: attempt.tries,
    sent_at: momentOf(attempt.sentAt),
    // The attempt keeps this time after it has ended, but only the timeline shows it.
    unknown_since: isEnded(attempt.status) ? null : momentOf(attempt.unknownSince),
    next_at: momentOf(attempt.nextAt),
    processor_reference: attempt.processorReference,
    code: attempt.code,
    retry_after_seconds: attempt.retryAfterSeconds,
    resolved_by: attempt.resolvedBy,
    late_approval_at: momentOf(attempt.lateApprovalAt),
    late_approval_settled_at: momentOf(attempt.lateApprovalSettledAt),
    contradicted_at: momentOf(attempt.contradictedAt),
    contradiction: attempt.contradiction,
    contradiction_settled_at: momentOf(attempt.contradictionSettledAt),
    break_id: breakId === null ? null : toWireId('brk', breakId),
    created_at: new Date(attempt.createdAt).toISOString(),
    updated_at: new Date(attempt.updatedAt).toISOString(),
  };
}

export function toOperatorAttemptRecord(shown: ShownAttempt): OperatorAttemptRecord {
  const { attempt, now } = shown;
  return {
    ...toAttemptRecord(shown),
    program_id: toWireId('prog', attempt.programId),
    age_seconds: ageInSeconds(attempt.createdAt, now),
    looks: attempt.looks,
    not_after: momentOf(attempt.notAfter),
    detail: attempt.detail,
  };
}

export function toBreakRecord(found: Break, now: number): BreakRecord {
  return {
    break_id: toWireId('brk', found.breakId),
    kind: found.kind,
    connector_id: found.connectorId,
    program_id: found.programId === null ? null : toWireId('prog', found.programId),
    attempt_id: found.attemptId === null ? null : toWireId('pat', found.attemptId),
    transfer_id: found.transferId === null ? null : toWireId('tr', found.transferId),
    amount: found.amount === null ? null : toWire(found.amount),
    currency: found.currency,
    expected: found.expected,
    found: found.found,
    settlement_lines: found.lines.map(({ file, number, ...line }) => ({
      ...{ file_id: file, line_number: number },
      attempt_id: line.sentAttemptId,
      processor_reference: line.processorReference,
      kind: line.kind,
      amount: toWire(BigInt(line.amount)),
      currency: line.currency,
      fee: toWire(BigInt(line.fee)),
      status: line.status,
      settled_on: line.settledOn,
      settled_attempt_ids: (line.attemptIds ?? []).map((id) => toWireId('pat', id)),
    })),
    age_seconds: ageInSeconds(found.createdAt, now),
    created_at: new Date(found.createdAt).toISOString(),
    closed_at: momentOf(found.closedAt),
    closed_by: found.closedBy,
    note: found.resolution,
    proposed_attempt_ids: (found.closedAt === null ? found.proposedIds : []).map((id) => toWireId('pat', id)),
    booked_against: found.bookedAgainst,
    bookings: bookingsOf(found).map(({ against, from, to, amount }) => ({
      book_against: against,
      ...{ from, to },
      amount: toWire(amount),
    })),
  };
}

export function toFileRecord(file: SettlementFile): SettlementFileRecord {
  return {
    file_id: toWireId('stl', file.fileId),
    connector_id: file.connectorId,
    name: file.name,
    sha256: file.sha256,
    sequence_number: file.sequenceNumber,
    status: file.status,
    line_count: file.lineCount,
    lines_received: file.linesReceived,
    lines_examined: file.linesExamined,
    outcomes: {
      matched: file.matched,
      reported: file.reported,
      differs: file.differs,
      duplicate: file.duplicate,
      missing_in_ledger: file.missingInLedger,
    },
    totals: Object.entries(file.totals)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([currency, { pushed, pulled, reversed, fees }]) => ({
        currency,
        pushed: toWireSum(BigInt(pushed)),
        pulled: toWireSum(BigInt(pulled)),
        reversed: toWireSum(BigInt(reversed)),
        fees: toWireSum(BigInt(fees)),
      })),
    created_at: new Date(file.createdAt).toISOString(),
    created_by: file.createdBy,
    matched_at: momentOf(file.matchedAt),
    withdrawn_at: momentOf(file.withdrawnAt),
    withdrawn_by: file.withdrawnBy,
    note: file.withdrawalNote,
  };
}

export function momentOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Returns at least 0, because a sandbox's clock can be moved back. */
function ageInSeconds(since: number, now: number): number {
  return Math.max(0, Math.floor((now - since) / 1000));
}
