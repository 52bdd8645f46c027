import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { insistOnProof, readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toReversalRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { readReversal, toReversal } from '../store/transfers/reversal.ts';

/** get_reversal: the reversal, or `reversal_not_found`. */
export async function getReversal(service: Service, call: Call): Promise<Reply> {
  const asked = call.parameters.reversal_id ?? '';
  const reversalId = fromWireId('rev', asked);
  const rows =
    reversalId === undefined ? [] : await readRows(service.database, readReversal(call.programId, reversalId));
  await insistOnProof(service.database, call.deadline, rows);
  const [row] = rows;
  if (row !== undefined) return { status: 200, body: JSON.stringify(toReversalRecord(toReversal(row))) };
  const hint = reversalId === undefined ? ' A reversal id is rev_ and 32 hex digits.' : '';
  throw new Refusal('reversal_not_found', `There is no reversal '${asked}' in this card program.${hint}`);
}
