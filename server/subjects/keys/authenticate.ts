import { createHash, hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Refusal } from '../../../domain/refusal.ts';
import { type Caller, ownedBy } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Database, Row } from '../../store/connection/database.ts';
import { type ApiKey, findKeys, noteKeyUses, toApiKey } from '../../store/key.ts';

// Invariant: A revoked key is refused in every process within a second
// Kept by: this file. The exception is reading the status while the database does not respond: `docs/health.md`
// Tested by: `test/security/keys.test.ts`, `test/start/status.test.ts`

/** How long a key is accepted from the cache, in milliseconds. After that, a revoked key is refused everywhere. */
const CACHED_MILLISECONDS = 1000;

/**
 * When this much of that time is left, a request with the key begins the next look-up and does not wait for it. So a caller that
 * sends a request at least every 750 ms never waits for a look-up. That would be a third round trip of a transfer.
 */
const RENEWED_MILLISECONDS = 250;

/**
 * While the database does not respond, an operator's key can still read the status for this time after its last look-up. Otherwise
 * no one could read the status when it matters most, because no key can be looked up.
 */
const OUTAGE_MILLISECONDS = 3_600_000;

/** Maximum number of cached keys. If there are more, the cache is cleared. */
const MAX_CACHED = 10_000;

/** `lastUntil` is the time until which an operator's key can read the status while the database does not respond. */
type Known = { readonly caller: KeyCaller; readonly until: number; readonly lastUntil: number };

type KeyCaller = Extract<Caller, { readonly keyId: string }>;

type LookUp = { readonly startedAt: number; readonly caller: Promise<KeyCaller> };

/**
 * Creates the function that checks Bearer keys. It returns the caller of a key, or throws a Refusal `unauthenticated`. If the
 * database fails, the operation fails, but never with a 401.
 *
 * A valid key is cached by its hash, and concurrent requests share one look-up, so a key is looked up about once a second. A result
 * is used for at most a second, counted from the start of its look-up. So a revoked key is refused within a second, even if the
 * database is slow.
 *
 * If `readsStatus` is true and the database fails, an operator's key is accepted if it was valid within the last hour.
 *
 * `onUse` is called with the id of every accepted key. It must not throw. For a cached key, the check throws or returns
 * immediately. For any other key, it rejects or resolves.
 */
export function openAuthentication(
  database: Database,
  onUse: (keyId: string) => void = () => undefined,
): (key: string, deadline?: number, readsStatus?: boolean) => Caller | Promise<Caller> {
  const cache = new Map<string, Known>();
  const lookUps = new Map<string, LookUp>();
  const findRow = openKeySearch(database);
  const lookUp = async (parts: KeyParts, digest: string, startedAt: number): Promise<KeyCaller> => {
    const row = await findRow(parts);
    // A key that is now refused must not be accepted during an outage either.
    cache.delete(digest);
    const left = row?.left_ms as bigint | null | undefined;
    const isBlocked = row !== undefined && row.blocked_at !== null;
    const caller = toCaller(row === undefined ? undefined : toApiKey(row), left, isBlocked);
    if (cache.size >= MAX_CACHED) cache.clear();
    const leftMilliseconds = Number(left ?? Number.POSITIVE_INFINITY);
    cache.set(digest, {
      caller,
      until: startedAt + Math.min(CACHED_MILLISECONDS, leftMilliseconds),
      lastUntil: startedAt + Math.min(OUTAGE_MILLISECONDS, leftMilliseconds),
    });
    return caller;
  };
  const find = (sent: string): KeyCaller | Promise<KeyCaller> => {
    const digest = hash('sha256', sent, 'base64');
    const now = performance.now();
    const known = cache.get(digest);
    if (known !== undefined && known.until > now) {
      // If this look-up fails, the next one after `until` reports it.
      if (known.until - now < RENEWED_MILLISECONDS && !lookUps.has(digest))
        begin(sent, digest, now).catch(() => undefined);
      return known.caller;
    }
    const shared = lookUps.get(digest);
    if (shared !== undefined && shared.startedAt + CACHED_MILLISECONDS > now) return shared.caller;
    return begin(sent, digest, now);
  };
  const begin = (sent: string, digest: string, now: number): Promise<KeyCaller> => {
    const parts = readKeyParts(sent);
    if (parts === undefined)
      throw refuse('The API key was not issued by this service, or it is misspelled.', 'mistyped');
    const caller = lookUp(parts, digest, now).finally(() => {
      if (lookUps.get(digest)?.caller === caller) lookUps.delete(digest);
    });
    lookUps.set(digest, { startedAt: now, caller });
    return caller;
  };
  const use = (caller: KeyCaller): KeyCaller => {
    onUse(caller.keyId);
    return caller;
  };
  /** Returns the caller of an operator's key that cannot be looked up now. Rethrows for other keys, and after a refusal. */
  const findLast = (sent: string, failure: unknown): KeyCaller => {
    const known = cache.get(hash('sha256', sent, 'base64'));
    const isOperator = known?.caller.kind === 'operator_key' && known.lastUntil > performance.now();
    if (failure instanceof Refusal || !isOperator) throw failure;
    return known.caller;
  };
  return (sent, _deadline, readsStatus = false) => {
    const caller = find(sent);
    if (!(caller instanceof Promise)) return use(caller);
    return (readsStatus ? caller.catch((error: unknown) => findLast(sent, error)) : caller).then(use);
  };
}

