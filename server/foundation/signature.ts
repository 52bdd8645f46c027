import { createHmac, timingSafeEqual } from 'node:crypto';

// Invariant: A delivery has one signature for each secret that is valid at that time
// Kept by: this file, `server/background/delivery/dispatcher.ts`
// Tested by: `test/outbound/signature.test.ts`, `test/delivery/secrets.test.ts`

// Invariant: A connector's notice counts only if it is signed with one of the connector's secrets, at most 5 minutes earlier or
//   later
// Kept by: `verifyNotice`
// Tested by: `server/foundation/signature.test.ts`

/** A message to sign. The body is exactly what is sent. */
export type SignedMessage = { readonly id: string; readonly sentAt: Date; readonly body: string };

export type SignatureHeaders = {
  readonly 'webhook-id': string;
  /** Seconds since 1970. */
  readonly 'webhook-timestamp': string;
  /** One signature for each key, separated by spaces. */
  readonly 'webhook-signature': string;
};

const SECRET_PREFIX = 'whsec_';

/** Returns the key that a secret such as `whsec_…` contains. */
export function readSigningKey(secret: string): Buffer {
  if (!secret.startsWith(SECRET_PREFIX)) throw new TypeError(`a secret begins with ${SECRET_PREFIX}`);
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
}

/** The number of bytes that the key of a secret may have, according to Standard Webhooks. */
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;

/** The form of a secret, worded to follow "must be" in a message. */
export const SECRET_RULE = `${SECRET_PREFIX} and ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} bytes in Base64`;

/** Returns whether a string is a secret of the form {@link SECRET_RULE}. */
export function isSigningSecret(text: string): boolean {
  if (!text.startsWith(SECRET_PREFIX)) return false;
  const key = readSigningKey(text);
  // The decoder skips characters that are not Base64, so the result is encoded again and compared.
  const isExact = key.toString('base64') === text.slice(SECRET_PREFIX.length);
  return isExact && key.length >= MIN_KEY_BYTES && key.length <= MAX_KEY_BYTES;
}

/** Signs a message with each of the keys, as in version v1 of Standard Webhooks (HMAC with SHA-256). */
export function signMessage({ id, sentAt, body }: SignedMessage, keys: readonly Buffer[]): SignatureHeaders {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = keys.map((key) => signatureOf(key, id, timestamp, body));
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

function signatureOf(key: Buffer, id: string, timestamp: string, body: string | Buffer): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

/** How long before and after its time a signature is valid, because clocks differ. Standard Webhooks recommends this value. */
const TOLERANCE_MILLISECONDS = 300_000;

/**
 * Signs a request to an adapter, with version v2. It differs from v1 because the signed text begins with the method and the path,
 * such as `POST /send.{"attempt_id": …}`. Otherwise an attacker could record an inquiry and send it again as an order.
 */
export function signRequest(
  { method, path, body, ...message }: SignedMessage & { readonly method: string; readonly path: string },
  keys: readonly Buffer[],
): SignatureHeaders {
  const signed = signMessage({ ...message, body: `${method} ${path}.${body}` }, keys);
  return { ...signed, 'webhook-signature': signed['webhook-signature'].replaceAll('v1,', 'v2,') };
}

export type NoticeProblem =
  | 'headers_missing'
  | 'headers_malformed'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'no_signature_matches';

/** The headers of a request. Their names are in lower case. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies that a notice was signed with one of the secrets of its connector. Returns the `webhook-id` of the message, or the
 * reason why it does not count. `now` is in milliseconds since 1970. A message that is replayed within the tolerance is still
 * valid, so the receiver must recognize messages that it has already stored.
 */
export function verifyNotice(
  headers: Headers,
  body: string | Buffer,
  secrets: readonly string[],
  now: number,
): { readonly id: string } | { readonly problem: NoticeProblem } {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (id === undefined || timestamp === undefined || signatures === undefined) return { problem: 'headers_missing' };
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string')
    return { problem: 'headers_malformed' };
  if (!/^[!-~]{1,256}$/.test(id) || !/^[0-9]{1,12}$/.test(timestamp)) return { problem: 'headers_malformed' };
  const age = now - Number(timestamp) * 1000;
  if (age > TOLERANCE_MILLISECONDS) return { problem: 'timestamp_too_old' };
  if (age < -TOLERANCE_MILLISECONDS) return { problem: 'timestamp_too_new' };
  const sent = signatures.split(' ').map((signature) => Buffer.from(signature));
  const expected = secrets.map((secret) => Buffer.from(signatureOf(readSigningKey(secret), id, timestamp, body)));
  // Compares all signatures, so that the time does not reveal which one matches.
  const matches = expected.flatMap((one) => sent.filter((other) => isSame(one, other)));
  return matches.length > 0 ? { id } : { problem: 'no_signature_matches' };
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
