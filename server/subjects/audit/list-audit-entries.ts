import { AuditEntryRecord, OTHER_ACTIONS } from '../../../contract/audit.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { LINES_FIRST, type Pages, writeCsv } from '../../calls/csv-export.ts';
import { readPeriod } from '../../calls/fields.ts';
import { MAX_EXAMINED, readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { forEachPiece, readInTurn } from '../../calls/turns.ts';
import {
  type AuditEntry,
  type AuditFilter,
  BEFORE_ALL_ENTRIES,
  exportAuditEntries as exportStatement,
  findAuditEntry,
  listAuditEntries as listStatement,
  READ_LAST_POSITION,
  toAuditChunk,
  toAuditEntry,
} from '../../store/audit.ts';
import { AUDITED_OF_OPERATORS, AUDITED_OPERATIONS } from './audit.ts';

type AuditCall = Call<'list_audit_entries'> | Call<'export_audit_entries'>;

export async function listAuditEntries(
  service: Service,
  call: Call<'list_audit_entries'>,
): Promise<Reply<'list_audit_entries'>> {
  const filter = readFilter(call);
  const record = await readPage(service, call, {
    prefix: 'aud',
    statement: (after, count) => listStatement(filter, after, count),
    find: (entryId) => findAuditEntry({ entryId }),
    read: toAuditEntry,
    idOf: (entry) => entry.entryId,
    show: toAuditEntryRecord,
  });
  return { record };
}

/** export_audit_entries: returns comma-separated values, oldest first, up to the last entry at the start of the export. */
export async function exportAuditEntries(
  service: Service,
  call: Call<'export_audit_entries'>,
): Promise<Reply<'export_audit_entries'>> {
  const pages = readPages(service, call, readFilter(call));
  return { csv: await writeCsv('audit', AuditEntryRecord, pages, call.query.raw === true) };
}

async function* readPages({ database }: Service, call: Call<'export_audit_entries'>, filter: AuditFilter): Pages {
  const turns = forEachPiece(call);
  const [end] = await readInTurn(turns, () => readRows(database, READ_LAST_POSITION));
  if (end === undefined || end.position === null) return;
  const until = end.position as bigint;
  const isFiltered = Object.values(filter).some((condition) => condition !== null);
  let after: bigint | null = BEFORE_ALL_ENTRIES;
  let count = LINES_FIRST;
  do {
    const chunk = { after, until, count, maxExamined: isFiltered ? MAX_EXAMINED : count };
    const rows = await readInTurn(turns, () => readRows(database, exportStatement(filter, chunk)));
    const { entries, next } = toAuditChunk(rows, chunk);
    count = yield entries.map(toAuditEntryRecord);
    after = next;
  } while (after !== null && after < until);
}

function readFilter(call: AuditCall): AuditFilter {
  const { action = null, actor = null, program_id: programId } = call.query;
  if (action !== null) checkAction(call, action);
  return { action, actor, programId: readProgramFilter(call, programId), ...readPeriod(call, call.query) };
}

/** Refuses an action that is never recorded, because an empty list would hide the mistake. */
function checkAction(call: AuditCall, action: string): void {
  const known: readonly string[] = [...AUDITED_OPERATIONS, ...AUDITED_OF_OPERATORS, ...OTHER_ACTIONS];
  if (known.includes(action)) return;
  throw schemaRefusal(call, `'action' is '${action}', but the audit log has only ${known.join(', ')}.`, '/action');
}

export function toAuditEntryRecord(entry: AuditEntry): AuditEntryRecord {
  return {
    entry_id: toWireId('aud', entry.entryId),
    position: Number(entry.position),
    created_at: entry.createdAt.toISOString(),
    actor: entry.actor,
    action: entry.action,
    program_id: entry.programId === null ? null : toWireId('prog', entry.programId),
    subject_id: entry.subjectId,
    request_id: entry.requestId === null ? null : toWireId('req', entry.requestId),
    details: parseJson(entry.details) as Record<string, unknown>,
    previous_hash: entry.previousHash.toString('hex'),
    hash: entry.hash.toString('hex'),
  };
}
