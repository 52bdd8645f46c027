import { timingSafeEqual } from 'node:crypto';
import { Refusal } from '../../domain/refusal.ts';
import type { Database } from '../store/database.ts';
import { type ApiKey, readKey, toApiKey } from '../store/key.ts';
import { type KeyParts, readKeyParts } from './api-key.ts';
import type { Caller } from './call.ts';
import { readRows } from './transaction.ts';

/** How long a key is believed without asking, in milliseconds: a revoked key stops working everywhere within it. */
const BELIEVED = 1000;

/** Keys remembered at most; beyond it the oldest are forgotten. */
const REMEMBERED = 10_000;

/**
 * Makes the check of Bearer keys: the caller that a key stands for, or a Refusal `auth_err`. A database that fails is
 * a failure of the operation, never a 401.
 */
export function openAuthentication(database: Database): (key: string) => Promise<Caller> {
  const remembered = new Map<string, { readonly key: ApiKey; readonly until: number }>();
  const find = async (publicPart: string): Promise<ApiKey | undefined> => {
    const known = remembered.get(publicPart);
    if (known !== undefined && known.until > performance.now()) return known.key;
    const asked = performance.now();
    const [row] = await readRows(database, readKey(publicPart));
    remembered.delete(publicPart);
    if (row === undefined) return undefined;
    const key = toApiKey(row);
    remembered.set(publicPart, { key, until: asked + BELIEVED });
    const [oldest] = remembered.keys();
    if (remembered.size > REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    return key;
  };
  return async (sent) => {
    const parts = readKeyParts(sent);
    if (parts === undefined) throw refuse('The API key is not one of this service, or it was mistyped.');
    return toCaller(await find(parts.publicPart), parts);
  };
}

function toCaller(key: ApiKey | undefined, parts: KeyParts): Caller {
  if (key === undefined || !timingSafeEqual(key.secretHash, parts.secretHash)) {
    throw refuse('The API key is unknown.');
  }
  if (key.revokedAt !== null) throw refuse('The API key was revoked.');
  if (key.expiresAt !== null && key.expiresAt.getTime() <= Date.now()) throw refuse('The API key has expired.');
  return key.programId === null
    ? { kind: 'operator_key', keyId: key.keyId }
    : { kind: 'program_key', keyId: key.keyId, programId: key.programId };
}

function refuse(message: string): Refusal {
  return new Refusal('auth_err', `${message} Send a valid key as "Authorization: Bearer <key>".`);
}
