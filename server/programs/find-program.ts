import { fromWireId } from '../../domain/identifier.ts';
import { readRows } from '../commit/transaction.ts';
import type { Database } from '../store/connection/database.ts';
import { findProgram } from '../store/program.ts';
import { programMissing } from './program-funding.ts';

/** The inner UUID of the program that a Program-Id header names; remembered, since programs are never deleted. */
export function openProgramSearch(database: Database): (asked: string) => Promise<string> {
  const known = new Set<string>();
  return async (asked) => {
    const programId = fromWireId('prog', asked);
    if (programId === undefined) throw programMissing(asked);
    if (known.has(programId)) return programId;
    if ((await readRows(database, findProgram(programId))).length === 0) throw programMissing(asked);
    known.add(programId);
    return programId;
  };
}
