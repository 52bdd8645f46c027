import { call, errorCode } from '../error.ts';

const URL = 'https://shop.example/webhooks';
const PERIOD = { from: '2026-01-30T22:00:00Z', to: '2026-01-31T06:00:00Z', only: 'failed' } as const;

export const WEBHOOK_ERRORS = {
  webhook_not_found: errorCode({
    status: 404,
    problem: 'Add, change or replay a webhook',
    meaning: 'The webhook does not exist, or is not visible to this key.',
    causes: [
      'The webhook id is misspelled, or the webhook was deleted.',
      'The webhook belongs to another card program, or to operators.',
    ],
    resolution: 'Check the webhook id. GET /api/v0.1/core/webhook lists the webhooks of the card program.',
    alsoCalled: 'unknown webhook, no such webhook, webhook does not exist, webhook deleted',
    sample: {
      reproduce: 'Get the webhook "wh_missing".',
      request: call('get_webhook', { params: { webhook_id: 'wh_missing' } }),
      message: "There is no webhook 'wh_missing' in this card program. A webhook id is wh_ and 32 hex digits.",
    },
  }),
  webhook_url_refused: errorCode({
    status: 400,
    problem: 'Add, change or replay a webhook',
    meaning: 'The service does not send events to this URL.',
    causes: [
      'The URL is not absolute, does not begin with https:// or http://, or contains a user name or a password.',
      'In live mode: the URL begins with http://, or its port is not 443 or 8443.',
      'The host is an address in a private or reserved network that is not in WEBHOOK_ALLOWED_NETWORKS.',
    ],
    resolution:
      'Send the public https URL of your receiver; a sandbox also accepts one on its own machine, such as ' +
      'http://localhost:3000/hooks. Operators can allow further networks with WEBHOOK_ALLOWED_NETWORKS.',
    support: {
      tell: 'The service does not send events to this URL. The message says why.',
      next: 'Ask an operator to allow the network if the receiver should be there. Otherwise, the customer needs a public https URL.',
    },
    alsoCalled:
      'webhook to localhost, localhost webhook, private address, private network, internal ip, ssrf, webhook url ' +
      'not allowed, wrong webhook url, invalid webhook url, http webhook',
    sample: {
      reproduce: 'Create a webhook with the URL "ftp://shop.example/webhooks".',
      request: call('create_webhook', { body: { url: 'ftp://shop.example/webhooks' } }),
      message: 'The URL must begin with https:// or http://.',
      field: '/url',
    },
  }),
  webhook_limit: errorCode({
    status: 409,
    problem: 'Add, change or replay a webhook',
    meaning: 'There are already 20 webhooks, which is the maximum for one card program and for operators.',
    causes: ['The card program has 20 webhooks, or operators have 20 that belong to no card program.'],
    resolution: 'Delete a webhook that is no longer used, or send further events from your receiver.',
    alsoCalled: 'too many webhooks, maximum number of webhooks, webhook quota',
    sample: {
      reproduce: 'Create 21 webhooks.',
      given: 'a card program with 20 webhooks',
      request: call('create_webhook', { body: { url: URL } }),
      shell: `for i in $(seq 21); do curl -i '{base}/api/v0.1/core/webhook' -d '{"url": "${URL}"}'; done`,
      message: 'The card program already has 20 webhooks, which is the maximum. Delete one that is no longer used.',
    },
  }),
  invalid_webhook_status: errorCode({
    status: 409,
    problem: 'Add, change or replay a webhook',
    meaning: "The webhook's status does not allow this action.",
    causes: ['A replay was requested for a webhook that is disabled.'],
    resolution: 'Enable the webhook, then create the replay.',
    alsoCalled: 'webhook disabled, disabled webhook, webhook is off',
    sample: {
      reproduce: 'Create a webhook, disable it, then replay events.',
      given: [call('create_webhook', { body: { url: URL } }), call('update_webhook', { body: { status: 'disabled' } })],
      request: call('replay_webhook', { body: PERIOD }),
      after: [call('delete_webhook')],
      message: 'The webhook is disabled, and a disabled webhook is sent nothing. Enable it first.',
    },
  }),
  replay_running: errorCode({
    status: 409,
    problem: 'Add, change or replay a webhook',
    meaning: 'The webhook already has a replay that is running.',
    causes: ['The earlier replay has not sent all its events yet.'],
    resolution: 'Wait until the `state` of the replay is completed, or disable the webhook, which cancels the replay.',
    alsoCalled: 'replay already running, replay in progress, two replays',
    sample: {
      reproduce: 'Replay the events of a webhook twice.',
      given: 'a replay that does not end',
      request: call('replay_webhook', { body: PERIOD }),
      message: "The replay 'rpl_0196f5c2d9a67c43964be2d7180fa35c' of the webhook is still running.",
    },
  }),
};
