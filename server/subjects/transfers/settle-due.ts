import { performance } from 'node:perf_hooks';
import { Refusal } from '../../../domain/refusal.ts';
import type { Processors } from '../../calls/processors.ts';
import { newId } from '../../foundation/ids.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { findDueTransfers, findExpiredHolds } from '../../store/transfers/due.ts';
import type { TransferService } from './lane.ts';
import type { DueRequest } from './request.ts';

/** Maximum number of due items of each kind in one round. */
const PORTION = 500;

const ROUND_MILLISECONDS = 4000;

/** The lane, with a database that can read all programs, and the connectors of this process. */
export type DueService = Pick<TransferService, 'database' | 'transfers'> & {
  readonly processors: Pick<Processors, 'connectorIds'>;
};

/** The result of a round. `more` is true if it was full, so that the next round starts immediately. */
export type DueRound = { readonly settled: number; readonly failed: number; readonly more: boolean };

/**
 * Releases expired holds and executes scheduled transfers that are due. Several processes can do this at once, and a caller's
 * request can be first. The second one finds the transfer's new status and changes nothing.
 */
export async function settleDue(service: DueService): Promise<DueRound> {
  // The statements run one after the other, so that an idle process needs only one connection.
  const expired = await find(service, findExpiredHolds(PORTION), 'expire');
  const due = await find(service, findDueTransfers(service.processors.connectorIds, PORTION), 'execute');
  const deadline = performance.now() + ROUND_MILLISECONDS;
  const requests = [...expired, ...due];
  const outcomes = await Promise.allSettled(requests.map((request) => service.transfers.submit(request, deadline)));
  const failed = outcomes.filter(({ status }) => status === 'rejected').length;
  const refused = outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value instanceof Refusal);
  const settled = outcomes.length - failed - refused.length;
  return { settled, failed, more: settled > 0 && (expired.length === PORTION || due.length === PORTION) };
}

async function find(
  { database }: DueService,
  statement: Statement,
  command: DueRequest['command'],
): Promise<readonly DueRequest[]> {
  const rows = await database.read(statement);
  return rows.map((row: Row) => ({
    command,
    programId: row.program_id as string,
    transferId: row.transfer_id as string,
    requestId: newId(),
    key: null,
    operator: null,
  }));
}
