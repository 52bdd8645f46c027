import { newId } from './ids.ts';
import type { Readiness } from './operations/call.ts';
import type { Database } from './store/connection/database.ts';
import type { Databases } from './store/connection/databases.ts';
import { DISK_FULL, StoreFailure } from './store/connection/failure.ts';
import { FORCE_A_FILE, TRY_TO_WRITE } from './store/connection/writable.ts';
import { COUNT_OPERATOR_KEYS } from './store/key.ts';

/** A check that takes longer, in milliseconds, has failed: who asks must have an answer within two seconds. */
const CHECK_TIME = 1500;

/** For a synchronous standby to have a commit, in milliseconds. */
const CONFIRM_TIME = 1000;

/** For how long a result is kept, in milliseconds: the check needs no key and is not rate limited. */
const KEPT = 500;

/** For how long a commit that failed counts, in milliseconds, unless one has succeeded since. */
const REMEMBERED = 5000;

/**
 * Makes the check whether the database takes writes; it never throws. It runs on a connection of those that write
 * transfers, so that it fails where none is to be had. Requests that come while a check is under way share it, and for
 * half a second after it its result, unless a connection was lost meanwhile.
 */
export function openReadiness(databases: Pick<Databases, 'application' | 'health'>): () => Promise<Readiness> {
  const database = databases.application.forProgram();
  let checking: Promise<Readiness> | undefined;
  let kept: { readonly readiness: Readiness; readonly until: number; readonly losses: number } | undefined;
  const check = async (): Promise<Readiness> => {
    const { losses } = databases.health();
    const readiness = await tryToWrite(database);
    kept = { readiness, until: performance.now() + KEPT, losses };
    checking = undefined;
    return readiness;
  };
  return async () => {
    const { losses, commitFailedAt, committedAt } = databases.health();
    const isRecent = performance.now() - commitFailedAt < REMEMBERED;
    if (isRecent && commitFailedAt > committedAt) return 'unwritable';
    if (kept !== undefined && kept.until > performance.now() && kept.losses === losses) return kept.readiness;
    checking ??= check();
    return inTime(checking);
  };
}

async function tryToWrite(database: Database): Promise<Readiness> {
  try {
    const tried = await database.transact({
      batchId: newId(),
      load: { forced: FORCE_A_FILE, tried: TRY_TO_WRITE },
      decide: ({ tried: [row] }) => ({ result: row, writes: [], readsOnly: true }),
    });
    if (tried?.read_only !== false) return 'read_only';
    if (tried.replicated === null) return 'ready';
    const deadline = performance.now() + CONFIRM_TIME;
    return (await database.confirm(String(tried.replicated), deadline)) ? 'ready' : 'unwritable';
  } catch (error) {
    if (!(error instanceof StoreFailure)) return 'unwritable';
    if (error.crowded) return 'no_connection';
    if (error.connectionLost) return 'silent';
    return error.sqlState === DISK_FULL ? 'disk_full' : 'unwritable';
  }
}

async function inTime(checking: Promise<Readiness>): Promise<Readiness> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<Readiness>((resolve) => {
    timer = setTimeout(() => resolve('silent'), CHECK_TIME);
  });
  const readiness = await Promise.race([checking, tooLate]);
  clearTimeout(timer);
  return readiness;
}

/** Whether an operator key exists that was not revoked. */
export async function hasOperatorKey(database: Database): Promise<boolean> {
  const [row] = await database.read(COUNT_OPERATOR_KEYS);
  return row !== undefined && row.count !== 0n;
}
