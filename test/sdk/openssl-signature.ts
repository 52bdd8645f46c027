import { execFileSync } from 'node:child_process';

/** Signs a webhook with openssl, which shares no code with the service, the SDK or other libraries. */
export function opensslSignature(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex');
  const options = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key}`, '-binary'];
  const signature = execFileSync('openssl', options, { input: `${id}.${timestamp}.${body}` });
  return `v1,${signature.toString('base64')}`;
}
