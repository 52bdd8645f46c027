import { randomBytes } from 'node:crypto';

/** A new secret that signs what is sent to a webhook, in the form of Standard Webhooks. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
