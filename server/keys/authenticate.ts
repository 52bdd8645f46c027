import { hash } from 'node:crypto';
import { Refusal } from '../../domain/refusal.ts';
import { readRows } from '../commit/transaction.ts';
import type { Caller } from '../operations/call.ts';
import type { Database } from '../store/connection/database.ts';
import { type ApiKey, readKey, toApiKey } from '../store/key.ts';
import { type KeyParts, readKeyParts } from './api-key.ts';

/** How long a key is believed without asking, in milliseconds: a revoked key stops working everywhere within it. */
const BELIEVED = 1000;

/** Keys remembered at most; beyond it all are forgotten and asked for again. */
const REMEMBERED = 10_000;

type Known = { readonly caller: Bearing; readonly until: number };

/** The bearer of a key. */
type Bearing = Extract<Caller, { readonly keyId: string }>;

/** A look-up under way. */
type Question = { readonly asked: number; readonly answer: Promise<Bearing> };

/**
 * Makes the check of Bearer keys: the caller that a key stands for, or a Refusal `unauthenticated`. A database that fails is
 * a failure of the operation, never a 401.
 *
 * A key that was right is remembered by its hash for a moment. Requests that come while it is being asked for share the
 * one question: a busy caller's key is looked up once a second, not once for every request that finds it forgotten.
 * What the database said counts from when it was asked, for the key that is remembered and for those who share the
 * question: however slow the answer, nobody who comes a second after a revocation gets in by it.
 *
 * `onUse` is told the id of every key that was let in; it must not throw.
 */
export function openAuthentication(
  database: Database,
  onUse: (keyId: string) => void = () => undefined,
): (key: string) => Promise<Caller> {
  const remembered = new Map<string, Known>();
  const asking = new Map<string, Question>();
  const ask = async (parts: KeyParts, digest: string, asked: number): Promise<Bearing> => {
    const [row] = await readRows(database, readKey(parts.publicPart, parts.secretHash));
    const left = row?.left_ms as bigint | null | undefined;
    const caller = toCaller(row === undefined ? undefined : toApiKey(row), left);
    if (remembered.size >= REMEMBERED) remembered.clear();
    remembered.set(digest, { caller, until: asked + Math.min(BELIEVED, Number(left ?? BELIEVED)) });
    return caller;
  };
  const find = (sent: string): Bearing | Promise<Bearing> => {
    const digest = hash('sha256', sent, 'base64');
    const now = performance.now();
    const known = remembered.get(digest);
    if (known !== undefined && known.until > now) return known.caller;
    const shared = asking.get(digest);
    if (shared !== undefined && shared.asked + BELIEVED > now) return shared.answer;
    const parts = readKeyParts(sent);
    if (parts === undefined) throw refuse('The API key is not one of this service, or it was mistyped.', 'mistyped');
    const answer = ask(parts, digest, now).finally(() => {
      if (asking.get(digest)?.answer === answer) asking.delete(digest);
    });
    asking.set(digest, { asked: now, answer });
    return answer;
  };
  return async (sent) => {
    const caller = await find(sent);
    onUse(caller.keyId);
    return caller;
  };
}

function toCaller(key: ApiKey | undefined, left: bigint | null | undefined): Bearing {
  if (key === undefined) throw refuse('The API key is unknown.', 'unknown');
  const { keyId, programId, scopes } = key;
  if (key.revokedAt !== null) throw refuse('The API key was revoked.', 'revoked');
  if (left !== null && left !== undefined && left <= 0n) throw refuse('The API key has expired.', 'expired');
  return programId === null
    ? { kind: 'operator_key', keyId, scopes }
    : { kind: 'program_key', keyId, scopes, programId };
}

function refuse(message: string, reason: string): Refusal {
  const saw = { refused_because: reason };
  return new Refusal('unauthenticated', `${message} Send a valid key as "Authorization: Bearer <key>".`, { saw });
}
