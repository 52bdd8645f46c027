import { randomUUID } from 'node:crypto';
import { exampleOf } from '../../contract/examples.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { MAX_WEBHOOKS } from '../../contract/webhooks/requests.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import type { TransferService } from '../../sdk/client.ts';
import { startWebhookTarget } from '../cli/webhook-target.ts';
import { waitFor } from '../harness/process.ts';
import {
  type Attempt,
  about,
  byRequests,
  type RealCause,
  type Result,
  runAll,
  runRefused,
  twice,
  withMembers,
  withQuery,
  wrongly,
} from './real-cause.ts';
import { sampleRequest } from './sample.ts';
import { toRequest } from './send.ts';
import type { World } from './world.ts';

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

/** A URL that leads nowhere. */
const URL = 'https://shop.example/webhooks';
const PERIOD = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', only: 'all' } as const;

/** Runs something about new webhooks, whose ids it gets, and then deletes them. */
async function withWebhooks<Outcome>(
  client: TransferService,
  count: number,
  run: (ids: readonly string[]) => Promise<Outcome>,
): Promise<Outcome> {
  const ids: string[] = [];
  try {
    while (ids.length < count) ids.push((await client.webhooks.create({ url: URL })).webhook_id);
    return await run(ids);
  } finally {
    for (const id of ids) await client.webhooks.delete(id);
  }
}

/** A cause that is requests about a new webhook. */
function aboutWebhook(code: SharedCode, attempts: (webhookId: string) => readonly Attempt[]): RealCause {
  return {
    run: (world) => withWebhooks(world.sandbox.client, 1, ([id = '']) => runRefused(world, code, attempts(id))),
  };
}

const IS_ABOUT_WEBHOOK = OPERATION_IDS.filter((id) => OPERATIONS[id].path.includes('{webhook_id}'));
const URLS = [
  'shop.example/webhooks',
  'https://',
  'https://user:password@shop.example/',
  'http://10.0.0.1/',
  'http://169.254.169.254/latest',
  'http://[fd00::1]/',
];

/** Causes of the codes of webhooks. */
export const WEBHOOK_CAUSES = {
  webhook_not_found: byRequests(
    'webhook_not_found',
    IS_ABOUT_WEBHOOK.map((operation) => ({ operation, request: toRequest(exampleOf(operation)) })),
  ),
  webhook_url_refused: byRequests(
    'webhook_url_refused',
    URLS.flatMap((url) => [
      withMembers('create_webhook', { url }),
      withMembers('create_operator_webhook', { url }),
      withMembers('update_webhook', { url }),
      withMembers('update_operator_webhook', { url }),
    ]),
  ),
  webhook_limit: { run: runLimit },
  invalid_webhook_status: {
    run: (world) =>
      withWebhooks(world.sandbox.client, 1, async ([id = '']) => {
        await world.sandbox.client.webhooks.update(id, { status: 'disabled' });
        return runRefused(world, 'invalid_webhook_status', [
          about('replay_webhook', id, PERIOD),
          about('replay_operator_webhook', id, PERIOD),
        ]);
      }),
  },
  replay_running: { run: runReplays },
} as const satisfies Partial<Record<SharedCode, RealCause>>;

/** An event that does not exist is to be sent again. */
export const RESENT_WITHOUT_EVENT = aboutWebhook('event_not_found', (id) =>
  (['resend_event', 'resend_operator_event'] as const).flatMap((operation) => [
    about(operation, id, { event_id: 'evt_missing' }),
    about(operation, id, { event_id: `evt_${'0'.repeat(32)}` }),
  ]),
);

/** Requests under keys that were used before, each by its own operation, for something else. */
export const REUSED_KEYS: RealCause = {
  run: (world) =>
    withWebhooks(world.sandbox.client, 2, async ([first = '', second = '']) => {
      const { client } = world.sandbox;
      const idempotencyKey = randomUUID();
      const headers = { 'Idempotency-Key': idempotencyKey };
      // Events get their positions a moment later.
      const events = async () => (await client.events.list({ limit: 2 })).data;
      await waitFor('two events', async () => (await events()).length === 2);
      const [event, other] = (await events()).map(({ event_id }) => ({ event_id }));
      if (event === undefined || other === undefined) throw new Error('there are no two events');
      const attempts: Attempt[] = [];
      for (const [webhooks, infix] of [
        [client.webhooks, ''],
        [client.operatorWebhooks, 'operator_'],
      ] as const) {
        const { webhook_id: created } = await webhooks.create({ url: URL }, { idempotencyKey });
        await webhooks.rollSecret(first, {}, { idempotencyKey });
        await webhooks.test(first, { idempotencyKey });
        await webhooks.resend(first, event, { idempotencyKey });
        await webhooks.replay(infix === '' ? first : second, PERIOD, { idempotencyKey });
        await webhooks.delete(created);
        attempts.push(
          withMembers(`create_${infix}webhook`, { url: `${URL}/2` }, headers),
          about(`roll_${infix}webhook_secret`, second, {}, headers),
          about(`test_${infix}webhook`, second, undefined, headers),
          about(`resend_${infix}event`, first, other, headers),
          about(`replay_${infix}webhook`, first, { ...PERIOD, only: 'failed' }, headers),
        );
      }
      return runRefused(world, 'idempotency_key_exists', attempts);
    }),
};

/** As many webhooks as a card program, and operators, can have. */
function runLimit(world: World): Promise<readonly Result[]> {
  const { url, client } = world.sandbox;
  const code = 'webhook_limit';
  return withWebhooks(client, MAX_WEBHOOKS, async () => {
    const request = sampleRequest(code);
    const [sample] = await runAll(url, code, [{ operation: 'create_webhook', request }]);
    const { program_id } = (await client.webhooks.list({ limit: 1 })).data[0] ?? {};
    // A refusal is stored under its key.
    const keyed = () => ({ 'Idempotency-Key': randomUUID() });
    const ofProgram = withMembers('create_operator_webhook', { program_id }, keyed());
    const results = await runRefused(world, code, [withMembers('create_webhook', {}, keyed()), ofProgram]);
    const ids: string[] = [];
    while (ids.length < MAX_WEBHOOKS) ids.push((await client.operatorWebhooks.create({ url: URL })).webhook_id);
    const ofOperators = await runRefused(world, code, [withMembers('create_operator_webhook', {}, keyed())]);
    for (const id of ids) await client.operatorWebhooks.delete(id);
    return [...(sample === undefined ? [] : [{ ...sample, isSample: true }]), ...results, ...ofOperators];
  });
}

/** A replay that does not end: its receiver never responds. */
async function runReplays(world: World): Promise<readonly Result[]> {
  const { url, client } = world.sandbox;
  const code = 'replay_running';
  const target = await startWebhookTarget();
  target.respond = () => new Promise(() => undefined);
  const { webhook_id: id } = await client.webhooks.create({ url: target.url, order: 'strict' });
  try {
    await client.webhooks.replay(id, PERIOD);
    const sample = sampleRequest(code);
    const request = { ...sample, path: sample.path.replace('{webhook_id}', id) };
    const results = await runAll(url, code, [{ operation: 'replay_webhook', request }]);
    const others = [about('replay_webhook', id, PERIOD), about('replay_operator_webhook', id, PERIOD)];
    return [...results.map((one) => ({ ...one, isSample: true })), ...(await runRefused(world, code, others))];
  } finally {
    await client.webhooks.delete(id);
    await target.cut();
  }
}
