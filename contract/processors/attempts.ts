import { type Static, Type } from 'typebox';
import { ATTEMPT_STATUSES } from '../../domain/processors/attempt.ts';
import { operation } from '../operation.ts';
import { DEMO_PROGRAM, EXAMPLE_ATTEMPT_ID, EXAMPLE_LATER, EXAMPLE_TIME } from '../samples.ts';
import {
  Amount,
  currency,
  cursor,
  freeText,
  idText,
  limit,
  literals,
  moment,
  nullable,
  pageOf,
  programId,
  requires,
  text,
  textOrNull,
} from '../schema-parts.ts';
import { TRANSFER_PATH } from '../transfers.ts';

/** Maximum length of an operator's note about an ended attempt or a closed break. */
export const MAX_NOTE_CHARACTERS = 500;

/** An attempt to move a transfer's money at a processor, as the card program sees it. */
export const ProcessorAttemptRecord = Type.Object({
  attempt_id: Type.String({
    description: 'Id of the attempt: pat_ and 32 hex digits. The order has this id at the processor',
  }),
  transfer_id: Type.String({ description: 'The transfer' }),
  card_id: Type.String({ description: 'The card' }),
  connector_id: Type.String({ description: 'The connector of the card, which talks to its processor' }),
  kind: literals(['push', 'pull'], 'push: money goes to the card (a load); pull: it comes from the card (an unload)'),
  amount: Amount('Amount of the transfer'),
  currency,
  status: literals(
    ATTEMPT_STATUSES,
    'ready: not sent yet; sent: waits for the answer; unknown: no usable answer, the processor is asked; pending: the ' +
      'processor will carry it out; reversing: the processor is asked to undo it; attention: an operator must find out the outcome; ' +
      'approved, declined, failed, reversed: ended',
  ),
  tries: Type.Integer({ minimum: 0, description: 'How many times the order was sent, always with this attempt_id' }),
  sent_at: nullable(moment('When the order was last sent; null before that')),
  unknown_since: nullable(moment('When the outcome became unknown; null if it is known')),
  next_at: nullable(
    moment('When the service next sends, asks or reverses it; null if it has ended or waits for an operator'),
  ),
  processor_reference: textOrNull("The processor's reference; null if it gave none"),
  code: textOrNull("The processor's code, as it sent it; null if there is none"),
  retry_after_seconds: nullable(
    Type.Integer({
      description: 'How many seconds to wait before a new transfer, as the processor advises; null without advice',
    }),
  ),
  resolved_by: textOrNull(
    'The operator who resolved it: id of the API key or the person, or `sandbox`; null if none did',
  ),
  late_approval_at: nullable(
    moment('When the processor said that it has moved the money of the failed transfer; null if it has not said so'),
  ),
  late_approval_settled_at: nullable(
    moment('When an operator settled the late approval; null before that, or if there is none'),
  ),
  contradicted_at: nullable(
    moment(
      'When the processor contradicted its earlier answer, such as by a decline after an approval; null if it has not',
    ),
  ),
  contradiction: textOrNull('What the processor said instead, such as `declined`; null without a contradiction'),
  contradiction_settled_at: nullable(
    moment('When an operator settled the contradiction; null before that, or if there is none'),
  ),
  break_id: textOrNull(
    'The break about a late approval or a contradiction, for an operator to settle; null if there is none',
  ),
  created_at: moment('When it was created, with its transfer'),
  updated_at: moment('When it was last changed; a late approval or a contradiction does not count'),
});

/** An attempt, as operators see it. */
export const OperatorAttemptRecord = Type.Object({
  ...ProcessorAttemptRecord.properties,
  program_id: programId,
  age_seconds: Type.Integer({ minimum: 0, description: 'How long ago it was created, in seconds' }),
  looks: Type.Integer({
    minimum: 0,
    description:
      'How many times the processor was asked about it, or asked to reverse it, since the outcome became unknown',
  }),
  not_after: nullable(moment('After this time the processor must not carry out the order; null before it is sent')),
  detail: textOrNull(
    'Why the outcome was unknown, why nothing was sent, or the note of the operator who resolved it; null if there is none, or ' +
      'once the note is erased',
  ),
});

