import type { HoldPage, HoldRecord } from '../../../contract/cards.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { cardMissing } from '../../calls/missing.ts';
import { DEFAULT_LIMIT, readCursor } from '../../calls/page.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Service } from '../../calls/service.ts';
import { readCardDetails, toCardDetails } from '../../store/card.ts';
import { NO_FILTER } from '../../store/transfers/transfer-route.ts';
import { readTransfersOf } from './read-transfers.ts';

/**
 * list_holds: a page of the open holds on a card and for it, newest first, or `card_not_found`. They are read as the pending
 * transfers of the card, because an index of holds would cost two entries for every hold. So a page can be short and still
 * have a cursor.
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
