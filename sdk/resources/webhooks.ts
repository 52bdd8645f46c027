import type { CallOptions, KeyedCallOptions, WithResponse } from '../call.ts';
import type { CreateWebhookBody, NewWebhookRecord } from '../generated/operations.ts';
import { WebhooksResource } from '../generated/resources.ts';

/** A webhook that was created by this call, with its secret. */
export type CreatedWebhook = NewWebhookRecord & { readonly secret: string };

/** Options of a call whose idempotency key the client generates. */
export type UnkeyedCallOptions = CallOptions & { readonly idempotencyKey?: undefined };

/** Webhooks of a card program: URLs that its events are sent to. */
export class Webhooks extends WebhooksResource {
  /**
   * create_webhook: Create a webhook. Store its `secret`: it is not shown again. With an `idempotencyKey` of your own,
   * `secret` is null if the key has already created the webhook. Otherwise it is never null: if the response with the
   * secret was lost, the client rolls the secret.
   */
  override create(body: CreateWebhookBody, options?: UnkeyedCallOptions): Promise<WithResponse<CreatedWebhook>>;
  override create(body: CreateWebhookBody, options?: KeyedCallOptions): Promise<WithResponse<NewWebhookRecord>>;
  override async create(body: CreateWebhookBody, options?: KeyedCallOptions): Promise<WithResponse<NewWebhookRecord>> {
    let webhook = await super.create(body, options);
    // Only a replay has no secret. With the caller's own key, the webhook may be old and its secret in use.
    while (webhook.secret === null && !options?.idempotencyKey) {
      // Nobody has the earlier secret, so it ends at once.
      webhook = await this.rollSecret(webhook.webhook_id, { previous_until: webhook.created_at }, options);
    }
    return webhook;
  }
}