export const TransferAttempts = Type.Object({
  data: Type.Array(ProcessorAttemptRecord, {
    description: "The attempts, newest first; empty if no processor holds the money of the transfer's cards",
  }),
});

export const ResolveAttemptBody = Type.Object(
  {
    outcome: literals(['executed', 'not_executed'], 'What the processor did, according to the processor itself'),
    note: freeText(
      MAX_NOTE_CHARACTERS,
      'How you know this. Stored with the attempt, without card numbers and keys, for as long as the error log',
    ),
  },
  { additionalProperties: false },
);

const PATH = '/api/v0.1/operator/attempt';

const PENDING = {
  attempt_id: EXAMPLE_ATTEMPT_ID,
  connector_id: 'increase',
  status: 'unknown',
  tries: 1,
  sent_at: EXAMPLE_TIME,
  unknown_since: EXAMPLE_TIME,
  next_at: EXAMPLE_LATER,
} as const;
const QUEUED = {
  ...PENDING,
  status: 'attention',
  next_at: null,
  program_id: DEMO_PROGRAM,
  age_seconds: 90_000,
  looks: 51,
  detail: 'The processor did not answer within 10 s.',
} as const;

export const ATTEMPTS = [
  operation({
    id: 'list_attempts',
    method: 'GET',
    path: `${TRANSFER_PATH}/{transfer_id}/attempt`,
    summary: "See what the card's processor said about a transfer, and when it is asked next",
    reach: 'program',
    scope: 'transfers:read',
    reply: TransferAttempts,
    errors: ['transfer_not_found'],
    failure: 'The attempts could not be listed',
    example: { reply: PENDING },
  }),
  operation({
    id: 'search_attempts',
    method: 'GET',
    path: PATH,
    summary: 'List the unfinished attempts of all card programs at their processors, oldest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      status: Type.Optional(
        literals(
          ['open', ...ATTEMPT_STATUSES],
          'Only attempts with this status. If omitted: `open`, every attempt that has not ended. Attempts that have ended ' +
            'come newest first, all others oldest first',
        ),
      ),
      connector_id: Type.Optional(text(255, 'Only attempts of this connector')),
      program_id: Type.Optional(idText('prog', 'Only attempts of this card program')),
      unsettled_at: Type.Optional(
        Type.String({
          ...moment(
            'Only approved attempts that no settlement file or break had at this time, newest first. At the `ends_at` of a day, their ' +
              'amounts sum to `closing` in its report. Requires `program_id`',
          ),
          'x-checked': requires('program_id'),
        }),
      ),
    }),
    reply: pageOf(OperatorAttemptRecord),
    failure: 'The attempts could not be searched',
    example: { reply: QUEUED },
  }),
  operation({
    id: 'resolve_attempt',
    method: 'POST',
    path: `${PATH}/{attempt_id}/resolve`,
    summary:
      'Resolve an attempt with an unknown outcome, once you know what the processor did: completes or fails its transfer',
    reach: 'operator',
    scope: 'funding:write',
    body: ResolveAttemptBody,
    reply: OperatorAttemptRecord,
    movesMoney: true,
    repeatable: true,
    audit: 'always',
    errors: ['attempt_not_found', 'invalid_attempt_status'],
    failure: 'The attempt could not be resolved',
    example: {
      body: { outcome: 'not_executed', note: 'The processor has no record of it (their ticket 4711).' },
      reply: {
        ...QUEUED,
        status: 'failed',
        detail: 'The processor has no record of it (their ticket 4711).',
        resolved_by: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
        updated_at: EXAMPLE_LATER,
      },
    },
  }),
] as const;

export type ProcessorAttemptRecord = Static<typeof ProcessorAttemptRecord>;
export type OperatorAttemptRecord = Static<typeof OperatorAttemptRecord>;
