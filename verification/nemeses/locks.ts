import type pg from 'pg';
import { fromWireId } from '../../domain/identifier.ts';
import { hashKey } from '../../server/store/idempotency.ts';
import { hashOf } from '../../server/store/locks.ts';

/** Locks the account of a card. */
export function lockOfCard(programId: string, name: string): pg.QueryConfig {
  const text = `select from account
    where account_id = (select account_id from card where program_id = $1 and name = $2) for no key update`;
  return { text, values: [fromWireId('prog', programId), name] };
}

/** Locks an idempotency key of create_transfer. */
export function lockOfKey(programId: string, key: string): pg.QueryConfig {
  const keyHash = hashKey(fromWireId('prog', programId) ?? '', 'create_transfer', key);
  return { text: 'select pg_advisory_xact_lock($1)', values: [hashOf({ keyHash }).toString()] };
}

/** Holds a lock directly in the database while a function runs. Returns the times between which the lock was held. */
export async function hold(client: pg.Client, lock: pg.QueryConfig, meanwhile: () => Promise<void>) {
  await client.query('begin');
  await client.query(lock);
  const from = performance.now();
  await meanwhile();
  await client.query('rollback');
  return { from, until: performance.now() };
}
