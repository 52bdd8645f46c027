import type { ProgramRecord } from '../../../contract/programs.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readPair } from '../../calls/metadata.ts';
import { programMissing } from '../../calls/missing.ts';
import { readPage } from '../../calls/page.ts';
import { loadProgram } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Service } from '../../calls/service.ts';
import type { Database } from '../../store/connection/database.ts';
import { fromLimits } from '../../store/ledger/limits.ts';
import type { Program } from '../../store/program.ts';
import { findProgram, listPrograms as listStatement, toProgram } from '../../store/program.ts';

/** get_program: the program with its funding, or `program_not_found`. */
export async function getProgram(service: Service, call: Call<'get_program'>): Promise<Reply<'get_program'>> {
  return { record: toProgramRecord(await loadProgram(service, call.params.program_id)) };
}

/** list_programs: a page, newest first. */
export async function listPrograms(service: Service, call: Call<'list_programs'>): Promise<Reply<'list_programs'>> {
  const pair = readPair(call);
  const record = await readPage(service, call, {
    prefix: 'prog',
    statement: (after, count) => listStatement(pair, after, count),
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

/** A card program as the contract shows it. */
export function toProgramRecord(program: Program): ProgramRecord {
  return {
    program_id: toWireId('prog', program.programId),
    name: program.name,
    currency: program.currency,
    time_zone: program.timeZone,
    funding: program.funding.map(({ currency, balance, held }) => ({
      currency,
      balance: toWire(balance),
      available: toWire(balance - held),
    })),
    limits: fromLimits(program.limits),
    card_limits: fromLimits(program.cardLimits),
    funding_low_threshold: program.fundingLowThreshold === null ? null : toWire(program.fundingLowThreshold),
    metadata: program.metadata,
    created_at: program.createdAt.toISOString(),
  };
}
