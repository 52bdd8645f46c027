import type pg from 'pg';
import { fromWireId } from '../../domain/identifier.ts';
import { hashKey } from '../../server/store/idempotency.ts';
import { hashOf } from '../../server/store/locks.ts';

/** A lock that the test held. Times are from `performance.now()`. */
export type Held = {
  /** The locked card or idempotency key. */
  readonly name: string;
  readonly from: number;
  readonly until: number;
};

/** Locks the account of a card directly in the database while a function runs. */
export function holdCard(
  client: pg.Client,
  programId: string,
  name: string,
  meanwhile: () => Promise<void>,
): Promise<Held> {
  const lock = `select from account
    where account_id = (select account_id from card where program_id = $1 and name = $2) for no key update`;
  return hold(client, name, { text: lock, values: [fromWireId('prog', programId), name] }, meanwhile);
}

/** Locks an idempotency key of create_transfer directly in the database while a function runs. */
export function holdKey(
  client: pg.Client,
  programId: string,
  key: string,
  meanwhile: () => Promise<void>,
): Promise<Held> {
  const inner = fromWireId('prog', programId) ?? '';
  const hash = hashOf({ keyHash: hashKey(inner, 'create_transfer', key) });
  const lock = { text: 'select pg_advisory_xact_lock($1)', values: [hash.toString()] };
  return hold(client, key, lock, meanwhile);
}

async function hold(
  client: pg.Client,
  name: string,
  lock: pg.QueryConfig,
  meanwhile: () => Promise<void>,
): Promise<Held> {
  await client.query('begin');
  await client.query(lock);
  const from = performance.now();
  await meanwhile();
  await client.query('rollback');
  return { name, from, until: performance.now() };
}
