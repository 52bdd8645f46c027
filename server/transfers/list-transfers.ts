import { performance } from 'node:perf_hooks';
import type { QueryOf } from '../../contract/operations.ts';
import { toWireId } from '../../domain/identifier.ts';
import { insistOnProof, readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { DEFAULT_LIMIT, readCursor } from '../operations/page.ts';
import { toTransferRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { readInTurn } from '../operations/turns.ts';
import {
  isSifted,
  listTransfers as listStatement,
  type Stretch,
  type StretchRead,
  toStretchRead,
} from '../store/transfers/transfer-list.ts';
import { readTransferFilter } from './transfer-filter.ts';

/** How many times as many transfers are looked at as are shown, at first; what is common is found among them. */
const LOOK_FIRST = 10;

/** How much further a search looks with each stretch, up to what takes some hundredths of a second. */
const LOOK_GROWTH = 10;
const LOOK_MOST = 5000;

/** How long a page is looked for, in milliseconds. After that it is answered as short as it is. */
const SEARCH_MOST = 1000;

/**
 * list_transfers: a page, newest first. With `idempotency_key` it answers what became of a request. A page of something
 * very rare can come back short, or empty, with a cursor to go on from: `next_cursor` alone says whether there is more.
 */
export async function listTransfers(service: Service, call: Call): Promise<Reply> {
  const { limit = DEFAULT_LIMIT, cursor } = call.members as QueryOf<'list_transfers'>;
  const filter = readTransferFilter(call);
  // Asked whether a request made its transfer; any other list shows the books as they are here and now.
  const isLookUp = filter.idempotencyKey !== null || filter.reference !== null;
  const giveUpAt = performance.now() + SEARCH_MOST;
  const read = async (after: string | null, count: number, look: number): Promise<StretchRead> => {
    const stretch: Stretch = { order: 'newest_first', after, until: null, count, look };
    const rows = await readRows(service.database, listStatement(call.programId, filter, stretch));
    if (isLookUp) await insistOnProof(service.database, call.deadline, rows);
    return toStretchRead(rows, stretch);
  };
  let look = isSifted(filter) ? LOOK_FIRST * (limit + 1) : limit + 1;
  let { transfers: found, next } = await read(readCursor(call, 'tr', cursor), limit + 1, look);
  while (next !== null && found.length <= limit && performance.now() < giveUpAt) {
    look = Math.min(look * LOOK_GROWTH, LOOK_MOST);
    const from = next;
    const more = await readInTurn(call.programId, () => read(from, limit + 1 - found.length, look));
    found = [...found, ...more.transfers];
    next = more.next;
  }
  const shown = found.slice(0, limit);
  const last = found.length > limit ? (shown.at(-1)?.transferId ?? null) : next;
  const page = { data: shown.map(toTransferRecord), next_cursor: last === null ? null : toWireId('tr', last) };
  return { status: 200, body: JSON.stringify(page) };
}
