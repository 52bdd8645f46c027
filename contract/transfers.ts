import { type Static, Type } from 'typebox';
import { CARD_STATUS_CODES } from '../domain/cards/card.ts';
import type { SharedCode } from '../domain/error-codes.ts';
import { TRANSFER_STATUSES, TRANSFER_TYPES } from '../domain/transfers/transfer.ts';
import type { ErrorRecord } from './errors/record.ts';
import { operation } from './operation.ts';
import type { JsonValue } from './reading/json.ts';
import { EXAMPLE_LATER, sampleOf } from './samples.ts';
import {
  Amount,
  AmountSent,
  amountFrom,
  CardId,
  callersReference,
  checkedTogether,
  currency,
  currencyCode,
  cursor,
  describedOrNull,
  existing,
  freeText,
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
  nullable,
  pageOf,
  pendingApprovalId,
  programId,
  raw,
  refuseEmpty,
  text,
  textOrNull,
} from './schema-parts.ts';

/** Omitting one of these fields of create_transfer decides whether and when money moves, or its direction. */
const IF_OMITTED = {
  ...refuseEmpty({
    type: 'for a load',
    capture: 'to move the money at once',
    expires_at: 'for a hold of 7 days',
    scheduled_for: 'to execute the transfer now',
  }),
  ...checkedTogether({
    allOf: [
      ifThen(is('type', 'card_to_card'), needs('destination_card_id'), { not: needs('destination_card_id') }),
      ifThen(needs('expires_at'), is('capture', 'manual')),
    ],
  }),
};

/** The body of create_transfer (specification, section 2.2: `amount` and `card_id` are required). */
export const CreateTransferBody = Type.Object(
  {
    amount: AmountSent,
    card_id: CardId,
    type: Type.Optional(
      literalsOr('load', TRANSFER_TYPES, 'load (funding to card, the default), unload, or card_to_card'),
    ),
    destination_card_id: Type.Optional(
      existing('The card that receives the money; required for card_to_card, not allowed otherwise'),
    ),
    currency: Type.Optional(currencyCode("ISO 4217 code; must be the card's currency")),
    capture: Type.Optional(
      literalsOr(
        'automatic',
        ['automatic', 'manual'],
        "automatic (the default): the money moves at once, or as soon as the card's processor moves it; manual: it is held until the transfer is captured or canceled",
      ),
    ),
    expires_at: Type.Optional(
      moment('When the hold expires: up to 90 days ahead, 7 days if omitted; only with capture manual'),
    ),
    scheduled_for: Type.Optional(moment('When to execute the transfer, up to a year ahead; now if omitted')),
    description: Type.Optional(freeText(255, 'Free text, such as what the transfer is for')),
    reference: Type.Optional(
      callersReference(
        255,
        'Your reference for the transfer: unique in the card program among the transfers that hold, have moved or may still move money',
      ),
    ),
    metadata: Type.Optional(Metadata),
  },
  IF_OMITTED,
);

/** The body of update_transfer, a merge patch. Only the metadata of a transfer can be changed. */
export const UpdateTransferBody = Type.Object({ metadata: nullable(MetadataPatch) });

const errorOrNull = (description: string) =>
  Type.Unsafe<ErrorRecord | null>({
    anyOf: [{ $ref: '#/components/schemas/ErrorRecord' }, { type: 'null' }],
    description,
  });

export const TransferRecord = Type.Object({
  transfer_id: Type.String({ description: 'Id of the transfer: tr_ and 32 hex digits' }),
  program_id: programId,
  card_id: Type.String({
    description: 'The card that receives the money of a load, and that sends the money of an unload or card_to_card',
  }),
  destination_card_id: textOrNull('The card that receives the money of a card_to_card transfer; null for other types'),
  type: literals(
    TRANSFER_TYPES,
    'Direction: load (from the funding of the program to the card), unload (back), card_to_card (to another card)',
  ),
  amount: Amount('Requested amount'),
  captured_amount: Amount(
    'Amount that is known to have moved: 0 until then, and less than `amount` after a partial capture',
  ),
  reversed_amount: Amount('Amount that has been reversed, at most `captured_amount`'),
  currency,
  status: literals(
    TRANSFER_STATUSES,
    "scheduled (for later), pending (held until it is captured, canceled or expires, or until the outcome at the card's processor " +
      'is known), completed (the money moved), canceled, expired or failed (no money moved; a processor may ' +
      'still say that it did, which is the event transfer.late_approval)',
  ),
  outcome: literals(
    ['final', 'open', 'unknown'],
    "Whether the status is final, or can still change (open); unknown: it is not known yet whether the card's processor has moved the money",
  ),
  capture: literals(
    ['automatic', 'manual'],
    "automatic: the money moves when the transfer is executed, or when the card's processor moves it; manual: when it is captured",
  ),
  expires_at: nullable(moment('When the hold expires unless it is captured first; null with automatic capture')),
  scheduled_for: nullable(moment('When the transfer was or will be executed; null if that was at once')),
  description: textOrNull('Free text of the request; null if there is none'),
  reference: textOrNull(
    'Your reference; other transfers may have it once this one has ended without moving money. Null if there is none',
  ),
  metadata: Metadata,
  request_id: Type.String({ description: 'Request-Id of the request that created it' }),
  idempotency_key: textOrNull(
    'Idempotency key of that request, or its SHA-256 digest if it may contain a card number; null if there is none, and for older transfers',
  ),
  created_by: textOrNull(
    'Id of the API key or the person that created it; `sandbox` without a key; null for older transfers',
  ),
  error: errorOrNull('Why the transfer failed; null unless its status is failed'),
  created_at: moment('When it was created'),
  updated_at: moment('When it was last changed'),
  completed_at: nullable(moment('When the money moved; null until then')),
  pending_approval_id: pendingApprovalId,
});

