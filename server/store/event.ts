import type { DomainEvent } from '../../domain/event.ts';
import { idAt } from '../ids.ts';
import type { Statement } from './connection/database.ts';
import { joinTexts, plainArray, splitTexts } from './texts.ts';

/**
 * Writes events in the transaction of what they tell of, in the order given. Their place among the events of other
 * transactions is given after the commit: ids and sequences leave gaps that fill late.
 */
export function insertEvents(batchId: string, events: readonly DomainEvent[], now: number): Statement {
  return {
    name: 'insert_events',
    text: `insert into event (batch_id, index, program_id, event_id, type, subject_id, payload, created_at)
      select $1, unnested.index - 1, program_id, event_id, type, subject_id, payload, $7::timestamptz
      from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], ${splitTexts('$6')})
        with ordinality as unnested(program_id, event_id, type, subject_id, payload, index)`,
    values: [
      batchId,
      plainArray(events.map((event) => event.programId)),
      plainArray(events.map((_, index) => idAt(now, index))),
      plainArray(events.map((event) => event.type)),
      events.map((event) => event.subjectId),
      joinTexts(events.map((event) => event.payload)),
      new Date(now),
    ],
  };
}
