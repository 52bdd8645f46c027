import { fromWireId } from '../../domain/identifier.ts';
import { changeLimits, type Limits, type LimitsChange, sameLimits } from '../../domain/ledger/limits.ts';
import { auditOf } from '../audit/audit.ts';
import { checkLimits, readLimitsChange } from '../cards/limits.ts';
import { transact } from '../commit/transaction.ts';
import type { Call, CallContext, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { insertEvents } from '../store/events/insert-events.ts';
import { HOLD_SWITCH } from '../store/locks.ts';
import { lockProgram, type Program, readProgram, toProgram, updateProgram as writeProgram } from '../store/program.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { programMissing } from './program-funding.ts';
import { toProgramRecord } from './record.ts';

/** A change of a program: undefined leaves a field as it is, null removes it. */
type ProgramChange = {
  readonly name: string | undefined;
  readonly limits: LimitsChange | null | undefined;
  readonly cardLimits: LimitsChange | null | undefined;
};

/**
 * update_program: the program. The body is a merge patch: omitted fields stay as they are.
 *
 * A change of limits holds the switch, so that it falls between decisions: once it has returned, nothing that was decided
 * by the old limits can still complete. Concurrent changes are serialized by the lock on the program.
 */
export async function updateProgram(service: Service, call: Call<'update_program'>): Promise<Reply<'update_program'>> {
  const { body } = call;
  const change: ProgramChange = {
    name: body.name,
    limits: readLimitsChange(body.limits),
    cardLimits: readLimitsChange(body.card_limits),
  };
  checkAllLimits(call, changeLimits(null, change.limits), changeLimits(null, change.cardLimits));
  const { program_id: sentId } = call.params;
  const programId = fromWireId('prog', sentId);
  if (programId === undefined) throw programMissing(sentId);
  const load = {
    hold: change.limits === undefined && change.cardLimits === undefined ? null : HOLD_SWITCH,
    lock: lockProgram(programId),
    clock: READ_SWITCH,
    program: readProgram(programId),
  };
  return transact(service.database, call.deadline, load, (loaded, batchId) => {
    const [row] = loaded.program;
    if (row === undefined) throw programMissing(sentId);
    const before = toProgram(row);
    const after = apply(change, before);
    checkAllLimits(call, after.limits, after.cardLimits);
    const record = toProgramRecord(after);
    const json = JSON.stringify(record);
    if (isSame(before, after)) return { result: { record, json }, writes: [] };
    const details = JSON.stringify({ ...record, change: body });
    const event = { type: 'program.updated' as const, programId, subjectId: record.program_id, payload: json };
    const { now } = toSwitchReading(loaded.clock);
    const writes = [
      writeProgram(after),
      insertEvents(batchId, [event], now),
      ...auditOf(call, { programId, subjectId: record.program_id, details }),
    ];
    return { result: { record, json }, writes };
  });
}

function apply({ name, limits, cardLimits }: ProgramChange, before: Program): Program {
  return {
    ...before,
    name: name ?? before.name,
    limits: changeLimits(before.limits, limits),
    cardLimits: changeLimits(before.cardLimits, cardLimits),
  };
}

function checkAllLimits(call: CallContext, limits: Limits | null, cardLimits: Limits | null): void {
  checkLimits(call, 'limits', limits);
  checkLimits(call, 'card_limits', cardLimits);
}

function isSame(before: Program, after: Program): boolean {
  return (
    before.name === after.name &&
    sameLimits(before.limits, after.limits) &&
    sameLimits(before.cardLimits, after.cardLimits)
  );
}
