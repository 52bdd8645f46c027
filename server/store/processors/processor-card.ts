import { hash } from 'node:crypto';
import type { Row } from '../connection/database.ts';
import { columns, HEX, insertRow, NUMBER, nullable, statement, TEXT, UUID } from '../sql.ts';

// Invariant: A card of a processor is registered at most once at its connector, across all card programs
// Kept by: the primary key of `processor_card`; the lock on its name in `server/subjects/cards/create-card.ts`
// Tested by: `test/api/processors/processor-cards.test.ts`

/**
 * Returns the SHA-256 of a processor's token for a card, in hex. Cards are found by it, so no index contains the tokens themselves.
 */
export function tokenHashOf(processorToken: string): string {
  return hash('sha256', processorToken, 'hex');
}

const PROCESSOR_CARD = columns({ connectorId: TEXT, tokenHash: HEX, programId: UUID, cardId: UUID });

/** Links a card to the processor's card. Before that, lock its name and check that {@link readProcessorCard} finds no card. */
export const insertProcessorCard = insertRow('insert_processor_card', 'processor_card', PROCESSOR_CARD);

/** Reads whether any card program has a processor's card. `own_name` is the name of the card if it belongs to `programId`. */
export const readProcessorCard = statement(
  'read_processor_card',
  PROCESSOR_CARD.omit('cardId').columns,
  `select card.name as own_name
    from processor_card left join card on card.program_id = :programId and card.card_id = processor_card.card_id
    where processor_card.connector_id = :connectorId and token_hash = :tokenHash order by place limit 1`,
);

const TAKEN = columns({ ownName: nullable(TEXT) });

/** The name of the card in a row of {@link readProcessorCard}, or null if another card program has the card. */
export const toOwnName = (row: Row): string | null => TAKEN.read(row).ownName;

/**
 * Counts, for each connector, the cards that were registered twice before version 0.2.0 refused that. Also returns the name of one
 * of them.
 */
export const COUNT_CARDS_REGISTERED_TWICE = statement(
  'count_cards_registered_twice',
  {},
  `select twice.connector_id, count(*)::int as cards, min(card.name) as example
    from processor_card as twice join card using (program_id, card_id)
    where twice.place > 0 group by twice.connector_id order by twice.connector_id`,
)({});

export const toRegisteredTwice = columns({ connectorId: TEXT, cards: NUMBER, example: TEXT }).read;
