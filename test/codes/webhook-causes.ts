import type { OperationId } from '../../contract/operations.ts';
import { type Attempt, twice, withQuery, wrongly } from './real-cause.ts';

const BAD_SETTINGS: readonly object[] = [
  { types: [] },
  { types: 'transfer.*' },
  { types: ['transfer.gone'] },
  { types: [1] },
  { types: ['*'] },
  { payload: 'none' },
  { order: 'random' },
  { concurrency: 0 },
  { concurrency: 101 },
  { rate: 0 },
  { headers: 'Authorization: x' },
  { headers: { Authorization: 1 } },
  { headers: { 'not a token': 'x' } },
  { headers: { Host: 'other.example' } },
  { headers: { 'content-LENGTH': '1' } },
  { headers: { 'Webhook-Id': 'x' } },
  { headers: { 'X-Key': 'a\r\nb' } },
  { headers: { 'X-Key': 'ä' } },
  { headers: { 'X-Key': ' a' } },
  { headers: { 'X-Key': 'a', 'x-key': 'b' } },
  { headers: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`X-${at}`, 'x'])) },
  { event_types: ['transfer.*'] },
];

const BAD_PERIODS: readonly object[] = [
  { from: 'yesterday' },
  { to: '2026-01-30T22:00:00Z' },
  { only: 'some' },
  { only: null },
];

/** Requests of the wrong form, by operation. */
export const WEBHOOK_SCHEMA_CAUSES = {
  create_webhook: wrongly(
    'create_webhook',
    { url: null },
    { types: null },
    { after: -1 },
    { after: '' },
    { after: 99_999_999 },
    { program_id: 'prog_1' },
    ...BAD_SETTINGS,
  ),
  list_webhooks: ['limit=0', 'cursor=x'].map((query) => withQuery('list_webhooks', query)),
  get_webhook: twice('get_webhook'),
  update_webhook: wrongly(
    'update_webhook',
    { url: null },
    { status: 'paused' },
    { resume: 'now' },
    { status: 'disabled', resume: 'backlog' },
    ...BAD_SETTINGS,
  ),
  delete_webhook: twice('delete_webhook'),
  roll_webhook_secret: wrongly('roll_webhook_secret', { previous_until: 'tomorrow' }, { previous_until: null }),
  test_webhook: twice('test_webhook'),
  list_webhook_attempts: ['limit=0', 'cursor=x', 'event_id=x', 'succeeded=yes'].map((query) =>
    withQuery('list_webhook_attempts', query),
  ),
  resend_event: wrongly('resend_event', { event_id: null }, { event_id: 1 }),
  replay_webhook: wrongly('replay_webhook', ...BAD_PERIODS),
  create_operator_webhook: wrongly(
    'create_operator_webhook',
    { url: '' },
    { program_id: null },
    { programs: 'prog_1' },
    ...BAD_SETTINGS,
  ),
  list_operator_webhooks: ['limit=0', 'program_id=x', 'status=gone'].map((query) =>
    withQuery('list_operator_webhooks', query),
  ),
  get_operator_webhook: twice('get_operator_webhook'),
  update_operator_webhook: wrongly('update_operator_webhook', { status: 'gone' }, { resume: 'now' }),
  delete_operator_webhook: twice('delete_operator_webhook'),
  roll_operator_webhook_secret: wrongly('roll_operator_webhook_secret', { previous_until: 1 }),
  test_operator_webhook: twice('test_operator_webhook'),
  list_operator_webhook_attempts: ['limit=101', 'succeeded=x'].map((query) =>
    withQuery('list_operator_webhook_attempts', query),
  ),
  resend_operator_event: wrongly('resend_operator_event', { event_id: '' }),
  replay_operator_webhook: wrongly('replay_operator_webhook', ...BAD_PERIODS),
} satisfies Partial<Readonly<Record<OperationId, readonly Attempt[]>>>;
