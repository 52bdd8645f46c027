import { fromWireId } from '../../domain/identifier.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { readPage } from '../operations/page.ts';
import type { Service } from '../operations/service.ts';
import type { Database } from '../store/connection/database.ts';
import { findProgram, listPrograms as listStatement, toProgram } from '../store/program.ts';
import { loadProgram, programMissing } from './program-funding.ts';
import { toProgramRecord } from './record.ts';

/** get_program: the program with its funding, or `program_not_found`. */
export async function getProgram(service: Service, call: Call<'get_program'>): Promise<Reply<'get_program'>> {
  return { record: toProgramRecord(await loadProgram(service, call.params.program_id)) };
}

/** list_programs: a page, newest first. */
export async function listPrograms(service: Service, call: Call<'list_programs'>): Promise<Reply<'list_programs'>> {
  const record = await readPage(service, call, {
    prefix: 'prog',
    statement: listStatement,
    read: toProgram,
    idOf: (program) => program.programId,
    show: toProgramRecord,
  });
  return { record };
}

/** Maximum number of cached programs; beyond it the cache is cleared. */
const MAX_CACHED = 100_000;

/** Finds the inner UUID of the program that a Program-Id header names. Cached, since programs are never deleted. */
export function openProgramSearch(database: Database): (sentId: string) => string | Promise<string> {
  const known = new Map<string, string>();
  const lookUp = async (sentId: string): Promise<string> => {
    const programId = fromWireId('prog', sentId);
    if (programId === undefined) throw programMissing(sentId);
    if ((await readRows(database, findProgram(programId))).length === 0) throw programMissing(sentId);
    if (known.size >= MAX_CACHED) known.clear();
    known.set(sentId, programId);
    return programId;
  };
  return (sentId) => known.get(sentId) ?? lookUp(sentId);
}
