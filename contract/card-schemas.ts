import { type Static, Type } from 'typebox';
import { CARD_STATUSES } from '../domain/cards/card.ts';
import { CardLimits, CardLimitsPatch } from './limit-schemas.ts';
import { Amount, cursor, limit, literals, moment, refuseEmpty, removable, text } from './schema-parts.ts';

const holderReference = text(255, 'Your name for the holder; never a card number');
const lastFour = Type.String({ pattern: '^[0-9]{4}$', description: 'Last four digits of the card number' });
const lastDay = Type.String({ format: 'date', description: 'Last day of use, YYYY-MM-DD' });

/** What create_card takes. */
export const CreateCardBody = Type.Object(
  {
    card_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: '^[\\x21-\\x7e]+$',
        description: 'An id of your own: 1 to 255 visible ASCII characters, unique in the card program',
      }),
    ),
    currency: Type.Optional(
      Type.String({ pattern: '^[A-Z]{3}$', description: "ISO 4217 code; the program's if left out" }),
    ),
    status: Type.Optional(literals(['preactive', 'active'], 'active if left out')),
    holder_reference: Type.Optional(holderReference),
    last_four: Type.Optional(lastFour),
    expires_on: Type.Optional(lastDay),
    limits: Type.Optional(CardLimits),
  },
  refuseEmpty({
    status: 'for an active card',
    expires_on: 'for a card without a last day',
    limits: 'for a card without limits of its own',
  }),
);

/** What update_card takes, a merge patch: what is omitted stays as it is, and null removes what can be removed. */
export const UpdateCardBody = Type.Object({
  status: Type.Optional(
    literals(
      ['active', 'inactive', 'lost', 'stolen', 'fraud', 'closed'],
      'The state that the card is given; it must lead on from the one it is in',
    ),
  ),
  balance_to: Type.Optional(
    literals(['funding'], "With status closed: what is on the card is moved to the program's funding first"),
  ),
  holder_reference: Type.Optional(removable(holderReference)),
  last_four: Type.Optional(removable(lastFour)),
  expires_on: Type.Optional(removable(lastDay)),
  limits: Type.Optional(removable(CardLimitsPatch)),
});

/** A card as the service answers with it. */
export const CardRecord = Type.Object({
  card_id: Type.String(),
  program_id: Type.String(),
  status: literals(CARD_STATUSES, 'State of the card today'),
  currency: Type.String({ description: 'ISO 4217 code' }),
  balance: Amount('What is on the card'),
  held: Amount('What of it is held'),
  available: Amount('What of it can be spent'),
  incoming: Amount('What is on hold elsewhere for the card'),
  holder_reference: Type.Union([Type.String(), Type.Null()]),
  last_four: Type.Union([Type.String(), Type.Null()]),
  expires_on: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
  limits: Type.Union([CardLimits, Type.Null()]),
  created_at: moment('When it was made'),
  updated_at: moment('When it last changed'),
});

/** A line of a card's statement. */
export const PostingRecord = Type.Object({
  sequence: Type.Integer({ description: 'Number of the line in the statement of the card, from 1' }),
  purpose: literals(['load', 'unload', 'card_to_card', 'reversal', 'deposit'], 'What the money moved for'),
  direction: literals(['in', 'out'], 'Whether it came onto the card or left it'),
  amount: Amount('What moved'),
  balance: Amount('What was on the card after it'),
  currency: Type.String({ description: 'ISO 4217 code' }),
  transfer_id: Type.Union([Type.String({ description: 'The transfer that it belongs to' }), Type.Null()]),
  reversal_id: Type.Union([Type.String({ description: 'The reversal that made it' }), Type.Null()]),
  created_at: moment('When it moved'),
});

const PERIOD = {
  created_from: Type.Optional(moment('Only lines of this time or later')),
  created_to: Type.Optional(moment('Only lines before this time')),
};

/** The query of list_postings. */
export const ListPostingsQuery = Type.Object({ limit, cursor, ...PERIOD });

/** The query of export_postings. */
export const ExportPostingsQuery = Type.Object(PERIOD);

/** A page of a card's statement. The two balances are those of the whole time asked for, whatever the page. */
export const StatementPage = Type.Object({
  data: Type.Array(PostingRecord, { description: 'Lines, newest first' }),
  next_cursor: Type.Union([
    Type.String({ description: 'Send it as cursor for the next page; null on the last' }),
    Type.Null(),
  ]),
  card_id: Type.String(),
  currency: Type.String({ description: 'ISO 4217 code' }),
  opening_balance: Amount('What was on the card before the first line'),
  closing_balance: Amount('What was on the card after the last line'),
});

/** The body of create_card after reading. */
export type CreateCardBody = Static<typeof CreateCardBody>;
/** A card on the wire. */
export type CardRecord = Static<typeof CardRecord>;
/** The body of update_card after reading. */
export type UpdateCardBody = Static<typeof UpdateCardBody>;
/** The query of list_postings after reading. */
export type ListPostingsQuery = Static<typeof ListPostingsQuery>;
/** The query of export_postings after reading. */
export type ExportPostingsQuery = Static<typeof ExportPostingsQuery>;
/** A line of a card's statement on the wire. */
export type PostingRecord = Static<typeof PostingRecord>;
/** A page of a card's statement on the wire. */
export type StatementPage = Static<typeof StatementPage>;
