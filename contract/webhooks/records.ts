import { type Static, Type } from 'typebox';
import {
  ATTEMPT_KINDS,
  REPLAY_SELECTIONS,
  REPLAY_STATES,
  WEBHOOK_ORDERS,
  WEBHOOK_PAYLOADS,
  WEBHOOK_STATUS_REASONS,
  WEBHOOK_STATUSES,
} from '../../domain/webhooks/webhook.ts';
import { DEMO_PROGRAM, EXAMPLE_TIME, sampleOfParameter } from '../samples.ts';
import { describedOrNull, literals, moment, nullable, textOrNull } from '../schema-parts.ts';

const position = (what: string) =>
  Type.Integer({ description: `${what}; a number if the webhook is for all card programs` });

export const ReplayRecord = Type.Object({
  replay_id: Type.String({ description: 'Id of the replay: rpl_ and 32 hex digits' }),
  only: literals(REPLAY_SELECTIONS, 'Which events are sent'),
  from: moment('Events that were created at this time or later'),
  to: moment('Events that were created before this time'),
  position: position('The events up to this position have been sent or skipped'),
  until_position: position('The replay ends with this position'),
  sent: Type.Integer({ description: 'How many events have been sent' }),
  state: literals(REPLAY_STATES, 'State of the replay'),
  created_at: moment('When it was created'),
  finished_at: nullable(moment('When it was completed or canceled; null while it runs')),
});

/** A secret of a webhook, without its value. */
export const WebhookSecretRecord = Type.Object({
  secret_id: Type.String({ description: 'Id of the secret: sec_ and 32 hex digits' }),
  created_at: moment('When it was created'),
  expires_at: nullable(moment('When it stops signing; null for the newest secret')),
});

/** A webhook: its URL, its settings, and the progress of its deliveries. */
export const WebhookRecord = Type.Object({
  webhook_id: Type.String({ description: 'Id of the webhook: wh_ and 32 hex digits' }),
  program_id: textOrNull(
    'The card program whose events are sent; null for the events of all card programs and the service',
  ),
  url: Type.String({ description: 'Where events are sent' }),
  description: textOrNull('Purpose of the webhook; null without a description'),
  types: nullable(Type.Array(Type.String(), { description: 'Types of event and groups that are sent; null for all' })),
  payload: literals(WEBHOOK_PAYLOADS, 'What is sent: the whole event, or the event without `data`'),
  order: literals(WEBHOOK_ORDERS, 'With `strict`, an event is sent only when the one before it has been delivered'),
  concurrency: Type.Integer({ description: 'Maximum number of events sent at the same time; one with `strict` order' }),
  rate: nullable(Type.Integer({ description: 'Maximum number of requests per second; null without a limit' })),
  header_names: Type.Array(Type.String(), { description: 'Names of the headers that are sent with each event' }),
  version: Type.String({ description: 'Version of the API whose format the events have' }),
  status: literals(
    WEBHOOK_STATUSES,
    'Whether events are sent. It is `paused` while the URL fails: then one event is tried from time to time',
  ),
  status_reason: nullable(
    literals(
      WEBHOOK_STATUS_REASONS,
      'Why it is not enabled: `requested` by a request, `gone` because the URL responded with 410, or `failing`; null while ' +
        'it is enabled',
    ),
  ),
  secrets: Type.Array(WebhookSecretRecord, { description: 'The secrets that sign, newest first' }),
  position: position('Every event up to this position has been delivered, is being retried, or is not selected'),
  backlog: Type.Integer({ description: 'Number of events after `position`, including events that are not selected' }),
  failures: Type.Integer({ description: 'Number of consecutive failures; 0 if the last attempt succeeded' }),
  failing_since: nullable(moment('When the consecutive failures began; null if the last attempt succeeded')),
  last_success_at: nullable(moment('When an event was last delivered; null if none was yet')),
  last_failure_at: nullable(moment('When an attempt last failed; null if none did')),
  next_attempt_at: nullable(moment('When the next retry is due; null if none is')),
  dead: Type.Integer({
    description:
      'Number of undelivered events, whose last retry failed, counted up to 100,000. resend_event and replay_webhook send them',
  }),
  replay: describedOrNull(ReplayRecord, 'The last replay; null if there was none'),
  created_at: moment('When it was created'),
  updated_at: moment('When it was last changed by a request'),
});

/** A webhook in examples: fields that differ from the default sample. */
export const EXAMPLE_WEBHOOK = {
  program_id: DEMO_PROGRAM,
  url: 'https://shop.example/webhooks',
  description: 'Order system',
  concurrency: 10,
  header_names: ['Authorization'],
  version: 'v0.1',
  secrets: [{ secret_id: sampleOfParameter('secret_id'), created_at: EXAMPLE_TIME, expires_at: null }],
  backlog: 0,
  failures: 0,
  dead: 0,
} as const;

/** A webhook with a new secret: the only record that has it. */
export const NewWebhookRecord = Type.Object({
  ...WebhookRecord.properties,
  secret: textOrNull(
    'The new secret, `whsec_` and Base64: in the first response only, otherwise null. It is stored encrypted',
  ),
  secret_omitted: textOrNull(
    'Only when an Idempotency-Key is replayed: why `secret` is null, and what to do; otherwise null',
  ),
});

export const QueuedDelivery = Type.Object({
  webhook_id: Type.String({ description: 'The webhook' }),
  event_id: Type.String({ description: 'The event. Its attempt appears among the attempts of the webhook' }),
  state: literals(['waiting'], 'It is sent as soon as possible'),
});

/** One request to the URL of a webhook. */
export const AttemptRecord = Type.Object({
  attempt_id: Type.String({ description: 'Id of the attempt: att_ and 32 hex digits' }),
  webhook_id: Type.String({ description: 'The webhook' }),
  program_id: textOrNull('The card program of the webhook; null for a webhook of all card programs'),
  event_id: Type.String({ description: 'The event' }),
  type: Type.String({ description: 'Type of the event' }),
  position: nullable(position('Position of the event; null for an event without one, such as a test')),
  kind: literals(ATTEMPT_KINDS, 'Why it was sent: `probe` tries a paused webhook'),
  try: Type.Integer({ description: '1 for the first attempt to send the event' }),
  started_at: moment('When it began'),
  milliseconds: Type.Integer({ description: 'How long it took' }),
  succeeded: Type.Boolean({ description: 'Whether the response had a status from 200 to 299' }),
  status: nullable(Type.Integer({ description: 'HTTP status of the response; null if there was none' })),
  address: textOrNull('IP address of the receiver; null if there was no connection'),
  error: textOrNull('What failed, such as `connection_refused`; null if there was a response'),
  message: textOrNull('The failure in words; null if it succeeded'),
  response_start: textOrNull(
    'The first characters of the response; secrets and card numbers are redacted. null without a response',
  ),
});

export type WebhookRecord = Static<typeof WebhookRecord>;
export type NewWebhookRecord = Static<typeof NewWebhookRecord>;
export type ReplayRecord = Static<typeof ReplayRecord>;
export type AttemptRecord = Static<typeof AttemptRecord>;
export type QueuedDelivery = Static<typeof QueuedDelivery>;
