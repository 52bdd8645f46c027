import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { CallContext, Service } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Row } from '../../store/connection/database.ts';
import { readWebhook, toWebhookDetails, type WebhookDetails } from '../../store/webhooks/webhook.ts';

export type WebhookCall = CallContext & { readonly params: { readonly webhook_id: string } };

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
