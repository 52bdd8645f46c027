import { toWireId } from '../../domain/identifier.ts';
import type { StoredEvent } from '../store/events/read-events.ts';

/** Version of the API in which the records of events are written. */
export const EVENT_VERSION = 'v0.1';

/** What is written of an event: all of it, or all but `data`. */
export type EventPayload = 'full' | 'thin';

/**
 * An event as JSON text. `data` is the text that was stored with the event: parsing it and writing it again could change
 * it, and every reader of the event is to get the same bytes.
 */
export function writeEvent(event: StoredEvent, payload: EventPayload = 'full'): string {
  return `{${fieldsOf(event, payload)}}`;
}

/** The same with `number`, for operators. An event for every program is of none, and has no place of its own. */
export function writeOperatorEvent(event: StoredEvent, payload: EventPayload = 'full'): string {
  if (event.isShared) return `{${fieldsOf({ ...event, programId: null, position: null }, payload)},"number":null}`;
  return `{${fieldsOf(event, payload)},"number":${event.number}}`;
}

type ShownEvent = Omit<StoredEvent, 'position'> & { readonly position: number | null };

function fieldsOf(event: ShownEvent, payload: EventPayload): string {
  const { eventId, type, position, programId, subjectId, createdAt, payload: data } = event;
  const fields = {
    event_id: toWireId('evt', eventId),
    type,
    position,
    program_id: programId === null ? null : toWireId('prog', programId),
    subject_id: subjectId,
    created_at: createdAt.toISOString(),
    version: EVENT_VERSION,
  };
  const text = JSON.stringify(fields).slice(1, -1);
  return payload === 'full' ? `${text},"data":${data}` : text;
}

/** An event of a stream of Server-Sent Events. */
export function writeMessage(id: number, type: string, data: string): string {
  // A line break can only be white space between the parts of the JSON text, which readers put together again.
  return `id: ${id}\nevent: ${type}\ndata: ${data.replaceAll(/\r\n|\r|\n/g, '\ndata: ')}\n\n`;
}
