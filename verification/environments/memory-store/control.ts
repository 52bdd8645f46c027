import { type Meanings, NOTHING } from './meaning.ts';
import type { StoredRow } from './parameters.ts';
import { SWITCH } from './switch.ts';
import type { Transaction } from './transaction.ts';

/** A new fence without events. Fences in the same millisecond differ, as they do with PostgreSQL's microseconds. */
function fenceOf({ clock }: Transaction, batch_id: unknown): StoredRow {
  const noEvents = { events_at: null, event_programs: null, event_counts: null };
  return { batch_id, abandoned: false, moment: clock(), created_at: new Date(clock()), relayed: false, ...noEvents };
}

/** The rows of a statement that locks names: one for the switch, and one for each name. */
const lockRowsOf = (hashes: unknown, isHeld: (hash: bigint) => boolean): readonly StoredRow[] => [
  { pg_advisory_xact_lock_shared: '', hash: null, held: true },
  ...(hashes as bigint[]).map((hash) => ({ pg_advisory_xact_lock_shared: null, hash, held: isHeld(hash) })),
];

/** The fence of transactions, the locks of names, stored responses of idempotency keys, and the audit log. */
export const CONTROL_STATEMENTS: Meanings = {
  *fence_batch(transaction, { values: [batchId, at, programIds, counts] }) {
    const events = { events_at: at, event_programs: programIds, event_counts: counts };
    const fence = { ...fenceOf(transaction, batchId), relayed: at === null, ...events };
    yield* transaction.insert('write_batch', String(batchId), fence);
    return [{ created_at: new Date(transaction.clock()), replicated: null, settings_read: null }];
  },

  *abandon_batch(transaction, { values: [batchId] }) {
    const key = String(batchId);
    // In PostgreSQL, a unique index makes a second transaction wait for the first. Here, a lock does.
    yield* transaction.lock(`write_batch ${key}`);
    if (transaction.newest('write_batch', key) !== undefined) return NOTHING;
    yield* transaction.insert('write_batch', key, { ...fenceOf(transaction, batchId), abandoned: true });
    return NOTHING;
  },

  look_up_batch(transaction, { values: [batchId] }) {
    const row = transaction.find('write_batch', String(batchId));
    return row === undefined ? NOTHING : [{ abandoned: row.abandoned, replicated: null }];
  },

  read_replicated() {
    return [{ replicated: null }];
  },

  *share_switch_and_lock_names(transaction, { values: [hashes] }) {
    yield* transaction.lock(SWITCH, 'share');
    for (const hash of hashes as bigint[]) yield* transaction.lock(`name ${hash}`);
    return lockRowsOf(hashes, () => true);
  },

  *share_switch_and_lock_free_names(transaction, { values: [hashes] }) {
    yield* transaction.lock(SWITCH, 'share');
    return lockRowsOf(hashes, (hash) => transaction.tryLock(`name ${hash}`));
  },

  *lock_names(transaction, { values: [hashes] }) {
    for (const hash of hashes as bigint[]) yield* transaction.lock(`name ${hash}`);
    return [{ count: BigInt((hashes as bigint[]).length) }];
  },

  read_stored_responses(transaction, { rows }) {
    return rows('sent').flatMap(({ key_hash }) => {
      const found = transaction.find('idempotency', String(key_hash));
      if (found === undefined) return [];
      const { program_id, batch_id, event_index, ...rest } = found;
      const { fingerprint, meaning, request_id, status, subject_id, code, message, field } = rest;
      const event = batch_id === null ? undefined : transaction.find('event', `${batch_id} ${event_index}`);
      const body = batch_id === null ? found.body : (event?.payload ?? null);
      const outcome = { fingerprint, meaning, request_id, status, subject_id, code, message, field };
      return [{ key_hash, ...outcome, program_id, body }];
    });
  },

  *insert_stored_responses(transaction, { rows, values: [batchId, now] }) {
    for (const row of rows('responses')) {
      yield* transaction.insert('idempotency', String(row.key_hash), {
        ...row,
        batch_id: row.event_index === null ? null : batchId,
        created_at: now,
      });
    }
    return NOTHING;
  },

  /** The unnamed statements of the barrier for a standby. The simulation has no standby. */
  '': () => NOTHING,

  *insert_audit_entries(transaction, { rows }) {
    // In PostgreSQL a trigger chains the rows. Only the lock of that trigger is simulated.
    yield* transaction.lock('audit_head');
    for (const { place: _place, ...note } of rows('notes')) {
      yield* transaction.insert('audit_entry', String(note.entry_id), note);
    }
    return NOTHING;
  },
};