/** The result of one check of explain_transfer. */
const CheckRecord = Type.Object({
  name: Type.String({ description: 'Name of the check' }),
  outcome: literals(
    ['passed', 'failed', 'not_evaluated'],
    'not_evaluated: the check depends on an earlier check that failed',
  ),
  code: textOrNull('Error code that the check returns when it fails; null if it has not failed'),
  message: textOrNull('Message of that error; null if the check has not failed'),
  saw: Type.Unsafe<Record<string, string | number | boolean | null>>({
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    description: 'The values that were checked',
  }),
});

/** The reply of explain_transfer: what create_transfer would do at this moment, and why. */
export const TransferExplanation = Type.Object({
  would_succeed: Type.Boolean({ description: 'Whether create_transfer would succeed' }),
  first_failure: textOrNull('The error code that create_transfer would return; null if it would succeed'),
  result: describedOrNull(
    Type.Object({
      status: literals(TRANSFER_STATUSES, 'The first status of the transfer'),
      money_moved: literals(
        ['yes', 'no', 'unknown'],
        "The value that the header `Money-Moved` would have: `unknown` if the card's processor has to answer first",
      ),
      sentence: Type.String({
        description: "What would happen to the money, and what the card's processor would be asked to do",
      }),
    }),
    'What create_transfer would do; null if it would fail, or would return the response that is stored under the key',
  ),
  checks: Type.Array(CheckRecord, { description: 'Every check, in the order checked' }),
});

const FILTERS = {
  card_id: Type.Optional(existing('Only transfers from or to this card')),
  type: Type.Optional(literals(TRANSFER_TYPES, 'Only transfers of this type')),
  status: Type.Optional(literals(TRANSFER_STATUSES, 'Only transfers with this status')),
  reference: Type.Optional(
    text(255, 'Only the transfers with this reference: at most one of them holds, has moved or may still move money'),
  ),
  idempotency_key: Type.Optional(existing('Only the transfer that was created with this key')),
  ...metadataFilter('transfers'),
  created_from: Type.Optional(moment('Only transfers created at or after this time')),
  created_to: Type.Optional(moment('Only transfers created before this time')),
  minimum_amount: Type.Optional(amountFrom(1, 'Only transfers of at least this amount')),
  maximum_amount: Type.Optional(amountFrom(1, 'Only transfers of at most this amount')),
};

/** The error codes of the transfer's checks, in the order of TRANSFER_CHECKS. A card has one status at a time. */
const CHECK_ERRORS = [
  'service_disabled',
  'card_not_found',
  'connector_not_supported',
  'processor_unavailable',
  ...CARD_STATUS_CODES,
  'currency_mismatch',
  'duplicate_reference',
  'amount_too_small',
  'amount_too_large',
  'limit_exceeded',
  'insufficient_funds',
] as const satisfies readonly SharedCode[];

export const TRANSFER_PATH = '/api/v0.1/core/transfer';

/** A row of create_transfer_batch: the fields of create_transfer, and the idempotency key of the row. */
export const TransferBatchRow = Type.Object(
  {
    ...CreateTransferBody.properties,
    idempotency_key: text(255, 'Idempotency key of this row: 1 to 255 visible ASCII characters'),
  },
  IF_OMITTED,
);

export const MAX_BATCH_ROWS = 1000;

/** The body of create_transfer_batch. The rows are validated one by one: an error in one does not affect the others. */
export const CreateTransferBatchBody = Type.Object({
  transfers: Type.Unsafe<readonly JsonValue[]>({
    type: 'array',
    minItems: 1,
    maxItems: MAX_BATCH_ROWS,
    items: TransferBatchRow,
    description: 'The transfers to create, 1 to 1,000',
  }),
});

