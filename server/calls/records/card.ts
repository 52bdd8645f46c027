import type { CardRecord } from '../../../contract/cards.ts';
import { cardStatusOn } from '../../../domain/cards/card.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { CardDetails } from '../../store/card.ts';
import { fromLimits } from '../../store/ledger/limits.ts';

const NOTHING = { balance: 0n, held: 0n, incoming: 0n };

/** Returns a card as defined by the contract, with today's status. */
export function toCardRecord(details: CardDetails): CardRecord {
  const { card } = details;
  // With a connector, the card's money is at its processor. The account holds only amounts that were approved and not settled.
  const account = card.connectorId === null ? details.account : NOTHING;
  return {
    card_id: card.name,
    program_id: toWireId('prog', card.programId),
    status: cardStatusOn(card, details.today),
    currency: card.currency,
    balance: toWire(account.balance),
    held: toWire(account.held),
    available: toWire(account.balance - account.held),
    incoming: toWire(account.incoming),
    holder_reference: details.holderReference,
    last_four: details.lastFour,
    expires_on: card.expiresOn,
    limits: fromLimits(card.limits),
    connector_id: card.connectorId,
    metadata: details.metadata,
    created_at: details.createdAt.toISOString(),
    updated_at: details.updatedAt.toISOString(),
  };
}
