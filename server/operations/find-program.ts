import { fromWireId } from '../../domain/identifier.ts';
import { loadProgram } from './program-funding.ts';
import type { Service } from './service.ts';

/** The inner UUID of the program that a Program-Id header names; remembered, since programs are never deleted. */
export function openProgramSearch(service: Service): (asked: string) => Promise<string> {
  const known = new Set<string>();
  return async (asked) => {
    const programId = fromWireId('prog', asked);
    if (programId !== undefined && known.has(programId)) return programId;
    const program = await loadProgram(service, programId, asked);
    known.add(program.programId);
    return program.programId;
  };
}
