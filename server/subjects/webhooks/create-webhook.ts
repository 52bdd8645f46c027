import { MAX_WEBHOOKS } from '../../../contract/webhooks/requests.ts';
import { EVERY_PROGRAM } from '../../../domain/event.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Reply, schemaRefusal } from '../../calls/call.ts';
import { eventsExpired, loadProgram } from '../../calls/program.ts';
import { EVENT_VERSION } from '../../calls/records/event.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { readHeads, readOldestPosition, toHeads } from '../../store/events/event-positions.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import { insertSecret, type WebhookSecret } from '../../store/webhooks/secret.ts';
import {
  countWebhooks,
  insertState,
  insertWebhook,
  shardOf,
  type WebhookDetails,
} from '../../store/webhooks/webhook.ts';
import { auditOf } from '../audit/audit.ts';
import { keysOf } from './read-webhooks.ts';
import { toNewWebhookRecord, toWebhookRecord } from './record.ts';
import { checkUrl, readHeaders, readTypes, sealHeaders, type WebhookHeaders, type WebhookService } from './settings.ts';
import { newSecret } from './vault.ts';

type CreateId = 'create_webhook' | 'create_operator_webhook';

/** create_webhook: returns the webhook. Only this response contains the secret. A replay does not. */
export function createWebhook(service: WebhookService, call: Call<'create_webhook'>): Promise<Reply<CreateId>> {
  return create(service, call, readSettings(service, call), call.programId);
}

/** create_operator_webhook: works like create_webhook, for the program in the body or for the events of all programs. */
export async function createOperatorWebhook(
  service: WebhookService,
  call: Call<'create_operator_webhook'>,
): Promise<Reply<CreateId>> {
  const settings = readSettings(service, call);
  const { program_id: sentId } = call.body;
  const program = sentId === undefined ? undefined : await loadProgram(service, sentId);
  return create(service, call, settings, program?.programId ?? null);
}

/** The settings that the schema can validate only in part. */
type Settings = { readonly types: readonly string[] | null; readonly headers: WebhookHeaders };

function readSettings({ webhooks }: WebhookService, call: Call<CreateId>): Settings {
  const { url, types, headers } = call.body;
  const settings = {
    types: types === undefined ? null : readTypes(call, types),
    headers: readHeaders(call, headers ?? {}),
  };
  checkUrl(webhooks.rules, url);
  return settings;
}

async function create(
  service: WebhookService,
  call: Call<CreateId>,
  { types, headers }: Settings,
  programId: string | null,
): Promise<Reply<CreateId>> {
  const { vault, requireKeys, changed } = service.webhooks;
  const { body } = call;
  await requireKeys();
  const headOf = programId ?? EVERY_PROGRAM;
  const secret = newSecret();
  const reply = await transactUnderKey(service, call, {
    ...keysOf(call),
    names: [{ programId: programId ?? NO_PROGRAM, kind: 'webhooks', name: '' }],
    load: {
      count: countWebhooks(programId),
      heads: readHeads({ programIds: [headOf] }),
      oldest: readOldestPosition(programId ?? undefined),
    },
    decide: ({ count, heads, oldest }, { now }) => {
      if (Number(count[0]?.count) >= MAX_WEBHOOKS) throw tooMany(programId);
      const head = toHeads(heads).get(headOf) ?? 0;
      const cursor = readStart(call, headOf, { head, oldest: Number(oldest[0]?.oldest) });
      const webhookId = idAt(now);
      const createdAt = new Date(now);
      const stored: WebhookSecret = {
        secretId: idAt(now),
        webhookId,
        programId,
        sealed: vault.seal(secret, webhookId),
        createdAt,
        expiresAt: null,
      };
      const webhook: WebhookDetails = {
        webhookId,
        programId,
        url: body.url,
        description: body.description ?? null,
        types,
        payload: body.payload ?? 'full',
        deliveryOrder: body.order ?? 'parallel',
        concurrency: body.concurrency ?? DEFAULT_CONCURRENCY,
        rate: body.rate ?? null,
        ...sealHeaders(vault, webhookId, headers),
        version: EVENT_VERSION,
        createdAt,
        updatedAt: createdAt,
        ...NEW_STATE,
        cursor,
        backlog: head - cursor,
        secrets: [{ secretId: stored.secretId, createdAt: now, expiresAt: null }],
      };
      const shown = toWebhookRecord(webhook);
      const writes = [
        insertWebhook(webhook),
        insertState({ webhookId, programId, shard: shardOf(webhookId), cursor }),
        insertSecret(stored),
        ...auditOf(call, { programId, subjectId: shown.webhook_id, details: JSON.stringify(shown) }),
      ];
      return {
        record: toNewWebhookRecord(webhook, secret),
        stored: toNewWebhookRecord(webhook, null),
        subjectId: webhookId,
        writes,
      };
    },
  });
  changed();
  return reply;
}

const DEFAULT_CONCURRENCY = 10;

const NEW_STATE = {
  status: 'enabled',
  statusReason: null,
  failures: 0,
  failingSince: null,
  lastSuccessAt: null,
  lastFailureAt: null,
  nextProbeAt: null,
  nextRetryAt: null,
  retries: 0,
  dead: 0,
  replay: null,
} as const;

/** Returns the start: the webhook gets the events after this position (or number). */
function readStart(
  call: Call<CreateId>,
  headOf: string,
  { head, oldest }: { readonly head: number; readonly oldest: number },
): number {
  const { after } = call.body;
  if (after === undefined) return head;
  if (after === 0) return oldest - 1;
  if (after < oldest - 1) throw eventsExpired(headOf, after, oldest);
  if (after <= head) return after;
  throw schemaRefusal(
    call,
    `'after' is ${after}, but the last event has ${headOf === EVERY_PROGRAM ? 'number' : 'position'} ${head}.`,
    '/after',
  );
}

function tooMany(programId: string | null): Refusal {
  const message =
    programId === null
      ? `Operators already have ${MAX_WEBHOOKS} webhooks that belong to no card program, which is the maximum.`
      : `The card program already has ${MAX_WEBHOOKS} webhooks, which is the maximum.`;
  return new Refusal('webhook_limit', `${message} Delete one that is no longer used.`);
}
