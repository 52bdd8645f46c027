import type { Static, TObject } from 'typebox';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import { guardedFields, isClosed } from '../schema-parts.ts';
import { isJsonObject, JsonNumber, type JsonObject, type JsonValue } from './json.ts';
import { readPlainText, type TextKind } from './plain-text.ts';
import { DATE_RULE, isDate, readMoment, wrongMoment } from './times.ts';

/** One error of a request: a full sentence, and the JSON pointer of the field. */
export type Problem = { readonly message: string; readonly field: string };

/** The validated fields, or the first problem. `ignored` has the names of the unknown fields. */
export type Reading<Fields> =
  | { readonly fields: Fields; readonly ignored: readonly string[] }
  | { readonly problem: Problem };

/** The source of fields: the body of a request, a merge patch (the body of a PATCH, RFC 7396), or a query. */
export type Source = 'body' | 'patch' | 'query';

type Shape = {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Shape[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly maxProperties?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly propertyNames?: { readonly maxLength?: number };
  readonly additionalProperties?: { readonly type?: string | readonly string[]; readonly maxLength?: number };
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly 'x-amount'?: true;
  readonly 'x-text'?: TextKind;
};

type Read = { readonly value: unknown } | { readonly wrong: string; readonly within?: string };

/**
 * Validates the fields of a body or query against their schema (specification, section 4, rule 1).
 *
 * The first error in this order is reported: fields that cannot be changed, all missing required fields together, names that are
 * a variant or a misspelling of a known name, then wrong types and values in the order of the schema. Other unknown fields are
 * ignored and listed, unless the schema allows no additional fields.
 *
 * The meaning of `null` and `""` depends on the source. In a body both count as missing. But they are refused if the schema says
 * what omitting the field does ({@link refuseEmpty}). In a merge patch `null` removes a nullable field, and `""` is refused. In a
 * query every value is a string, integers are read from their digits, and an empty value is refused, because an empty filter
 * would select everything. The exception is a schema that accepts the empty text.
 *
 * `unchangeable` has the fields of the record that a merge patch cannot change.
 */
export function readFields<Schema extends TObject>(
  schema: Schema,
  value: JsonValue,
  from: Source,
  unchangeable: readonly string[] = [],
): Reading<Static<Schema>> {
  if (!isJsonObject(value)) {
    return { problem: { field: '', message: `The body must be a JSON object, but it is ${nameOf(value)}.` } };
  }
  const prepared = prepare(schema);
  const { fields: known, names, required, omitted } = prepared;
  const ignored = Object.keys(value).filter((name) => !names.has(name));
  const problem =
    findUnchangeable(names, ignored, unchangeable) ??
    findMissing(required, value, ignored, from) ??
    (ignored.length === 0 ? undefined : findUnwanted(prepared, ignored, unchangeable));
  if (problem !== undefined) return { problem };
  const fields: Record<string, unknown> = {};
  for (const { name, shape } of known) {
    const sent = value[name];
    if (sent === undefined) continue;
    const read = readField(shape, sent, from, omitted[name]);
    if (read === undefined) continue;
    if ('wrong' in read) {
      const field = `/${name}${read.within ?? ''}`;
      return { problem: { field, message: `'${field.slice(1).replaceAll('/', '.')}' ${read.wrong}.` } };
    }
    fields[name] = read.value;
  }
  return { fields: fields as Static<Schema>, ignored };
}

/** The parts of a schema that are needed for each request, extracted once. */
type Prepared = {
  readonly fields: readonly { readonly name: string; readonly shape: Shape }[];
  readonly names: ReadonlySet<string>;
  readonly required: readonly string[];
  readonly omitted: Readonly<Record<string, string>>;
  readonly isClosed: boolean;
};

const preparedSchemas = new WeakMap<TObject, Prepared>();

function prepare(schema: TObject): Prepared {
  const known = preparedSchemas.get(schema);
  if (known !== undefined) return known;
  const fields = Object.entries(schema.properties as Record<string, Shape>).map(([name, shape]) => ({ name, shape }));
  const prepared = {
    fields,
    names: new Set(fields.map(({ name }) => name)),
    required: (schema.required ?? []) as readonly string[],
    omitted: guardedFields(schema),
    isClosed: isClosed(schema),
  };
  preparedSchemas.set(schema, prepared);
  return prepared;
}

/** Finds an unknown field that was probably meant as a known one, or any unknown field if the schema is closed. */
function findUnwanted(
  { names, omitted, isClosed }: Prepared,
  unknown: readonly string[],
  unchangeable: readonly string[],
): Problem | undefined {
  const known = [...names];
  return (
    findVariant(known, unknown) ??
    findLookalike(Object.keys(omitted), unknown) ??
    findVariant(unchangeable, unknown) ??
    (isClosed ? findUnknown(known, unknown) : undefined)
  );
}

/**
 * Finds a field of the record that the request cannot change. If the field were ignored, the caller would think that the change
 * was made.
 */
function findUnchangeable(
  changeable: ReadonlySet<string>,
  unknown: readonly string[],
  unchangeable: readonly string[],
): Problem | undefined {
  const name = unknown.find((one) => unchangeable.includes(one));
  if (name === undefined) return undefined;
  const can = changeable.size === 1 ? 'The only field that can is' : 'The fields that can are';
  const message = `'${name}' cannot be changed: omit it. ${can} ${[...changeable].map((one) => `'${one}'`).join(', ')}.`;
  return { field: pointer(name), message };
}

function isEmpty(value: JsonValue | undefined): value is null | '' {
  return value === null || value === '';
}

/** The missing required fields. The message also names misspelled variants of them that were sent. */
function findMissing(
  required: readonly string[],
  value: JsonObject,
  unknown: readonly string[],
  from: Source,
): Problem | undefined {
  // In a merge patch, null removes a field. readField checks whether that is allowed.
  const isMissing = (name: string) => value[name] === undefined || (from !== 'patch' && isEmpty(value[name]));
  const first = required.find(isMissing);
  if (first === undefined) return undefined;
  const missing = required.filter(isMissing);
  const isOne = missing.length === 1;
  const variants = missing.flatMap((name) => {
    const sent = unknown.find((other) => isMeantFor(other, name));
    return sent === undefined ? [] : [{ name, sent: shorten(sent) }];
  });
  const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(' and ');
  const hint =
    variants.length === 0
      ? ''
      : ` You sent ${quoted(variants.map(({ sent }) => sent))}; did you mean ${quoted(variants.map(({ name }) => name))}?`;
  const note = isOne && value[first] !== undefined ? ' (null and "" count as missing)' : '';
  const subject = isOne ? `field ${quoted(missing)} is` : `fields ${quoted(missing)} are`;
  return { field: `/${first}`, message: `The required ${subject} missing${note}.${hint}` };
}

function findVariant(known: readonly string[], unknown: readonly string[]): Problem | undefined {
  for (const name of unknown) {
    const meant = meantBy(name, known);
    if (meant === undefined) continue;
    const instead = bareName(name) === bareName(meant) ? `The field is called '${meant}'.` : `Did you mean '${meant}'?`;
    return { field: pointer(name), message: `There is no field '${shorten(name)}'. ${instead}` };
  }
  return undefined;
}

/** Finds the known name that was probably meant: the name is a variant or a misspelling of it. */
function meantBy(name: string, known: readonly string[]): string | undefined {
  return known.find((other) => bareName(other) === bareName(name)) ?? known.find((other) => isMeantFor(name, other));
}

/** Finds an unknown name that begins like a field whose omission lets the request do more, such as `capture_method`. */
function findLookalike(known: readonly string[], unknown: readonly string[]): Problem | undefined {
  for (const name of unknown) {
    const meant = known.find((other) => beginsAs(name, other));
    if (meant === undefined) continue;
    return { field: pointer(name), message: `There is no field '${shorten(name)}'. Did you mean '${meant}'?` };
  }
  return undefined;
}

function findUnknown(known: readonly string[], [name]: readonly string[]): Problem | undefined {
  if (name === undefined) return undefined;
  const are = known.length === 1 ? 'The only field is' : 'The fields are';
  const message = `There is no field '${shorten(name)}'. ${are} ${known.map((one) => `'${one}'`).join(', ')}.`;
  return { field: pointer(name), message };
}

/**
 * Finds a query parameter with the name of a field of the body. It was probably meant for the body, and ignoring it could let the
 * request do more.
 */
export function findInQuery(schema: TObject, parameters: readonly string[]): Problem | undefined {
  for (const name of parameters) {
    const meant = meantBy(name, Object.keys(schema.properties));
    if (meant === undefined) continue;
    return { field: pointer(name), message: `'${shorten(name)}' is in the query. Send '${meant}' in the body.` };
  }
  return undefined;
}

/** Finds an idempotency key among the unknown fields of a request that takes it as a header. */
export function findKeyBesideHeader(unknown: readonly string[]): Problem | undefined {
  const name = unknown.find((one) => isMeantFor(one, 'idempotency_key'));
  if (name === undefined) return undefined;
  const message = `There is no field '${shorten(name)}'. Send the key in the header 'Idempotency-Key'.`;
  return { field: pointer(name), message };
}

/** Reads one field. Undefined if it counts as missing. `omitted` says what omitting the field does, if that must be intended. */
function readField(shape: Shape, sent: JsonValue, from: Source, omitted: string | undefined): Read | undefined {
  if (!isEmpty(sent)) return readValue(shape.anyOf === undefined ? shape : withoutNull(shape).value, sent, from);
  const { isRemovable } = withoutNull(shape);
  const what = sent === null ? 'must not be null' : 'must not be empty';
  if (from === 'query' && shape.minLength === 0) return { value: sent };
  if (from === 'query') return { wrong: 'is empty: send a value, or omit the parameter' };
  if (from === 'body') {
    return omitted === undefined ? undefined : { wrong: `${what}: send a value, or omit the field ${omitted}` };
  }
  if (sent === null && isRemovable) return { value: null };
  const rest = 'omit the field to leave it unchanged';
  if (isRemovable) return { wrong: `${what}: send null to remove it, or ${rest}` };
  return { wrong: `${what}${sent === null ? ', because it cannot be removed' : ''}: send a value, or ${rest}` };
}

/** The shape of a field without null, and whether null can remove it. */
function withoutNull(shape: Shape): { readonly value: Shape; readonly isRemovable: boolean } {
  if (shape['x-amount'] || shape.anyOf === undefined) return { value: shape, isRemovable: false };
  const value = shape.anyOf.find(({ type }) => type !== 'null') ?? shape;
  return { value, isRemovable: shape.anyOf.some(({ type }) => type === 'null') };
}

function readValue(shape: Shape, sent: JsonValue, from: Source): Read {
  if (shape['x-amount']) return readAmountAsSent(sent);
  if (shape.enum !== undefined) return readEnum(shape.enum, sent);
  if (shape.type === 'boolean') {
    const value = from === 'query' && (sent === 'true' || sent === 'false') ? sent === 'true' : sent;
    return typeof value === 'boolean' ? { value } : { wrong: `must be true or false, but it is ${nameOf(sent)}` };
  }
  if (shape.type === 'integer') return readInteger(shape, sent, from);
  if (shape.properties !== undefined) return readInner(shape.properties, sent, from);
  if (shape.type === 'object') return readPairs(shape, sent, from);
  if (shape.type === 'array') return readRows(shape, sent);
  return readText(shape, sent, from);
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

function readInteger(shape: Shape, sent: JsonValue, from: Source): Read {
  const source = sent instanceof JsonNumber ? sent.source : from === 'query' && typeof sent === 'string' ? sent : '';
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = shape;
  const integer = /^-?[0-9]{1,16}$/.test(source) ? Number(source) : Number.NaN;
  if (integer >= minimum && integer <= maximum) return { value: integer };
  return { wrong: `must be a whole number from ${minimum} to ${maximum}, but it is ${nameOf(sent)}` };
}

/**
 * Reads an object inside the body. Unknown and empty fields are refused: such objects hold limits, and a misspelled or
 * empty limit must not mean no limit.
 */
function readInner(shapes: Readonly<Record<string, Shape>>, sent: JsonValue, from: Source): Read {
  if (!isJsonObject(sent)) return { wrong: `must be an object, but it is ${nameOf(sent)}` };
  const unknown = Object.keys(sent).find((name) => !Object.hasOwn(shapes, name));
  if (unknown !== undefined) {
    const known = Object.keys(shapes).map((name) => `'${name}'`);
    return { wrong: `has an unknown field '${shorten(unknown)}'; its fields are ${known.join(', ')}` };
  }
  const value: Record<string, unknown> = {};
  for (const [name, shape] of Object.entries(shapes)) {
    const field = sent[name];
    if (field === undefined) continue;
    const read = readField(shape, field, from, 'to set no such limit');
    if (read === undefined) continue;
    if ('wrong' in read) return { wrong: read.wrong, within: `/${name}${read.within ?? ''}` };
    value[name] = read.value;
  }
  return { value };
}

/** Pairs of strings. In a merge patch a null value removes the pair. */
function readPairs(shape: Shape, sent: JsonValue, from: Source): Read {
  if (!isJsonObject(sent)) return { wrong: `must be an object of strings, but it is ${nameOf(sent)}` };
  const maximum = shape.maxProperties ?? 20;
  const nameLength = shape.propertyNames?.maxLength ?? 40;
  const valueLength = shape.additionalProperties?.maxLength ?? 500;
  const pairs = Object.entries(sent);
  if (pairs.length > maximum) return { wrong: `can have at most ${maximum} pairs, but it has ${pairs.length}` };
  for (const [name, value] of pairs) {
    if (name === '' || characters(name) > nameLength) {
      return { wrong: `has the key '${shorten(name)}', but a key must have 1 to ${nameLength} characters` };
    }
    if (value === null && from === 'patch') continue;
    if (typeof value !== 'string')
      return { wrong: `has '${shorten(name)}', which must be a string but is ${nameOf(value)}` };
    if (characters(value) > valueLength) {
      return {
        wrong: `has '${shorten(name)}' with ${characters(value)} characters, but at most ${valueLength} are allowed`,
      };
    }
  }
  return { value: Object.fromEntries(pairs) };
}

/** Reads an array. Its items are validated later, one by one, so that an error in one does not affect the others. */
function readRows(shape: Shape, sent: JsonValue): Read {
  if (!Array.isArray(sent)) return { wrong: `must be an array, but it is ${nameOf(sent)}` };
  const { minItems = 0, maxItems = 100 } = shape;
  if (sent.length >= minItems && sent.length <= maxItems) return { value: sent };
  return { wrong: `must have ${minItems} to ${maxItems} items, but it has ${sent.length}` };
}

function readText(shape: Shape, sent: JsonValue, from: Source): Read {
  if (typeof sent !== 'string') return { wrong: `must be a string, but it is ${nameOf(sent)}` };
  const kind = shape['x-text'];
  if (kind !== undefined) {
    const read = readPlainText(kind, sent);
    if ('value' in read) sent = read.value;
    // Keeps a text with a card number among invisible characters, because the search for card numbers refuses it next.
    else if (redactCardNumbers(sent) === sent) return read;
  }
  const maximum = shape.maxLength ?? 255;
  // There are never more characters than UTF-16 units.
  if (sent.length > maximum && characters(sent) > maximum)
    return { wrong: `has ${characters(sent)} characters, but at most ${maximum} are allowed` };
  if (shape.format === 'date' && !isDate(sent)) return { wrong: `must be ${DATE_RULE}, but it is ${nameOf(sent)}` };
  if (shape.format === 'date-time') {
    const moment = readMoment(sent);
    return moment === undefined ? { wrong: wrongMoment(sent, from === 'query', nameOf(sent)) } : { value: moment };
  }
  if (shape.pattern !== undefined && !expressionOf(shape.pattern).test(sent)) {
    return { wrong: `is ${nameOf(sent)}, but it must be: ${shape.description ?? shape.pattern}` };
  }
  return { value: sent };
}

const expressions = new Map<string, RegExp>();

function expressionOf(pattern: string): RegExp {
  const known = expressions.get(pattern) ?? new RegExp(pattern, 'u');
  expressions.set(pattern, known);
  return known;
}

/** Length in code points, as PostgreSQL counts, not in UTF-16 units. */
function characters(text: string): number {
  return [...text].length;
}

/** Describes a value in a message: shortened, and without the content of objects. */
function nameOf(value: JsonValue): string {
  if (value instanceof JsonNumber) return `the number ${shorten(value.source)}`;
  if (typeof value === 'string') return `'${shorten(value)}'`;
  if (Array.isArray(value)) return 'an array';
  return isJsonObject(value) ? 'an object' : String(value);
}

/** Redacts card numbers before it cuts: part of a number would no longer be recognized. */
function shorten(text: string): string {
  const shown = redactCardNumbers(text);
  return shown.length > 40 ? `${shown.slice(0, 40)}…` : shown;
}

function pointer(name: string): string {
  return `/${shorten(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A name in lower case, with only its letters and digits. */
function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** The minimum length of a misspelled name. Shorter names are often one letter away from another word. */
const MIN_MISSPELT_LENGTH = 3;

/** Whether `sent` is a variant of `known`, or one typo away from it. */
export function isMeantFor(sent: string, known: string): boolean {
  const [one, other] = [bareName(sent), bareName(known)];
  if (one === other) return true;
  return one.length >= MIN_MISSPELT_LENGTH && other.length > MIN_MISSPELT_LENGTH && isOneErrorApart(one, other);
}

/** Whether `sent` begins with the first word of `known`, as `capture_method` and `captureMode` do with `capture`. */
export function beginsAs(sent: string, known: string): boolean {
  const [first = ''] = wordsOf(known);
  return first.length > MIN_MISSPELT_LENGTH && wordsOf(sent)[0] === first;
}

function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

/** One character omitted, added or replaced, or two adjacent ones swapped. */
function isOneErrorApart(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false;
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1);
  if (short.slice(at + 1) === long.slice(at + 1)) return true;
  const isSwapped = short[at] === long[at + 1] && short[at + 1] === long[at];
  return isSwapped && short.slice(at + 2) === long.slice(at + 2);
}
