import type pg from 'pg';
import { EVERY_PROGRAM } from '../../../domain/event.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { fullPayload } from '../../../server/store/events/transfer-payload.ts';
import { onConnection } from '../../../test/harness/ledger.ts';

/** A row of the table `event`. */
export type EventRow = {
  readonly batchId: string;
  readonly index: number;
  readonly programId: string | null;
  readonly type: string;
  readonly subjectId: string;
  readonly payload: string;
  readonly createdAt: Date;
};

/** A row of the table `event_position`: the positions of one transaction's events in one program. */
export type PositionRow = {
  readonly programId: string;
  readonly position: number;
  readonly count: number;
  readonly batchId: string;
  readonly number: number;
  readonly isShared: boolean;
};

/** The event tables in one snapshot. */
export type EventTables = {
  readonly events: readonly EventRow[];
  /** The rows of `event_position`, by program and position. */
  readonly positions: readonly PositionRow[];
  /** The last position of each program. The entry of {@link EVERY_PROGRAM} is the last number. */
  readonly heads: ReadonlyMap<string, number>;
  /** The number of transactions whose events have no positions yet. */
  readonly waiting: number;
  /** The number of scheduled transfers, and of holds that expire soon. They will cause more events. */
  readonly due: number;
};

const EVENTS = `select batch_id as "batchId", index, program_id as "programId", type, subject_id as "subjectId",
    payload::text as payload, created_at as "createdAt" from event order by batch_id, index`;

const POSITIONS = `select program_id as "programId", position::float8 as position, count, batch_id as "batchId",
    number::float8 as number, is_shared as "isShared" from event_position order by program_id, event_position.position`;

const HEADS = 'select program_id as "programId", position::float8 as position from event_head';

const REST = `select
    (select count(*)::integer from write_batch where not relayed and not abandoned) as waiting,
    (select count(*)::integer from transfer where status = 'scheduled')
      + (select count(*)::integer from hold where expires_at < now() + interval '1 hour') as due`;

/** Reads directly from the database, because a bug in the service's reads could hide a bug in its writes. */
export function readEventTables(connection: pg.ClientConfig): Promise<EventTables> {
  return onConnection(connection, async (client) => {
    await client.query('begin isolation level repeatable read read only');
    const { rows: events } = await client.query<EventRow>(EVENTS);
    const { rows: positions } = await client.query<PositionRow>(POSITIONS);
    const { rows: heads } = await client.query<{ programId: string; position: number }>(HEADS);
    const { rows: rest } = await client.query<Pick<EventTables, 'waiting' | 'due'>>(REST);
    return {
      ...{ events, positions, heads: new Map(heads.map(({ programId, position }) => [programId, position])) },
      ...(rest[0] ?? { waiting: 0, due: 0 }),
    };
  });
}

/** An event as readers and webhook receivers get it. */
export type PlacedEvent = {
  readonly type: string;
  /** The event's wire id. */
  readonly eventId: string;
  /** The position in the program, or the number among all events. */
  readonly place: number;
  /** The record, parsed and serialized again. */
  readonly text: string;
  /** The exact bytes for a webhook: the whole event, or the event without its data. */
  readonly body: { readonly full: string; readonly thin: string };
};

/** The events of a program by position, or of all programs by number. */
export type Timeline = readonly PlacedEvent[];

/** The timeline of each program, by its UUID. */
export type Timelines = ReadonlyMap<string, Timeline>;

/** The timeline of operators, who read the events of all programs and of the service itself by number. */
export const ALL_BY_NUMBER = EVERY_PROGRAM;

/** Returns the timeline of a program, by its wire id. Without an id, returns the timeline of all programs. */
export function timelineOf(programId: string | undefined, timelines: Timelines): Timeline {
  return timelines.get(programId === undefined ? ALL_BY_NUMBER : (fromWireId('prog', programId) ?? '')) ?? [];
}

/** Returns the event on the wire, with `number` only for readers by number. */
export function placeEvent(
  { batchId, index, type, subjectId, payload, createdAt }: EventRow,
  programId: string | null,
  position: number,
  number?: number,
): PlacedEvent {
  const eventId = toWireId('evt', `${batchId.slice(0, -4)}${(index + 1).toString(16).padStart(4, '0')}`);
  const fields = {
    event_id: eventId,
    type,
    position,
    program_id: programId === null ? null : toWireId('prog', programId),
    subject_id: subjectId,
    created_at: createdAt.toISOString(),
    version: 'v0.1',
  };
  const last = number === undefined ? {} : { number };
  const data = fullPayload(payload, { programId, subjectId });
  const written = JSON.stringify({ ...fields, data: JSON.parse(data) as unknown, ...last });
  const full = `${JSON.stringify(fields).slice(0, -1)},"data":${data}${number === undefined ? '' : `,"number":${number}`}}`;
  return {
    type,
    eventId,
    place: number ?? position,
    // The two are usually equal, and then both fields share one string.
    text: written === full ? full : written,
    body: { full, thin: JSON.stringify({ ...fields, ...last }) },
  };
}
