// Writes the SDK's event types, a union by type, from the definitions in contract/events/.

import { EVENT_CATALOGUE } from '../../contract/events/catalogue.ts';
import { EventRecord, InspectedEventRecord, OperatorEventRecord } from '../../contract/events.ts';
import type { SchemaShape } from '../../contract/schema-parts.ts';
import { EVENT_TYPES } from '../../domain/event.ts';
import { comment, names, objectType, typeOf } from './type-text.ts';

const EVENT = nameOf(EventRecord);
const OPERATOR_EVENT = nameOf(OperatorEventRecord);
const INSPECTED_EVENT = nameOf(InspectedEventRecord);

/** Returns the text of the event type with this name, or undefined for other types. */
export function eventUnion(name: string): string | undefined {
  if (name === EVENT)
    return `${ofOneType()}\n${UNKNOWN}\n${UNION_COMMENT}export type ${EVENT} = { [Type in EventType]: EventOf<Type> }[EventType] | UnknownEvent;\n`;
  if (name === INSPECTED_EVENT) return inspected();
  if (name !== OPERATOR_EVENT) return undefined;
  const { number = {} } = shapeOf(OperatorEventRecord).properties ?? {};
  return `${comment('An event, as operators read it')}export type ${OPERATOR_EVENT} = ${EVENT} & ${objectType({ properties: { number }, required: ['number'] })};\n`;
}

const UNION_COMMENT = comment(
  'An event: `type` says what `data` is. A later version of the service can send other types, which are an UnknownEvent: ignore them.',
);

/** A literal. With `string`, TypeScript would accept every known type here too, and could not determine `data`. */
const UNKNOWN = `${comment(
  'An event of a type that this version of the client does not know. Its `type` can be any string: to compare it, assign it to a string first.',
)}export type UnknownEvent = Omit<EventOf<EventType>, 'type' | 'data'> & {
  readonly type: '(of a later version)';
  readonly data: Readonly<Record<string, unknown>>;
};
`;

function nameOf(schema: object): string {
  return names.get(JSON.stringify(schema)) ?? '';
}

function shapeOf(schema: object): SchemaShape {
  return schema;
}

/** An event with the fields of the contract. Its `type` decides its `data`. */
function ofOneType(): string {
  const fields = objectType(shapeOf(EventRecord))
    .replace('readonly type: string;', 'readonly type: Type;')
    .replace(/readonly data: [^;]*;/, 'readonly data: EventData[Type];');
  return `${comment('An event of one type')}export type EventOf<Type extends EventType> = ${fields};\n`;
}

/** Any event. An event for every program has a position in each program, so it has none here. */
function inspected(): string {
  const { position = {}, number = {} } = shapeOf(InspectedEventRecord).properties ?? {};
  const places = objectType({ properties: { position, number }, required: ['position', 'number'] });
  const one = (of: string): string => `Omit<${of}, 'position'> & EventPlaces`;
  return `${comment('The positions of an event among others')}export type EventPlaces = ${places};

${comment('Any event, as operators look it up')}export type ${INSPECTED_EVENT} =
  | { [Type in EventType]: ${one('EventOf<Type>')} }[EventType]
  | (${one('UnknownEvent')});
`;
}

/** The type of `data` by the type of the event. */
export function eventData(): string {
  const fields = EVENT_TYPES.map(
    (type) => `${comment(EVENT_CATALOGUE[type].summary)}readonly '${type}': ${typeOf(EVENT_CATALOGUE[type].data)};\n`,
  );
  return `${comment('The `data` of each type of event')}export type EventData = {\n${fields.join('')}};\n`;
}
