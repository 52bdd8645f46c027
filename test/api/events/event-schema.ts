import { Compile } from 'typebox/schema';
import { EVENT_CATALOGUE } from '../../../contract/events/catalogue.ts';
import { ErrorRecordSchema } from '../../../contract/schema-parts.ts';
import { EVENT_TYPES, type EventType } from '../../../domain/event.ts';

type Json = { readonly [name: string]: unknown };

/** Returns a schema that includes the error record and refuses unknown fields. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const fields = schema as Json;
  if ('$ref' in fields) return closed(JSON.parse(JSON.stringify(ErrorRecordSchema)));
  const inner = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, closed(value)]));
  return 'properties' in fields ? { ...inner, additionalProperties: false } : inner;
}

const CHECKS = new Map(
  EVENT_TYPES.map((type) => {
    const schema: unknown = JSON.parse(JSON.stringify(EVENT_CATALOGUE[type].data));
    return [type, Compile(closed(schema) as never)];
  }),
);

/** Returns the differences between an event's data and the schema of its type. */
export function problemsOf(type: EventType, data: unknown): readonly unknown[] {
  const check = CHECKS.get(type);
  if (check === undefined) throw new Error(`${type} has no schema`);
  if (check.Check(data)) return [];
  const [, errors] = check.Errors(data);
  return errors.length > 0 ? errors : ['the data differs from the schema'];
}
