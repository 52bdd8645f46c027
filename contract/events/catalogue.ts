import { type Static, Type } from 'typebox';
import { EVENT_TYPES, type EventType } from '../../domain/event.ts';
import { DEMO_PROGRAM, EXAMPLE_EVENT_ID, EXAMPLE_TIME, sampleOf } from '../samples.ts';
import { textOrNull } from '../schema-parts.ts';
import { ACCESS_EVENTS } from './access.ts';
import { APPROVAL_EVENTS } from './approvals.ts';
import { CARD_EVENTS } from './cards.ts';
import type { EventDefinition } from './definition.ts';
import { ERROR_EVENTS } from './errors.ts';
import { PROGRAM_EVENTS } from './programs.ts';
import { SETTLEMENT_EVENTS } from './settlement.ts';
import { SUPPORT_EVENTS } from './support.ts';
import { TRANSFER_EVENTS } from './transfers.ts';
import { WEBHOOK_EVENTS } from './webhooks.ts';

const DEFINITIONS = {
  ...TRANSFER_EVENTS,
  ...CARD_EVENTS,
  ...PROGRAM_EVENTS,
  ...SETTLEMENT_EVENTS,
  ...ACCESS_EVENTS,
  ...APPROVAL_EVENTS,
  ...ERROR_EVENTS,
  ...WEBHOOK_EVENTS,
  ...SUPPORT_EVENTS,
};

type Definitions = typeof DEFINITIONS;

/** The data of each type of event on the wire. */
export type EventData = { readonly [Type in EventType]: Static<Definitions[Type]['data']> };

/** The definition of every type of event. The compiler reports a type without a definition, and the reverse. */
export const EVENT_CATALOGUE: Readonly<Record<EventType, EventDefinition>> &
  Readonly<Record<Exclude<keyof Definitions, EventType>, never>> = DEFINITIONS;

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

/** Whether `text` is a type of event. */
export function isEventType(text: string): text is EventType {
  return KNOWN.has(text);
}

/** An event on the wire. */
export type EventOf<Type extends EventType> = {
  readonly event_id: string;
  readonly type: Type;
  readonly position: number;
  readonly program_id: string | null;
  readonly subject_id: string;
  readonly created_at: string;
  readonly version: 'v0.1';
  readonly data: EventData[Type];
};

/** An event of the type, as the examples show it. */
export function exampleEvent(type: EventType): EventOf<EventType> {
  const { data, subject, subjectOtherwise = '', listed, isOfService, example } = EVENT_CATALOGUE[type];
  const shown: Readonly<Record<string, unknown>> = { ...Object(sampleOf(data)), ...example };
  const written = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
  return {
    event_id: EXAMPLE_EVENT_ID,
    type,
    position: listed ? 42 : 0,
    program_id: isOfService ? null : DEMO_PROGRAM,
    subject_id: String(shown[subject] ?? subjectOtherwise),
    created_at: String(shown.updated_at ?? EXAMPLE_TIME),
    version: 'v0.1',
    data: written as EventData[EventType],
  };
}

export const EventTypeRecord = Type.Object({
  type: Type.String({ description: 'The type. It is never renamed' }),
  summary: Type.String({ description: 'What happened' }),
  sent: Type.Array(Type.String(), { description: 'When it is sent' }),
  notes: Type.Array(Type.String(), { description: 'Further facts about it' }),
  subject: Type.String({ description: 'The field of `data` whose value is `subject_id`' }),
  operation: textOrNull('The operation that returns the subject in its current state'),
  since: Type.String({ description: 'Version of the API that introduced it' }),
  reproduce: Type.String({ description: 'How to cause it in the sandbox' }),
  example: Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'An event of the type' }),
});

export type EventTypeRecord = Static<typeof EventTypeRecord>;

/** The definition of a type as the catalogue returns it. */
export function eventTypeRecord(type: EventType): EventTypeRecord {
  const { summary, sent, notes, subject, operation = null, since, sample } = EVENT_CATALOGUE[type];
  const example = { ...exampleEvent(type) };
  return {
    type,
    summary,
    sent: [...sent],
    notes: [...notes],
    subject,
    operation,
    since,
    reproduce: sample.reproduce,
    example,
  };
}
