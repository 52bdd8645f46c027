import { type Static, Type } from 'typebox';
import { MONEY_STATES } from '../../domain/transfers/money-sentence.ts';
import { operation } from '../operation.ts';
import { EXAMPLE_LATER, EXAMPLE_REQUEST_ID, sampleOf } from '../samples.ts';
import {
  Amount,
  cursor,
  described,
  describedOrNull,
  limit,
  literals,
  moment,
  nullable,
  pageOf,
  textOrNull,
} from '../schema-parts.ts';
import { TRANSFER_PATH, TransferRecord } from '../transfers.ts';

export const TIMELINE_STEP_KINDS = [
  'request',
  'scheduled',
  'hold',
  'processor',
  'posting',
  'release',
  'canceled',
  'expired',
  'failed',
  'reversal',
  'event',
  'webhook_attempt',
  'webhook_waiting',
  'error',
] as const;

export type TimelineStepKind = (typeof TIMELINE_STEP_KINDS)[number];

/** The kinds of steps that a timeline shows up to a maximum number. */
export const TRUNCATED_KINDS = [
  'reversal',
  'posting',
  'event',
  'webhook_attempt',
  'webhook_waiting',
  'error',
  'likely_duplicate',
] as const;

export type TruncatedKind = (typeof TRUNCATED_KINDS)[number];

const BalanceChange = Type.Object({
  card_id: Type.String({ description: 'The card' }),
  before: Amount('Balance of the card before the posting'),
  after: Amount('Balance of the card after the posting'),
});

/** One step of a timeline. Fields that do not apply to a step are null. */
export const TimelineStep = Type.Object({
  at: moment('When it happened'),
  kind: literals(
    TIMELINE_STEP_KINDS,
    "Kind of step; `processor` is about the card's processor: an order to it, an unknown outcome, its answer, or the decision of an operator; `webhook_waiting` is an event that still waits for a paused or disabled webhook",
  ),
  text: Type.String({ description: 'What happened, in one line' }),
  amount: describedOrNull(
    Amount('Amount of the step'),
    'Amount of the step, in minor units; null for a step without one',
  ),
  balances: Type.Array(BalanceChange, {
    description: 'For a posting, the balances of its cards before and after; empty for a key without cards:read',
  }),
  request_id: textOrNull('Request-Id of the request that caused it; null if none did'),
  reversal_id: textOrNull('The reversal that it belongs to; null for other steps'),
  event_id: textOrNull('The event; null unless the step is an event, was sent to a webhook, or waits for one'),
  event_type: textOrNull('Type of the event; null without an event'),
  webhook_id: textOrNull('The webhook that the event was sent to, or waits for; null for other steps'),
  attempt_id: textOrNull(
    'The attempt to send the event, or to have the processor move the money; null for other steps',
  ),
  code: textOrNull('Error code; null without an error'),
  status: nullable(
    Type.Integer({
      description: 'HTTP status of the error response, or of the response of the receiver; null if there is none',
    }),
  ),
});

export const MoneySummaryRecord = Type.Object({
  moved: literals(
    MONEY_STATES,
    "Whether the money moved, is held, or was reversed; unknown while it is not known whether the card's processor " +
      'has moved it; moved_late if it has, after the transfer had failed',
  ),
  sentence: Type.String({ description: 'The same answer in a sentence for people' }),
});

/** Everything that is known about a transfer, in order. */
export const TransferTimeline = Type.Object({
  transfer: described(TransferRecord, 'The transfer in its current state'),
  money: described(MoneySummaryRecord, 'Whether its money moved'),
  steps: Type.Array(TimelineStep, { description: 'What happened, oldest first' }),
  likely_duplicates: Type.Array(TransferRecord, {
    description: 'Other transfers of the same card, type and amount within 10 minutes, oldest first',
  }),
  truncated: Type.Array(
    Type.Object({
      kind: literals(TRUNCATED_KINDS, 'The kind that may have more steps'),
      text: Type.String({ description: 'What may be missing, and where to find it' }),
    }),
    { description: 'What may be missing; empty if everything that is stored is shown' },
  ),
});

/** Two transfers. The later one was probably created by mistake. */
export const LikelyDuplicate = Type.Object({
  transfer: described(TransferRecord, 'The later transfer, which may have been created by mistake'),
  earlier: described(TransferRecord, 'The transfer that it repeats'),
  first_transfer_id: Type.String({
    description: 'The first of the transfers that repeat one another: the same for all of them',
  }),
  seconds_apart: Type.Integer({ description: 'Time between the two, in whole seconds' }),
});

/** The default of `window_seconds`, the maximum time between two likely duplicates: ten minutes. */
export const DUPLICATE_WINDOW_SECONDS = 600;

const MAX_DUPLICATE_WINDOW_SECONDS = 3600;

export const TIMELINE = [
  operation({
    id: 'get_transfer_timeline',
    method: 'GET',
    path: `${TRANSFER_PATH}/{transfer_id}/timeline`,
    summary:
      'Get everything that happened to a transfer, in order, and whether its money moved. Balances need the scope cards:read, and ' +
      'steps about events, webhooks and errors need events:read, webhooks:read and errors:read',
    reach: 'program',
    scope: 'transfers:read',
    reply: TransferTimeline,
    errors: ['transfer_not_found'],
    failure: 'The timeline of the transfer could not be read',
    example: {
      reply: {
        money: {
          moved: 'yes',
          sentence: "10.00 USD moved from the program's funding to the card 'card_active' at 2026-01-31T09:30:00.000Z.",
        },
        steps: [
          exampleStep(
            'request',
            "The request asked for 10.00 USD from the program's funding to the card 'card_active'.",
            {
              amount: 1000,
              request_id: EXAMPLE_REQUEST_ID,
            },
          ),
          exampleStep('posting', "10.00 USD moved from the program's funding to the card 'card_active'.", {
            amount: 1000,
            balances: [{ card_id: 'card_active', before: 1500, after: 2500 }],
          }),
        ],
        likely_duplicates: [],
        truncated: [],
      },
    },
  }),
  operation({
    id: 'list_likely_duplicates',
    method: 'GET',
    path: '/api/v0.1/core/card/{card_id}/likely-duplicates',
    summary:
      'List transfers of a card that follow another one of the same type and amount within minutes, newest first',
    reach: 'program',
    scope: 'transfers:read',
    query: Type.Object({
      limit,
      cursor,
      window_seconds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_DUPLICATE_WINDOW_SECONDS,
          description: `How far apart the two transfers may be, in seconds; ${DUPLICATE_WINDOW_SECONDS} if omitted`,
        }),
      ),
    }),
    reply: pageOf(LikelyDuplicate),
    errors: ['card_not_found'],
    failure: 'The likely duplicates could not be listed',
    example: {
      reply: {
        transfer: { ...Object(sampleOf(TransferRecord)), created_at: EXAMPLE_LATER },
        seconds_apart: 42,
      },
    },
  }),
] as const;

function exampleStep(kind: TimelineStepKind, text: string, given: Readonly<Record<string, unknown>>) {
  const nothing = {
    amount: null,
    balances: [],
    request_id: null,
    reversal_id: null,
    event_id: null,
    event_type: null,
    webhook_id: null,
    attempt_id: null,
    code: null,
    status: null,
  };
  return { at: '2026-01-31T09:30:00.000Z', kind, text, ...nothing, ...given };
}

export type TimelineStep = Static<typeof TimelineStep>;
export type TransferTimeline = Static<typeof TransferTimeline>;
export type LikelyDuplicate = Static<typeof LikelyDuplicate>;
