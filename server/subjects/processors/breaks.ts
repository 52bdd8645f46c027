import { MAX_NOTE_CHARACTERS } from '../../../contract/processors/attempts.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { toBreakRecord } from '../../calls/records/processor.ts';
import type { Service } from '../../calls/service.ts';
import { transact } from '../../commit/transaction.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import {
  closeBreak as closeStatement,
  listBreaks as listStatement,
  lockBreak,
  toBreak,
} from '../../store/processors/break.ts';
import { actorOf, auditOf, withoutHolderValues } from '../audit/audit.ts';

/** A UUID that no break has: a malformed id is looked up as any other. */
const NO_BREAK = '00000000-0000-0000-0000-000000000000';

/** list_breaks: the open breaks, the oldest first, or the closed ones, the newest first. */
export async function listBreaks(service: Service, call: Call<'list_breaks'>): Promise<Reply<'list_breaks'>> {
  const { status = 'open', kind = null, connector_id: connectorId = null, program_id: programId } = call.query;
  const filter = { isClosed: status === 'closed', kind, connectorId, programId: readProgramFilter(call, programId) };
  const record = await readPage(service, call, {
    prefix: 'brk',
    statement: (after, count) => listStatement(filter, after, count),
    read: toBreak,
    idOf: ({ found }) => found.breakId,
    show: ({ found, now }) => toBreakRecord(found, now),
  });
  return { record };
}

/** close_break: the closed break, or `break_not_found`. One that was closed before stays as it is, with its first note. */
export function closeBreak({ database }: Service, call: Call<'close_break'>): Promise<Reply<'close_break'>> {
  const { break_id: sentId } = call.params;
  const breakId = fromWireId('brk', sentId) ?? NO_BREAK;
  return transact(database, call.deadline, { breaks: lockBreak({ breakId }) }, ({ breaks: [row] }) => {
    if (row === undefined) {
      const hint = breakId === NO_BREAK ? ' A break id is brk_ and 32 hex digits.' : '';
      throw new Refusal('break_not_found', `There is no break '${sentId}'.${hint}`);
    }
    const { found, now } = toBreak(row);
    if (found.closedAt !== null) return { result: { record: toBreakRecord(found, now) }, writes: [], readsOnly: true };
    const resolution = withoutSecrets(call.body.note, MAX_NOTE_CHARACTERS);
    const closed = { ...found, closedAt: now, closedBy: actorOf(call.caller), resolution };
    const record = toBreakRecord(closed, now);
    const subject = { programId: found.programId, subjectId: toWireId('brk', breakId) };
    const audited = { ...subject, details: JSON.stringify(withoutHolderValues(record)) };
    return { result: { record }, writes: [closeStatement(closed), ...auditOf(call, audited)] };
  });
}
