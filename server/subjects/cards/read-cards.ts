import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { readAsOf, readPair, refuseUnsettled } from '../../calls/fields.ts';
import { DEFAULT_LIMIT, readCursor, readFiltered, refuseUnknown } from '../../calls/page.ts';
import { cardMissing } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toCardRecord } from '../../calls/records/card.ts';
import { readCardDetails, toCardDetails } from '../../store/card.ts';
import {
  type CardFilter,
  findListedCard,
  isCardFiltered,
  isCardListByName,
  listCards as listStatement,
  toCardChunk,
} from '../../store/cards/card-list.ts';
import { readCardAt, toBalancesAt, toClock } from '../../store/ledger/trial-balance.ts';

export async function getCard(service: Service, call: Call<'get_card'>): Promise<Reply<'get_card'>> {
  const { card_id: name } = call.params;
  const before = readAsOf(call.query);
  const past =
    before === undefined ? undefined : await readRows(service.database, readCardAt(call.programId, name, before));
  if (past !== undefined) refuseUnsettled(call, toClock(past));
  const [row] = await readRows(service.database, readCardDetails(call.programId, name));
  if (row === undefined) throw cardMissing(name);
  const details = toCardDetails(row);
  const record = toCardRecord(details);
  if (past === undefined) return { record };
  const [then] = details.card.connectorId === null ? toBalancesAt(past) : [];
  return { record: { ...record, balance_as_of: toWire(then?.balance ?? 0n) } };
}

/** list_cards: lists cards newest first, or by id if the query has a prefix. A page can be short and still have a cursor. */
export async function listCards(service: Service, call: Call<'list_cards'>): Promise<Reply<'list_cards'>> {
  const { programId, query } = call;
  const { limit = DEFAULT_LIMIT, cursor } = query;
  const filter: CardFilter = {
    status: query.status ?? null,
    lastFour: query.last_four ?? null,
    holderReference: query.holder_reference ?? null,
    prefix: query.card_id_prefix ?? null,
    metadata: readPair(call),
  };
  const cardId = readCursor(call, 'card', cursor);
  const { items, next } = await readFiltered({
    call,
    limit,
    after: cardId,
    isFiltered: isCardFiltered(filter),
    read: async (after, count, maxExamined) => {
      const chunk = { after, count, maxExamined };
      return toCardChunk(await readRows(service.database, listStatement(programId, filter, chunk)), chunk);
    },
    idOf: ({ card }) => card.cardId,
  });
  if (items.length === 0 && next === null && cardId !== null && isCardListByName(filter)) {
    await refuseUnknown(service, call, findListedCard({ programId, cardId }));
  }
  return { record: { data: items.map(toCardRecord), next_cursor: next === null ? null : toWireId('card', next) } };
}
