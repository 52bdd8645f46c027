import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readFiltered } from '../../calls/filtered-page.ts';
import { transferMissing } from '../../calls/missing.ts';
import { DEFAULT_LIMIT, readCursor } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { confirmReplicated, readRows } from '../../calls/read-rows.ts';
import { toAttemptRecord, toOperatorAttemptRecord } from '../../calls/records/processor.ts';
import type { Service } from '../../calls/service.ts';
import {
  isAttemptFiltered,
  listAttempts as listStatement,
  searchAttempts as searchStatement,
  toAttemptChunk,
  toShownAttempt,
} from '../../store/processors/read-attempts.ts';
import { readTransfer } from '../../store/transfers/transfer.ts';

/** list_attempts: the attempts of a transfer, the newest first, or `transfer_not_found`. */
export async function listAttempts(service: Service, call: Call<'list_attempts'>): Promise<Reply<'list_attempts'>> {
  const { programId } = call;
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  if (transferId === undefined) throw transferMissing(sentId);
  const rows = await readRows(service.database, listStatement(programId, transferId));
  // Most transfers have none.
  if (rows.length === 0 && (await readRows(service.database, readTransfer(programId, transferId))).length === 0) {
    throw transferMissing(sentId);
  }
  await confirmReplicated(service.database, call.deadline, rows);
  return { record: { data: rows.map(toShownAttempt).map(toAttemptRecord) } };
}

/**
 * search_attempts: the attempts that have not ended, the oldest first, or those that have ended in one way, the newest first.
 * If few match, a page can be short or empty and still have a cursor.
 */
export async function searchAttempts(
  service: Service,
  call: Call<'search_attempts'>,
): Promise<Reply<'search_attempts'>> {
  const { limit = DEFAULT_LIMIT, cursor, status = 'open', connector_id: connectorId = null } = call.query;
  const { program_id: programId } = call.query;
  const filter = { status, connectorId, programId: readProgramFilter(call, programId) };
  const { items, next } = await readFiltered({
    call,
    limit,
    after: readCursor(call, 'pat', cursor),
    isFiltered: isAttemptFiltered(filter),
    read: async (after, count, maxExamined) => {
      const chunk = { after, count, maxExamined };
      return toAttemptChunk(await readRows(service.database, searchStatement(filter, chunk)), chunk);
    },
    idOf: ({ attempt }) => attempt.attemptId,
  });
  const record = {
    data: items.map(toOperatorAttemptRecord),
    next_cursor: next === null ? null : toWireId('pat', next),
  };
  return { record };
}
