import { exampleReply } from '../../contract/examples.ts';
import type { OperationId } from '../../contract/operations.ts';
import type { Line } from './line.ts';

const URL = 'https://shop.example/webhooks';
const PERIOD = '--from 2026-01-30T22:00:00Z --to 2026-01-31';

const CREATE: Line = {
  type: `webhooks create ${URL} --type transfer.* --type card.created --order strict --after 0 --header A:b --rate 5`,
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
const LIST: Line = { type: 'webhooks list --limit 5', shows: `  ${URL}` };
const SHOW: Line = { type: 'webhooks show wh_1', shows: 'header_names: Authorization\n' };
const UPDATE: Line = {
  type: 'webhooks update wh_1 --status disabled --remove types,rate --remove-header A --header B:c --new-url https://b.example',
  sends: {
    status: 'disabled',
    types: null,
    rate: null,
    headers: { A: null, B: 'c' },
    url: 'https://b.example',
  },
  shows: 'Nothing is sent: the webhook was disabled by a request.\n',
};
const DELETE: Line = { type: 'webhooks delete wh_1', reply: { webhook_id: 'wh_1' }, shows: 'Deleted wh_1.' };
const ROLL: Line = {
  type: 'webhooks roll-secret wh_1 --previous-until 2030-01-31T12:00:00Z',
  sends: { previous_until: '2030-01-31T12:00:00Z' },
  shows: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n',
};
// test/cli/webhooks.test.ts has those that wait.
const TEST: Line = { type: 'webhooks test wh_1 --wait 0', shows: 'state:      waiting\n' };
const ATTEMPTS: Line = {
  type: 'webhooks attempts wh_1 --event evt_1 --failed',
  shows: 'transfer.completed  event    1  204 in 84 ms',
};
const RESEND: Line = {
  type: 'webhooks resend wh_1 --event evt_1 --wait 0',
  sends: { event_id: 'evt_1' },
  shows: 'state:      waiting\n',
};
const REPLAY: Line = {
  type: `webhooks replay wh_1 ${PERIOD}`,
  sends: { from: '2026-01-30T22:00:00Z', to: '2026-01-31T00:00:00Z', only: 'failed' },
  shows: 'from:           2026-01-30 22:00:00 UTC\n',
};

/** The same command on any webhook. */
function ofOperators({ type, ...line }: Line): Line {
  return { ...line, type: `${type} --operator` };
}

/** The commands of operations on webhooks. */
export const WEBHOOK_LINES = {
  create_webhook: CREATE,
  list_webhooks: LIST,
  get_webhook: SHOW,
  update_webhook: UPDATE,
  delete_webhook: DELETE,
  roll_webhook_secret: ROLL,
  test_webhook: TEST,
  list_webhook_attempts: ATTEMPTS,
  resend_event: RESEND,
  replay_webhook: REPLAY,
  create_operator_webhook: {
    ...CREATE,
    type: `${CREATE.type} --operator --program prog_1`,
    sends: { ...CREATE.sends, program_id: 'prog_1' },
  },
  list_operator_webhooks: {
    type: 'webhooks list --operator --status paused --program prog_1',
    reply: {
      data: [{ ...Object(exampleReply('get_webhook')), program_id: null, status: 'paused', status_reason: null }],
    },
    shows: `${URL}  all card programs\n`,
  },
  get_operator_webhook: ofOperators(SHOW),
  update_operator_webhook: ofOperators(UPDATE),
  delete_operator_webhook: ofOperators(DELETE),
  roll_operator_webhook_secret: ofOperators(ROLL),
  test_operator_webhook: ofOperators(TEST),
  list_operator_webhook_attempts: ofOperators(ATTEMPTS),
  resend_operator_event: ofOperators(RESEND),
  replay_operator_webhook: ofOperators(REPLAY),
} as const satisfies Partial<Record<OperationId, Line>>;

/** Operations whose command says on standard error what to do next. */
export const WEBHOOK_ADVICE: readonly OperationId[] = [
  'create_webhook',
  'create_operator_webhook',
  'roll_webhook_secret',
  'roll_operator_webhook_secret',
  'replay_webhook',
  'replay_operator_webhook',
];
