import { type Static, Type } from 'typebox';
import { CARD_STATUSES, FIRST_CARD_STATUSES, SETTABLE_CARD_STATUSES } from '../domain/cards/card.ts';
import { TRANSFER_TYPES } from '../domain/transfers/transfer.ts';
import { CardLimits, CardLimitsPatch, CardLimitsRecord } from './limits.ts';
import { operation } from './operation.ts';
import { EXAMPLE_LATER, EXAMPLE_TIME, EXAMPLE_TRANSFER_ID } from './samples.ts';
import {
  Amount,
  asOf,
  callersReference,
  checkedTogether,
  connectorId,
  currency,
  currencyCode,
  cursor,
  describedOrNull,
  idPattern,
  ifThen,
  is,
  limit,
  literals,
  literalsOr,
  Metadata,
  MetadataPatch,
  metadataFilter,
  moment,
  needs,
  nextCursor,
  nullable,
  PageQuery,
  pageOf,
  pendingApprovalId,
  programId,
  raw,
  refuseEmpty,
  text,
  textOrNull,
  visible,
  visibleId,
} from './schema-parts.ts';

const holderReference = callersReference(255, 'Your reference for the holder; must not contain a card number');
const lastFour = Type.String({ pattern: '^[0-9]{4}$', description: 'Last four digits of the card number' });
const expiresOn = Type.String({ format: 'date', description: 'Last day that the card can be used, YYYY-MM-DD' });

export const CreateCardBody = Type.Object(
  {
    card_id: Type.Optional({
      ...visibleId(
        'Your id for the card: 1 to 255 visible ASCII characters, unique in the card program; not ".", ".." or of the form of a generated id',
      ),
      'x-checked': { not: { pattern: idPattern('card') } },
    }),
    currency: Type.Optional(currencyCode("ISO 4217 code; the program's currency if omitted")),
    status: Type.Optional(literalsOr('active', FIRST_CARD_STATUSES, 'Status of the card; active if omitted')),
    holder_reference: Type.Optional(holderReference),
    last_four: Type.Optional(lastFour),
    expires_on: Type.Optional(expiresOn),
    limits: Type.Optional(CardLimits),
    connector_id: Type.Optional(
      connectorId(
        'Connector of the processor that has the money of the card. It can never be changed. Omitted if the money is in this ledger',
      ),
    ),
    processor_token: Type.Optional(
      visible(
        "The processor's name for the card, never its number: 1 to 255 visible ASCII characters; required with connector_id. Only one card of a connector can have this name",
      ),
    ),
    metadata: Type.Optional(Metadata),
  },
  {
    ...refuseEmpty({
      status: 'for an active card',
      expires_on: 'for a card that does not expire',
      limits: 'for a card without its own limits',
      connector_id: 'for a card whose money is in this ledger',
      processor_token: 'for a card whose money is in this ledger',
    }),
    ...checkedTogether({
      dependentRequired: { connector_id: ['processor_token'], processor_token: ['connector_id'] },
    }),
  },
);

/** The body of update_card, a merge patch. */
export const UpdateCardBody = Type.Object(
  {
    status: Type.Optional(
      literals(
        SETTABLE_CARD_STATUSES,
        'New status; `inactive` suspends the card. The current status must allow the change',
      ),
    ),
    balance_to: Type.Optional(
      literals(['funding'], "Only with status closed: first moves the card's balance to the program's funding"),
    ),
    holder_reference: Type.Optional(nullable(holderReference)),
    last_four: Type.Optional(nullable(lastFour)),
    expires_on: Type.Optional(nullable(expiresOn)),
    limits: Type.Optional(nullable(CardLimitsPatch)),
    metadata: Type.Optional(nullable(MetadataPatch)),
  },
  checkedTogether({ allOf: [ifThen(needs('balance_to'), is('status', 'closed'))] }),
);

