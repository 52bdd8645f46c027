import { type Static, Type } from 'typebox';
import { CARD_STATUSES } from '../domain/card.ts';
import type { ErrorRecord } from '../domain/error-record.ts';
import { ERROR_TYPES } from '../domain/errors.ts';
import type { AmountAsSent } from '../domain/money.ts';
import { TRANSFER_STATUSES, TRANSFER_TYPES } from '../domain/transfer.ts';
import type { JsonValue } from './json.ts';

function literals<Name extends string>(names: readonly Name[], description: string) {
  return Type.Unsafe<Name>({ type: 'string', enum: [...names], description });
}

function text(maximum: number, description: string) {
  return Type.String({ minLength: 1, maxLength: maximum, description });
}

const moment = (description: string) => Type.String({ format: 'date-time', description });

/** An amount of minor units as a request carries it: a JSON integer, or the same digits as a string. */
export const AmountSent = Type.Unsafe<AmountAsSent>({
  'x-amount': true,
  anyOf: [
    { type: 'integer', minimum: 1, maximum: 999_999_999_999 },
    { type: 'string', pattern: '^[1-9][0-9]{0,11}$' },
  ],
  description: 'Minor units (cents, for USD), 1 to 999,999,999,999: a JSON integer, or its digits as a string.',
});

/** An amount or a balance in a reply: minor units as a JSON integer. */
const Amount = (description: string) => Type.Integer({ description: `${description}, in minor units` });

/** Up to 20 pairs of strings: names of 1 to 40 characters, values of up to 500. */
export const Metadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 20,
  propertyNames: { type: 'string', minLength: 1, maxLength: 40 },
  additionalProperties: { type: 'string', maxLength: 500 },
  description: 'Up to 20 pairs of strings of your own: names of 1 to 40 characters, values of up to 500',
});

const CardId = text(255, 'The card: its card_ id, or the id of your own that it was created with');

/** What create_transfer takes (specification, section 2.2: `amount` and `card_id` are required). */
export const CreateTransferBody = Type.Object({
  amount: AmountSent,
  card_id: CardId,
  type: Type.Optional(literals(TRANSFER_TYPES, 'load (funding to card, the default), unload, or card_to_card')),
  destination_card_id: Type.Optional(text(255, 'The card that receives; required for card_to_card, and only there')),
  currency: Type.Optional(
    Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code; must be the one of the card' }),
  ),
  capture: Type.Optional(literals(['automatic'], 'automatic: the transfer completes at once')),
  description: Type.Optional(text(255, 'Free text')),
  reference: Type.Optional(text(255, 'A name of your own for the transfer, unique in the card program')),
  metadata: Type.Optional(Metadata),
});

/** A transfer as the service answers with it. */
export const TransferRecord = Type.Object({
  transfer_id: Type.String({ description: 'tr_ and 32 hex digits' }),
  program_id: Type.String(),
  card_id: Type.String(),
  destination_card_id: Type.Union([Type.String(), Type.Null()]),
  type: literals(TRANSFER_TYPES, 'What the transfer does with the card'),
  amount: Amount('What was asked for'),
  captured_amount: Amount('What has moved'),
  reversed_amount: Amount('What was moved back'),
  currency: Type.String({ description: 'ISO 4217 code' }),
  status: literals(TRANSFER_STATUSES, 'Where the transfer stands'),
  outcome: literals(['final', 'open', 'unknown'], 'Whether the status is the last one'),
  capture: literals(['automatic', 'manual'], 'When the money moves'),
  expires_at: Type.Union([moment('When a hold ends'), Type.Null()]),
  scheduled_for: Type.Union([moment('When it is due'), Type.Null()]),
  description: Type.Union([Type.String(), Type.Null()]),
  reference: Type.Union([Type.String(), Type.Null()]),
  metadata: Metadata,
  error: Type.Union([
    Type.Unsafe<Static<typeof ErrorRecordSchema> | null>({ $ref: '#/components/schemas/ErrorRecord' }),
    Type.Null(),
  ]),
  created_at: moment('When it was made'),
  updated_at: moment('When it last changed'),
  completed_at: Type.Union([moment('When it completed'), Type.Null()]),
});

