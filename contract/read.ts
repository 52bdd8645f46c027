import type { Static, TObject } from 'typebox';
import { redactCardNumbers } from '../domain/card-number.ts';
import { isJsonObject, JsonNumber, type JsonObject, type JsonValue } from './json.ts';

/** One fault of a request's members: a full sentence, and the JSON pointer of the member it is about. */
export type Problem = { readonly message: string; readonly field: string };

/** Members read and trusted from here on, or the first problem; `ignored` names the unknown members. */
export type Reading<Members> =
  | { readonly members: Members; readonly ignored: readonly string[] }
  | { readonly problem: Problem };

type Shape = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly maxProperties?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly propertyNames?: { readonly maxLength?: number };
  readonly additionalProperties?: { readonly maxLength?: number };
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly 'x-amount'?: true;
};

type Read = { readonly value: unknown } | { readonly wrong: string; readonly within?: string };

/**
 * Reads the members of a body or query against their schema (specification, section 4, rule 1).
 *
 * Order of faults: all required members that are missing, named together (`null` and `""` count as missing); members
 * whose name is a variant of a known one; members of a wrong type or value, in the order of the schema. Other unknown
 * members are ignored and named. In a query every value is a string, and integers are read from their digits.
 */
export function readMembers<Schema extends TObject>(
  schema: Schema,
  value: JsonValue,
  from: 'body' | 'query',
): Reading<Static<Schema>> {
  if (!isJsonObject(value)) {
    return { problem: { field: '', message: `The body must be a JSON object, but it is ${nameOf(value)}.` } };
  }
  const shapes = schema.properties as Record<string, Shape>;
  const problem =
    findMissing((schema.required ?? []) as readonly string[], value) ?? findVariant(Object.keys(shapes), value);
  if (problem !== undefined) return { problem };
  const members: Record<string, unknown> = {};
  for (const [name, shape] of Object.entries(shapes)) {
    const sent = value[name];
    if (isAbsent(sent)) continue;
    const read = readValue(shape, sent, from);
    if ('wrong' in read) {
      const field = `/${name}${read.within ?? ''}`;
      return { problem: { field, message: `'${field.slice(1).replaceAll('/', '.')}' ${read.wrong}.` } };
    }
    members[name] = read.value;
  }
  const ignored = Object.keys(value).filter((name) => !Object.hasOwn(shapes, name));
  return { members: members as Static<Schema>, ignored };
}

function isAbsent(value: JsonValue | undefined): value is null | '' | undefined {
  return value === undefined || value === null || value === '';
}

function findMissing(required: readonly string[], value: JsonObject): Problem | undefined {
  const missing = required.filter((name) => isAbsent(value[name]));
  const [first] = missing;
  if (first === undefined) return undefined;
  const names = missing.map((name) => `'${name}'`).join(' and ');
  const message =
    missing.length === 1
      ? `The required field ${names} is missing${value[first] === undefined ? '' : ' (null and "" count as missing)'}.`
      : `The required fields ${names} are missing.`;
  return { field: `/${first}`, message };
}

function findVariant(known: readonly string[], value: JsonObject): Problem | undefined {
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  if (unknown.length === 0) return undefined;
  const bare = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const byBareName = new Map(known.map((name) => [bare(name), name]));
  for (const name of unknown) {
    const meant = byBareName.get(bare(name));
    if (meant === undefined) continue;
    return { field: pointer(name), message: `There is no field '${shorten(name)}'. The field is called '${meant}'.` };
  }
  return undefined;
}

function readValue(shape: Shape, sent: JsonValue, from: 'body' | 'query'): Read {
  if (shape['x-amount']) return readAmountAsSent(sent);
  if (shape.enum !== undefined) return readEnum(shape.enum, sent);
  if (shape.type === 'boolean') {
    return typeof sent === 'boolean' ? { value: sent } : { wrong: `must be true or false, but it is ${nameOf(sent)}` };
  }
  if (shape.type === 'integer') return readInteger(shape, sent, from);
  if (shape.properties !== undefined) return readInner(shape.properties, sent, from);
  if (shape.type === 'object') return readPairs(shape, sent);
  if (shape.type === 'array') return readRows(shape, sent);
  return readText(shape, sent);
}

function readAmountAsSent(sent: JsonValue): Read {
  if (sent instanceof JsonNumber) return { value: { source: sent.source, quoted: false } };
  if (typeof sent === 'string') return { value: { source: sent, quoted: true } };
  return { wrong: `must be a JSON integer of minor units, but it is ${nameOf(sent)}` };
}

function readEnum(allowed: readonly string[], sent: JsonValue): Read {
  if (typeof sent === 'string' && allowed.includes(sent)) return { value: sent };
  const choice = allowed.map((name) => `'${name}'`).join(allowed.length > 2 ? ', ' : ' or ');
  return { wrong: `must be ${allowed.length > 2 ? 'one of ' : ''}${choice}, but it is ${nameOf(sent)}` };
}

