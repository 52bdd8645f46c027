import { newId } from './ids.ts';
import type { Readiness } from './operations/call.ts';
import type { Database } from './store/connection/database.ts';
import type { Databases } from './store/connection/databases.ts';
import { DISK_FULL, StoreFailure } from './store/connection/failure.ts';
import { FORCE_A_FILE, TRY_TO_WRITE } from './store/connection/writable.ts';
import { COUNT_OPERATOR_KEYS } from './store/key.ts';

/** A check that takes longer has failed: health probes expect a response within two seconds. */
const CHECK_TIMEOUT_MILLISECONDS = 1500;

/** Maximum wait for a synchronous standby to confirm a commit. */
const CONFIRM_TIMEOUT_MILLISECONDS = 1000;

/** Time for which a result is reused: the check needs no key and is not rate limited. */
const CACHE_MILLISECONDS = 500;

/** Time for which a failed commit counts, unless a later one has succeeded. */
const FAILED_COMMIT_MILLISECONDS = 5000;

/**
 * Returns the check whether the database accepts writes; it never throws. It uses a connection of the transfers' pool, so
 * that it fails when none is available. Concurrent requests share one check, and its result for half a second, unless a
 * connection was lost in between.
 */
export function openReadiness(databases: Pick<Databases, 'application' | 'health'>): () => Promise<Readiness> {
  const database = databases.application.forProgram();
  let checking: Promise<Readiness> | undefined;
  let kept: { readonly readiness: Readiness; readonly until: number; readonly losses: number } | undefined;
  const check = async (): Promise<Readiness> => {
    const { losses } = databases.health();
    const readiness = await tryToWrite(database);
    kept = { readiness, until: performance.now() + CACHE_MILLISECONDS, losses };
    checking = undefined;
    return readiness;
  };
  return async () => {
    const { losses, commitFailedAt, committedAt } = databases.health();
    const isRecent = performance.now() - commitFailedAt < FAILED_COMMIT_MILLISECONDS;
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
    const deadline = performance.now() + CONFIRM_TIMEOUT_MILLISECONDS;
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
    timer = setTimeout(() => resolve('silent'), CHECK_TIMEOUT_MILLISECONDS);
  });
  const readiness = await Promise.race([checking, tooLate]);
  clearTimeout(timer);
  return readiness;
}

/** Whether an operator key exists that is not revoked. */
export async function hasOperatorKey(database: Database): Promise<boolean> {
  const [row] = await database.read(COUNT_OPERATOR_KEYS);
  return row !== undefined && row.count !== 0n;
}
