import { EVERY_PROGRAM, isTypeOrGroup, SERVICE_ITSELF } from '../../../domain/event.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { type Call, schemaRefusal } from '../../calls/call.ts';
import { cursorFault, DEFAULT_LIMIT } from '../../calls/page.ts';
import { writeEvent, writeOperatorEvent } from '../../calls/records/event.ts';
import { ALL_EVENTS } from './event-news.ts';
import type { EventSource } from './event-source.ts';

export type ListCall = Call<'list_events'> | Call<'search_events'>;

/** The query of a list. `after` is a position, or a number for operators. */
export type EventQuery = {
  readonly source: EventSource;
  readonly limit: number;
  /** Null for a list with the newest events first. */
  readonly after: number | null;
  /** The end of the previous page, in the order of the list. Null for the first page. */
  readonly cursor: number | null;
  readonly waitMilliseconds: number;
};

/** Reads the query of a list. Refuses contradictions, and filters that can never match, because they hide a mistake. */
export function readEventQuery(call: ListCall): EventQuery {
  const { limit = DEFAULT_LIMIT, cursor, after, wait } = call.query;
  if (wait !== undefined && after === undefined && call.stream === undefined) {
    throw schemaRefusal(
      call,
      "'wait' can only be sent together with 'after', which says after which event to wait.",
      '/wait',
    );
  }
  if (cursor !== undefined && call.stream !== undefined) {
    throw schemaRefusal(call, "A stream has no 'cursor'. Send the Last-Event-ID header, or 'after'.", '/cursor');
  }
  return {
    source: readSource(call),
    limit,
    after: after ?? null,
    cursor: readPlaceCursor(call, cursor, after),
    waitMilliseconds: (wait ?? 0) * 1000,
  };
}

/** Returns the start of a stream: Last-Event-ID if it was sent, or else `after`. Null means the next event. */
export function readStart(call: ListCall): number | null {
  const lastEventId = call.stream?.lastEventId;
  if (lastEventId === undefined) return call.query.after ?? null;
  const place = readPlace(lastEventId);
  if (place !== undefined) return place;
  const what = call.operation === 'list_events' ? 'position' : 'number';
  throw schemaRefusal(call, `The Last-Event-ID header is not the ${what} of an event.`);
}

function readSource(call: ListCall): EventSource {
  const { type, subject_id: subjectId } = call.query;
  const filter = { types: type === undefined ? undefined : readTypes(call, type), subjectId };
  if (call.operation === 'list_events') {
    const { programId } = call;
    return { ...filter, programId, headOf: programId, onlyOf: undefined, write: writeEvent };
  }
  const onlyOf = readProgram(call, call.query.program_id);
  return { ...filter, programId: undefined, headOf: ALL_EVENTS, onlyOf, write: writeOperatorEvent };
}

/** Reads types separated by commas. Each can be a group of types, such as `transfer.*`. */
function readTypes(call: ListCall, sent: string): readonly string[] {
  const types = sent.split(',');
  const unknown = types.find((type) => !isTypeOrGroup(type));
  if (unknown === undefined) return types;
  const where = types.length === 1 ? `is '${unknown}'` : `contains '${unknown}'`;
  const message = `'type' ${where}, which is neither a type of event nor a group of types such as 'transfer.*'. All types are at /events.`;
  throw schemaRefusal(call, message, '/type');
}

function readProgram(call: ListCall, sent: string | undefined): string | undefined {
  if (sent === undefined) return undefined;
  const programId = fromWireId('prog', sent);
  if (programId !== undefined && programId !== EVERY_PROGRAM && programId !== SERVICE_ITSELF) return programId;
  const message = `'program_id' is '${sent}', which is not a program id (prog_ and 32 hex digits).`;
  throw schemaRefusal(call, message, '/program_id');
}

function readPlaceCursor(call: ListCall, cursor: string | undefined, after: number | undefined): number | null {
  if (cursor === undefined) return null;
  const place = readPlace(cursor);
  if (place === undefined || place < (after ?? 1)) throw cursorFault(call);
  return place;
}

function readPlace(text: string): number | undefined {
  const place = /^(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : undefined;
  return place !== undefined && Number.isSafeInteger(place) ? place : undefined;
}
