import { call } from '../error.ts';
import { EXAMPLE_LATER, EXAMPLE_TIME } from '../samples.ts';
import { EXAMPLE_WEBHOOK, WebhookRecord } from '../webhooks/records.ts';
import { eventType } from './definition.ts';

const WEBHOOK = {
  data: WebhookRecord,
  subject: 'webhook_id',
  operation: 'get_webhook',
} as const;
const CREATE = call('create_webhook', { body: { url: EXAMPLE_WEBHOOK.url } });
const FAILING = {
  ...EXAMPLE_WEBHOOK,
  status: 'paused',
  status_reason: 'failing',
  backlog: 7,
  failures: 16,
  failing_since: EXAMPLE_TIME,
  last_failure_at: EXAMPLE_LATER,
  next_attempt_at: '2026-01-31T10:45:00.000Z',
} as const;
const TO_OTHERS =
  'The webhook itself gets this event only when it works again. Other webhooks and readers of events get it at once.';
const WHAT_TO_DO = 'The guide at /guides/webhooks-runbook says what to do.';

export const WEBHOOK_EVENTS = {
  'webhook.tested': eventType({
    ...WEBHOOK,
    summary: 'A test of a webhook was requested.',
    sent: [
      'test_webhook succeeds. Only the webhook itself gets the event, even if it is disabled or does not select the type.',
    ],
    listed: false,
    notes: [
      'The event is not among the events of the card program: get_event does not find it, and its position is 0.',
    ],
    example: EXAMPLE_WEBHOOK,
    sample: {
      reproduce: 'Create a webhook, then test it.',
      given: [CREATE],
      request: call('test_webhook'),
      after: [call('delete_webhook')],
    },
  }),
  'webhook.failing': eventType({
    ...WEBHOOK,
    summary: 'Nothing could be delivered to a webhook for an hour.',
    sent: ['Every delivery for an hour has failed. The event is not sent again until a delivery has succeeded.'],
    notes: [TO_OTHERS, "The event of an operators' webhook is among the events of the service itself.", WHAT_TO_DO],
    example: FAILING,
    sample: {
      reproduce: 'Create a webhook whose URL fails, cause an event, and wait for an hour.',
      takes: 'an hour',
      given: [CREATE],
      request: call('create_card', { body: {} }),
      after: [call('delete_webhook')],
    },
  }),
  'webhook.disabled': eventType({
    ...WEBHOOK,
    summary: 'A webhook was disabled: nothing more is sent to it.',
    sent: [
      'update_webhook disables the webhook. `status_reason` is then `requested`.',
      'The URL responded with 410 (`gone`), or everything has failed for 120 hours (`failing`).',
    ],
    notes: [TO_OTHERS, 'update_webhook enables it again, with or without the events that it missed.', WHAT_TO_DO],
    example: { ...EXAMPLE_WEBHOOK, status: 'disabled', status_reason: 'requested', updated_at: EXAMPLE_LATER },
    sample: {
      reproduce: 'Create a webhook, then disable it.',
      given: [CREATE],
      request: call('update_webhook', { body: { status: 'disabled' } }),
      after: [call('delete_webhook')],
    },
  }),
};
