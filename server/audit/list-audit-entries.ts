import type { AuditEntryRecord } from '../../contract/audit.ts';
import type { QueryOf } from '../../contract/operations.ts';
import { toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call, Reply } from '../operations/call.ts';
import { answerPage } from '../operations/page.ts';
import { readPeriod } from '../operations/period.ts';
import type { Service } from '../operations/service.ts';
import { type AuditEntry, listAuditEntries as listStatement, toAuditEntry } from '../store/audit.ts';
import { AUDITED_OF_OPERATORS, AUDITED_OPERATIONS, OTHER_ACTIONS } from './audit.ts';

/** list_audit_entries: a page of what was done, newest first. */
export function listAuditEntries(service: Service, call: Call): Promise<Reply> {
  const query = call.members as QueryOf<'list_audit_entries'>;
  const { action = null } = query;
  if (action !== null) insistOnAction(action);
  const filter = { action, ...readPeriod(call, query) };
  return answerPage<AuditEntry>(service, call, {
    prefix: 'aud',
    statement: (after, count) => listStatement(filter, after, count),
    read: toAuditEntry,
    idOf: (entry) => entry.entryId,
    show: toAuditEntryRecord,
  });
}

/** An action that is never recorded is refused: an empty list would hide the slip. */
function insistOnAction(action: string): void {
  const known: readonly string[] = [...AUDITED_OPERATIONS, ...AUDITED_OF_OPERATORS, ...OTHER_ACTIONS];
  if (known.includes(action)) return;
  const message = `'action' is '${action}', but the audit log has only ${known.join(', ')}.`;
  throw new Refusal('list_audit_entries_schema', message, { field: '/action' });
}

/** A row of the audit log as the contract shows it. */
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
    details: JSON.parse(entry.details) as Record<string, unknown>,
    previous_hash: entry.previousHash.toString('hex'),
    hash: entry.hash.toString('hex'),
  };
}