function readInteger(shape: Shape, sent: JsonValue, from: 'body' | 'query'): Read {
  const source = sent instanceof JsonNumber ? sent.source : from === 'query' && typeof sent === 'string' ? sent : '';
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = shape;
  const integer = /^-?[0-9]{1,16}$/.test(source) ? Number(source) : Number.NaN;
  if (integer >= minimum && integer <= maximum) return { value: integer };
  return { wrong: `must be a whole number from ${minimum} to ${maximum}, but it is ${nameOf(sent)}` };
}

/**
 * An object inside the body. Here nothing unknown is ignored: such objects hold limits, and one that was misspelt must
 * not come to mean no limit.
 */
function readInner(shapes: Readonly<Record<string, Shape>>, sent: JsonValue, from: 'body' | 'query'): Read {
  if (!isJsonObject(sent)) return { wrong: `must be an object, but it is ${nameOf(sent)}` };
  const unknown = Object.keys(sent).find((name) => !Object.hasOwn(shapes, name));
  if (unknown !== undefined) {
    const known = Object.keys(shapes).map((name) => `'${name}'`);
    return { wrong: `has '${shorten(unknown)}', but it can only hold ${known.join(', ')}` };
  }
  const value: Record<string, unknown> = {};
  for (const [name, shape] of Object.entries(shapes)) {
    const member = sent[name];
    if (isAbsent(member)) continue;
    const read = readValue(shape, member, from);
    if ('wrong' in read) return { wrong: read.wrong, within: `/${name}${read.within ?? ''}` };
    value[name] = read.value;
  }
  return { value };
}

function readPairs(shape: Shape, sent: JsonValue): Read {
  if (!isJsonObject(sent)) return { wrong: `must be an object of strings, but it is ${nameOf(sent)}` };
  const maximum = shape.maxProperties ?? 20;
  const nameLength = shape.propertyNames?.maxLength ?? 40;
  const valueLength = shape.additionalProperties?.maxLength ?? 500;
  const pairs = Object.entries(sent);
  if (pairs.length > maximum) return { wrong: `can hold ${maximum} pairs, but it holds ${pairs.length}` };
  for (const [name, value] of pairs) {
    if (name === '' || characters(name) > nameLength) {
      return { wrong: `has the name '${shorten(name)}', but a name has 1 to ${nameLength} characters` };
    }
    if (typeof value !== 'string')
      return { wrong: `has '${shorten(name)}', which must be a string but is ${nameOf(value)}` };
    if (characters(value) > valueLength) {
      return {
        wrong: `has '${shorten(name)}' with ${characters(value)} characters, but a value has at most ${valueLength}`,
      };
    }
  }
  return { value: Object.fromEntries(pairs) };
}

/** An array whose items are read later, one by one, so that a fault in one is a fault of that one only. */
function readRows(shape: Shape, sent: JsonValue): Read {
  if (!Array.isArray(sent)) return { wrong: `must be an array, but it is ${nameOf(sent)}` };
  const { minItems = 0, maxItems = 100 } = shape;
  if (sent.length >= minItems && sent.length <= maxItems) return { value: sent };
  return { wrong: `must have ${minItems} to ${maxItems} items, but it has ${sent.length}` };
}

function readText(shape: Shape, sent: JsonValue): Read {
  if (typeof sent !== 'string') return { wrong: `must be a string, but it is ${nameOf(sent)}` };
  const maximum = shape.maxLength ?? 255;
  if (characters(sent) > maximum) return { wrong: `has ${characters(sent)} characters, but ${maximum} is the most` };
  if (shape.format === 'date' && !isDate(sent))
    return { wrong: `must be a date as YYYY-MM-DD, but it is ${nameOf(sent)}` };
  if (shape.format === 'date-time' && !isMoment(sent)) {
    return { wrong: `must be a time such as 2030-01-31T12:00:00Z, but it is ${nameOf(sent)}` };
  }
  if (shape.pattern !== undefined && !new RegExp(shape.pattern, 'u').test(sent)) {
    return { wrong: `is ${nameOf(sent)}, but it must be: ${shape.description ?? shape.pattern}` };
  }
  return { value: sent };
}

function isDate(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

function isMoment(text: string): boolean {
  const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})$/;
  return form.test(text) && isDate(text.slice(0, 10)) && !Number.isNaN(Date.parse(text));
}

/** Length as a person, and PostgreSQL, counts it: code points, not UTF-16 units. */
function characters(text: string): number {
  return [...text].length;
}

/** A value as a message shows it: short, and never an object's content. */
function nameOf(value: JsonValue): string {
  if (value instanceof JsonNumber) return `the number ${shorten(value.source)}`;
  if (typeof value === 'string') return `'${shorten(value)}'`;
  if (Array.isArray(value)) return 'an array';
  return isJsonObject(value) ? 'an object' : String(value);
}

/** Card numbers go before the cut, after which the rest of one could not be told any more. */
function shorten(text: string): string {
  const shown = redactCardNumbers(text);
  return shown.length > 40 ? `${shown.slice(0, 40)}…` : shown;
}

/** The JSON pointer (RFC 6901) of a member of the body. */
function pointer(name: string): string {
  return `/${shorten(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