/**
 * Finds the row of a key. One statement finds all keys that are needed in one turn of the event loop. With a thousand keys in use,
 * each is looked up every second, and separate statements would reduce the rate of transfers by a sixth.
 */
function openKeySearch(database: Database): (parts: KeyParts) => Promise<Row | undefined> {
  type Waiting = KeyParts & PromiseWithResolvers<Row | undefined>;
  let waiting: Waiting[] = [];
  const search = async (): Promise<void> => {
    const searched = waiting;
    waiting = [];
    try {
      const rows = await readRows(database, findKeys(searched));
      const nameOf = (publicPart: string, secretHash: Buffer): string => publicPart + secretHash.toString('hex');
      const found = new Map(rows.map((row) => [nameOf(row.public_part as string, row.secret_hash as Buffer), row]));
      for (const { publicPart, secretHash, resolve } of searched) resolve(found.get(nameOf(publicPart, secretHash)));
    } catch (error) {
      for (const { reject } of searched) reject(error);
    }
  };
  return (parts) => {
    const own = { ...parts, ...Promise.withResolvers<Row | undefined>() };
    // Collects the keys of all requests that begin in this turn of the event loop. Admission limits their number.
    if (waiting.push(own) === 1) setImmediate(search);
    return own.promise;
  };
}

function toCaller(key: ApiKey | undefined, left: bigint | null | undefined, isBlocked: boolean): KeyCaller {
  if (key === undefined) throw refuse('The API key is unknown.', 'unknown');
  const { keyId, programId, scopes, ownerId } = key;
  if (key.revokedAt !== null) throw refuse('The API key was revoked.', 'revoked', keyId);
  if (left !== null && left !== undefined && left <= 0n) throw refuse('The API key has expired.', 'expired', keyId);
  if (isBlocked) throw refuse('The API key belongs to a person who was blocked.', 'blocked', keyId);
  return programId === null
    ? { kind: 'operator_key', keyId, ...ownedBy(ownerId), scopes }
    : { kind: 'program_key', keyId, scopes, programId };
}

function refuse(message: string, reason: string, keyId?: string): Refusal {
  const details = { saw: { refused_because: reason }, ...(keyId === undefined ? {} : { keyId }) };
  return new Refusal('unauthenticated', `${message} Send a valid key as "Authorization: Bearer <key>".`, details);
}

/**
 * A key is `ts_<16 hex digits>_<64 hex digits><8 hex digits>`. The first part is public and is used to look up the key. It is
 * followed by a secret of 256 random bits and a checksum, which detects a mistyped key without a query.
 */
const FORM = /^ts_([0-9a-f]{16})_([0-9a-f]{64})([0-9a-f]{8})$/;

type KeyParts = { readonly publicPart: string; readonly secretHash: Buffer };

export function newKey(): KeyParts & { readonly key: string } {
  const publicPart = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('hex');
  return {
    key: `ts_${publicPart}_${secret}${checksum(publicPart, secret)}`,
    publicPart,
    secretHash: hashSecret(secret),
  };
}

/** Returns the parts of a key, or undefined if it is malformed or mistyped. */
export function readKeyParts(key: string): KeyParts | undefined {
  const [, publicPart, secret, sum] = FORM.exec(key) ?? [];
  if (publicPart === undefined || secret === undefined || sum !== checksum(publicPart, secret)) return undefined;
  return { publicPart, secretHash: hashSecret(secret) };
}

function checksum(publicPart: string, secret: string): string {
  return crc32(`${publicPart}_${secret}`).toString(16).padStart(8, '0');
}

function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Minimum time between two writes of a key's last use. */
const WRITTEN_MILLISECONDS = 60_000;

/** Maximum number of keys in one statement, so that it stays well within its time limit. */
const PORTION = 1000;

/** Collects the uses of keys. A job writes them, so that requests do not have to. */
export type KeyUses = {
  /** Notes a use. Costs a map look-up. */
  readonly note: (keyId: string) => void;
  /** Writes the collected uses: at most one per key and minute. */
  readonly write: () => Promise<void>;
};

/** Opens an empty collection of uses. Failed writes are retried on the next write. */
export function openKeyUses(database: Database): KeyUses {
  const written = new Map<string, number>();
  const noted = new Set<string>();
  return {
    note: (keyId) => {
      const last = written.get(keyId);
      if (last === undefined || last + WRITTEN_MILLISECONDS <= performance.now()) noted.add(keyId);
    },
    write: async () => {
      const now = performance.now();
      for (const [keyId, time] of written) if (time + WRITTEN_MILLISECONDS <= now) written.delete(keyId);
      while (noted.size > 0) {
        const portion = [...noted].slice(0, PORTION);
        await database.writeUnguarded(noteKeyUses(portion));
        for (const keyId of portion) {
          noted.delete(keyId);
          written.set(keyId, now);
        }
      }
    },
  };
}
