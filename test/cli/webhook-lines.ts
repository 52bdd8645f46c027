import { exampleReply } from '../../contract/examples.ts';
import type { OperationId } from '../../contract/operations.ts';
import type { Line } from './line.ts';

const URL = 'https://shop.example/webhooks';

const CREATE: Line = {
  sends: {
    url: URL,
    types: ['transfer.*', 'card.created'],
    order: 'strict',
    after: 0,
    headers: { A: 'b' },
    rate: 5,
  },
  shows: ' whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n',
};
const LIST: Line = { shows: `  ${URL}` };
const SHOW: Line = { shows: 'header_names: Authorization\n' };
const UPDATE: Line = {
  sends: {
    status: 'disabled',
    types: null,
    rate: null,
    headers: { A: null, B: 'c' },
    url: 'https://b.example',
  },
  shows: 'Nothing is sent: the webhook was disabled by a request.\n',
};
const DELETE: Line = { reply: { webhook_id: 'wh_1' }, shows: 'Deleted wh_1.' };
const ROLL: Line = {
  sends: { previous_until: '2030-01-31T12:00:00Z' },
  shows: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n',
};
const TEST: Line = { shows: 'state:      waiting\n' };
const ATTEMPTS: Line = { shows: 'transfer.completed  event    1  204 in 84 ms' };
const FAILURES: Line = { shows: 'wh_' };
const RESEND: Line = {
  sends: { event_id: 'evt_1' },
  shows: 'state:      waiting\n',
};
const REPLAY: Line = {
  sends: { from: '2026-01-30T22:00:00Z', to: '2026-01-31T00:00:00Z', only: 'failed' },
  shows: 'from:           2026-01-30 22:00:00 UTC\n',
};

/** Responses, requests and output of the webhook commands. */
export const WEBHOOK_LINES = {
  create_webhook: CREATE,
  list_webhooks: LIST,
  get_webhook: SHOW,
  update_webhook: UPDATE,
  delete_webhook: DELETE,
  roll_webhook_secret: ROLL,
  test_webhook: TEST,
  list_webhook_attempts: ATTEMPTS,
  list_failed_attempts: FAILURES,
  resend_event: RESEND,
  replay_webhook: REPLAY,
  create_operator_webhook: {
    ...CREATE,
    sends: { ...CREATE.sends, program_id: 'prog_1' },
  },
  list_operator_webhooks: {
    reply: {
      data: [{ ...Object(exampleReply('get_webhook')), program_id: null, status: 'paused', status_reason: null }],
    },
    shows: `${URL}  all card programs\n`,
  },
  get_operator_webhook: SHOW,
  update_operator_webhook: UPDATE,
  delete_operator_webhook: DELETE,
  roll_operator_webhook_secret: ROLL,
  test_operator_webhook: TEST,
  list_operator_webhook_attempts: ATTEMPTS,
  list_operator_failed_attempts: FAILURES,
  resend_operator_event: RESEND,
  replay_operator_webhook: REPLAY,
} as const satisfies Partial<Record<OperationId, Line>>;

/** Operations whose command prints the next step on standard error. */
export const WEBHOOK_ADVICE: readonly OperationId[] = [
  'create_webhook',
  'create_operator_webhook',
  'roll_webhook_secret',
  'roll_operator_webhook_secret',
  'replay_webhook',
  'replay_operator_webhook',
];
