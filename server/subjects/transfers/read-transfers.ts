import type { HoldPage, HoldRecord } from '../../../contract/cards.ts';
import { TransferRecord } from '../../../contract/transfers.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { LINES_FIRST, type Pages, writeCsv } from '../../calls/csv-export.ts';
import { readPair, readPeriod } from '../../calls/fields.ts';
import { type Chunk, DEFAULT_LIMIT, MAX_EXAMINED, readCursor, readFiltered, readPage } from '../../calls/page.ts';
import { cardMissing, transferMissing } from '../../calls/program.ts';
import { confirmReplicated, readRows } from '../../calls/read-rows.ts';
import { toReversalRecord, toTransferRecord } from '../../calls/records/transfer.ts';
import { storedKeyOf } from '../../calls/responses/stored-key.ts';
import { forEachPiece, readInTurn } from '../../calls/turns.ts';
import { readCardDetails, toCardDetails } from '../../store/card.ts';
import {
  listReversals as listReversalsOf,
  readReversal,
  readTransfer,
  toReversal,
  toTransfer,
} from '../../store/transfers/transfer.ts';
import {
  isFiltered,
  listTransfers as listStatement,
  readNewestTransfer,
  type Chunk as TransferChunk,
  toChunkRead,
} from '../../store/transfers/transfer-list.ts';
import { NO_FILTER, type TransferFilter } from '../../store/transfers/transfer-route.ts';

export async function getTransfer(service: Service, call: Call<'get_transfer'>): Promise<Reply<'get_transfer'>> {
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  const rows =
    transferId === undefined ? [] : await readRows(service.database, readTransfer(call.programId, transferId));
  await confirmReplicated(service.database, call.deadline, rows);
  const [row] = rows;
  if (row !== undefined) return { record: toTransferRecord(toTransfer(row)) };
  throw transferMissing(sentId);
}

/**
 * list_transfers: returns a page of transfers, newest first. With `idempotency_key`, it returns the transfer created with that
 * key. If few transfers match the filter, a page can be short or empty and still have a `next_cursor`. Only `next_cursor` shows
 * whether there are more.
 */
export async function listTransfers(service: Service, call: Call<'list_transfers'>): Promise<Reply<'list_transfers'>> {
  const { limit = DEFAULT_LIMIT, cursor } = call.query;
  const { items, next } = await readTransfersOf(service, call, readTransferFilter(call), {
    limit,
    after: readCursor(call, 'tr', cursor),
  });
  return {
    record: { data: items.map(toTransferRecord), next_cursor: next === null ? null : toWireId('tr', next) },
  };
}

/** Returns a page of the transfers that match a filter, newest first, after the transfer with the inner UUID `after`. */
function readTransfersOf(
  { database }: Service,
  call: CallContext,
  filter: TransferFilter,
  page: { readonly limit: number; readonly after: string | null },
): Promise<Chunk<Transfer>> {
  const { programId, deadline } = call;
  // A client uses such a look-up to decide whether to send a request again, so the result must survive a failover.
  const isLookUp = filter.idempotencyKey !== null || filter.reference !== null;
  return readFiltered({
    call,
    ...page,
    isFiltered: isFiltered(filter),
    read: async (after, count, maxExamined) => {
      const chunk: TransferChunk = { order: 'newest_first', after, until: null, count, maxExamined };
      const rows = await readRows(database, listStatement(programId, filter, chunk));
      if (isLookUp) await confirmReplicated(database, deadline, rows);
      const { transfers, next } = toChunkRead(rows, chunk);
      return { items: transfers, next };
    },
    idOf: ({ transferId }) => transferId,
  });
}

/** Fields that version 0.2 added to transfers, in the order of their columns. */
const ADDED_FIELDS = [
  'request_id',
  'idempotency_key',
  'created_by',
] as const satisfies readonly (keyof TransferRecord)[];

/** export_transfers: returns comma-separated values, oldest first, up to the newest transfer at the start of the export. */
export async function exportTransfers(
  service: Service,
  call: Call<'export_transfers'>,
): Promise<Reply<'export_transfers'>> {
  const filter = readTransferFilter(call);
  const pages = readPages(service, call, filter);
  return { csv: await writeCsv('transfers', TransferRecord, pages, call.query.raw === true, ADDED_FIELDS) };
}

