import type { Call, Reply } from '../operations/call.ts';
import { answerPage } from '../operations/page.ts';
import { toCardRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { type CardDetails, listCards as listCardsStatement, toCardDetails } from '../store/card.ts';

/** list_cards: a page, newest first. */
export function listCards(service: Service, call: Call): Promise<Reply> {
  return answerPage<CardDetails>(service, call, {
    prefix: 'card',
    statement: (after, count) => listCardsStatement(call.programId, after, count),
    read: toCardDetails,
    idOf: ({ card }) => card.cardId,
    show: toCardRecord,
  });
}
