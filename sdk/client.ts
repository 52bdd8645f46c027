import { InvalidArgument } from './error.ts';
import { Resources } from './generated/resources.ts';
import { Events, Switch, Webhooks } from './resources.ts';
import { sender } from './send.ts';
import { type Fetch, readLimits, type Warn } from './settings.ts';

export type * from './call.ts';
export {
  AwaitsApproval,
  ConnectionFailure,
  type FailedCall,
  IncompleteResponse,
  InvalidArgument,
  isErrorCode,
  isFailedCall,
  ProcessError,
  RequestError,
  ServerError,
  TransferServiceError,
  UnexpectedResponse,
} from './error.ts';
export * from './generated/operations.ts';
export type { CreatedWebhook, DisableBody, EnableBody, UnkeyedCallOptions } from './resources.ts';
export type { Fetch, Warn } from './settings.ts';
export {
  EventGap,
  type EventStreamOptions,
  type EventTypeOrGroup,
  type ReceivedEvent,
  type StreamRetry,
} from './stream-events.ts';
export { ERRORS, OPERATIONS } from './tables.ts';
export {
  type ReceivedHeaders,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookRefusal,
  WebhookVerificationError,
} from './verify-webhook.ts';
export { newWebhookSecret, signWebhook, type WebhookHeaders } from './webhook-signature.ts';

/** The settings of a client. */
export type TransferServiceOptions = {
  /** Default: `http://127.0.0.1:8080`. */
  readonly baseUrl?: string | undefined;
  /** The API key. A sandbox on the same machine does not require one. */
  readonly key?: string | undefined;
  /** The card program to act in, if the key is not bound to one. */
  readonly programId?: string | undefined;
  /**
   * The maximum duration of one attempt. For an export, the maximum wait for its next chunk. Above 0, at most
   * 2,147,483,647. Default: 10,000 (10 s).
   */
  readonly timeoutMilliseconds?: number | undefined;
  /** The maximum number of automatic retries, from 0. Only requests that are safe to repeat are retried. Default: 2. */
  readonly maxRetries?: number | undefined;
  /** Called instead of the platform's fetch: for a proxy, for metrics, or in a test. */
  readonly fetch?: Fetch | undefined;
  /**
   * Called when a sandbox ignored fields that the operation does not have, such as misspelled ones. It is called once
   * per process for each operation, and never for a live service. Default: `console.warn`. `false` switches the
   * warnings off.
   */
  readonly warn?: Warn | false | undefined;
};

const DEFAULT_LIMITS = { timeoutMilliseconds: 10_000, maxRetries: 2 };

/** Looks up the platform's fetch at each call, because tests may replace it after the client was created. */
const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init);

/** Looks up `console.warn` at each warning, for the same reason. */
const platformWarn: Warn = (message) => globalThis.console.warn(message);

/**
 * A client of the Transfer Service. Every operation is a method, grouped by resource: create_transfer is
 * `transfers.create`.
 *
 * A method resolves to the body of the response. Its `response` has the request id, `replayed` and the headers. A method
 * rejects with a TransferServiceError (RequestError, ServerError, ProcessError), a ConnectionFailure, an UnexpectedResponse
 * or an InvalidArgument. The first three report whether money moved. An export resolves to its chunks of text, with the
 * same `response`. The loop over them throws an IncompleteResponse if the response is cut off.
 *
 * Use one client for the whole process: it has no state, and calls can run at the same time.
 *
 * @example
 * const service = new TransferService({ baseUrl: process.env.TRANSFER_SERVICE_URL, key: process.env.TRANSFER_SERVICE_KEY });
 * const transfer = await service.transfers.create({ amount: 1000, card_id: 'card_active' }, { idempotencyKey: order.id });
 */
export class TransferService extends Resources {
  /** The URL of the service, without a trailing slash. */
  readonly baseUrl: string;
  override readonly events: Events;
  override readonly switch: Switch;
  override readonly webhooks: Webhooks;

  /** Throws {@link InvalidArgument} if the base URL or a limit is not valid. */
  constructor(options: TransferServiceOptions = {}) {
    const baseUrl = readBaseUrl(options.baseUrl ?? 'http://127.0.0.1:8080');
    const settings = {
      baseUrl,
      key: options.key,
      programId: options.programId,
      ...readLimits(options, DEFAULT_LIMITS),
      fetch: options.fetch ?? platformFetch,
      warn: options.warn === false ? undefined : (options.warn ?? platformWarn),
    };
    const send = sender(settings);
    super(send);
    this.events = new Events(send, settings);
    this.switch = new Switch(send);
    this.webhooks = new Webhooks(send);
    this.baseUrl = baseUrl;
  }
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    // The message does not show a URL that may contain a password.
    const shown = text.includes('@') ? '' : `, but it is '${text}'`;
    throw new InvalidArgument(`The base URL must be a valid URL that begins with http:// or https://${shown}.`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgument('The base URL must consist of a host, an optional port and an optional path.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
