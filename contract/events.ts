import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { DEMO_PROGRAM, EXAMPLE_EVENT_ID, EXAMPLE_TIME, EXAMPLE_TRANSFER_ID, sampleOf } from './samples.ts';
import {
  checkedText,
  cursor,
  existing,
  idText,
  limit,
  moment,
  nextCursor,
  nullable,
  textOrNull,
} from './schema-parts.ts';
import { TransferRecord } from './transfers.ts';

// Invariant: Every event type has a definition, and its data matches the API's record
// Kept by: `contract/events/`
// Tested by: `test/api/events/event-types.test.ts`

/** The longest `wait`, in seconds. Proxies usually close an idle connection only after a longer time. */
export const MAX_WAIT_SECONDS = 25;

/** The longest `type` of a list, in characters: about twice the length of a list of all types. */
const MAX_TYPES_CHARACTERS = 1000;

const TYPE_OR_GROUP = '[a-z_]+[.]([a-z_]+|[*])';

/** An event, as its card program reads it. */
export const EventRecord = Type.Object({
  event_id: Type.String({ description: 'Id of the event; it never changes' }),
  type: Type.String({ description: 'What happened, such as `transfer.completed`. `/events` explains every type' }),
  position: Type.Integer({
    description: 'Position among the events of the card program: 1, 2, 3 and so on, without a gap',
  }),
  program_id: textOrNull('The card program; null for an event of the service itself, which only operators read'),
  subject_id: Type.String({ description: 'Id of the subject of the event, such as a transfer' }),
  created_at: moment('When it happened'),
  version: Type.String({ description: 'Version of the API that defines `data`' }),
  data: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: 'The state of the subject at that moment; `/events` describes it for each type',
  }),
});

/** An event, as operators read it. */
export const OperatorEventRecord = Type.Object({
  ...EventRecord.properties,
  number: Type.Integer({
    description: 'Position among the events of all card programs and of the service: 1, 2, 3 and so on, without a gap',
  }),
});

const perProgram = (what: string) =>
  nullable(
    Type.Integer({ description: `${what}; null for an event that every card program has under its own position` }),
  );

/** Any event, as operators look it up. */
export const InspectedEventRecord = Type.Object({
  ...OperatorEventRecord.properties,
  position: perProgram('Position among the events of the card program'),
  number: perProgram('Position among the events of all card programs and of the service'),
});

export const EventPage = Type.Object({
  data: Type.Array(EventRecord, { description: 'Events: oldest first with `after`, otherwise newest first' }),
  next_cursor: nextCursor,
  position: Type.Integer({
    description:
      'Every event up to this position has been read, including events that the filter left out. Send it as `after` to continue',
  }),
});

export const FoundEvents = Type.Object({
  data: Type.Array(OperatorEventRecord, { description: 'Events: oldest first with `after`, otherwise newest first' }),
  next_cursor: nextCursor,
  number: Type.Integer({
    description:
      'Every event up to this number has been read, including events that the filter left out. Send it as `after` to continue',
  }),
});

const after = (what: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `Only events after this ${what}, oldest first; 0 for all. Newest first if omitted`,
    }),
  );

const READING = {
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WAIT_SECONDS,
      description: 'With `after`: seconds to wait for an event if there is none yet; 0 if omitted',
    }),
  ),
  type: Type.Optional(
    checkedText(
      MAX_TYPES_CHARACTERS,
      'Only events of this type, such as `transfer.completed`, or of all types of a subject: `transfer.*`. Several are ' +
        'separated by commas',
      { pattern: `^${TYPE_OR_GROUP}(,${TYPE_OR_GROUP})*$` },
    ),
  ),
  subject_id: Type.Optional(existing('Only events about this subject')),
};

const CORE = '/api/v0.1/core/event';
const OPERATOR = '/api/v0.1/operator/event';

const EVENT = {
  event_id: EXAMPLE_EVENT_ID,
  type: 'transfer.completed',
  position: 42,
  program_id: DEMO_PROGRAM,
  subject_id: EXAMPLE_TRANSFER_ID,
  created_at: EXAMPLE_TIME,
  version: 'v0.1',
  data: sampleOf(TransferRecord),
} as const;
const EVENT_OF_ALL = { ...EVENT, number: 1042 } as const;

export const EVENTS = [
  operation({
    id: 'list_events',
    method: 'GET',
    path: CORE,
    summary: 'List the events of the card program, wait for the next one, or stream them',
    reach: 'program',
    scope: 'events:read',
    query: Type.Object({ limit, cursor, after: after('position'), ...READING }),
    reply: EventPage,
    stream: EventRecord,
    errors: ['events_expired'],
    failure: 'The events could not be listed',
    example: { reply: { data: [EVENT] } },
  }),
  operation({
    id: 'get_event',
    method: 'GET',
    path: `${CORE}/{event_id}`,
    summary: 'Get an event of the card program',
    reach: 'program',
    scope: 'events:read',
    reply: EventRecord,
    errors: ['event_not_found'],
    failure: 'The event could not be read',
    example: { reply: EVENT },
  }),
  operation({
    id: 'search_events',
    method: 'GET',
    path: OPERATOR,
    summary: 'List the events of all card programs and of the service, wait for the next one, or stream them',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      after: after('number'),
      ...READING,
      program_id: Type.Optional(idText('prog', 'Only events of this card program')),
    }),
    reply: FoundEvents,
    stream: OperatorEventRecord,
    errors: ['events_expired'],
    failure: 'The events could not be searched',
    example: { reply: { data: [EVENT_OF_ALL] } },
  }),
  operation({
    id: 'inspect_event',
    method: 'GET',
    path: `${OPERATOR}/{event_id}`,
    summary: 'Get any event',
    reach: 'operator',
    scope: 'operator:read',
    reply: InspectedEventRecord,
    errors: ['event_not_found'],
    failure: 'The event could not be inspected',
    example: { reply: EVENT_OF_ALL },
  }),
] as const;

export type EventRecord = Static<typeof EventRecord>;
export type OperatorEventRecord = Static<typeof OperatorEventRecord>;
