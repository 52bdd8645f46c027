import { DUPLICATE_WINDOW_SECONDS, type LikelyDuplicate } from '../../../contract/look-up/timeline.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { cardMissing } from '../../calls/missing.ts';
import { DEFAULT_LIMIT, readCursor } from '../../calls/page.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toTransferRecord } from '../../calls/records/transfer.ts';
import { readInTurn } from '../../calls/turns.ts';
import { type DuplicatePair, readDuplicatePairs, toDuplicatePairs } from '../../store/transfers/likely-duplicates.ts';
import { readTransfers, toTransfer } from '../../store/transfers/transfer.ts';

/** Maximum number of transfers that are compared for one page. That takes a few hundredths of a second. */
const MAX_EXAMINED = 5000;

/**
 * list_likely_duplicates: returns a page of a card's transfers that follow another transfer of the same type and amount, newest
 * first, or throws `card_not_found`. A page can be short or empty and still have a cursor.
 */
export async function listLikelyDuplicates(
  service: Service,
  call: Call<'list_likely_duplicates'>,
): Promise<Reply<'list_likely_duplicates'>> {
  const { programId } = call;
  const { card_id: name } = call.params;
  const { limit = DEFAULT_LIMIT, cursor, window_seconds: windowSeconds = DUPLICATE_WINDOW_SECONDS } = call.query;
  const before = readCursor(call, 'tr', cursor);
  const chunk = { before, windowSeconds, maxExamined: MAX_EXAMINED, count: limit + 1 };
  const rows = await readInTurn(call, () => readRows(service.database, readDuplicatePairs(programId, name, chunk)));
  if (rows.length === 0) throw cardMissing(name);
  const { pairs, reached } = toDuplicatePairs(rows);
  const shown = pairs.slice(0, limit);
  const next = pairs.length > limit ? (shown.at(-1)?.transferId ?? null) : reached;
  return {
    record: {
      data: await showPairs(service, call, shown),
      next_cursor: next === null ? null : toWireId('tr', next),
    },
  };
}

async function showPairs(
  { database }: Service,
  call: Call<'list_likely_duplicates'>,
  pairs: readonly DuplicatePair[],
): Promise<LikelyDuplicate[]> {
  if (pairs.length === 0) return [];
  const ids = [...new Set(pairs.flatMap(({ transferId, earlierId }) => [transferId, earlierId]))];
  const rows = await readInTurn(call, () => readRows(database, readTransfers(call.programId, ids)));
  const transfers = new Map(rows.map(toTransfer).map((transfer) => [transfer.transferId, transfer]));
  return pairs.map(({ transferId, earlierId, firstId }) => {
    const transfer = transfers.get(transferId);
    const earlier = transfers.get(earlierId);
    if (transfer === undefined || earlier === undefined)
      throw new Error('a transfer no longer exists, which never happens');
    return {
      transfer: toTransferRecord(transfer),
      earlier: toTransferRecord(earlier),
      first_transfer_id: toWireId('tr', firstId),
      seconds_apart: Math.round(Math.abs(transfer.createdAt - earlier.createdAt) / 1000),
    };
  });
}