export const CardRecord = Type.Object({
  card_id: Type.String({
    description: 'Id of the card: the one it was created with, otherwise card_ and 32 hex digits',
  }),
  program_id: programId,
  status: literals(
    CARD_STATUSES,
    'Status of the card. preactive: not activated yet; inactive: suspended; fraud: blocked because of suspected fraud',
  ),
  currency,
  balance: Amount('Balance, including what is on hold'),
  held: Amount('Part of the balance that is on hold'),
  available: Amount('Part of the balance that can be spent'),
  incoming: Amount('Amount on hold in other accounts for the card'),
  holder_reference: textOrNull('Your reference for the holder; null if there is none or the holder has been erased'),
  last_four: textOrNull('Last four digits of the card number; null if they were not sent'),
  expires_on: nullable(
    Type.String({
      format: 'date',
      description: 'Last day that the card can be used, YYYY-MM-DD; null if it does not expire',
    }),
  ),
  limits: describedOrNull(
    CardLimits,
    'Limits of the card, in addition to the limits of its program; null without limits',
  ),
  connector_id: textOrNull(
    "Connector of the processor that has the card's money; the amounts here are then 0. Null if the money is in this ledger",
  ),
  metadata: Metadata,
  created_at: moment('When it was created'),
  updated_at: moment('When it was last changed'),
  pending_approval_id: pendingApprovalId,
});

/** A card, with its balance at an instant if the request names one. */
export const CardAsOf = Type.Object({
  ...CardRecord.properties,
  balance_as_of: Type.Optional(
    Amount(
      'Only with `as_of`: the balance at that instant, 0 before the card was created. All other fields are current',
    ),
  ),
});

export const PostingRecord = Type.Object({
  sequence: Type.Integer({ description: "Number of the line in the card's statement, from 1" }),
  purpose: literals(
    ['load', 'unload', 'card_to_card', 'reversal', 'deposit', 'correction', 'opening'],
    'Why the money moved; correction: an operator has booked the difference between the processor and the books; opening: the ' +
      'balance from another ledger when the card moved in, or its undo',
  ),
  direction: literals(['in', 'out'], 'Whether the card received or sent the money'),
  amount: Amount('Amount that moved'),
  balance: Amount('Balance of the card after the line'),
  currency,
  transfer_id: textOrNull('The transfer that the line belongs to; null for a deposit or an opening balance'),
  reversal_id: textOrNull('The reversal that caused the line; null for other lines'),
  created_at: moment('When the money moved'),
  description: textOrNull(
    'Description of the reversal that caused the line, otherwise of the transfer; null if there is none',
  ),
  reference: textOrNull('Reference of the transfer; null if there is none'),
});

const CARD_FILTERS = {
  status: Type.Optional(literals(CARD_STATUSES, 'Only cards with this status')),
  last_four: Type.Optional(Type.String({ ...lastFour, description: 'Only cards whose number ends with these digits' })),
  holder_reference: Type.Optional(text(255, 'Only cards with this holder reference')),
  card_id_prefix: Type.Optional(visible('Only cards whose card_id begins with this, in the order of their ids')),
  ...metadataFilter('cards'),
};

const PERIOD = {
  created_from: Type.Optional(moment('Only lines at or after this time')),
  created_to: Type.Optional(moment('Only lines before this time')),
};

/** A page of a card's statement. Every page has the two balances of the whole requested period. */
export const StatementPage = Type.Object({
  data: Type.Array(PostingRecord, { description: 'Lines, newest first' }),
  next_cursor: nextCursor,
  card_id: Type.String({ description: 'The card' }),
  currency,
  opening_balance: Amount('Balance of the card before the first line of the period'),
  closing_balance: Amount('Balance of the card after the last line of the period'),
});

/** Money that a pending transfer holds on a card, or in another account for a card. */
export const HoldRecord = Type.Object({
  transfer_id: Type.String({ description: 'The pending transfer' }),
  type: literals(TRANSFER_TYPES, 'Type of the transfer'),
  direction: literals(['in', 'out'], 'Whether the card would receive or send the money'),
  amount: Amount('Amount on hold'),
  currency,
  card_id: Type.String({ description: 'The card of the transfer' }),
  destination_card_id: textOrNull(
    'The card that would receive the money of a card_to_card transfer; null for other types',
  ),
  description: textOrNull('Description of the transfer; null if there is none'),
  reference: textOrNull('Reference of the transfer; null if there is none'),
  created_at: moment('When the transfer was created'),
  expires_at: nullable(moment('When the hold expires; null if it does not')),
});