/** One check of explain_transfer. */
const CheckRecord = Type.Object({
  name: Type.String({ description: 'What was checked' }),
  outcome: literals(['passed', 'failed', 'not_evaluated'], 'not_evaluated: an earlier check left nothing to look at'),
  code: Type.Union([Type.String({ description: 'Code of the refusal' }), Type.Null()]),
  message: Type.Union([Type.String(), Type.Null()]),
  saw: Type.Unsafe<Record<string, string | number | boolean | null>>({
    type: 'object',
    description: 'The values that were looked at',
  }),
});

/** What explain_transfer answers: what create_transfer would have done at this moment, and why. */
export const TransferExplanation = Type.Object({
  would_succeed: Type.Boolean({ description: 'Whether create_transfer would have made the transfer' }),
  first_failure: Type.Union([
    Type.String({ description: 'Code that create_transfer would have answered' }),
    Type.Null(),
  ]),
  checks: Type.Array(CheckRecord, { description: 'Every check, in the order in which a failure is answered' }),
});

/** A row of create_transfer_batch: what create_transfer takes, and the row's own key. */
export const TransferBatchRow = Type.Object({
  ...CreateTransferBody.properties,
  idempotency_key: text(255, 'The key of this row: 1 to 255 visible ASCII characters'),
});

/** Most rows of one create_transfer_batch. */
export const BATCH_ROWS_MOST = 1000;

/** What create_transfer_batch takes. The rows are read one by one: a fault in one is the answer of that row only. */
export const CreateTransferBatchBody = Type.Object({
  transfers: Type.Unsafe<readonly JsonValue[]>({
    type: 'array',
    minItems: 1,
    maxItems: BATCH_ROWS_MOST,
    items: TransferBatchRow,
    description: 'The transfers to create, 1 to 1,000',
  }),
});

/** What became of a row. */
const TransferBatchOutcome = Type.Object({
  index: Type.Integer({ description: 'Place of the row in the request, from 0' }),
  idempotency_key: Type.Union([Type.String(), Type.Null()]),
  status: Type.Integer({ description: 'HTTP status that create_transfer would have answered with' }),
  transfer: Type.Union([TransferRecord, Type.Null()]),
  error: Type.Unsafe<ErrorRecord | null>({
    anyOf: [{ $ref: '#/components/schemas/ErrorRecord' }, { type: 'null' }],
  }),
  money_moved: literals(['no', 'yes', 'unknown'], 'Whether this request moved the money of the row'),
  replayed: Type.Boolean({ description: 'Whether this is the first answer to the key, given again' }),
});

/** What create_transfer_batch answers: an outcome for each row, in the order of the rows. */
export const TransferBatchOutcomes = Type.Object({ data: Type.Array(TransferBatchOutcome) });

/** The error record (specification, section 2.1). */
export const ErrorRecordSchema = Type.Object(
  {
    Message: Type.String({ description: 'The specific cause; can differ between answers that share a code' }),
    Status: Type.Integer({ description: 'HTTP status of the answer' }),
    Code: Type.String({ pattern: '^[a-z0-9]+(_[a-z0-9]+)*$', description: 'Category of causes' }),
    Type: literals(ERROR_TYPES, 'Group of the error'),
  },
  { additionalProperties: false },
);

const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 100, description: 'How many at most; 20 if left out' }),
);
const cursor = Type.Optional(text(200, 'next_cursor of the page before'));

/** The query of list_transfers. */
export const ListTransfersQuery = Type.Object({
  limit,
  cursor,
  card_id: Type.Optional(CardId),
  type: Type.Optional(literals(TRANSFER_TYPES, 'Only transfers of this type')),
  status: Type.Optional(literals(TRANSFER_STATUSES, 'Only transfers in this state')),
  reference: Type.Optional(text(255, 'Only the transfer with this reference')),
  idempotency_key: Type.Optional(text(255, 'Only the transfer that the request with this key made')),
});

/** The query of a list without filters. */
export const PageQuery = Type.Object({ limit, cursor });

