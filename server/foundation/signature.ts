import { createHmac } from 'node:crypto';

// Invariant: A webhook has one signature for each secret that is valid when it is sent
// Kept by: this file, `server/background/delivery/dispatcher.ts`
// Tested by: `test/outbound/signature.test.ts`, `test/delivery/secrets.test.ts`

/** What is signed. The body is the text exactly as it is sent. */
export type SignedMessage = { readonly eventId: string; readonly sentAt: Date; readonly body: string };

/** The headers of Standard Webhooks. */
export type SignatureHeaders = {
  readonly 'webhook-id': string;
  /** Seconds since 1970. */
  readonly 'webhook-timestamp': string;
  /** One signature for each key, separated by spaces. */
  readonly 'webhook-signature': string;
};

const SECRET_PREFIX = 'whsec_';

/** The key that a secret such as `whsec_…` contains. */
export function readSigningKey(secret: string): Buffer {
  if (!secret.startsWith(SECRET_PREFIX)) throw new TypeError(`a secret begins with ${SECRET_PREFIX}`);
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
}

/** Signs a webhook with each of the keys, by version v1 of Standard Webhooks (HMAC with SHA-256). */
export function signMessage({ eventId, sentAt, body }: SignedMessage, keys: readonly Buffer[]): SignatureHeaders {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const content = `${eventId}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return { 'webhook-id': eventId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