export const HoldPage = Type.Object({
  data: Type.Array(HoldRecord, { description: 'Open holds, newest first' }),
  next_cursor: nextCursor,
  card_id: Type.String({ description: 'The card' }),
  currency,
  held: Amount('Sum of all open holds on the card'),
  incoming: Amount('Sum of all open holds in other accounts for the card'),
});

export const CardErasureRecord = Type.Object({
  card_id: Type.String({ description: 'The card' }),
  program_id: programId,
  status: literals(['running', 'completed'], 'Whether everything is erased'),
  transfers: Type.Integer({ description: 'Transfers whose text has been erased' }),
  events: Type.Integer({ description: 'Events whose text has been erased' }),
  errors: Type.Integer({ description: 'Errors of the error log whose text has been erased' }),
  requested_at: moment('When the erasure was first requested'),
  completed_at: nullable(moment('When everything was erased; null until then')),
});

const PATH = '/api/v0.1/core/card';
const ONE = `${PATH}/{card_id}`;
const CLOSING = ['card_not_empty', 'limit_exceeded'] as const;
const LIMITS = { in: { daily_amount: 50_000 }, out: { maximum_amount: 10_000 }, maximum_balance: 200_000 } as const;
const EMPLOYEE = { card_id: 'employee-7', holder_reference: 'employee 7', metadata: { department: 'sales' } } as const;
const POSTING = {
  sequence: 1,
  purpose: 'load',
  direction: 'in',
  amount: 1000,
  balance: 1000,
  currency: 'USD',
  transfer_id: EXAMPLE_TRANSFER_ID,
  reversal_id: null,
  created_at: EXAMPLE_TIME,
  description: 'Salary, January',
  reference: 'invoice 1',
} as const;

const HOLD = {
  transfer_id: EXAMPLE_TRANSFER_ID,
  type: 'unload',
  direction: 'out',
  amount: 1000,
  currency: 'USD',
  card_id: 'card_active',
  destination_card_id: null,
  description: null,
  reference: null,
  created_at: EXAMPLE_TIME,
  expires_at: '2026-02-07T09:30:00.000Z',
} as const;

