import { hash } from 'node:crypto';
import type { Row, Statement } from './connection/database.ts';
import { plainArray } from './texts.ts';

/**
 * The one order in which locks are taken, by everyone: the switch, names (idempotency keys and references), accounts,
 * and last the head of the audit log, which the trigger of `audit_entry` takes when a row is written. Within a kind they
 * are sorted, so that two transactions never wait for each other. What a decision uses is read by
 * a later statement than the one that locked it, or from the locked rows themselves: under READ COMMITTED a statement
 * that waits for a lock sees everything else as it was before the wait.
 */
const SWITCH_SPACE = 7201;

/**
 * Advisory locks belong to the whole database, and each schema of it may have a service: a change of one switch must not
 * wait for the transfers of another service. So the number is that of the table. Naming it costs nothing, since it is
 * found out when the statement is prepared. In `public` it is the one that processes of earlier versions take.
 */
const SWITCH_NUMBER = "case when current_schema() = 'public' then 1 else 'switch'::regclass::oid::int end";

/** Held alone by a change of the switch: once it has committed, nothing that was in flight can still complete. */
export const HOLD_SWITCH: Statement = {
  name: 'hold_switch',
  text: `select pg_advisory_xact_lock(${SWITCH_SPACE}, ${SWITCH_NUMBER})`,
  values: [],
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
 * What every transfer locks before anything is read: the switch, shared by all that moves money, so that a change of it
 * waits until they have ended; and the names. One statement, since neither decides anything by itself. With `skip`,
 * names that others hold are left out, and {@link toMissedNames} tells which.
 */
export function shareSwitchAndLockNames(names: readonly LockedName[], mode: 'wait' | 'skip'): Statement {
  const lock = mode === 'skip' ? 'pg_try_advisory_xact_lock(hash)' : "pg_advisory_xact_lock(hash)::text = ''";
  return {
    name: mode === 'skip' ? 'share_switch_and_lock_free_names' : 'share_switch_and_lock_names',
    text: `select pg_advisory_xact_lock_shared(${SWITCH_SPACE}, ${SWITCH_NUMBER})::text, null::bigint as hash,
        true as held
      union all select null, hash, ${lock} from unnest($1::bigint[]) as hash`,
    values: [plainArray(hashesOf(names))],
  };
}

/** The hashes of the names that could not be locked. */
export function toMissedNames(rows: readonly Row[]): ReadonlySet<bigint> {
  return new Set(rows.filter((row) => row.held === false).map((row) => row.hash as bigint));
}

/**
 * Locks names by their hash, in its order. Two names with one hash wait for each other, which costs a moment and
 * breaks nothing; nor do the same names of two services in two schemas of one database.
 */
export function lockNames(names: readonly LockedName[]): Statement {
  return {
    name: 'lock_names',
    text: 'select count(pg_advisory_xact_lock(hash)) from unnest($1::bigint[]) as hash',
    values: [plainArray(hashesOf(names))],
  };
}

/** The number under which a name is locked. */
export function hashOf({ programId, kind, scope, name }: LockedName): bigint {
  return hash('sha1', `${programId}\n${kind}\n${scope}\n${name}`, 'buffer').readBigInt64BE();
}

function hashesOf(names: readonly LockedName[]): readonly bigint[] {
  return [...new Set(names.map(hashOf))].sort((left, right) => (left < right ? -1 : 1));
}
