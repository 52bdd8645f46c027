import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readCursor, readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { readInTurn } from '../../calls/turns.ts';
import type { Row } from '../../store/connection/database.ts';
import {
  type AttemptFilter,
  type FailureFilter,
  listAttempts,
  listFailedAttempts as listFailures,
  toAttempt,
} from '../../store/webhooks/attempt.ts';
import {
  listWebhooks as listStatement,
  readWebhook,
  toWebhookDetails,
  type WebhookDetails,
  type WebhookFilter,
} from '../../store/webhooks/webhook.ts';
import { toAttemptRecord, toWebhookRecord } from './record.ts';

type GetId = 'get_webhook' | 'get_operator_webhook';
type ListId = 'list_webhooks' | 'list_operator_webhooks';
type AttemptsId = 'list_webhook_attempts' | 'list_operator_webhook_attempts';
type FailuresId = 'list_failed_attempts' | 'list_operator_failed_attempts';

export async function getWebhook(service: Service, call: Call<GetId>): Promise<Reply<GetId>> {
  return { record: toWebhookRecord(await loadWebhook(service, call)) };
}

export function listWebhooks(service: Service, call: Call<'list_webhooks'>): Promise<Reply<ListId>> {
  return list(service, call, { programId: call.programId, status: null });
}

/** list_operator_webhooks: lists the webhooks of all card programs and of operators, newest first. */
export function listOperatorWebhooks(service: Service, call: Call<'list_operator_webhooks'>): Promise<Reply<ListId>> {
  const { program_id: programId, status = null } = call.query;
  return list(service, call, { programId: readProgramFilter(call, programId), status });
}

async function list(service: Service, call: Call<ListId>, filter: WebhookFilter): Promise<Reply<ListId>> {
  const record = await readPage(service, call, {
    prefix: 'wh',
    statement: (after, count) => listStatement(filter, after, count),
    read: toWebhookDetails,
    idOf: ({ webhookId }) => webhookId,
    show: toWebhookRecord,
  });
  return { record };
}

export async function listWebhookAttempts(service: Service, call: Call<AttemptsId>): Promise<Reply<AttemptsId>> {
  const { event_id: sentId, succeeded, cursor } = call.query;
  readCursor(call, 'att', cursor);
  const filter = {
    eventId: sentId === undefined ? null : readEventId(call, sentId),
    succeeded: succeeded === undefined ? null : succeeded === 'true',
    status: readStatus(call),
    ...readPeriod(call),
  };
  const { webhookId } = await loadWebhook(service, call);
  const record = await readPage(service, call, {
    prefix: 'att',
    statement: (after, count) => listAttempts(webhookId, filter, after, count),
    read: toAttempt,
    idOf: ({ attemptId }) => attemptId,
    show: toAttemptRecord,
  });
  return { record };
}

export function listFailedAttempts(service: Service, call: Call<'list_failed_attempts'>): Promise<Reply<FailuresId>> {
  return listFailuresOf(service, call, call.programId);
}

/** list_operator_failed_attempts: lists the failed attempts of all webhooks, including operators' webhooks, newest first. */
export function listOperatorFailedAttempts(
  service: Service,
  call: Call<'list_operator_failed_attempts'>,
): Promise<Reply<FailuresId>> {
  return listFailuresOf(service, call, readProgramFilter(call, call.query.program_id));
}

async function listFailuresOf(
  service: Service,
  call: Call<FailuresId>,
  programId: string | null,
): Promise<Reply<FailuresId>> {
  readCursor(call, 'att', call.query.cursor);
  const filter: FailureFilter = { programId, status: readStatus(call), ...readPeriod(call) };
  const readInTurns = () =>
    readPage(service, call, {
      prefix: 'att',
      statement: (after, count) => listFailures(filter, after, count),
      read: toAttempt,
      idOf: ({ attemptId }) => attemptId,
      show: toAttemptRecord,
    });
  // With thousands of webhooks, this takes longer than other reads, so it waits for its turn.
  return { record: await readInTurn(call, readInTurns) };
}

function readEventId(call: Call<AttemptsId>, sentId: string): string {
  const eventId = fromWireId('evt', sentId);
  if (eventId !== undefined) return eventId;
  const message = `'event_id' is '${sentId}', which is not an event id (evt_ and 32 hex digits).`;
  throw schemaRefusal(call, message, '/event_id');
}

/** Reads a status, such as `404`, a class of statuses, such as `5xx`, or `none`. */
function readStatus(call: Call<AttemptsId | FailuresId>): AttemptFilter['status'] {
  const { status: sent } = call.query;
  if (sent === undefined) return null;
  if (sent === 'none') return sent;
  const [, hundreds, rest] = /^([1-5])([0-9]{2}|xx)$/.exec(sent) ?? [];
  if (hundreds === undefined || rest === undefined) {
    const message = `'status' is '${sent}', but it must be a status such as 404, a class such as 5xx, or none.`;
    throw schemaRefusal(call, message, '/status');
  }
  if (rest !== 'xx') return { from: Number(sent), to: Number(sent) };
  return { from: Number(hundreds) * 100, to: Number(hundreds) * 100 + 99 };
}

/** Reads the period when the attempts began. Refuses a period that cannot contain any attempts. */
function readPeriod(call: Call<AttemptsId | FailuresId>): Pick<AttemptFilter, 'from' | 'to'> {
  const { started_from: from, started_to: to } = call.query;
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) {
    const message = `'started_to' must be later than 'started_from', but it is '${to}', and 'started_from' is '${from}'.`;
    throw schemaRefusal(call, message, '/started_to');
  }
  return { from: from === undefined ? null : new Date(from), to: to === undefined ? null : new Date(to) };
}

type WebhookCall = CallContext & { readonly params: { readonly webhook_id: string } };

/** Returns the card program whose webhooks a call may access, or null for operators, who may access all. */
export function programOf({ programId }: CallContext): string | null {
  return programId === '' ? null : programId;
}

/** Returns the scope of a call's idempotency key: its card program, or the operators. */
export function keysOf(call: CallContext): { readonly programId?: string } {
  const programId = programOf(call);
  return programId === null ? {} : { programId };
}

/** Returns the inner UUID of the webhook in the path. Throws `webhook_not_found` if it is not the id of a webhook. */
export function webhookIdOf(call: WebhookCall): string {
  const webhookId = fromWireId('wh', call.params.webhook_id);
  if (webhookId === undefined) throw webhookMissing(call);
  return webhookId;
}

/** Loads the webhook in the path. Throws `webhook_not_found`. */
export async function loadWebhook({ database }: Pick<Service, 'database'>, call: WebhookCall): Promise<WebhookDetails> {
  return foundWebhook(call, await readRows(database, readWebhook(webhookIdOf(call), programOf(call))));
}

/** Returns the webhook that was read for a call. Throws `webhook_not_found`. */
export function foundWebhook(call: WebhookCall, [row]: readonly Row[]): WebhookDetails {
  if (row === undefined) throw webhookMissing(call);
  return toWebhookDetails(row);
}

function webhookMissing(call: WebhookCall): Refusal {
  const { webhook_id: sentId } = call.params;
  const where = programOf(call) === null ? '' : ' in this card program';
  const hint = fromWireId('wh', sentId) === undefined ? ' A webhook id is wh_ and 32 hex digits.' : '';
  return new Refusal('webhook_not_found', `There is no webhook '${sentId}'${where}.${hint}`);
}
