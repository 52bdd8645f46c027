import type { UpdateProgramBody } from '../../contract/programs.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { changeLimits, type Limits, type LimitsChange, sameLimits } from '../../domain/ledger/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import { auditOf } from '../audit/audit.ts';
import { insistOnAgreement, readLimitsChange } from '../cards/sent-limits.ts';
import { transact } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toProgramRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { insertEvents } from '../store/event.ts';
import { HOLD_SWITCH } from '../store/locks.ts';
import { lockProgram, type Program, readProgram, toProgram, updateProgram as writeProgram } from '../store/program.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';

/** What is to become of a program: undefined leaves a member as it is, null removes it. */
type ProgramChange = {
  readonly name: string | undefined;
  readonly limits: LimitsChange | null | undefined;
  readonly cardLimits: LimitsChange | null | undefined;
};

/**
 * update_program: 200 with the program. The body is a merge patch: what it does not name stays as it is.
 *
 * A change of limits holds the switch: it falls between decisions, never into one, and once it has answered, nothing
 * that was decided by the old limits can still complete. Two changes at once are kept apart by the lock on the program.
 */
export async function updateProgram(service: Service, call: Call): Promise<Reply> {
  const body = call.members as UpdateProgramBody;
  const change: ProgramChange = {
    name: body.name,
    limits: readLimitsChange(body.limits),
    cardLimits: readLimitsChange(body.card_limits),
  };
  insistOnAgreements(call, changeLimits(null, change.limits), changeLimits(null, change.cardLimits));
  const asked = call.parameters.program_id ?? '';
  const programId = fromWireId('prog', asked);
  if (programId === undefined) throw programMissing(asked);
  const load = {
    hold: change.limits === undefined && change.cardLimits === undefined ? null : HOLD_SWITCH,
    lock: lockProgram(programId),
    clock: READ_SWITCH,
    program: readProgram(programId),
  };
  const reply = await transact(service.database, call.deadline, load, (loaded, batchId) => {
    const [row] = loaded.program;
    if (row === undefined) throw programMissing(asked);
    const before = toProgram(row);
    const after = apply(change, before);
    insistOnAgreements(call, after.limits, after.cardLimits);
    const record = toProgramRecord(after);
    const payload = JSON.stringify(record);
    if (isSame(before, after)) return { result: payload, writes: [] };
    const details = JSON.stringify({ ...record, change: body });
    const event = { type: 'program.updated' as const, programId, subjectId: record.program_id, payload };
    const { now } = toSwitchReading(loaded.clock);
    const writes = [
      writeProgram(after),
      insertEvents(batchId, [event], now),
      auditOf(call, { programId, subjectId: record.program_id, details }),
    ];
    return { result: payload, writes };
  });
  return { status: 200, body: reply };
}

function apply({ name, limits, cardLimits }: ProgramChange, before: Program): Program {
  return {
    ...before,
    name: name ?? before.name,
    limits: changeLimits(before.limits, limits),
    cardLimits: changeLimits(before.cardLimits, cardLimits),
  };
}

function insistOnAgreements(call: Call, limits: Limits | null, cardLimits: Limits | null): void {
  insistOnAgreement(call, 'limits', limits);
  insistOnAgreement(call, 'card_limits', cardLimits);
}

function isSame(before: Program, after: Program): boolean {
  return (
    before.name === after.name &&
    sameLimits(before.limits, after.limits) &&
    sameLimits(before.cardLimits, after.cardLimits)
  );
}

function programMissing(asked: string): Refusal {
  return new Refusal('program_not_found', `There is no card program '${asked}'.`);
}
