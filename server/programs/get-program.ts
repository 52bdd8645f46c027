import { fromWireId } from '../../domain/identifier.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toProgramRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { loadProgram } from './program-funding.ts';

/** get_program: the program with its funding, or `program_not_found`. */
export async function getProgram(service: Service, call: Call): Promise<Reply> {
  const asked = call.parameters.program_id ?? '';
  const program = await loadProgram(service, fromWireId('prog', asked), asked);
  return { status: 200, body: JSON.stringify(toProgramRecord(program)) };
}
