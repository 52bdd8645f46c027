import type { CallOptions, KeyedCallOptions, WithResponse } from './call.ts';
import type {
  ChangeSwitchBody,
  CreateWebhookBody,
  NewWebhookRecord,
  OperatorEventRecord,
  SwitchRecord,
  TransferServiceEvent,
} from './generated/operations.ts';
import { EventsResource, SwitchResource, WebhooksResource } from './generated/resources.ts';
import type { Send } from './send.ts';
import type { ClientSettings } from './settings.ts';
import { type EventStreamOptions, type ReceivedEvent, streamEvents } from './stream-events.ts';

/** Events: everything that happens in a card program, in order and without a gap. */
export class Events extends EventsResource {
  readonly #settings: ClientSettings;

  constructor(send: Send, settings: ClientSettings) {
    super(send);
    this.#settings = settings;
  }

  /**
   * Returns the events of the card program as they happen, for `for await`: each event once, in order. The loop survives restarts
   * of the service and lost connections. It ends only when you break out of it or abort the signal.
   *
   * To survive a restart of your own process as well, store the `position` of each event together with the result of processing
   * it. Then begin with the last position as `after`.
   *
   * Throws a RequestError with the code `events_expired` if events after `after` are no longer stored, an EventGap if the service
   * left out an event, and the errors of any call. Once connected, it throws only errors that a retry cannot resolve, such as a
   * revoked key.
   */
  async *stream(options: EventStreamOptions = {}): AsyncGenerator<TransferServiceEvent, void, undefined> {
    for await (const { event } of this.streamWithText(options)) yield event;
  }

  /**
   * Works like `stream`, and also returns the JSON text of each event as the service sent it: to pass it on unchanged, or to sign
   * it as the service signs webhooks.
   */
  async *streamWithText(
    options: EventStreamOptions = {},
  ): AsyncGenerator<ReceivedEvent<TransferServiceEvent>, void, undefined> {
    const position = await beginning(options, async (call) => (await this.list({ limit: 1 }, call)).position);
    if (position === undefined) return;
    yield* streamEvents<TransferServiceEvent>(
      this.#settings,
      { operation: 'list_events', position, isContiguous: true },
      options,
    );
  }

  /**
   * Returns the events of all card programs and of the service as they happen, or the events of `programId`. Continues
   * after a `number` instead of a `position`, and otherwise works like `stream`. Requires an operator key.
   */
  async *streamAllPrograms(options: EventStreamOptions = {}): AsyncGenerator<OperatorEventRecord, void, undefined> {
    const position = await beginning(options, async (call) => (await this.search({ limit: 1 }, call)).number);
    if (position === undefined) return;
    for await (const { event } of streamEvents<OperatorEventRecord>(
      this.#settings,
      { operation: 'search_events', position, isContiguous: options.programId === undefined },
      options,
    )) {
      yield event;
    }
  }
}

/**
 * Returns the start position of a stream. Without `after`, the current position is requested first. Without a position, the
 * stream could not continue if the connection were lost before the first event. Returns undefined if the signal aborts.
 */
async function beginning(
  { after, programId, signal }: EventStreamOptions,
  readPosition: (call: { programId?: string | undefined; signal?: AbortSignal | undefined }) => Promise<number>,
): Promise<number | undefined> {
  if (after !== undefined) return after;
  try {
    return await readPosition({ programId, signal });
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}

/**
 * The scope to disable, why, and until when. The scope is the whole service, a card program, one of its transfer types, or a
 * connector.
 */
export type DisableBody = Omit<ChangeSwitchBody, 'disabled' | 'reason'> & { readonly reason: string };

/** The scope to enable: the whole service, a card program, one of its transfer types, or a connector. */
export type EnableBody = Omit<ChangeSwitchBody, 'disabled' | 'until'>;

/** The switch, with a method to disable and a method to enable, like the command line. */
export class Switch extends SwitchResource {
  /**
   * change_switch with `disabled: true`. It takes effect immediately. Without `program_id` and `connector_id` it stops
   * everything.
   */
  disable(body: DisableBody, options?: KeyedCallOptions): Promise<WithResponse<SwitchRecord>> {
    return this.change({ ...body, disabled: true }, options);
  }

  /**
   * change_switch with `disabled: false`. Without `program_id` and `connector_id` it removes the setting that disables
   * the whole service.
   */
  enable(body?: EnableBody, options?: KeyedCallOptions): Promise<WithResponse<SwitchRecord>> {
    return this.change({ ...body, disabled: false }, options);
  }
}

/** A webhook that this call created, with its secret. */
export type CreatedWebhook = NewWebhookRecord & { readonly secret: string };

/** Options of a call whose idempotency key the client generates. */
export type UnkeyedCallOptions = CallOptions & { readonly idempotencyKey?: undefined };

/** Webhooks of a card program: URLs that receive its events. */
export class Webhooks extends WebhooksResource {
  /**
   * create_webhook: Create a webhook. Store its `secret`: it is not shown again. With your own `idempotencyKey`, `secret`
   * is null if the key has already created the webhook. Otherwise it is never null: if the response with the secret was
   * lost, the client rolls the secret.
   */
  override create(body: CreateWebhookBody, options?: UnkeyedCallOptions): Promise<WithResponse<CreatedWebhook>>;
  override create(body: CreateWebhookBody, options?: KeyedCallOptions): Promise<WithResponse<NewWebhookRecord>>;
  override async create(body: CreateWebhookBody, options?: KeyedCallOptions): Promise<WithResponse<NewWebhookRecord>> {
    let webhook = await super.create(body, options);
    // Only a replay has no secret. With the caller's own key, the webhook may be old and its secret in use.
    while (webhook.secret === null && !options?.idempotencyKey) {
      // No one has the earlier secret, so it can expire immediately.
      webhook = await this.rollSecret(webhook.webhook_id, { previous_until: webhook.created_at }, options);
    }
    return webhook;
  }
}
