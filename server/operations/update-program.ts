import type { UpdateProgramBody } from '../../contract/operator-schemas.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { sameLimits } from '../../domain/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import { insertEvents } from '../store/event.ts';
import { HOLD_SWITCH } from '../store/locks.ts';
import { lockProgram, type Program, readProgram, toProgram, updateProgram as writeProgram } from '../store/program.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { auditOf } from './audit.ts';
import type { Call, Reply } from './call.ts';
import { toProgramRecord } from './records.ts';
import { readLimits } from './sent-limits.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

type ProgramChange = Pick<Program, 'limits' | 'cardLimits'> & { readonly name: string | null };

/**
 * update_program: 200 with the program. Limits that are sent take the place of all that were set before.
 *
 * A change of limits holds the switch: it falls between decisions, never into one, and once it has answered, nothing
 * that was decided by the old limits can still complete. Two changes at once are kept apart by the lock on the program.
 */
export async function updateProgram(service: Service, call: Call): Promise<Reply> {
  const body = call.members as UpdateProgramBody;
  const change: ProgramChange = {
    name: body.name ?? null,
    limits: readLimits(call, 'limits', body.limits),
    cardLimits: readLimits(call, 'card_limits', body.card_limits),
  };
  const asked = call.parameters.program_id ?? '';
  const programId = fromWireId('prog', asked);
  if (programId === undefined) throw programMissing(asked);
  const load = {
    hold: change.limits === null && change.cardLimits === null ? null : HOLD_SWITCH,
    lock: lockProgram(programId),
    clock: READ_SWITCH,
    program: readProgram(programId),
  };
  const reply = await transact(service.database, call.deadline, load, (loaded, batchId) => {
    const [row] = loaded.program;
    if (row === undefined) throw programMissing(asked);
    const before = toProgram(row);
    const after = apply(change, before);
    const record = toProgramRecord(after);
    const payload = JSON.stringify(record);
    if (isSame(before, after)) return { result: payload, writes: [] };
    const event = { type: 'program.updated' as const, programId, subjectId: record.program_id, payload };
    const { now } = toSwitchReading(loaded.clock);
    const writes = [
      writeProgram(after),
      insertEvents(batchId, [event], now),
      auditOf(call, { programId, subjectId: record.program_id, details: payload }),
    ];
    return { result: payload, writes };
  });
  return { status: 200, body: reply };
}

function apply({ name, limits, cardLimits }: ProgramChange, before: Program): Program {
  return {
    ...before,
    name: name ?? before.name,
    limits: limits ?? before.limits,
    cardLimits: cardLimits ?? before.cardLimits,
  };
}

function isSame(before: Program, after: Program): boolean {
  return (
    before.name === after.name &&
    sameLimits(before.limits, after.limits) &&
    sameLimits(before.cardLimits, after.cardLimits)
  );
}

function programMissing(asked: string): Refusal {
  return new Refusal('program_dne', `There is no card program '${asked}'.`);
}
