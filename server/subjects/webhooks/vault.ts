import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

/** Length of a key, in bytes. */
export const KEY_BYTES = 32;

const VERSION = 1;
const KEY_ID_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + KEY_ID_BYTES + IV_BYTES + TAG_BYTES;

/** Encrypts what the service must be able to decrypt again: the secrets and the headers of webhooks. */
export type Vault = {
  /** Encrypts with the first key. Decryption needs the same webhook id. */
  readonly seal: (text: string, webhookId: string) => Buffer;
  /** @throws if none of the keys has encrypted it, it was changed, or it belongs to another webhook */
  readonly open: (sealed: Uint8Array, webhookId: string) => string;
};

/**
 * A vault with keys of 32 bytes: the first encrypts, all decrypt. The format is a version byte, 4 bytes that identify the
 * key, 12 bytes of initialization vector, 16 bytes of tag, and the text encrypted with AES-256-GCM.
 */
export function openVault(keys: readonly Uint8Array[]): Vault {
  const named = keys.map((key) => ({ key, id: keyIdOf(key) }));
  return {
    seal: (text, webhookId) => {
      const [first] = named;
      if (first === undefined) throw new Error('there is no key to encrypt with');
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', first.key, iv).setAAD(Buffer.from(webhookId));
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), first.id, iv, cipher.getAuthTag(), encrypted]);
    },
    open: (sealed, webhookId) => {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      const id = bytes.subarray(1, 1 + KEY_ID_BYTES);
      const known = named.find((one) => one.id.equals(id));
      if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION || known === undefined) {
        throw new Error('no key of this process has encrypted this');
      }
      const iv = bytes.subarray(1 + KEY_ID_BYTES, 1 + KEY_ID_BYTES + IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', known.key, iv, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(webhookId))
        .setAuthTag(bytes.subarray(HEAD_BYTES - TAG_BYTES, HEAD_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()]).toString('utf8');
    },
  };
}

/** The bytes that identify a key: the beginning of its SHA-256. */
export function keyIdOf(key: Uint8Array): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, KEY_ID_BYTES);
}

/** A new signing secret for a webhook, in the format of Standard Webhooks. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
