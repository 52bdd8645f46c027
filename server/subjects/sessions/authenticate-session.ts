import { createHash, randomBytes } from 'node:crypto';
import { Refusal } from '../../../domain/refusal.ts';
import { type Caller, ownedBy, type ScopedCaller } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Database } from '../../store/connection/database.ts';
import { type FoundSession, findSession, noteSessionUses, toFoundSession } from '../../store/session.ts';

// Invariant: A session is refused in every process within a second after it ends. It can end because its key was revoked, has expired
//   or was rolled, because its person was blocked, or because it is idle or too old
// Kept by: this file; the key is locked when a session begins (`manage-sessions.ts`)
// Tested by: `test/security/sessions.test.ts`, `verification/mutants/sessions.ts`

/** How long a session is accepted from the cache, in milliseconds. After that, an ended session is refused everywhere. */
const CACHED_MILLISECONDS = 1000;

/** Maximum number of cached sessions. If there are more, the cache is cleared. */
const MAX_CACHED = 10_000;

/** 256 random bits in base64url. */
const FORM = /^[A-Za-z0-9_-]{43}$/;

type Known = { readonly caller: ScopedCaller; readonly until: number };

type LookUp = { readonly startedAt: number; readonly known: Promise<Known> };

export function newToken(): { readonly token: string; readonly tokenHash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, tokenHash: hashOf(token) };
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Called when a session is used: `noteKey` if the session belongs to a key, and `noteSession` only if the user did something.
 * They must not throw.
 */
export type SessionUses = {
  readonly noteSession: (sessionId: string) => void;
  readonly noteKey: (keyId: string) => void;
};

/**
 * Creates the function that checks sessions. It returns the caller of a token, or throws a Refusal `unauthenticated`. If the
 * database fails, the operation fails, but never with a 401.
 *
 * A session is looked up by the hash of its token, at most once a second. The end of the session or its key takes effect within
 * a second, counted from the start of the look-up, as for keys.
 *
 * `isActive` means that the user did something. That keeps the session from becoming idle. A page that only polls does not.
 */
export function openSessionAuthentication(
  database: Database,
  uses: SessionUses,
): (token: string, isActive: boolean) => Promise<Caller> {
  const cache = new Map<string, Known>();
  const lookUps = new Map<string, LookUp>();
  const lookUp = async (digest: string, tokenHash: Buffer, startedAt: number): Promise<Known> => {
    const [row] = await readRows(database, findSession(tokenHash));
    cache.delete(digest);
    const session = row === undefined ? undefined : toFoundSession(row);
    const caller = toCaller(session);
    const { keyLeft, idleLeft, left } = session as FoundSession;
    const lasts = Math.min(CACHED_MILLISECONDS, keyLeft ?? CACHED_MILLISECONDS, idleLeft, left);
    if (cache.size >= MAX_CACHED) cache.clear();
    const known = { caller, until: startedAt + lasts };
    cache.set(digest, known);
    return known;
  };
  const find = (token: string): Known | Promise<Known> => {
    if (!FORM.test(token)) throw refuse('The session is unknown.', 'session malformed');
    const tokenHash = hashOf(token);
    const digest = tokenHash.toString('base64');
    const now = performance.now();
    const known = cache.get(digest);
    if (known !== undefined && known.until > now) return known;
    const shared = lookUps.get(digest);
    if (shared !== undefined && shared.startedAt + CACHED_MILLISECONDS > now) return shared.known;
    const found = lookUp(digest, tokenHash, now).finally(() => {
      if (lookUps.get(digest)?.known === found) lookUps.delete(digest);
    });
    lookUps.set(digest, { startedAt: now, known: found });
    return found;
  };
  return async (token, isActive) => {
    const { caller } = await find(token);
    if ('keyId' in caller) uses.noteKey(caller.keyId);
    if (isActive && caller.sessionId !== undefined) uses.noteSession(caller.sessionId);
    return caller;
  };
}

function toCaller(session: FoundSession | undefined): ScopedCaller {
  if (session === undefined) throw refuse('The session is unknown, or it was ended.', 'session unknown');
  const { sessionId, keyId, personId, programId, scopes, ownerId } = session;
  const owner = keyId ?? personId;
  if (owner === null) throw new Error(`the session ${sessionId} has neither a key nor a person`);
  const ended = (how: string): Refusal => refuse(`The session has ended${how}`, 'session ended', owner);
  if (session.blockedAt !== null) throw ended(': you were blocked. Ask an operator of the service.');
  if (session.revokedAt !== null) throw ended(': its API key was revoked.');
  if (session.replacedBy !== null) throw ended(': its API key was rolled.');
  if (session.keyLeft !== null && session.keyLeft <= 0) throw ended(': its API key has expired.');
  if (session.left <= 0) throw ended(', because it is 12 hours old.');
  if (session.idleLeft <= 0) throw ended(', because it was not used for 15 minutes.');
  if (keyId === null) {
    const person = { personId: owner, scopes, sessionId, signedInAt: session.signedInAt?.getTime() ?? 0 };
    return programId === null
      ? { kind: 'operator_person', ...person }
      : { kind: 'program_person', ...person, programId };
  }
  return programId === null
    ? { kind: 'operator_key', keyId, ...ownedBy(ownerId), scopes, sessionId }
    : { kind: 'program_key', keyId, scopes, programId, sessionId };
}

function refuse(message: string, reason: string, keyId?: string): Refusal {
  const details = { saw: { refused_because: reason }, ...(keyId === undefined ? {} : { keyId }) };
  return new Refusal('unauthenticated', `${message} Sign in again.`, details);
}

/** Maximum number of sessions in one statement, so that it stays well within its time limit. */
const PORTION = 1000;

/** Collects the uses of sessions. A job writes them, so that requests do not have to. */
export type SessionUseNotes = {
  /** Notes that a session is used now. Costs one entry in a map. */
  readonly note: (sessionId: string) => void;
  /** Writes the times of the last uses. Failed writes are retried on the next write. */
  readonly write: () => Promise<void>;
};

export function openSessionUses(database: Database): SessionUseNotes {
  /** The last use of each session, in the time of `performance.now()`. */
  const noted = new Map<string, number>();
  return {
    note: (sessionId) => noted.set(sessionId, performance.now()),
    write: async () => {
      const taken = [...noted];
      for (let at = 0; at < taken.length; at += PORTION) {
        const portion = taken.slice(at, at + PORTION);
        const now = performance.now();
        const uses = portion.map(([sessionId, usedAt]) => ({ sessionId, age: Math.round(now - usedAt) }));
        await database.writeUnguarded(noteSessionUses(uses));
        // Keeps uses that were noted in the meantime for the next write.
        for (const [sessionId, usedAt] of portion) if (noted.get(sessionId) === usedAt) noted.delete(sessionId);
      }
    },
  };
}
