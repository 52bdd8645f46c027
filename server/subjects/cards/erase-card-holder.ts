import { hash } from 'node:crypto';
import type { CardErasureRecord } from '../../../contract/cards.ts';
import { refuseErasure } from '../../../domain/cards/erase-card-holder.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { readCardDetails, toCardDetails } from '../../store/card.ts';
import {
  type CardErasure,
  eraseHolderOfCard,
  insertErasure,
  readErasure,
  toErasure,
} from '../../store/cards/card-erasure.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { lockAccounts } from '../../store/ledger/account.ts';
import { auditOf } from '../audit/audit.ts';
import { toCardRecord } from './read-cards.ts';

/**
 * erase_card_holder: returns the progress of the erasure. The first request erases the fields of the card and records the erasure.
 * A job erases the rest (erase-in-batches.ts). Later requests change nothing.
 */
export async function eraseCardHolder(
  service: Service,
  call: Call<'erase_card_holder'>,
): Promise<Reply<'erase_card_holder'>> {
  const { programId } = call;
  const { card_id: cardName } = call.params;
  const named = { programId, cardName };
  return transactUnderKey(service, call, {
    programId,
    load: {
      lockAccounts: lockAccounts([{ programId, name: cardName, withFunding: false }], []),
      card: readCardDetails(programId, cardName),
      erasure: readErasure(named),
    },
    decide: ({ card: [row], erasure: [known] }, { batchId, now }) => {
      const details = row && toCardDetails(row);
      const refusal = refuseErasure(cardName, details?.card);
      if (refusal !== undefined) throw refusal;
      if (details === undefined) throw new Error('the card whose holder is being erased does not exist');
      const { cardId } = details.card;
      if (known !== undefined) return { record: toErasureRecord(toErasure(known)), subjectId: cardId, writes: [] };
      const { holderReference, createdAt } = details;
      const requestedAt = new Date(now);
      const begun = { ...named, cardId, requestedAt, completedAt: null, transfers: 0, events: 0, errors: 0 };
      const record = toErasureRecord(begun);
      const nothing = { holderReference: null, lastFour: null, metadata: {} };
      const erased = toCardRecord({ ...details, ...nothing, updatedAt: requestedAt });
      const event = {
        type: 'card.erased' as const,
        programId,
        subjectId: cardName,
        payload: JSON.stringify(erased),
      };
      const writes = [
        eraseHolderOfCard({ programId, cardId, updatedAt: requestedAt }),
        insertErasure({
          ...begun,
          createdAt,
          holderHash: holderReference === null ? null : hash('sha256', holderReference),
        }),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId, subjectId: cardName, details: JSON.stringify(record) }),
      ];
      return { record, subjectId: cardId, writes };
    },
    recall: async () => {
      const [row] = await readRows(service.database, readErasure(named));
      if (row === undefined) throw new Error('the erasure of a stored response does not exist');
      return toErasureRecord(toErasure(row));
    },
  });
}

function toErasureRecord({
  programId,
  cardName,
  completedAt,
  requestedAt,
  transfers,
  events,
  errors,
}: Omit<CardErasure, 'eventsFrom' | 'round' | 'step' | 'cursor'>): CardErasureRecord {
  return {
    card_id: cardName,
    program_id: toWireId('prog', programId),
    status: completedAt === null ? 'running' : 'completed',
    transfers,
    events,
    errors,
    requested_at: requestedAt.toISOString(),
    completed_at: completedAt?.toISOString() ?? null,
  };
}
