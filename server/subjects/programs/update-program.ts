import type { DomainEvent } from '../../../domain/event.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { changeLimits, type Limits, type LimitsChange, sameLimits } from '../../../domain/ledger/limits.ts';
import { changeMetadata, type MetadataChange, sameMetadata } from '../../../domain/metadata.ts';
import type { Call, CallContext, Reply } from '../../calls/call.ts';
import { checkLimits, readLimitsChange } from '../../calls/limits.ts';
import { checkMetadata } from '../../calls/metadata.ts';
import { programMissing } from '../../calls/missing.ts';
import { fundingLowEvent } from '../../calls/records/funding-low-event.ts';
import type { Service } from '../../calls/service.ts';
import { checkVersion } from '../../calls/version.ts';
import { transact } from '../../commit/transaction.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { lockAllFunding, raiseFundingVersions } from '../../store/ledger/account.ts';
import { HOLD_SWITCH } from '../../store/locks.ts';
import {
  lockProgram,
  type Program,
  readProgram,
  toProgram,
  updateProgram as writeProgram,
} from '../../store/program.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { auditOf, withoutMetadata } from '../audit/audit.ts';
import { toProgramRecord } from './read-programs.ts';

// Invariant: funding.low is sent exactly when a program's available funding falls below its threshold
// Kept by: the decision, and this file where a threshold changes
// Tested by: `test/store/funding`

/** A change of a program: undefined leaves a field as it is, null removes it. */
type ProgramChange = {
  readonly name: string | undefined;
  readonly limits: LimitsChange | null | undefined;
  readonly cardLimits: LimitsChange | null | undefined;
  readonly fundingLowThreshold: bigint | null | undefined;
  readonly metadata: MetadataChange | null | undefined;
};

/**
 * update_program: the program. The body is a merge patch: omitted fields stay as they are.
 *
 * A change of limits or of the threshold holds the switch, so that nothing decided by the old rules can complete after the
 * response. Concurrent changes are serialized by the lock on the program. The event shows the funding, so the funding
 * accounts are locked and their versions raised: a transfer that moves them is decided, and its event written, either
 * before this change or after it.
 */
export async function updateProgram(service: Service, call: Call<'update_program'>): Promise<Reply<'update_program'>> {
  const { body } = call;
  const change: ProgramChange = {
    name: body.name,
    limits: readLimitsChange(body.limits),
    cardLimits: readLimitsChange(body.card_limits),
    fundingLowThreshold: readThreshold(body.funding_low_threshold),
    metadata: body.metadata,
  };
  checkAllLimits(call, changeLimits(null, change.limits), changeLimits(null, change.cardLimits));
  const { program_id: sentId } = call.params;
  const programId = fromWireId('prog', sentId);
  if (programId === undefined) throw programMissing(sentId);
  const { name: _, metadata: __, ...rules } = change;
  const load = {
    hold: Object.values(rules).every((rule) => rule === undefined) ? null : HOLD_SWITCH,
    lock: lockProgram(programId),
    lockFunding: lockAllFunding(programId),
    clock: READ_SWITCH,
    program: readProgram(programId),
  };
  return transact(service.database, call.deadline, load, (loaded, batchId) => {
    const [row] = loaded.program;
    if (row === undefined) throw programMissing(sentId);
    const before = toProgram(row);
    const after = apply(change, before);
    checkAllLimits(call, after.limits, after.cardLimits);
    checkMetadata(call, after.metadata);
    checkVersion(call.ifMatch, 'program', toProgramRecord(before));
    const record = toProgramRecord(after);
    const json = JSON.stringify(record);
    if (isSame(before, after)) return { result: { record, json }, writes: [] };
    const details = JSON.stringify({ ...withoutMetadata(record), change: withoutMetadata(body) });
    const event = { type: 'program.updated' as const, programId, subjectId: record.program_id, payload: json };
    const { now } = toSwitchReading(loaded.clock);
    const writes = [
      writeProgram(after),
      raiseFundingVersions(programId),
      insertEvents(batchId, [event, ...lowFunding(before, after)], now, call),
      ...auditOf(call, { programId, subjectId: record.program_id, details }),
    ];
    return { result: { record, json }, writes };
  });
}

function apply({ name, limits, cardLimits, fundingLowThreshold, metadata }: ProgramChange, before: Program): Program {
  return {
    ...before,
    name: name ?? before.name,
    limits: changeLimits(before.limits, limits),
    cardLimits: changeLimits(before.cardLimits, cardLimits),
    fundingLowThreshold: fundingLowThreshold === undefined ? before.fundingLowThreshold : fundingLowThreshold,
    metadata: changeMetadata(before.metadata, metadata),
  };
}

function readThreshold(sent: number | null | undefined): bigint | null | undefined {
  return typeof sent === 'number' ? BigInt(sent) : sent;
}

/** The event funding.low, if the funding is below the new threshold and was not below the old one. */
function lowFunding(before: Program, after: Program): readonly DomainEvent[] {
  const { programId, currency, funding, fundingLowThreshold: threshold } = after;
  const account = funding.find((one) => one.currency === currency);
  const available = account === undefined ? 0n : account.balance - account.held;
  const wasLow = before.fundingLowThreshold !== null && available < before.fundingLowThreshold;
  if (threshold === null || wasLow || available >= threshold) return [];
  return [fundingLowEvent({ programId, currency, available, threshold })];
}

function checkAllLimits(call: CallContext, limits: Limits | null, cardLimits: Limits | null): void {
  checkLimits(call, 'limits', limits);
  checkLimits(call, 'card_limits', cardLimits);
}

function isSame(before: Program, after: Program): boolean {
  return (
    before.name === after.name &&
    sameLimits(before.limits, after.limits) &&
    sameLimits(before.cardLimits, after.cardLimits) &&
    before.fundingLowThreshold === after.fundingLowThreshold &&
    sameMetadata(before.metadata, after.metadata)
  );
}
