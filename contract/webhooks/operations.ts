import { operation } from '../operation.ts';
import { EXAMPLE_EVENT_ID, EXAMPLE_LATER } from '../samples.ts';
import { PageQuery, pageOf } from '../schema-parts.ts';
import {
  AttemptRecord,
  EXAMPLE_WEBHOOK,
  NewWebhookRecord,
  QueuedDelivery,
  ReplayRecord,
  WebhookRecord,
} from './records.ts';
import {
  AttemptQuery,
  CreateOperatorWebhookBody,
  CreateWebhookBody,
  FailedAttemptQuery,
  OperatorFailedAttemptQuery,
  OperatorWebhookQuery,
  ReplayWebhookBody,
  ResendEventBody,
  RollWebhookSecretBody,
  UpdateWebhookBody,
} from './requests.ts';

const CORE = '/api/v0.1/core/webhook';
const OPERATOR = '/api/v0.1/operator/webhook';

const READ = { reach: 'program', scope: 'webhooks:read' } as const;
const WRITE = { reach: 'program', scope: 'webhooks:write', audit: 'operator' } as const;
const OF_OPERATORS = { reach: 'operator', scope: 'operator:read' } as const;
const CHANGED_BY_OPERATORS = { reach: 'operator', scope: 'operator', audit: 'always' } as const;

const ATTEMPT = {
  attempt_id: 'att_0196f5c2d9a67c44bd7083a1e95f24c6',
  type: 'transfer.completed',
  position: 42,
  try: 1,
  milliseconds: 84,
  address: '203.0.113.7',
} as const;

const SECRET = {
  ...EXAMPLE_WEBHOOK,
  secret: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
  secret_omitted: null,
} as const;
const QUEUED = { event_id: EXAMPLE_EVENT_ID } as const;
const NIGHT = { from: '2026-01-30T22:00:00Z', to: '2026-01-31T06:00:00Z' } as const;

// Shared by the program and operator operations.

const CREATE = {
  method: 'POST',
  status: 201,
  reply: NewWebhookRecord,
  idempotency: 'optional',
  failure: 'The webhook could not be created',
  example: {
    body: { url: EXAMPLE_WEBHOOK.url, types: ['transfer.*'] },
    reply: { ...SECRET, types: ['transfer.*'], description: null, header_names: [] },
  },
} as const;
const LIST = {
  method: 'GET',
  reply: pageOf(WebhookRecord),
  failure: 'The webhooks could not be listed',
  example: { reply: EXAMPLE_WEBHOOK },
} as const;
const GET = {
  method: 'GET',
  reply: WebhookRecord,
  errors: ['webhook_not_found'],
  failure: 'The webhook could not be read',
  example: { reply: EXAMPLE_WEBHOOK },
} as const;
const UPDATE = {
  method: 'PATCH',
  body: UpdateWebhookBody,
  reply: WebhookRecord,
  errors: ['webhook_url_refused', 'webhook_not_found', 'precondition_failed'],
  failure: 'The webhook could not be updated',
  example: {
    body: { status: 'disabled' },
    reply: { ...EXAMPLE_WEBHOOK, status: 'disabled', status_reason: 'requested' },
  },
} as const;
const DELETE = {
  method: 'DELETE',
  reply: WebhookRecord,
  errors: ['webhook_not_found', 'precondition_failed'],
  failure: 'The webhook could not be deleted',
  example: { reply: EXAMPLE_WEBHOOK },
} as const;
const ROLL = {
  method: 'POST',
  body: RollWebhookSecretBody,
  reply: NewWebhookRecord,
  idempotency: 'optional',
  errors: ['idempotency_key_exists', 'webhook_not_found'],
  failure: 'The secret could not be rolled',
  example: { body: {}, reply: { ...SECRET, updated_at: EXAMPLE_LATER } },
} as const;
const TEST = {
  method: 'POST',
  reply: QueuedDelivery,
  idempotency: 'optional',
  errors: ['idempotency_key_exists', 'webhook_not_found'],
  failure: 'The test event could not be queued',
  example: { reply: QUEUED },
} as const;
const ATTEMPTS = {
  method: 'GET',
  query: AttemptQuery,
  reply: pageOf(AttemptRecord),
  errors: ['webhook_not_found'],
  failure: 'The attempts could not be listed',
  example: {
    reply: { ...ATTEMPT, succeeded: true, status: 204 },
  },
} as const;
const FAILED_ATTEMPTS = {
  method: 'GET',
  reply: pageOf(AttemptRecord),
  failure: 'The failed attempts could not be listed',
  example: {
    reply: { ...ATTEMPT, succeeded: false, status: 503, message: 'The response had the status 503.' },
  },
} as const;
const RESEND = {
  method: 'POST',
  body: ResendEventBody,
  reply: QueuedDelivery,
  idempotency: 'optional',
  errors: ['webhook_not_found', 'event_not_found', 'idempotency_key_exists'],
  failure: 'The event could not be queued',
  example: { body: { event_id: EXAMPLE_EVENT_ID }, reply: QUEUED },
} as const;
const REPLAY = {
  method: 'POST',
  body: ReplayWebhookBody,
  status: 201,
  reply: ReplayRecord,
  idempotency: 'optional',
  errors: ['idempotency_key_exists', 'webhook_not_found', 'invalid_webhook_status', 'replay_running'],
  failure: 'The replay could not be created',
  example: {
    body: { ...NIGHT, only: 'failed' },
    reply: {
      only: 'failed',
      from: '2026-01-30T22:00:00.000Z',
      to: '2026-01-31T06:00:00.000Z',
      position: 20,
      until_position: 42,
      sent: 0,
    },
  },
} as const;