const TransferBatchOutcome = Type.Object({
  index: Type.Integer({ description: 'Position of the row in the request, from 0' }),
  idempotency_key: textOrNull('Idempotency key of the row; null if the row has no valid one'),
  status: Type.Integer({ description: 'HTTP status that create_transfer would return' }),
  transfer: describedOrNull(TransferRecord, 'The transfer; null if the row was refused'),
  error: errorOrNull('The error that create_transfer would return; null if the transfer was created'),
  money_moved: literals(
    ['no', 'yes', 'unknown'],
    'Whether the money of the row has moved; for a replay, what the first response said',
  ),
  replayed: Type.Boolean({ description: 'Whether this is a replay of the first outcome of the key' }),
});

export const TransferBatchOutcomes = Type.Object({
  data: Type.Array(TransferBatchOutcome, { description: 'An outcome for each row, in the order of the rows' }),
});

export const TRANSFERS = [
  operation({
    id: 'create_transfer',
    method: 'POST',
    path: TRANSFER_PATH,
    summary: 'Create a transfer: load a card, unload it, or move money between cards',
    reach: 'program',
    scope: 'transfers:write',
    body: CreateTransferBody,
    status: 201,
    reply: TransferRecord,
    location: `${TRANSFER_PATH}/{transfer_id}`,
    movesMoney: true,
    idempotency: 'optional',
    audit: 'operator',
    errors: ['invalid_amount', 'idempotency_key_exists', ...CHECK_ERRORS],
    failure: 'The transfer could not be created',
  }),

  operation({
    id: 'list_transfers',
    method: 'GET',
    path: TRANSFER_PATH,
    summary: 'List transfers, newest first, or find one by idempotency key or reference',
    reach: 'program',
    scope: 'transfers:read',
    query: Type.Object({ limit, cursor, ...FILTERS }),
    reply: pageOf(TransferRecord),
    failure: 'The transfers could not be listed',
  }),

  operation({
    id: 'get_transfer',
    method: 'GET',
    path: `${TRANSFER_PATH}/{transfer_id}`,
    summary: 'Get a transfer',
    reach: 'program',
    scope: 'transfers:read',
    reply: TransferRecord,
    errors: ['transfer_not_found'],
    failure: 'The transfer could not be read',
  }),

  operation({
    id: 'update_transfer',
    method: 'PATCH',
    path: `${TRANSFER_PATH}/{transfer_id}`,
    summary: 'Update the metadata of a transfer',
    reach: 'program',
    scope: 'transfers:write',
    body: UpdateTransferBody,
    reply: TransferRecord,
    audit: 'operator',
    errors: ['transfer_not_found', 'precondition_failed', 'card_erased'],
    failure: 'The transfer could not be updated',
    example: { reply: { updated_at: EXAMPLE_LATER } },
  }),

  operation({
    id: 'explain_transfer',
    method: 'POST',
    path: `${TRANSFER_PATH}/explain`,
    summary: 'Run every check of create_transfer without moving money, and show the values each check used',
    reach: 'program',
    scope: 'transfers:read',
    body: CreateTransferBody,
    reply: TransferExplanation,
    dryRun: true,
    idempotency: 'optional',
    failure: 'The transfer could not be explained',
    example: {
      reply: {
        would_succeed: true,
        first_failure: null,
        result: {
          status: 'completed',
          money_moved: 'yes',
          sentence: "10.00 USD would move from the program's funding to the card 'card_active'.",
        },
        checks: [
          { name: 'service_enabled', outcome: 'passed', code: null, message: null, saw: { disabled: false } },
          { name: 'card_exists', outcome: 'passed', code: null, message: null, saw: { card_id: 'card_active' } },
        ],
      },
    },
  }),

  operation({
    id: 'export_transfers',
    method: 'GET',
    path: `${TRANSFER_PATH}/export`,
    summary: 'Export transfers as comma-separated values, oldest first',
    reach: 'program',
    scope: 'transfers:read',
    query: Type.Object({ ...FILTERS, raw }),
    csv: true,
    reply: TransferRecord,
    failure: 'The transfers could not be exported',
    example: { reply: { description: 'Salary, January', metadata: {} } },
  }),

  operation({
    id: 'create_transfer_batch',
    method: 'POST',
    path: `${TRANSFER_PATH}/batch`,
    summary: 'Create up to 1,000 transfers, each with its own idempotency key and outcome',
    reach: 'program',
    scope: 'transfers:write',
    body: CreateTransferBatchBody,
    reply: TransferBatchOutcomes,
    movesMoney: true,
    repeatable: true,
    failure: 'The transfers could not be created',
    example: {
      reply: {
        data: [
          {
            index: 0,
            idempotency_key: 'example-row-1',
            status: 201,
            transfer: sampleOf(TransferRecord),
            error: null,
            money_moved: 'yes',
            replayed: false,
          },
        ],
      },
    },
  }),
] as const;

export type CreateTransferBody = Static<typeof CreateTransferBody>;
export type TransferRecord = Static<typeof TransferRecord>;
export type TransferExplanation = Static<typeof TransferExplanation>;
export type TransferBatchRow = Static<typeof TransferBatchRow>;
export type TransferBatchOutcomes = Static<typeof TransferBatchOutcomes>;
