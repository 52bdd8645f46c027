import { EVERY_PROGRAM } from '../../../domain/event.ts';
import { type Meaning, type Meanings, NOTHING } from './meaning.ts';
import type { StoredRow } from './parameters.ts';
import type { Run, Transaction } from './transaction.ts';

const insertEvents: Meaning = function* (transaction, { rows, values: [batchId, now] }) {
  for (const row of rows('events')) {
    yield* transaction.insert('event', `${batchId} ${row.index}`, {
      request_id: null,
      traceparent: null,
      ...row,
      batch_id: batchId,
      created_at: now,
    });
  }
  return NOTHING;
};

/**
 * Fences of the same moment stay in the order of their commits. In PostgreSQL, a fence after another's commit has a later
 * time, because that clock has microseconds and never stands still.
 */
const inOrderOfFences = (one: StoredRow, other: StoredRow): number => (one.moment as number) - (other.moment as number);

/** Adds to the last position of a program and returns the new one. */
function* raiseHead(transaction: Transaction, programId: string, count: number): Run<number> {
  yield* transaction.lock(`event_head ${programId}`);
  const before = transaction.newest('event_head', programId);
  const position = Number(before?.position ?? 0n) + count;
  const row = { program_id: programId, position: BigInt(position) };
  if (before === undefined) yield* transaction.insert('event_head', programId, row);
  else yield* transaction.update('event_head', programId, () => row);
  return position;
}

/** Events, and the relay that gives them positions. */
export const EVENT_STATEMENTS: Meanings = {
  insert_events: insertEvents,
  insert_traced_events: insertEvents,

  read_event_heads(transaction, { values: [programIds] }) {
    const heads = (programIds as string[]).map((id) => transaction.find('event_head', id));
    return heads.filter((head) => head !== undefined);
  },

  // The simulation deletes no events.
  read_oldest_event_position: () => [{ oldest: 1n }],

  *hold_relay(transaction) {
    yield* transaction.lock('relay');
    return [{ pg_advisory_xact_lock: '' }];
  },

  *relay_events(transaction, { values: [withinSeconds, count] }) {
    const from = withinSeconds === null ? Number.NEGATIVE_INFINITY : transaction.clock() - Number(withinSeconds) * 1000;
    const batches = transaction
      .scan('write_batch', (row) => row.relayed === false && row.abandoned === false && (row.moment as number) >= from)
      .sort(inOrderOfFences)
      .slice(0, Number(count));
    const everyId = transaction.scan('program', () => true).map(({ program_id }) => String(program_id));
    const sent = batches.flatMap((batch) =>
      (batch.event_programs as string[])
        .map((programId, index) => ({ batch, programId, count: (batch.event_counts as number[])[index] ?? 0 }))
        // `EVERY_PROGRAM` has the highest id, so it comes last.
        .sort((one, other) => (one.programId < other.programId ? -1 : 1))
        .flatMap((own) => {
          if (own.programId !== EVERY_PROGRAM) return [{ ...own, isShared: false }];
          return everyId.map((programId) => ({ ...own, programId, isShared: true }));
        }),
    );
    const added = new Map<string, number>();
    for (const { programId, count: more } of sent) added.set(programId, (added.get(programId) ?? 0) + more);
    const programIds = [...added.keys()].sort();
    const result = { found: batches.length, program_ids: programIds };
    if (sent.length === 0) return [result];
    const total = sent.reduce((sum, { count: more, isShared }) => sum + (isShared ? 0 : more), 0);
    const next = new Map<string, number>();
    for (const id of programIds) {
      const more = added.get(id) ?? 0;
      next.set(id, (yield* raiseHead(transaction, id, more)) - more + 1);
    }
    let number = (yield* raiseHead(transaction, EVERY_PROGRAM, total)) - total + 1;
    for (const { batch, programId, count: more, isShared } of sent) {
      const position = next.get(programId) ?? 0;
      yield* transaction.insert('event_position', `${batch.batch_id} ${programId} ${position}`, {
        program_id: programId,
        position: BigInt(position),
        count: more,
        batch_id: batch.batch_id,
        events_at: batch.events_at,
        number: BigInt(isShared ? number - 1 : number),
        is_shared: isShared,
        relayed_at: new Date(transaction.clock()),
      });
      next.set(programId, position + more);
      if (!isShared) number += more;
    }
    for (const { batch_id } of batches) {
      yield* transaction.update('write_batch', String(batch_id), (row) => ({ ...row, relayed: true }));
    }
    return [result];
  },
};
