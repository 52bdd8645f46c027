import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * A key is `ts_<16 hex digits>_<64 hex digits><8 hex digits>`: a public part by which it is found, a secret of 256 random
 * bits, and a checksum, so that a mistyped key is detected without a query.
 */
const FORM = /^ts_([0-9a-f]{16})_([0-9a-f]{64})([0-9a-f]{8})$/;

/** The two parts of a well-formed key. */
export type KeyParts = { readonly publicPart: string; readonly secretHash: Buffer };

/** A new key, shown once, and what is stored of it. */
export function newKey(): KeyParts & { readonly key: string } {
  const publicPart = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('hex');
  return {
    key: `ts_${publicPart}_${secret}${checksum(publicPart, secret)}`,
    publicPart,
    secretHash: hash(secret),
  };
}

/** The parts of a key; undefined if it is malformed or mistyped. */
export function readKeyParts(key: string): KeyParts | undefined {
  const [, publicPart, secret, sum] = FORM.exec(key) ?? [];
  if (publicPart === undefined || secret === undefined || sum !== checksum(publicPart, secret)) return undefined;
  return { publicPart, secretHash: hash(secret) };
}

function checksum(publicPart: string, secret: string): string {
  return crc32(`${publicPart}_${secret}`).toString(16).padStart(8, '0');
}

function hash(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
