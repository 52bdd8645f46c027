import { hash } from 'node:crypto';
import type { Row, Statement } from './connection/database.ts';
import { type KeyInScope, NO_PROGRAM } from './idempotency.ts';
import { BIGINT, many, statement } from './sql.ts';

// Invariant: A decision never uses outdated data
// Kept by: locks first, then reads in later statements, or the guard of a chained group; unique account sequences
// Tested by: `test/store/locks.test.ts`, `verification/campaigns/changes.ts`

/**
 * Every transaction takes its locks in this order: the switch, names (idempotency keys and references), accounts, attempts at
 * processors, incidents, cases, approvals, and last the head of the audit log. The trigger of `audit_entry` locks the head when a
 * row is inserted. Locks of one kind are taken in a fixed order, so that two transactions never deadlock.
 *
 * A decision uses the locked rows themselves, or rows that a later statement reads. Under READ COMMITTED, a statement that waits
 * for a lock sees all other rows as they were before the wait.
 */
const SWITCH_SPACE = 7201;

/**
 * Advisory locks belong to the whole database, and each of its schemas may have a service. A change of one switch must not wait for
 * the transfers of another service. So the number is the oid of the table, which is looked up once, when the statement is prepared.
 * In `public`, it is the number that earlier versions use.
 */
const SWITCH_NUMBER = "case when current_schema() = 'public' then 1 else 'switch'::regclass::oid::int end";

/**
 * Locks the switch exclusively, to change it. After the change has committed, no transaction that was in flight can still complete.
 */
export const HOLD_SWITCH: Statement = {
  name: 'hold_switch',
  text: `select pg_advisory_xact_lock(${SWITCH_SPACE}, ${SWITCH_NUMBER})`,
  values: [],
};

/** A unique value that may not exist yet, such as an idempotency key or a name. Then there is no row to lock. */
export type LockedName =
  | Pick<KeyInScope, 'keyHash'>
  | {
      readonly programId: string;
      readonly kind:
        | 'reference'
        | 'movement_reference'
        | 'card'
        | 'webhooks'
        | 'case'
        | 'person'
        | 'operator'
        | 'approval'
        | 'day';
      readonly name: string;
    }
  /** The processor's token of a card. It is unique at its connector, across all card programs. */
  | { readonly connectorId: string; readonly tokenHash: string };

/** Returns the name to lock before the movements of an operator are counted. `actor` is the operator in the audit log. */
export function nameOfOperator(actor: string): LockedName {
  return { programId: NO_PROGRAM, kind: 'operator', name: actor };
}

const shareAndLock = (name: string, lock: string) =>
  statement(
    name,
    { hashes: many(BIGINT) },
    `select pg_advisory_xact_lock_shared(${SWITCH_SPACE}, ${SWITCH_NUMBER})::text, null::bigint as hash, true as held
      union all select null, hash, ${lock} from unnest(:hashes) as hash`,
  );

const SHARE_SWITCH_AND_LOCK_NAMES = {
  wait: shareAndLock('share_switch_and_lock_names', "pg_advisory_xact_lock(hash)::text = ''"),
  skip: shareAndLock('share_switch_and_lock_free_names', 'pg_try_advisory_xact_lock(hash)'),
};

/**
 * The locks that every transfer takes before it reads: the switch and the names. All operations that move money share the lock
 * on the switch, so that a change of the switch waits until they have ended. One statement takes both locks, because no
 * decision happens in between. With `skip`, names that others have locked are omitted, and {@link toMissedNames} returns them.
 */
export function shareSwitchAndLockNames(names: readonly LockedName[], mode: 'wait' | 'skip'): Statement {
  return SHARE_SWITCH_AND_LOCK_NAMES[mode]({ hashes: hashesOf(names) });
}

export function toMissedNames(rows: readonly Row[]): ReadonlySet<bigint> {
  return new Set(rows.filter((row) => row.held === false).map((row) => row.hash as bigint));
}

const LOCK_NAMES = statement(
  'lock_names',
  { hashes: many(BIGINT) },
  'select count(pg_advisory_xact_lock(hash)) from unnest(:hashes) as hash',
);

/**
 * Locks names by their hashes, in the order of the hashes. Two names with the same hash wait for each other. That takes a moment
 * and does no harm. The same applies to equal names of two services in two schemas of a database.
 */
export function lockNames(names: readonly LockedName[]): Statement {
  return LOCK_NAMES({ hashes: hashesOf(names) });
}

export function hashOf(locked: LockedName): bigint {
  if ('keyHash' in locked) return BigInt.asIntN(64, BigInt(`0x${locked.keyHash.slice(19).replace('-', '')}`));
  const parts =
    'tokenHash' in locked
      ? [locked.connectorId, 'processor_card', '', locked.tokenHash]
      : [locked.programId, locked.kind, '', locked.name];
  return hash('sha1', parts.join('\n'), 'buffer').readBigInt64BE();
}

function hashesOf(names: readonly LockedName[]): readonly bigint[] {
  return [...new Set(names.map(hashOf))].sort((left, right) => (left < right ? -1 : 1));
}

/**
 * Must come first in a transaction that only reads. Then all of its statements see the books at one moment, without a lock that
 * others would wait for.
 */
export const ONE_SNAPSHOT: Statement = {
  name: 'one_snapshot',
  text: 'set transaction isolation level repeatable read, read only',
  values: [],
};