export const CARDS = [
  operation({
    id: 'create_card',
    method: 'POST',
    path: PATH,
    summary: 'Create a card',
    reach: 'program',
    scope: 'cards:write',
    body: CreateCardBody,
    status: 201,
    reply: CardRecord,
    location: ONE,
    idempotency: 'optional',
    audit: 'operator',
    errors: ['idempotency_key_exists', 'connector_not_found', 'duplicate_card'],
    failure: 'The card could not be created',
    example: { body: { ...EMPLOYEE, last_four: '4242' }, reply: { ...EMPLOYEE, balance: 0, available: 0 } },
  }),
  operation({
    id: 'list_cards',
    method: 'GET',
    path: PATH,
    summary:
      'List cards, newest first, or find them by status, last four digits, holder reference, metadata or the start of an id',
    reach: 'program',
    scope: 'cards:read',
    query: Type.Object({ limit, cursor, ...CARD_FILTERS }),
    reply: pageOf(CardRecord),
    failure: 'The cards could not be listed',
  }),
  operation({
    id: 'get_card',
    method: 'GET',
    path: ONE,
    summary: 'Get a card and its balance, now or at an instant in the past',
    reach: 'program',
    scope: 'cards:read',
    query: Type.Object({ as_of: Type.Optional(asOf) }),
    reply: CardAsOf,
    errors: ['card_not_found'],
    failure: 'The card could not be read',
  }),
  operation({
    id: 'update_card',
    method: 'PATCH',
    path: ONE,
    summary: "Update a card's status, limits, holder, expiry or metadata",
    reach: 'program',
    scope: 'cards:write',
    body: UpdateCardBody,
    reply: CardRecord,
    // Closing a card can move its balance to funding.
    movesMoney: true,
    audit: 'operator',
    errors: ['service_disabled', 'card_not_found', 'invalid_card_status', ...CLOSING, 'precondition_failed'],
    failure: 'The card could not be updated',
    example: { body: { limits: LIMITS }, reply: { limits: LIMITS, metadata: {}, updated_at: EXAMPLE_LATER } },
  }),
  operation({
    id: 'erase_card_holder',
    method: 'POST',
    path: `${ONE}/erase`,
    summary: 'Erase the stored data about the holder of a closed card; call it again to see the progress',
    reach: 'program',
    scope: 'cards:erase',
    reply: CardErasureRecord,
    idempotency: 'optional',
    repeatable: true,
    audit: 'operator',
    errors: ['idempotency_key_exists', 'card_not_found', 'card_not_closed'],
    failure: 'The holder could not be erased',
    example: { reply: { status: 'running', transfers: 0, events: 0, errors: 0, completed_at: null } },
  }),
  operation({
    id: 'get_card_limits',
    method: 'GET',
    path: `${ONE}/limits`,
    summary: 'Get the limits of a card, and how much of each has been used and is left',
    reach: 'program',
    scope: 'cards:read',
    reply: CardLimitsRecord,
    errors: ['card_not_found'],
    failure: 'The limits could not be read',
    example: {
      reply: {
        in: {
          allowed: true,
          code: null,
          most: 49_000,
          least: 1,
          limits: [
            {
              name: 'daily_amount',
              set_by: 'card',
              value: 50_000,
              used: 1000,
              left: 49_000,
              frees_at: '2026-02-01T00:00:00.000Z',
            },
          ],
        },
        out: {
          allowed: true,
          code: null,
          most: 1000,
          least: 1,
          limits: [{ name: 'maximum_amount', set_by: 'card', value: 10_000, used: null, left: null, frees_at: null }],
        },
        maximum_balance: { value: 200_000, set_by: 'card', left: 199_000 },
      },
    },
  }),
  operation({
    id: 'list_holds',
    method: 'GET',
    path: `${ONE}/hold`,
    summary: 'List the open holds on a card, and the holds for it in other accounts, newest first',
    reach: 'program',
    scope: 'cards:read',
    query: PageQuery,
    reply: HoldPage,
    errors: ['card_not_found'],
    failure: 'The holds could not be listed',
    example: { reply: { data: [HOLD], held: 1000, incoming: 0 } },
  }),
  operation({
    id: 'list_postings',
    method: 'GET',
    path: `${ONE}/posting`,
    summary: 'Get the statement of a card, newest line first, with its opening and closing balance',
    reach: 'program',
    scope: 'cards:read',
    query: Type.Object({ limit, cursor, ...PERIOD }),
    reply: StatementPage,
    errors: ['card_not_found'],
    failure: 'The postings could not be listed',
    example: { reply: { data: [POSTING], opening_balance: 0 } },
  }),
  operation({
    id: 'export_postings',
    method: 'GET',
    path: `${ONE}/posting/export`,
    summary: 'Export the statement of a card as comma-separated values, oldest line first',
    reach: 'program',
    scope: 'cards:read',
    query: Type.Object({ ...PERIOD, raw }),
    csv: true,
    reply: PostingRecord,
    errors: ['card_not_found'],
    failure: 'The postings could not be exported',
    example: { reply: POSTING },
  }),
] as const;

export type PostingRecord = Static<typeof PostingRecord>;
export type CardRecord = Static<typeof CardRecord>;
export type CardAsOf = Static<typeof CardAsOf>;
export type CardErasureRecord = Static<typeof CardErasureRecord>;
export type HoldRecord = Static<typeof HoldRecord>;
export type HoldPage = Static<typeof HoldPage>;
export type StatementPage = Static<typeof StatementPage>;
