import { InvalidArgument } from './error.ts';

/** The headers of a signed webhook, as Standard Webhooks names them. */
export type WebhookHeaders = {
  /** The id of the event. It is the same on every delivery. */
  readonly 'webhook-id': string;
  /** The time of signing, in seconds since 1970. */
  readonly 'webhook-timestamp': string;
  /** `v1,` and the signature in Base64. Several signatures are separated by spaces. */
  readonly 'webhook-signature': string;
};

const SECRET_PREFIX = 'whsec_';
/** The bounds that Standard Webhooks specifies. Fewer bytes could be guessed, and more add no strength to SHA-256. */
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
/** The size of a SHA-256 digest, which is within the bounds. */
const NEW_SECRET_BYTES = 32;

/** A key that signs and verifies, derived from a secret. */
export type SigningKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/**
 * Reads a secret, `whsec_` and 24 to 64 bytes in Base64. Rejects with an {@link InvalidArgument} that does not quote it.
 *
 * Uses Web Crypto, although it makes signing and verifying asynchronous: it is available in Node, in browsers and in
 * workers, and its `verify` compares in constant time.
 */
export async function readSecret(secret: string): Promise<SigningKey> {
  const bytes = secret.startsWith(SECRET_PREFIX) ? bytesOf(secret.slice(SECRET_PREFIX.length)) : undefined;
  if (bytes === undefined) {
    throw new InvalidArgument(
      `The webhook secret must be ${SECRET_PREFIX} followed by Base64, as it was shown to you.`,
    );
  }
  if (bytes.length < MIN_SECRET_BYTES || bytes.length > MAX_SECRET_BYTES) {
    throw new InvalidArgument(
      `The webhook secret must have ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes, but it has ${bytes.length}.`,
    );
  }
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}

/** Returns a new random secret: `whsec_` and 32 bytes in Base64. */
export function newWebhookSecret(): string {
  return SECRET_PREFIX + base64Of(crypto.getRandomValues(new Uint8Array(NEW_SECRET_BYTES)));
}

/**
 * Returns the headers of a webhook with this body, signed as the service signs. You can use it to test your own receiver.
 * `signedAt` defaults to now. Rejects with an {@link InvalidArgument} if the secret is not valid.
 */
export async function signWebhook(
  { id, body, signedAt = new Date() }: { readonly id: string; readonly body: string; readonly signedAt?: Date },
  secret: string,
): Promise<WebhookHeaders> {
  const timestamp = String(Math.floor(signedAt.getTime() / 1000));
  const content = signedContent(id, timestamp, new TextEncoder().encode(body));
  const signature = await crypto.subtle.sign('HMAC', await readSecret(secret), content);
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${base64Of(new Uint8Array(signature))}`,
  };
}

/**
 * Returns the signed content: the id, the time and the received body, byte for byte.
 * @internal
 */
export function signedContent(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  return content;
}

/**
 * Decodes Base64. Returns undefined for anything else.
 * @internal
 */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  // `atob` ignores spaces, and accepts Base64 without its padding.
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) return undefined;
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
