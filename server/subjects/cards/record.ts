import type { CardRecord } from '../../../contract/cards.ts';
import { cardStatusOn } from '../../../domain/cards/card.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { available } from '../../../domain/ledger/ledger.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { CardDetails } from '../../store/card.ts';
import { fromLimits } from '../../store/ledger/limits.ts';

/** A card as the contract shows it, with its status of today. */
export function toCardRecord(details: CardDetails): CardRecord {
  const { card, account } = details;
  return {
    card_id: card.name,
    program_id: toWireId('prog', card.programId),
    status: cardStatusOn(card, details.today),
    currency: card.currency,
    balance: toWire(account.balance),
    held: toWire(account.held),
    available: toWire(available(account)),
    incoming: toWire(account.incoming),
    holder_reference: details.holderReference,
    last_four: details.lastFour,
    expires_on: card.expiresOn,
    limits: fromLimits(card.limits),
    metadata: details.metadata,
    created_at: details.createdAt.toISOString(),
    updated_at: details.updatedAt.toISOString(),
  };
}
