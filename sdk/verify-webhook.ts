import { InvalidArgument } from './error.ts';
import type { TransferServiceEvent } from './generated/operations.ts';
import { parseJson } from './generated/parse-json.ts';
import { bytesOf, readSecret, type SigningKey, signedContent } from './webhook-signature.ts';

/** The headers of a received request: Node's `request.headers`, or `Headers`. */
export type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Options of {@link verifyWebhook}. */
export type VerifyWebhookOptions = {
  /** How far the time of the signature may be from now, in either direction, in seconds. Default: 300. */
  readonly toleranceSeconds?: number | undefined;
  /** The time to compare with, for tests. Default: now. */
  readonly now?: Date | undefined;
};

/**
 * The reason why a webhook was refused. `missing_header`: one of its three headers is missing. `invalid_timestamp`: the
 * time is not a number of seconds. `too_old` and `too_new`: the time is too far from now; the request may be a recorded one
 * that is replayed, or a clock is wrong. `no_matching_signature`: no signature matches this body and one of the secrets.
 * `invalid_body`: the signature matches, but the body is not an event.
 */
export type WebhookRefusal =
  | 'missing_header'
  | 'invalid_timestamp'
  | 'too_old'
  | 'too_new'
  | 'no_matching_signature'
  | 'invalid_body';

/** The webhook must not be trusted: respond with 400. `reason` is one of {@link WebhookRefusal}. */
export class WebhookVerificationError extends Error {
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal, message: string) {
    super(message);
    this.reason = reason;
  }

  override get name(): string {
    return 'WebhookVerificationError';
  }
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * Verifies a webhook as Standard Webhooks specifies, and returns its event.
 *
 * `rawBody` is the received body: text or bytes. An object that a framework has parsed cannot be verified, because the signature
 * covers the bytes. If you pass several secrets, for example while you replace one, one must match.
 *
 * Rejects with a {@link WebhookVerificationError} if the webhook must not be trusted. Rejects with an {@link InvalidArgument} if
 * the argument for the body or a secret is not valid: this is a mistake in your application, not in the request.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: ReceivedHeaders,
  secrets: string | readonly string[],
  options: VerifyWebhookOptions = {},
): Promise<TransferServiceEvent> {
  const body = bytesOfBody(rawBody);
  const keys = await Promise.all((typeof secrets === 'string' ? [secrets] : secrets).map(readSecret));
  if (keys.length === 0) throw new InvalidArgument('verifyWebhook needs at least one secret.');
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  checkTime(timestamp, options);
  const content = signedContent(id, timestamp, body);
  if (!(await isSigned(content, signatures, keys))) {
    throw new WebhookVerificationError(
      'no_matching_signature',
      'No signature matches. Is the secret right, and is the body as it was received?',
    );
  }
  return readEvent(body);
}

function bytesOfBody(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody);
  if (rawBody instanceof Uint8Array) return rawBody;
  const isObject = typeof rawBody === 'object' && rawBody !== null;
  throw new InvalidArgument(
    `The body must be a string or a Uint8Array, but it is ${isObject ? 'an object' : String(rawBody)}. Pass the body as it was received: ` +
      "express.raw({ type: 'application/json' }) in Express, await request.text() elsewhere.",
  );
}

function headerOf(headers: ReceivedHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : valueIn(headers, name);
  if (value === undefined || value === null || value === '') {
    throw new WebhookVerificationError('missing_header', `The request has no header ${name}.`);
  }
  return value;
}

function valueIn(headers: Exclude<ReceivedHeaders, Headers>, name: string): string | undefined {
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() !== name) continue;
    // A parser may return a repeated header as an array. Its values form one list.
    return typeof value === 'object' ? value.join(' ') : value;
  }
  return undefined;
}

function checkTime(timestamp: string, options: VerifyWebhookOptions): void {
  // Twelve digits reach the year 33,658. More would lose precision before the comparison.
  if (!/^[0-9]{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('invalid_timestamp', 'webhook-timestamp is not a number of seconds since 1970.');
  }
  const { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = new Date() } = options;
  const ageSeconds = Math.floor(now.getTime() / 1000) - Number(timestamp);
  if (Math.abs(ageSeconds) <= toleranceSeconds) return;
  const [reason, direction] = ageSeconds > 0 ? (['too_old', 'ago'] as const) : (['too_new', 'ahead'] as const);
  throw new WebhookVerificationError(
    reason,
    `The webhook was signed ${Math.abs(ageSeconds)} seconds ${direction}; ${toleranceSeconds} are allowed. Is the clock of this machine correct?`,
  );
}

/**
 * Whether one of the signatures was made with one of the keys. Ignores signatures of versions other than v1, which use other
 * kinds of keys.
 */
async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  signatures: string,
  keys: readonly SigningKey[],
): Promise<boolean> {
  for (const signature of signatures.split(' ')) {
    const [version, base64 = ''] = signature.split(',', 2);
    const bytes = version === 'v1' ? bytesOf(base64) : undefined;
    if (bytes === undefined) continue;
    for (const key of keys) if (await crypto.subtle.verify('HMAC', key, bytes, content)) return true;
  }
  return false;
}

/** Reads the event. A sender that has the secret is trusted to send events that conform to the contract. */
function readEvent(body: Uint8Array): TransferServiceEvent {
  let event: unknown;
  try {
    event = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    event = undefined;
  }
  if (typeof event !== 'object' || event === null || !('type' in event) || typeof event.type !== 'string') {
    throw new WebhookVerificationError('invalid_body', 'The webhook is signed, but its body is not an event.');
  }
  return event as TransferServiceEvent;
}
