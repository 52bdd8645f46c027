import { createHash } from 'node:crypto';
import type { Statement } from './database.ts';

/**
 * The one order in which locks are taken, by everyone: the switch, names (idempotency keys and references), accounts.
 * Within a kind they are sorted, so that two transactions never wait for each other. What a decision uses is read by
 * a later statement than the one that locked it, or from the locked rows themselves: under READ COMMITTED a statement
 * that waits for a lock sees everything else as it was before the wait.
 */
const SWITCH_LOCK = { space: 7201, number: 1 };

/** Shared by everything that moves money; a change of the switch waits until all of that has ended. */
export const SHARE_SWITCH: Statement = {
  name: 'share_switch',
  text: 'select pg_advisory_xact_lock_shared($1, $2)',
  values: [SWITCH_LOCK.space, SWITCH_LOCK.number],
};

/** Held alone by a change of the switch: once it has committed, nothing that was in flight can still complete. */
export const HOLD_SWITCH: Statement = {
  name: 'hold_switch',
  text: 'select pg_advisory_xact_lock($1, $2)',
  values: [SWITCH_LOCK.space, SWITCH_LOCK.number],
};

/** A name that exists at most once and may not exist yet, so that there is no row to lock. */
export type LockedName = {
  readonly programId: string;
  readonly kind: 'idempotency_key' | 'reference' | 'card';
  /** The operation, for an idempotency key. */
  readonly scope: string;
  readonly name: string;
};

/**
 * Locks names by their hash, in its order. Two names with one hash wait for each other, which costs a moment and
 * breaks nothing.
 */
export function lockNames(names: readonly LockedName[]): Statement {
  const hashes = new Set(
    names.map((locked) =>
      createHash('sha256')
        .update(`${locked.programId}\n${locked.kind}\n${locked.scope}\n${locked.name}`)
        .digest()
        .readBigInt64BE(),
    ),
  );
  const sorted = [...hashes].sort((left, right) => (left < right ? -1 : 1));
  return {
    name: 'lock_names',
    text: 'select count(pg_advisory_xact_lock(hash)) from unnest($1::bigint[]) as hash',
    values: [sorted],
  };
}