async function* readPages({ database }: Service, call: CallContext, filter: TransferFilter): Pages {
  const { programId } = call;
  const turns = forEachPiece(call);
  const [newest] = await readInTurn(turns, () => readRows(database, readNewestTransfer(programId)));
  if (newest === undefined) return;
  const until = newest.transfer_id as string;
  const filtered = isFiltered(filter);
  let after: string | null = null;
  let count = LINES_FIRST;
  do {
    const chunk: TransferChunk = {
      order: 'oldest_first',
      after,
      until,
      count,
      maxExamined: filtered ? MAX_EXAMINED : count,
    };
    const rows = await readInTurn(turns, () => readRows(database, listStatement(programId, filter, chunk)));
    const { transfers, next } = toChunkRead(rows, chunk);
    count = yield transfers.map(toTransferRecord);
    after = next;
  } while (after !== null);
}

/** Returns the filter of a list. Refuses a filter that can never match, because an empty list would hide the mistake. */
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

export async function getReversal(service: Service, call: Call<'get_reversal'>): Promise<Reply<'get_reversal'>> {
  const { reversal_id: sentId } = call.params;
  const reversalId = fromWireId('rev', sentId);
  const rows =
    reversalId === undefined ? [] : await readRows(service.database, readReversal(call.programId, reversalId));
  await confirmReplicated(service.database, call.deadline, rows);
  const [row] = rows;
  if (row !== undefined) return { record: toReversalRecord(toReversal(row)) };
  const hint = reversalId === undefined ? ' A reversal id is rev_ and 32 hex digits.' : '';
  throw new Refusal('reversal_not_found', `There is no reversal '${sentId}' in this card program.${hint}`);
}

/** list_reversals: returns a page of a transfer's reversals, newest first, or throws `transfer_not_found`. */
export async function listReversals(service: Service, call: Call<'list_reversals'>): Promise<Reply<'list_reversals'>> {
  const { programId } = call;
  // The whole request is validated before the transfer is looked up.
  readCursor(call, 'rev', call.query.cursor);
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  const found = transferId === undefined ? [] : await readRows(service.database, readTransfer(programId, transferId));
  if (transferId === undefined || found.length === 0) throw transferMissing(sentId);
  const record = await readPage(service, call, {
    prefix: 'rev',
    statement: (after, count) => listReversalsOf({ programId, transferId }, after, count),
    read: toReversal,
    idOf: (reversal) => reversal.reversalId,
    show: toReversalRecord,
  });
  return { record };
}

/**
 * list_holds: returns a page of the open holds on a card, and of the open holds in other accounts for the card, newest first, or
 * throws `card_not_found`. It reads them from the pending transfers of the card, because an index of holds would cost two entries
 * for every hold. So a page can be short and still have a cursor.
 */
export async function listHolds(service: Service, call: Call<'list_holds'>): Promise<Reply<'list_holds'>> {
  const { card_id: name } = call.params;
  const { limit = DEFAULT_LIMIT, cursor } = call.query;
  const page = { limit, after: readCursor(call, 'tr', cursor) };
  const [row] = await readRows(service.database, readCardDetails(call.programId, name));
  if (row === undefined) throw cardMissing(name);
  const { card, account } = toCardDetails(row);
  const filter = { ...NO_FILTER, cardName: name, status: 'pending' } as const;
  const { items, next } = await readTransfersOf(service, call, filter, page);
  const record: HoldPage = {
    data: items.map((transfer) => toHoldRecord(transfer, name)),
    next_cursor: next === null ? null : toWireId('tr', next),
    card_id: name,
    currency: card.currency,
    held: toWire(account.held),
    incoming: toWire(account.incoming),
  };
  return { record };
}

function toHoldRecord(transfer: Transfer, cardName: string): HoldRecord {
  const { type, currency, description, reference, expiresAt } = transfer;
  const isOut = type === 'unload' || (type === 'card_to_card' && transfer.cardName === cardName);
  return {
    transfer_id: toWireId('tr', transfer.transferId),
    type,
    direction: isOut ? 'out' : 'in',
    amount: toWire(transfer.amount),
    currency,
    card_id: transfer.cardName,
    destination_card_id: transfer.destinationCardName,
    description,
    reference,
    created_at: new Date(transfer.createdAt).toISOString(),
    expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
}
