import { randomUUID } from 'node:crypto';
import type { OperationId } from '../../contract/operations.ts';
import { MAX_WEBHOOKS } from '../../contract/webhooks/requests.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import type { TransferService } from '../../sdk/client.ts';
import { startWebhookTarget } from '../cli/webhook-target.ts';
import {
  type Attempt,
  about,
  aboutNone,
  byRequests,
  NO_ID,
  type RealCause,
  type Result,
  runAll,
  runRefused,
  withMembers,
} from './real-cause.ts';
import { sampleRequest } from './sample.ts';
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

/** Invalid bodies. `operation-causes.ts` also sends null for each required field of every operation. */
export const WEBHOOK_BODIES = {
  create_webhook: [
    { types: null },
    { after: -1 },
    { after: '' },
    { after: 99_999_999 },
    { program_id: 'prog_1' },
    ...BAD_SETTINGS,
  ],
  update_webhook: [
    { url: null },
    { status: 'paused' },
    { resume: 'now' },
    { status: 'disabled', resume: 'backlog' },
    ...BAD_SETTINGS,
  ],
  roll_webhook_secret: [{ previous_until: 'tomorrow' }, { previous_until: null }],
  resend_event: [{ event_id: 1 }],
  replay_webhook: BAD_PERIODS,
  create_operator_webhook: [{ url: '' }, { program_id: null }, { programs: 'prog_1' }, ...BAD_SETTINGS],
  update_operator_webhook: [{ status: 'gone' }, { resume: 'now' }],
  roll_operator_webhook_secret: [{ previous_until: 1 }],
  resend_operator_event: [{ event_id: '' }],
  replay_operator_webhook: BAD_PERIODS,
} satisfies Partial<Readonly<Record<OperationId, readonly object[]>>>;

/** A URL without a receiver. */
const URL = 'https://shop.example/webhooks';
const PERIOD = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', only: 'all' } as const;

/** Runs a function with the ids of new webhooks, and then deletes them. */
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

/** A cause that consists of requests about a new webhook. */
function aboutWebhook(code: SharedCode, attempts: (webhookId: string) => readonly Attempt[]): RealCause {
  return {
    run: (world) => withWebhooks(world.sandbox.client, 1, ([id = '']) => runRefused(world, code, attempts(id))),
  };
}

const URLS = [
  'shop.example/webhooks',
  'https://',
  'https://user:password@shop.example/',
  'http://10.0.0.1/',
  'http://169.254.169.254/latest',
  'http://[fd00::1]/',
];

export const WEBHOOK_CAUSES = {
  webhook_not_found: aboutNone('webhook_not_found', 'webhook_id', `wh_${NO_ID}`, 'wh_missing'),
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

/** Resends an event that does not exist. */
export const RESENT_WITHOUT_EVENT = aboutWebhook('event_not_found', (id) =>
  (['resend_event', 'resend_operator_event'] as const).flatMap((operation) => [
    about(operation, id, { event_id: 'evt_missing' }),
    about(operation, id, { event_id: `evt_${'0'.repeat(32)}` }),
  ]),
);

/** Creates the maximum number of webhooks for a card program and for operators, and tries to create more. */
function runLimit(world: World): Promise<readonly Result[]> {
  const { url, client } = world.sandbox;
  const code = 'webhook_limit';
  return withWebhooks(client, MAX_WEBHOOKS, async () => {
    const request = sampleRequest(code);
    const [sample] = await runAll(url, code, [{ operation: 'create_webhook', request }]);
    const { program_id } = (await client.webhooks.list({ limit: 1 })).data[0] ?? {};
    // Each request needs a new key, because a refusal is stored under its key.
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

/** Starts further replays during one that never ends, because its receiver never responds. */
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