/** A page of a list. */
export function pageOf<Item extends object>(item: Item) {
  return Type.Unsafe<{ data: Item[]; next_cursor: string | null }>({
    type: 'object',
    required: ['data', 'next_cursor'],
    properties: {
      data: { type: 'array', items: item },
      next_cursor: { type: ['string', 'null'], description: 'Send it as cursor for the next page; null on the last' },
    },
  });
}

/** What create_card takes. */
export const CreateCardBody = Type.Object({
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
  holder_reference: Type.Optional(text(255, 'Your name for the holder; never a card number')),
  last_four: Type.Optional(Type.String({ pattern: '^[0-9]{4}$', description: 'Last four digits of the card number' })),
  expires_on: Type.Optional(Type.String({ format: 'date', description: 'Last day of use, YYYY-MM-DD' })),
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
  holder_reference: Type.Union([Type.String(), Type.Null()]),
  last_four: Type.Union([Type.String(), Type.Null()]),
  expires_on: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
  created_at: moment('When it was made'),
  updated_at: moment('When it last changed'),
});

/** What create_program takes. */
export const CreateProgramBody = Type.Object({
  name: text(100, 'Name of the card program'),
  currency: Type.String({
    pattern: '^[A-Z]{3}$',
    description: 'ISO 4217 code of its cards, unless a card says otherwise',
  }),
  time_zone: Type.Optional(text(64, 'IANA name of the time zone in which its days begin; UTC if left out')),
});

/** A funding account of a program. */
const FundingRecord = Type.Object({
  currency: Type.String(),
  balance: Amount('Balance'),
  available: Amount('Available'),
});

/** A card program as the service answers with it. */
export const ProgramRecord = Type.Object({
  program_id: Type.String(),
  name: Type.String(),
  currency: Type.String(),
  time_zone: Type.String(),
  funding: Type.Array(FundingRecord),
  created_at: moment('When it was made'),
});

/** What create_deposit and create_withdrawal take. */
export const FundingMovementBody = Type.Object({
  amount: AmountSent,
  currency: Type.Optional(
    Type.String({ pattern: '^[A-Z]{3}$', description: "ISO 4217 code; the program's if left out" }),
  ),
  description: Type.Optional(text(255, 'Free text, such as the bank reference')),
});

/** A deposit or withdrawal as the service answers with it. */
export const FundingMovementRecord = Type.Object({
  movement_id: Type.String({ description: 'dep_ or wd_ and 32 hex digits' }),
  program_id: Type.String(),
  kind: literals(['deposit', 'withdrawal'], 'Which way the money went'),
  amount: Amount('What moved'),
  currency: Type.String(),
  balance: Amount('What the funding account has after it'),
  description: Type.Union([Type.String(), Type.Null()]),
  created_at: moment('When it was made'),
});

/** What change_switch takes. Scope: neither program_id nor type: the whole service; program_id; both. */
export const ChangeSwitchBody = Type.Object({
  disabled: Type.Boolean({ description: 'true stops, false lets go on' }),
  reason: Type.Optional(text(500, 'Why; required to disable')),
  program_id: Type.Optional(text(255, 'Only this card program')),
  type: Type.Optional(literals(TRANSFER_TYPES, 'Only this type of transfer; needs program_id')),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'When it opens again by itself' })),
});

/** One setting of the switch as the service answers with it. */
export const SwitchRecord = Type.Object({
  scope: literals(['service', 'program', 'transfer_type'], 'What the setting is about'),
  program_id: Type.Union([Type.String(), Type.Null()]),
  type: Type.Union([literals(TRANSFER_TYPES, 'Type of transfer'), Type.Null()]),
  disabled: Type.Boolean({ description: 'Whether it is disabled at this moment' }),
  reason: Type.Union([Type.String(), Type.Null()]),
  actor: Type.String({ description: 'Who changed it last' }),
  since: moment('When it was changed'),
  until: Type.Union([moment('When it opens again by itself'), Type.Null()]),
});

/** All settings of the switch. */
export const SwitchState = Type.Object({ data: Type.Array(SwitchRecord) });

