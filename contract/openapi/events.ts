import { EVENT_TYPES, type EventType } from '../../domain/event.ts';
import { EVENT_CATALOGUE } from '../events/catalogue.ts';
import { EventRecord, OperatorEventRecord } from '../events.ts';
import { type Json, type JsonObject, reference } from './json.ts';

/** The name of the schema of an event of one type, such as `TransferCompletedEvent`. */
function nameOf(type: EventType): string {
  const words = type.split('.').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Event`;
}

/**
 * The schemas of events: `EventRecord` is a union of all types, discriminated by `type`, and `OperatorEventRecord` adds the
 * number. They replace the schemas with these names, whose `data` is any object.
 */
export function eventSchemas(toJson: (schema: unknown) => Json): JsonObject {
  const { number } = OperatorEventRecord.properties;
  const mapping = Object.fromEntries(EVENT_TYPES.map((type) => [type, reference('schemas', nameOf(type)).$ref]));
  return {
    EventRecord: {
      oneOf: EVENT_TYPES.map((type) => reference('schemas', nameOf(type))),
      discriminator: { propertyName: 'type', mapping },
    },
    OperatorEventRecord: {
      allOf: [
        reference('schemas', 'EventRecord'),
        { type: 'object', required: ['number'], properties: { number: toJson(number) } },
      ],
    },
    ...Object.fromEntries(EVENT_TYPES.map((type) => [nameOf(type), schemaOf(type, toJson)])),
  };
}

function schemaOf(type: EventType, toJson: (schema: unknown) => Json): JsonObject {
  const { properties, required } = EventRecord;
  const { summary, data } = EVENT_CATALOGUE[type];
  return {
    type: 'object',
    description: summary,
    required: [...required],
    // The default, stated because the linter closes every other schema, and `OperatorEventRecord` adds a number to this one.
    unevaluatedProperties: true,
    properties: {
      ...Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, toJson(schema)])),
      type: { type: 'string', const: type, description: 'What happened' },
      data: toJson(data),
    },
  };
}
