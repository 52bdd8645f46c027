import { isDeepStrictEqual } from 'node:util';
import type { WebhookRecord } from '../../../contract/webhooks/records.ts';
import { type Call, type RecordReply, type Reply, schemaRefusal } from '../../calls/call.ts';
import { checkVersion } from '../../calls/version.ts';
import { transact } from '../../commit/transaction.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { idAt } from '../../foundation/ids.ts';
import type { Decision, Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { deleteOtherSecrets, expireSecrets, insertSecret } from '../../store/webhooks/secret.ts';
import {
  cancelReplay,
  deleteWebhook as deleteStatement,
  disableWebhook,
  enableWebhook,
  giveUpRetries,
  lockWebhook,
  probeNow,
  readWebhook,
  type StoredSecret,
  type Webhook,
  type WebhookDetails,
  updateWebhook as writeWebhook,
} from '../../store/webhooks/webhook.ts';
import { auditOf } from '../audit/audit.ts';
import { foundWebhook, keysOf, programOf, webhookIdOf } from './read-webhooks.ts';
import { toNewWebhookRecord, toWebhookRecord } from './record.ts';
import {
  changeHeaders,
  checkUrl,
  openHeaders,
  readHeaders,
  readTypes,
  sealHeaders,
  type WebhookService,
} from './settings.ts';
import { newSecret, type Vault } from './vault.ts';

type UpdateId = 'update_webhook' | 'update_operator_webhook';
type UpdateCall = Call<UpdateId>;

type Updated = RecordReply<WebhookRecord>;

type StatusChange = { readonly after: WebhookDetails; readonly writes: readonly Statement[] };

/**
 * update_webhook and update_operator_webhook: return the webhook. The body is a merge patch: omitted fields stay unchanged. The
 * process that delivers reads the webhook again, either immediately or with its next poll.
 */
export async function updateWebhook(service: WebhookService, call: UpdateCall): Promise<Reply<UpdateId>> {
  const { vault, requireKeys, changed } = service.webhooks;
  checkChange(service, call);
  const webhookId = webhookIdOf(call);
  const programId = programOf(call);
  if (call.body.headers !== undefined) await requireKeys();
  const load = {
    lock: lockWebhook(webhookId, programId),
    clock: READ_SWITCH,
    webhook: readWebhook(webhookId, programId),
  };
  const reply = await transact(service.database, call.deadline, load, (loaded, batchId): Decision<Updated> => {
    const before = foundWebhook(call, loaded.webhook);
    const { now } = toSwitchReading(loaded.clock);
    const changedSettings = { ...before, ...settingsAfter(vault, call, before) };
    checkVersion(call.ifMatch, 'webhook', toWebhookRecord(before));
    const status = changeStatus(call, before, changedSettings, new Date(now));
    if (isDeepStrictEqual(changedSettings, before) && status.writes.length === 0) {
      return { result: { record: toWebhookRecord(before) }, writes: [] };
    }
    const after = { ...status.after, updatedAt: new Date(now) };
    const record = toWebhookRecord(after);
    const json = JSON.stringify(record);
    const { programId: ofProgram } = before;
    const isDisabled = after.status === 'disabled' && before.status !== 'disabled';
    const event = {
      type: 'webhook.disabled' as const,
      programId: ofProgram,
      subjectId: record.webhook_id,
      payload: json,
    };
    const details = JSON.stringify({ ...record, change: withoutHeaderValues(call.body) });
    const writes = [
      writeWebhook(after),
      ...status.writes,
      ...(isDisabled ? [insertEvents(batchId, [event], now, call)] : []),
      ...auditOf(call, { programId: ofProgram, subjectId: record.webhook_id, details }),
    ];
    return { result: { record, json }, writes };
  });
  changed();
  return reply;
}

/** Refuses a change that would be invalid for every webhook. */
function checkChange({ webhooks }: WebhookService, call: UpdateCall): void {
  const { url, types, headers, status, resume } = call.body;
  if (Array.isArray(types)) readTypes(call, types);
  readHeaders(call, headers ?? {});
  if (resume !== undefined && status !== 'enabled') {
    const message =
      "'resume' can only be sent with 'status': 'enabled'. It says with which events the webhook continues.";
    throw schemaRefusal(call, message, '/resume');
  }
  if (url !== undefined) checkUrl(webhooks.rules, url);
}

function settingsAfter(vault: Vault, call: UpdateCall, before: WebhookDetails): Partial<Webhook> {
  const { url, description, types, payload, order, concurrency, rate, headers } = call.body;
  return {
    ...(url === undefined ? {} : { url }),
    ...(description === undefined ? {} : { description }),
    ...(types === undefined ? {} : { types: types === null ? null : readTypes(call, types) }),
    ...(payload === undefined ? {} : { payload }),
    ...(order === undefined ? {} : { deliveryOrder: order }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
    ...(headers === undefined
      ? {}
      : sealHeaders(vault, before.webhookId, changeHeaders(call, openHeaders(vault, before), headers))),
  };
}

/**
 * Returns the change of the status. If a paused webhook is enabled, its oldest event is sent immediately, and the webhook stays
 * paused until an event is delivered. With `resume: now`, there is nothing to send, so it is enabled immediately.
 */
function changeStatus(call: UpdateCall, before: WebhookDetails, after: WebhookDetails, now: Date): StatusChange {
  const { status, resume } = call.body;
  const { webhookId } = before;
  if (status === 'disabled' && before.status !== 'disabled') {
    const replay =
      before.replay?.state === 'running'
        ? { ...before.replay, state: 'canceled' as const, finishedAt: now.getTime() }
        : before.replay;
    return {
      after: { ...after, status: 'disabled', statusReason: 'requested', nextProbeAt: null, replay },
      writes: [disableWebhook(webhookId, 'requested'), cancelReplay(webhookId, now)],
    };
  }
  const isEnabled = status === 'enabled' && before.status !== 'enabled';
  if (isEnabled && resume === 'now') {
    const { cursor, backlog, retries, dead } = before;
    const begun = { cursor: cursor + backlog, backlog: 0, retries: 0, dead: dead + retries, nextRetryAt: null };
    return {
      after: { ...after, ...ENABLED, ...begun },
      writes: [enableWebhook(webhookId, begun.cursor), giveUpRetries(webhookId)],
    };
  }
  if (isEnabled && before.status === 'disabled') {
    return { after: { ...after, ...ENABLED }, writes: [enableWebhook(webhookId, null)] };
  }
  if (before.status !== 'paused' || (!isEnabled && after.url === before.url)) return { after, writes: [] };
  const nextProbeAt = new Date(databaseTime());
  return { after: { ...after, nextProbeAt }, writes: [probeNow(webhookId, nextProbeAt)] };
}

const ENABLED = {
  status: 'enabled',
  statusReason: null,
  failures: 0,
  failingSince: null,
  nextProbeAt: null,
} as const;

/** Returns the change for the audit log. It contains only the names of the headers, not their values. */
function withoutHeaderValues({ headers, ...change }: UpdateCall['body']): object {
  return headers === undefined || headers === null
    ? { ...change, headers }
    : { ...change, headers: Object.keys(headers) };
}

type DeleteId = 'delete_webhook' | 'delete_operator_webhook';

/** delete_webhook and delete_operator_webhook: return the last record of the webhook. Requests in flight may still arrive. */
export async function deleteWebhook(service: WebhookService, call: Call<DeleteId>): Promise<Reply<DeleteId>> {
  const webhookId = webhookIdOf(call);
  const programId = programOf(call);
  const load = { lock: lockWebhook(webhookId, programId), webhook: readWebhook(webhookId, programId) };
  const reply = await transact(service.database, call.deadline, load, ({ webhook: rows }) => {
    const webhook = foundWebhook(call, rows);
    const record = toWebhookRecord(webhook);
    checkVersion(call.ifMatch, 'webhook', record);
    const json = JSON.stringify(record);
    const audited = { programId: webhook.programId, subjectId: record.webhook_id, details: json };
    return { result: { record, json }, writes: [deleteStatement(webhookId), ...auditOf(call, audited)] };
  });
  service.webhooks.changed();
  return reply;
}

type RollId = 'roll_webhook_secret' | 'roll_operator_webhook_secret';

/** Maximum number of secrets that sign at the same time, including the new one. */
const MAX_SECRETS = 3;

/** How long previous secrets continue to sign by default. Receivers have a day to switch to the new secret. */
export const DEFAULT_OVERLAP_MILLISECONDS = 86_400_000;

/**
 * roll_webhook_secret and roll_operator_webhook_secret: return the webhook with a new secret, which signs from now on. Earlier
 * secrets sign until they expire, and a roll never extends them. A replay rolls nothing and does not contain the secret.
 */
export async function rollWebhookSecret(service: WebhookService, call: Call<RollId>): Promise<Reply<RollId>> {
  const { vault, requireKeys, changed } = service.webhooks;
  const { previous_until: sent } = call.body;
  const webhookId = webhookIdOf(call);
  const programId = programOf(call);
  await requireKeys();
  const secret = newSecret();
  const sealed = vault.seal(secret, webhookId);
  const reply = await transactUnderKey(service, call, {
    ...keysOf(call),
    load: { lock: lockWebhook(webhookId, programId), webhook: readWebhook(webhookId, programId) },
    decide: (loaded, { now }) => {
      const before = foundWebhook(call, loaded.webhook);
      // Uses the real time, as signatures do, even if a sandbox's clock is ahead.
      const realNow = databaseTime();
      const until = sent === undefined ? realNow + DEFAULT_OVERLAP_MILLISECONDS : Date.parse(sent);
      const earlier = expireEarlier(before.secrets, until, realNow);
      const createdAt = new Date(now);
      const created: StoredSecret = { secretId: idAt(now), createdAt: now, expiresAt: null };
      const after = { ...before, secrets: [created, ...earlier], updatedAt: createdAt };
      const shown = toWebhookRecord(after);
      const { programId: ofProgram } = before;
      const writes = [
        writeWebhook(after),
        deleteOtherSecrets(
          webhookId,
          earlier.map(({ secretId }) => secretId),
        ),
        expireSecrets(earlier.map(({ secretId, expiresAt }) => ({ secretId, expiresAt: new Date(expiresAt) }))),
        insertSecret({ ...created, webhookId, programId: ofProgram, sealed, createdAt, expiresAt: null }),
        ...auditOf(call, { programId: ofProgram, subjectId: shown.webhook_id, details: JSON.stringify(shown) }),
      ];
      return {
        record: toNewWebhookRecord(after, secret),
        stored: toNewWebhookRecord(after, null),
        subjectId: webhookId,
        writes,
      };
    },
  });
  changed();
  return reply;
}

/**
 * Returns the previous secrets that still sign, newest first. They sign until `until`, or until their own expiry if that is
 * earlier.
 */
function expireEarlier(
  secrets: readonly StoredSecret[],
  until: number,
  now: number,
): readonly (StoredSecret & { readonly expiresAt: number })[] {
  return secrets
    .slice(0, MAX_SECRETS - 1)
    .map((secret) => ({ ...secret, expiresAt: Math.min(secret.expiresAt ?? until, until) }))
    .filter(({ expiresAt }) => expiresAt > now);
}
