import { performance } from 'node:perf_hooks';
import { TransferRecord } from '../../contract/transfers.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { insistOnProof, readRows } from '../commit/transaction.ts';
import { type Call, type Reply, schemaRefusal } from '../operations/call.ts';
import { LINES_FIRST, type Pages, writeCsv } from '../operations/csv-export.ts';
import { readPeriod } from '../operations/moments.ts';
import { DEFAULT_LIMIT, readCursor } from '../operations/page.ts';
import type { Service } from '../operations/service.ts';
import { storedKeyOf } from '../operations/stored-key.ts';
import { readInTurn } from '../operations/turns.ts';
import { readTransfer, toTransfer } from '../store/transfers/transfer.ts';
import {
  isSifted,
  listTransfers as listStatement,
  readNewestTransfer,
  type Stretch,
  type StretchRead,
  toStretchRead,
} from '../store/transfers/transfer-list.ts';
import type { TransferFilter } from '../store/transfers/transfer-route.ts';
import { transferMissing } from './request.ts';
import { toTransferRecord } from './respond.ts';

/** get_transfer: the transfer, or `transfer_not_found`. */
export async function getTransfer(service: Service, call: Call<'get_transfer'>): Promise<Reply<'get_transfer'>> {
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  const rows =
    transferId === undefined ? [] : await readRows(service.database, readTransfer(call.programId, transferId));
  await insistOnProof(service.database, call.deadline, rows);
  const [row] = rows;
  if (row !== undefined) return { record: toTransferRecord(toTransfer(row)) };
  throw transferMissing(sentId);
}

/** The first statement of a filtered list examines this many times as many transfers as the page can show. */
const FIRST_EXAMINED_RATIO = 10;

/** Each further statement examines this many times more, up to a maximum that takes some hundredths of a second. */
const EXAMINED_GROWTH = 10;
const MAX_EXAMINED = 5000;

/** Time to fill a page, in milliseconds. After that the page is sent as short as it is. */
const SEARCH_MILLISECONDS = 1000;

/**
 * list_transfers: a page, newest first. With `idempotency_key` it shows the transfer of that request. A page of something
 * very rare can be short, or empty, with a cursor to continue from: `next_cursor` alone says whether there is more.
 */
export async function listTransfers(service: Service, call: Call<'list_transfers'>): Promise<Reply<'list_transfers'>> {
  const { limit = DEFAULT_LIMIT, cursor } = call.query;
  const filter = readTransferFilter(call);
  // A look-up tells whether a request created its transfer; any other list shows what this server has now.
  const isLookUp = filter.idempotencyKey !== null || filter.reference !== null;
  const giveUpAt = performance.now() + SEARCH_MILLISECONDS;
  const read = async (after: string | null, count: number, look: number): Promise<StretchRead> => {
    const stretch: Stretch = { order: 'newest_first', after, until: null, count, look };
    const rows = await readRows(service.database, listStatement(call.programId, filter, stretch));
    if (isLookUp) await insistOnProof(service.database, call.deadline, rows);
    return toStretchRead(rows, stretch);
  };
  let look = isSifted(filter) ? FIRST_EXAMINED_RATIO * (limit + 1) : limit + 1;
  let { transfers: found, next } = await read(readCursor(call, 'tr', cursor), limit + 1, look);
  while (next !== null && found.length <= limit && performance.now() < giveUpAt) {
    look = Math.min(look * EXAMINED_GROWTH, MAX_EXAMINED);
    const from = next;
    const more = await readInTurn(call.programId, () => read(from, limit + 1 - found.length, look));
    found = [...found, ...more.transfers];
    next = more.next;
  }
  const shown = found.slice(0, limit);
  const last = found.length > limit ? (shown.at(-1)?.transferId ?? null) : next;
  return {
    record: { data: shown.map(toTransferRecord), next_cursor: last === null ? null : toWireId('tr', last) },
  };
}

/** Fields of a transfer since 0.2, in the order of their columns. */
const ADDED_FIELDS = [
  'request_id',
  'idempotency_key',
  'created_by',
] as const satisfies readonly (keyof TransferRecord)[];

/** export_transfers: comma-separated values, oldest first, up to the newest transfer at the start of the export. */
export async function exportTransfers(
  service: Service,
  call: Call<'export_transfers'>,
): Promise<Reply<'export_transfers'>> {
  const filter = readTransferFilter(call);
  return { csv: await writeCsv('transfers', TransferRecord, readPages(service, call.programId, filter), ADDED_FIELDS) };
}

async function* readPages({ database }: Service, programId: string, filter: TransferFilter): Pages {
  const [newest] = await readInTurn(programId, () => readRows(database, readNewestTransfer(programId)));
  if (newest === undefined) return;
  const until = newest.transfer_id as string;
  const sifted = isSifted(filter);
  let after: string | null = null;
  let count = LINES_FIRST;
  do {
    const stretch: Stretch = { order: 'oldest_first', after, until, count, look: sifted ? MAX_EXAMINED : count };
    const rows = await readInTurn(programId, () => readRows(database, listStatement(programId, filter, stretch)));
    const { transfers, next } = toStretchRead(rows, stretch);
    count = yield transfers.map(toTransferRecord);
    after = next;
  } while (after !== null);
}

/** The filter of a list of transfers. A filter that nothing can match is refused: an empty list would hide the mistake. */
function readTransferFilter(call: Call<'list_transfers'> | Call<'export_transfers'>): TransferFilter {
  const { query } = call;
  const { from, to } = readPeriod(call, query);
  const { minimum_amount: minimum, maximum_amount: maximum } = query;
  if (minimum !== undefined && maximum !== undefined && minimum > maximum) {
    const message = `'maximum_amount' is ${maximum}, which is less than 'minimum_amount', ${minimum}.`;
    throw schemaRefusal(call, message, '/maximum_amount');
  }
  return {
    cardName: query.card_id ?? null,
    type: query.type ?? null,
    status: query.status ?? null,
    reference: query.reference ?? null,
    idempotencyKey: query.idempotency_key === undefined ? null : storedKeyOf(query.idempotency_key),
    metadata: readPair(call),
    createdFrom: from,
    createdTo: to,
    minimumAmount: minimum ?? null,
    maximumAmount: maximum ?? null,
  };
}

function readPair(call: Call<'list_transfers'> | Call<'export_transfers'>): TransferFilter['metadata'] {
  const { metadata_name: name, metadata_value: value } = call.query;
  if (name !== undefined && value !== undefined) return { name, value };
  if (name === undefined && value === undefined) return null;
  const [sent, missing] =
    name === undefined ? ['metadata_value', 'metadata_name'] : ['metadata_name', 'metadata_value'];
  const message = `'${sent}' can only be sent together with '${missing}': a pair of the metadata has a name and a value.`;
  throw schemaRefusal(call, message, `/${missing}`);
}
