import pg from 'pg';
import { EVERY_PROGRAM, SERVICE_ITSELF } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { fullPayload } from '../../../server/store/events/transfer-payload.ts';

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
export type PlaceRow = {
  readonly programId: string;
  readonly position: number;
  readonly count: number;
  readonly batchId: string;
  readonly number: number;
  readonly isShared: boolean;
};

/** The tables of events in one snapshot. */
export type EventBooks = {
  readonly events: readonly EventRow[];
  /** By program and position. */
  readonly places: readonly PlaceRow[];
  /** The last position of each program. The highest UUID has the last number. */
  readonly heads: ReadonlyMap<string, number>;
  /** The number of transactions whose events have no positions yet. */
  readonly waiting: number;
  /** The number of scheduled transfers, and of holds that expire soon. They will cause more events. */
  readonly due: number;
};

/** An event as readers receive it. */
export type ToldEvent = {
  readonly type: string;
  /** The id on the wire. */
  readonly eventId: string;
  /** The position in the program, or the number among all events. */
  readonly place: number;
  /** The record, parsed and serialized again. */
  readonly text: string;
  /** The exact bytes for a webhook: the whole event, or the event without its data. */
  readonly body: { readonly full: string; readonly thin: string };
};

/** The events of a program by position, or of all programs by number. */
export type Timeline = readonly ToldEvent[];

/** The timeline of operators, who read the events of all programs and of the service itself by number. */
export const ALL_BY_NUMBER = EVERY_PROGRAM;

const EVENTS = `select batch_id as "batchId", index, program_id as "programId", type, subject_id as "subjectId",
    payload::text as payload, created_at as "createdAt" from event order by batch_id, index`;

const PLACES = `select program_id as "programId", position::float8 as position, count, batch_id as "batchId",
    number::float8 as number, is_shared as "isShared" from event_position order by program_id, event_position.position`;

const WAITING = `select
    (select count(*)::integer from write_batch where not relayed and not abandoned) as waiting,
    (select count(*)::integer from transfer where status = 'scheduled')
      + (select count(*)::integer from hold where expires_at < now() + interval '1 hour') as due`;

/** Reads directly from the database: a mistake in the service's reads could hide a mistake in its writes. */
export async function readEventBooks(connection: pg.ClientConfig): Promise<EventBooks> {
  const client = new pg.Client(connection);
  // If the server stops, the next query fails. Without a listener the error would also end this process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const events = await client.query<EventRow>(EVENTS);
    const places = await client.query<PlaceRow>(PLACES);
    const heads = await client.query<{ program_id: string; position: number }>(
      'select program_id, position::float8 as position from event_head',
    );
    const left = await client.query<Pick<EventBooks, 'waiting' | 'due'>>(WAITING);
    return {
      events: events.rows,
      places: places.rows,
      heads: new Map(heads.rows.map(({ program_id, position }) => [program_id, position])),
      waiting: left.rows[0]?.waiting ?? 0,
      due: left.rows[0]?.due ?? 0,
    };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The timelines in the tables, and the problems in the tables themselves. */
export type Told = { readonly timelines: ReadonlyMap<string, Timeline>; readonly problems: readonly string[] };

/**
 * Returns the events of each program by position, and of all programs by number. Positions and numbers must be 1, 2, 3 and
 * so on up to the head. Each event must have at most one position, and exactly one when no transaction waits. A shared
 * event must have a position in each of `programs`.
 */
export function tellEvents({ events, places, heads, waiting }: EventBooks, programs: readonly string[]): Told {
  const problems: string[] = [];
  const groups = Map.groupBy(events, ({ batchId, programId }) => `${batchId} ${programId ?? SERVICE_ITSELF}`);
  const placed = new Map<string, string[]>();
  const timelines = new Map<string, ToldEvent[]>();
  const numbered: ToldEvent[] = [];
  for (const { programId, position, count, batchId, number, isShared } of places) {
    const group = `${batchId} ${isShared ? EVERY_PROGRAM : programId}`;
    placed.set(group, [...(placed.get(group) ?? []), programId]);
    const own = groups.get(group) ?? [];
    if (own.length !== count) problems.push(`${group} has ${own.length} events and positions for ${count}`);
    const timeline = timelines.get(programId) ?? [];
    timelines.set(programId, timeline);
    if (position !== timeline.length + 1)
      problems.push(`position ${position} of ${programId} comes after ${timeline.length}`);
    for (const [offset, event] of own.entries()) {
      const owner = isShared ? programId : event.programId;
      timeline.push(tellEvent(event, owner, position + offset));
      if (!isShared) numbered.push(tellEvent(event, owner, position + offset, number + offset));
    }
  }
  numbered.sort((left, right) => left.place - right.place);
  const wrongNumber = numbered.find(({ place }, index) => place !== index + 1);
  if (wrongNumber !== undefined) problems.push(`number ${wrongNumber.place} is repeated, or comes after a gap`);
  timelines.set(ALL_BY_NUMBER, numbered);
  for (const [programId, head] of heads) {
    const { length } = timelines.get(programId) ?? [];
    if (head !== length) problems.push(`the head of ${programId} is ${head}, but it has ${length} events`);
  }
  return { timelines, problems: [...problems, ...wrongPlaces(groups, placed, waiting, programs)] };
}

function wrongPlaces(
  groups: ReadonlyMap<string, readonly EventRow[]>,
  placed: ReadonlyMap<string, readonly string[]>,
  waiting: number,
  programs: readonly string[],
): readonly string[] {
  const problems: string[] = [];
  for (const group of groups.keys()) {
    const found = placed.get(group) ?? [];
    if (new Set(found).size < found.length) problems.push(`doubled: the events of ${group} have several positions`);
    const isForAll = group.endsWith(EVERY_PROGRAM);
    const isMissing = isForAll ? programs.some((program) => !found.includes(program)) : found.length === 0;
    if (waiting === 0 && isMissing) problems.push(`missing: the events of ${group} have no positions`);
  }
  for (const group of placed.keys()) if (!groups.has(group)) problems.push(`${group} has positions but no events`);
  return problems;
}

/** Returns the event on the wire, with `number` only for readers by number. */
function tellEvent(
  { batchId, index, type, subjectId, payload, createdAt }: EventRow,
  programId: string | null,
  position: number,
  number?: number,
): ToldEvent {
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
    // Usually equal: then both fields share one string.
    text: written === full ? full : written,
    body: { full, thin: JSON.stringify({ ...fields, ...last }) },
  };
}