export const WEBHOOKS = [
  operation({
    ...CREATE,
    ...WRITE,
    id: 'create_webhook',
    path: CORE,
    summary: 'Create a webhook; its secret is shown once',
    body: CreateWebhookBody,
    location: `${CORE}/{webhook_id}`,
    errors: ['webhook_url_refused', 'idempotency_key_exists', 'webhook_limit', 'events_expired'],
  }),
  operation({
    ...LIST,
    ...READ,
    id: 'list_webhooks',
    path: CORE,
    summary: 'List the webhooks of the card program, newest first',
    query: PageQuery,
  }),
  operation({ ...GET, ...READ, id: 'get_webhook', path: `${CORE}/{webhook_id}`, summary: 'Get a webhook' }),
  operation({
    ...UPDATE,
    ...WRITE,
    id: 'update_webhook',
    path: `${CORE}/{webhook_id}`,
    summary: 'Change, disable or enable a webhook',
  }),
  operation({
    ...DELETE,
    ...WRITE,
    id: 'delete_webhook',
    path: `${CORE}/{webhook_id}`,
    summary: 'Delete a webhook; the response is its last record',
  }),
  operation({
    ...ROLL,
    ...WRITE,
    id: 'roll_webhook_secret',
    path: `${CORE}/{webhook_id}/roll-secret`,
    summary: 'Give a webhook a new secret, shown once; previous secrets sign until a given time',
  }),
  operation({
    ...TEST,
    ...WRITE,
    id: 'test_webhook',
    path: `${CORE}/{webhook_id}/test`,
    summary: 'Send a test event to a webhook',
  }),
  operation({
    ...ATTEMPTS,
    ...READ,
    id: 'list_webhook_attempts',
    path: `${CORE}/{webhook_id}/attempt`,
    summary: 'List what was sent to a webhook and the responses, newest first',
  }),
  operation({
    ...FAILED_ATTEMPTS,
    ...READ,
    id: 'list_failed_attempts',
    path: '/api/v0.1/core/failed-webhook-attempt',
    summary: 'List the failed attempts to send events to any webhook of the card program, newest first',
    query: FailedAttemptQuery,
  }),
  operation({
    ...RESEND,
    ...WRITE,
    id: 'resend_event',
    path: `${CORE}/{webhook_id}/resend`,
    summary: 'Send an event to a webhook again',
  }),
  operation({
    ...REPLAY,
    ...WRITE,
    id: 'replay_webhook',
    path: `${CORE}/{webhook_id}/replay`,
    summary: 'Send the events of a period to a webhook again',
  }),
  operation({
    ...CREATE,
    ...CHANGED_BY_OPERATORS,
    id: 'create_operator_webhook',
    path: OPERATOR,
    summary: 'Create a webhook for all card programs or for one; its secret is shown once',
    body: CreateOperatorWebhookBody,
    location: `${OPERATOR}/{webhook_id}`,
    errors: ['webhook_url_refused', 'program_not_found', 'idempotency_key_exists', 'webhook_limit', 'events_expired'],
    example: { ...CREATE.example, reply: { ...CREATE.example.reply, program_id: null } },
  }),
  operation({
    ...LIST,
    ...OF_OPERATORS,
    id: 'list_operator_webhooks',
    path: OPERATOR,
    summary: 'List the webhooks of all card programs and of operators, newest first',
    query: OperatorWebhookQuery,
  }),
  operation({
    ...GET,
    ...OF_OPERATORS,
    id: 'get_operator_webhook',
    path: `${OPERATOR}/{webhook_id}`,
    summary: 'Get any webhook',
  }),
  operation({
    ...UPDATE,
    ...CHANGED_BY_OPERATORS,
    id: 'update_operator_webhook',
    path: `${OPERATOR}/{webhook_id}`,
    summary: 'Change, disable or enable any webhook',
  }),
  operation({
    ...DELETE,
    ...CHANGED_BY_OPERATORS,
    id: 'delete_operator_webhook',
    path: `${OPERATOR}/{webhook_id}`,
    summary: 'Delete any webhook; the response is its last record',
  }),
  operation({
    ...ROLL,
    ...CHANGED_BY_OPERATORS,
    id: 'roll_operator_webhook_secret',
    path: `${OPERATOR}/{webhook_id}/roll-secret`,
    summary: 'Give any webhook a new secret, shown once; previous secrets sign until a given time',
  }),
  operation({
    ...TEST,
    ...CHANGED_BY_OPERATORS,
    id: 'test_operator_webhook',
    path: `${OPERATOR}/{webhook_id}/test`,
    summary: 'Send a test event to any webhook',
  }),
  operation({
    ...ATTEMPTS,
    ...OF_OPERATORS,
    id: 'list_operator_webhook_attempts',
    path: `${OPERATOR}/{webhook_id}/attempt`,
    summary: 'List what was sent to any webhook and the responses, newest first',
  }),
  operation({
    ...FAILED_ATTEMPTS,
    ...OF_OPERATORS,
    id: 'list_operator_failed_attempts',
    path: '/api/v0.1/operator/failed-webhook-attempt',
    summary: 'List the failed attempts to send events to any webhook, across all card programs, newest first',
    query: OperatorFailedAttemptQuery,
  }),
  operation({
    ...RESEND,
    ...CHANGED_BY_OPERATORS,
    id: 'resend_operator_event',
    path: `${OPERATOR}/{webhook_id}/resend`,
    summary: 'Send an event to any webhook again',
  }),
  operation({
    ...REPLAY,
    ...CHANGED_BY_OPERATORS,
    id: 'replay_operator_webhook',
    path: `${OPERATOR}/{webhook_id}/replay`,
    summary: 'Send the events of a period to any webhook again',
  }),
] as const;
