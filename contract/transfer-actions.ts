import { type Static, Type } from 'typebox';
import { CARD_STATUS_CODES } from '../domain/cards/card.ts';
import { operation } from './operation.ts';
import { EXAMPLE_LATER } from './samples.ts';
import {
  Amount,
  amountSent,
  currency,
  freeText,
  literals,
  moment,
  PageQuery,
  pageOf,
  programId,
  refuseEmpty,
  textOrNull,
} from './schema-parts.ts';
import { TRANSFER_PATH, TransferRecord } from './transfers.ts';

/** The body of capture_transfer. It is closed because a misspelled `amount` would capture the whole hold. */
export const CaptureTransferBody = Type.Object(
  { amount: Type.Optional(amountSent('Amount to capture, at most the held amount; the whole hold if omitted')) },
  { additionalProperties: false, ...refuseEmpty({ amount: 'to capture the whole hold' }) },
);

/**
 * The body of reverse_transfer. It is closed because a misspelled `amount` would reverse the whole remaining amount.
 */
export const ReverseTransferBody = Type.Object(
  {
    amount: Type.Optional(
      amountSent('Amount to reverse, at most the amount that was not reversed yet; that whole amount if omitted'),
    ),
    description: Type.Optional(freeText(255, 'Reason for the reversal, in free text')),
  },
  { additionalProperties: false, ...refuseEmpty({ amount: 'to reverse the whole remaining amount' }) },
);

export const ReversalRecord = Type.Object({
  reversal_id: Type.String({ description: 'Id of the reversal: rev_ and 32 hex digits' }),
  transfer_id: Type.String({ description: 'The transfer that was reversed' }),
  program_id: programId,
  amount: Amount('Amount that was reversed'),
  currency,
  status: literals(['completed'], 'A reversal is completed when it is created'),
  description: textOrNull('Reason for the reversal; null if there is none'),
  created_by: textOrNull(
    'Id of the API key or the person that created it; `sandbox` without a key; null for older reversals',
  ),
  created_at: moment('When it was created'),
});

const ONE = `${TRANSFER_PATH}/{transfer_id}`;
const REVERSAL_PATH = '/api/v0.1/core/reversal/{reversal_id}';

const HOLD = { capture: 'manual', expires_at: '2026-02-07T09:30:00.000Z', updated_at: EXAMPLE_LATER } as const;
const REVERSAL = { amount: 250, description: 'One of four articles was returned', created_at: EXAMPLE_LATER } as const;

export const TRANSFER_ACTIONS = [
  operation({
    id: 'capture_transfer',
    method: 'POST',
    path: `${ONE}/capture`,
    summary: 'Capture a hold, in full or in part; the rest is released',
    reach: 'program',
    scope: 'transfers:write',
    body: CaptureTransferBody,
    reply: TransferRecord,
    movesMoney: true,
    idempotency: 'optional',
    audit: 'operator',
    errors: [
      'invalid_amount',
      'idempotency_key_exists',
      'service_disabled',
      'transfer_not_found',
      'invalid_transfer_status',
      'amount_too_large',
      // Two codes are impossible, because a card with a hold has been activated and cannot be closed.
      ...CARD_STATUS_CODES.filter((code) => code !== 'card_not_activated' && code !== 'card_closed'),
      'limit_exceeded',
    ],
    failure: 'The transfer could not be captured',
    example: { body: { amount: 600 }, reply: { ...HOLD, captured_amount: 600, completed_at: EXAMPLE_LATER } },
  }),
  operation({
    id: 'cancel_transfer',
    method: 'POST',
    path: `${ONE}/cancel`,
    summary: 'Cancel a scheduled or pending transfer and release its hold',
    reach: 'program',
    scope: 'transfers:write',
    reply: TransferRecord,
    movesMoney: true,
    idempotency: 'optional',
    audit: 'operator',
    errors: ['idempotency_key_exists', 'transfer_not_found', 'invalid_transfer_status'],
    failure: 'The transfer could not be canceled',
    example: { reply: { ...HOLD, captured_amount: 0, status: 'canceled', completed_at: null } },
  }),
  operation({
    id: 'reverse_transfer',
    method: 'POST',
    path: `${ONE}/reverse`,
    summary: 'Reverse a completed transfer, in full or in part',
    reach: 'program',
    scope: 'transfers:write',
    body: ReverseTransferBody,
    status: 201,
    reply: ReversalRecord,
    location: REVERSAL_PATH,
    movesMoney: true,
    idempotency: 'optional',
    audit: 'operator',
    errors: [
      'invalid_amount',
      'idempotency_key_exists',
      'service_disabled',
      'transfer_not_found',
      'invalid_transfer_status',
      'connector_not_supported',
      'amount_too_large',
      'card_closed',
      'limit_exceeded',
      'insufficient_funds',
      'operator_limit_exceeded',
    ],
    failure: 'The transfer could not be reversed',
    example: { body: { amount: 250, description: 'One of four articles was returned' }, reply: REVERSAL },
  }),
  operation({
    id: 'list_reversals',
    method: 'GET',
    path: `${ONE}/reversal`,
    summary: 'List the reversals of a transfer, newest first',
    reach: 'program',
    scope: 'transfers:read',
    query: PageQuery,
    reply: pageOf(ReversalRecord),
    errors: ['transfer_not_found'],
    failure: 'The reversals could not be listed',
    example: { reply: REVERSAL },
  }),
  operation({
    id: 'get_reversal',
    method: 'GET',
    path: REVERSAL_PATH,
    summary: 'Get a reversal',
    reach: 'program',
    scope: 'transfers:read',
    reply: ReversalRecord,
    errors: ['reversal_not_found'],
    failure: 'The reversal could not be read',
    example: { reply: REVERSAL },
  }),
] as const;

export type ReversalRecord = Static<typeof ReversalRecord>;
