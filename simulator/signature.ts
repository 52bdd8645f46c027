import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export type SignedHeaders = {
  readonly 'webhook-id': string;
  /** Seconds since 1970. */
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
};

/** The maximum difference between the time of a signature and the current time. */
const TOLERANCE_SECONDS = 300;

/** Signs a notice under an id. The simulator has its own code for this, because it represents another company's program. */
export function sign(id: string, body: string, secret: string): SignedHeaders {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signatureOf(`${id}.${timestamp}.`, Buffer.from(body), secret)}`,
  };
}

/** Whether a request to a path, such as `/send`, was signed with the secret in the last five minutes. */
export function isSigned(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  path: string,
  body: Buffer,
  secret: string,
): boolean {
  const read = (name: keyof SignedHeaders): string => {
    const value = headers[name];
    return typeof value === 'string' ? value : '';
  };
  const timestamp = read('webhook-timestamp');
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d{1,12}$/.test(timestamp) || age > TOLERANCE_SECONDS) return false;
  const head = `${read('webhook-id')}.${timestamp}.${method} ${path}.`;
  const expected = Buffer.from(`v2,${signatureOf(head, body, secret)}`);
  // While a secret is being replaced, there is a signature for each.
  return read('webhook-signature')
    .split(' ')
    .map((signature) => Buffer.from(signature))
    .some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected));
}

function signatureOf(head: string, body: Buffer, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return createHmac('sha256', key).update(head).update(body).digest('base64');
}