/** The trial balance: the sum over all accounts of a currency is zero, and every balance equals its postings. */
export const TrialBalance = Type.Object({
  balanced: Type.Boolean({ description: 'Whether every sum below is zero and no account differs' }),
  postings_compared: Type.Boolean({ description: 'Whether every balance was compared with its postings in time' }),
  currencies: Type.Array(
    Type.Object({
      currency: Type.String(),
      accounts: Type.Integer(),
      sum: Type.Integer({ description: 'Sum of all balances, in minor units: zero' }),
      by_kind: Type.Array(Type.Object({ kind: Type.String(), accounts: Type.Integer(), balance: Type.Integer() })),
    }),
  ),
  differing_accounts: Type.Array(
    Type.Object({ account_id: Type.String(), balance: Type.Integer(), postings: Type.Integer() }),
  ),
  drawn_up_at: moment('When'),
});

/** What create_key takes. */
export const CreateKeyBody = Type.Object({
  name: text(100, 'What the key is for'),
  program_id: Type.Optional(text(255, "The card program it is bound to; an operator's key if left out")),
  expires_at: Type.Optional(Type.String({ format: 'date-time', description: 'When it stops working' })),
});

/** An API key without its secret. */
export const KeyRecord = Type.Object({
  key_id: Type.String(),
  name: Type.String(),
  program_id: Type.Union([Type.String(), Type.Null()]),
  shown_as: Type.String({ description: 'The part of the key that is not secret' }),
  created_at: moment('When it was made'),
  expires_at: Type.Union([moment('When it stops working'), Type.Null()]),
  revoked_at: Type.Union([moment('When it was revoked'), Type.Null()]),
});

/** A new API key: the only answer that ever holds the secret. */
export const NewKeyRecord = Type.Object({
  ...KeyRecord.properties,
  key: Type.String({ description: 'The key; shown once' }),
});

/** The state of the sandbox's database server. */
export const DatabaseState = Type.Object({
  state: literals(['running', 'starting', 'stopped', 'failed'], 'The server'),
});

/** The body of create_transfer after reading. */
export type CreateTransferBody = Static<typeof CreateTransferBody>;
/** The query of list_transfers after reading. */
export type ListTransfersQuery = Static<typeof ListTransfersQuery>;
/** The query of a list without filters after reading. */
export type PageQuery = Static<typeof PageQuery>;
/** The body of create_card after reading. */
export type CreateCardBody = Static<typeof CreateCardBody>;
/** The body of create_program after reading. */
export type CreateProgramBody = Static<typeof CreateProgramBody>;
/** The body of create_deposit and create_withdrawal after reading. */
export type FundingMovementBody = Static<typeof FundingMovementBody>;
/** The body of change_switch after reading. */
export type ChangeSwitchBody = Static<typeof ChangeSwitchBody>;
/** The body of create_key after reading. */
export type CreateKeyBody = Static<typeof CreateKeyBody>;
/** A transfer on the wire. */
export type TransferRecord = Static<typeof TransferRecord>;
/** A card on the wire. */
export type CardRecord = Static<typeof CardRecord>;
/** A card program on the wire. */
export type ProgramRecord = Static<typeof ProgramRecord>;
/** A deposit or withdrawal on the wire. */
export type FundingMovementRecord = Static<typeof FundingMovementRecord>;
/** A setting of the switch on the wire. */
export type SwitchRecord = Static<typeof SwitchRecord>;
/** A key on the wire. */
export type KeyRecord = Static<typeof KeyRecord>;
/** The trial balance on the wire. */
export type TrialBalance = Static<typeof TrialBalance>;
/** A key on the wire, with its secret. */
export type NewKeyRecord = Static<typeof NewKeyRecord>;
/** All settings of the switch on the wire. */
export type SwitchState = Static<typeof SwitchState>;
/** The state of the sandbox's database server on the wire. */
export type DatabaseState = Static<typeof DatabaseState>;
/** The answer of explain_transfer on the wire. */
export type TransferExplanation = Static<typeof TransferExplanation>;
/** A row of create_transfer_batch after reading. */
export type TransferBatchRow = Static<typeof TransferBatchRow>;
/** The body of create_transfer_batch after reading. */
export type CreateTransferBatchBody = Static<typeof CreateTransferBatchBody>;
/** The outcomes of create_transfer_batch on the wire. */
export type TransferBatchOutcomes = Static<typeof TransferBatchOutcomes>;
