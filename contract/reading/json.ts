import type { TObject } from 'typebox';
import type { SchemaShape } from '../schema-parts.ts';

/** A JSON number in its original spelling. It is not converted, so that checks see `85.5`, `1e999` and 2^53 + 1 unchanged. */
export class JsonNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A JSON object without a prototype, so that a field can be called `constructor`. */
export type JsonObject = { readonly [name: string]: JsonValue };

/** A JSON value as parsed from a request. */
export type JsonValue = string | boolean | null | JsonNumber | readonly JsonValue[] | JsonObject;

/** Whether a value is an object (not an array, a number or null). */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

/**
 * Returns the same text for equal values: fields sorted by name, no white space, numbers in their original spelling (1000 and 1e3
 * differ). Used for idempotency fingerprints.
 */
export function canonicalJson(value: JsonValue): string {
  if (value instanceof JsonNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  let members = '';
  for (const name of Object.keys(value).sort()) {
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`;
  }
  return `{${members}}`;
}

/**
 * Converts the body of a POST to the one form that all bodies with the same meaning share. Optional fields are left out if they
 * are null, empty or have their default. So are empty objects. Amounts are numbers, times are in UTC, and lists of words are in
 * order.
 *
 * `body` must conform to the schema. Unknown fields stay unchanged. A body that already has this form keeps its meaning and its
 * canonical text, which fingerprints of earlier versions depend on.
 */
export function normalForm(schema: TObject | undefined, body: JsonValue): JsonValue {
  return schema === undefined || !isJsonObject(body) ? body : normalObject(schema, body);
}

function normalObject(schema: SchemaShape, value: JsonObject): JsonObject {
  const normal: [name: string, value: JsonValue][] = [];
  for (const [name, sent] of Object.entries(value)) {
    const properties = schema.properties ?? {};
    const shape = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (shape === undefined) normal.push([name, sent]);
    else if (sent !== null && sent !== '') {
      const field = normalValue(shape, sent);
      if (!isOmitted(shape, field)) normal.push([name, field]);
    }
  }
  return Object.fromEntries(normal);
}

function normalValue(shape: SchemaShape, sent: JsonValue): JsonValue {
  if (shape['x-amount'] === true) return typeof sent === 'string' ? new JsonNumber(sent) : sent;
  if (shape.format === 'date-time' && typeof sent === 'string') return normalMoment(sent);
  if (shape.properties !== undefined && isJsonObject(sent)) return normalObject(shape, sent);
  const isList = Array.isArray(sent) && sent.every((item) => typeof item === 'string');
  return isList ? [...new Set(sent)].sort() : sent;
}

/** A time in milliseconds, the stored precision, without trailing zeros. */
function normalMoment(sent: string): string {
  const time = Date.parse(sent);
  return Number.isNaN(time) ? sent : new Date(time).toISOString().replace(/\.?0*Z$/, 'Z');
}

/** Whether leaving out the field means the same. */
function isOmitted(shape: SchemaShape, field: JsonValue): boolean {
  if (isJsonObject(field)) return Object.keys(field).length === 0;
  const { 'x-default': omitted } = shape;
  if (omitted === undefined) return false;
  if (Array.isArray(omitted)) return Array.isArray(field) && field.length === omitted.length;
  return field instanceof JsonNumber ? field.source === String(omitted) : field === omitted;
}
