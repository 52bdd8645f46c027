import { hash, timingSafeEqual } from 'node:crypto';
import { Refusal } from '../../domain/refusal.ts';
import type { Database } from '../store/database.ts';
import { type ApiKey, readKey, toApiKey } from '../store/key.ts';
import { type KeyParts, readKeyParts } from './api-key.ts';
import type { Caller } from './call.ts';
import { readRows } from './transaction.ts';

/** How long a key is believed without asking, in milliseconds: a revoked key stops working everywhere within it. */
const BELIEVED = 1000;

/** Keys remembered at most; beyond it all are forgotten and asked for again. */
const REMEMBERED = 10_000;

type Known = { readonly caller: Caller; readonly until: number };

/**
 * Makes the check of Bearer keys: the caller that a key stands for, or a Refusal `auth_err`. A database that fails is
 * a failure of the operation, never a 401.
 *
 * A key that was right is remembered by its hash for a moment. Requests that come while it is being asked for share the
 * one question: a busy caller's key is looked up once a second, not once for every request that finds it forgotten.
 */
export function openAuthentication(database: Database): (key: string) => Promise<Caller> {
  const remembered = new Map<string, Known>();
  const asking = new Map<string, Promise<Caller>>();
  const ask = async (sent: string, digest: string): Promise<Caller> => {
    const parts = readKeyParts(sent);
    if (parts === undefined) throw refuse('The API key is not one of this service, or it was mistyped.');
    const asked = performance.now();
    const [row] = await readRows(database, readKey(parts.publicPart));
    const caller = toCaller(row === undefined ? undefined : toApiKey(row), parts);
    if (remembered.size >= REMEMBERED) remembered.clear();
    remembered.set(digest, { caller, until: asked + BELIEVED });
    return caller;
  };
  return async (sent) => {
    const digest = hash('sha256', sent, 'base64');
    const known = remembered.get(digest);
    if (known !== undefined && known.until > performance.now()) return known.caller;
    const shared = asking.get(digest);
    if (shared !== undefined) return shared;
    const question = ask(sent, digest).finally(() => asking.delete(digest));
    asking.set(digest, question);
    return question;
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
