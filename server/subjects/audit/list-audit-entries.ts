import type { AuditEntryRecord } from '../../../contract/audit.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readPeriod } from '../../calls/fields.ts';
import { readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { type AuditEntry, findAuditEntry, listAuditEntries as listStatement, toAuditEntry } from '../../store/audit.ts';
import { AUDITED_OF_OPERATORS, AUDITED_OPERATIONS, OTHER_ACTIONS } from './audit.ts';

export async function listAuditEntries(
  service: Service,
  call: Call<'list_audit_entries'>,
): Promise<Reply<'list_audit_entries'>> {
  const { action = null, actor = null, program_id: programId } = call.query;
  if (action !== null) checkAction(call, action);
  const filter = { action, actor, programId: readProgramFilter(call, programId), ...readPeriod(call, call.query) };
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

/** Refuses an action that is never recorded, because an empty list would hide the mistake. */
function checkAction(call: Call<'list_audit_entries'>, action: string): void {
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
