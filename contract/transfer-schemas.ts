import { type Static, Type } from 'typebox';
import type { ErrorRecord } from '../domain/error-record.ts';
import { TRANSFER_STATUSES, TRANSFER_TYPES } from '../domain/transfers/transfer.ts';
import type { JsonValue } from './json.ts';
import {
  Amount,
  AmountSent,
  CardId,
  cursor,
  type ErrorRecordSchema,
  limit,
  literals,
  Metadata,
  MetadataPatch,
  moment,
  refuseEmpty,
  removable,
  text,
} from './schema-parts.ts';

/** Members of create_transfer whose omission decides whether money moves at once, and which way. */
const IF_OMITTED = refuseEmpty({
  type: 'for a load',
  capture: 'to move the money at once',
  expires_at: 'for a hold of 7 days',
  scheduled_for: 'to make the transfer now',
});

/** What create_transfer takes (specification, section 2.2: `amount` and `card_id` are required). */
export const CreateTransferBody = Type.Object(
  {
    amount: AmountSent,
    card_id: CardId,
    type: Type.Optional(literals(TRANSFER_TYPES, 'load (funding to card, the default), unload, or card_to_card')),
    destination_card_id: Type.Optional(text(255, 'The card that receives; required for card_to_card, and only there')),
    currency: Type.Optional(
      Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code; must be the one of the card' }),
    ),
    capture: Type.Optional(
      literals(
        ['automatic', 'manual'],
        'automatic (the default): the money moves at once; manual: it is held until the transfer is captured or canceled',
      ),
    ),
    expires_at: Type.Optional(
      moment('When a hold ends by itself: up to 90 days ahead, 7 days if left out; only with capture manual'),
    ),
    scheduled_for: Type.Optional(moment('When the transfer is to be made, up to a year ahead; now if left out')),
    description: Type.Optional(text(255, 'Free text')),
    reference: Type.Optional(text(255, 'A name of your own for the transfer, unique in the card program')),
    metadata: Type.Optional(Metadata),
  },
  IF_OMITTED,
);

/** What capture_transfer takes. A misspelt amount must not come to mean all of the hold. */
export const CaptureTransferBody = Type.Object(
  { amount: Type.Optional(AmountSent) },
  { additionalProperties: false, ...refuseEmpty({ amount: 'to capture all of the hold' }) },
);

/** What reverse_transfer takes. A misspelt amount must not come to mean all that is left. */
export const ReverseTransferBody = Type.Object(
  { amount: Type.Optional(AmountSent), description: Type.Optional(text(255, 'Why')) },
  { additionalProperties: false, ...refuseEmpty({ amount: 'to reverse all that is left' }) },
);

/** What update_transfer takes, a merge patch: nothing but the metadata of a transfer ever changes by request. */
export const UpdateTransferBody = Type.Object({ metadata: removable(MetadataPatch) });

/** A reversal as the service answers with it. */
export const ReversalRecord = Type.Object({
  reversal_id: Type.String({ description: 'rev_ and 32 hex digits' }),
  transfer_id: Type.String({ description: 'The transfer whose money went back' }),
  program_id: Type.String(),
  amount: Amount('What went back'),
  currency: Type.String({ description: 'ISO 4217 code' }),
  status: literals(['completed'], 'A reversal is made completed'),
  description: Type.Union([Type.String(), Type.Null()]),
  created_at: moment('When it was made'),
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
  scheduled_for: Type.Union([moment('When it was or is to be made'), Type.Null()]),
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
export const TransferBatchRow = Type.Object(
  {
    ...CreateTransferBody.properties,
    idempotency_key: text(255, 'The key of this row: 1 to 255 visible ASCII characters'),
  },
  IF_OMITTED,
);

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

/** What transfers can be narrowed to. */
const FILTERS = {
  card_id: Type.Optional(text(255, 'Only transfers of this card, on either side')),
  type: Type.Optional(literals(TRANSFER_TYPES, 'Only transfers of this type')),
  status: Type.Optional(literals(TRANSFER_STATUSES, 'Only transfers in this state')),
  reference: Type.Optional(text(255, 'Only the transfer with this reference')),
  idempotency_key: Type.Optional(text(255, 'Only the transfer that the request with this key made')),
  metadata_name: Type.Optional(text(40, 'Only transfers with this pair in their metadata; needs metadata_value')),
  metadata_value: Type.Optional(text(500, 'The value of the pair; needs metadata_name')),
  created_from: Type.Optional(moment('Only transfers made at this time or later')),
  created_to: Type.Optional(moment('Only transfers made before this time')),
  minimum_amount: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 999_999_999_999, description: 'Only transfers of this amount or more' }),
  ),
  maximum_amount: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 999_999_999_999, description: 'Only transfers of this amount or less' }),
  ),
};

/** The query of list_transfers. */
export const ListTransfersQuery = Type.Object({ limit, cursor, ...FILTERS });

/** The query of export_transfers. */
export const ExportTransfersQuery = Type.Object(FILTERS);

/** The body of create_transfer after reading. */
export type CreateTransferBody = Static<typeof CreateTransferBody>;
/** The query of list_transfers after reading. */
export type ListTransfersQuery = Static<typeof ListTransfersQuery>;
/** A transfer on the wire. */
export type TransferRecord = Static<typeof TransferRecord>;
/** The answer of explain_transfer on the wire. */
export type TransferExplanation = Static<typeof TransferExplanation>;
/** A row of create_transfer_batch after reading. */
export type TransferBatchRow = Static<typeof TransferBatchRow>;
/** The body of create_transfer_batch after reading. */
export type CreateTransferBatchBody = Static<typeof CreateTransferBatchBody>;
/** The outcomes of create_transfer_batch on the wire. */
export type TransferBatchOutcomes = Static<typeof TransferBatchOutcomes>;
/** The body of capture_transfer after reading. */
export type CaptureTransferBody = Static<typeof CaptureTransferBody>;
/** The body of reverse_transfer after reading. */
export type ReverseTransferBody = Static<typeof ReverseTransferBody>;
/** The body of update_transfer after reading. */
export type UpdateTransferBody = Static<typeof UpdateTransferBody>;
/** The query of export_transfers after reading. */
export type ExportTransfersQuery = Static<typeof ExportTransfersQuery>;
/** A reversal on the wire. */
export type ReversalRecord = Static<typeof ReversalRecord>;
