// Finds incompatible changes of schemas. Only additions are compatible. Callers must be able to send and read everything that
// they send and read today.
import type { Json, JsonObject } from '../../contract/openapi/shared-schemas.ts';

/** Whether callers send values of the schema or read them. */
export type Direction = 'request' | 'reply';

export type Resolve = (value: Json | undefined) => JsonObject;

type Comparison = {
  readonly direction: Direction;
  readonly released: Resolve;
  readonly current: Resolve;
  /** Pairs of references that are already being compared. They are skipped, because a schema may contain itself. */
  readonly seen: ReadonlySet<string>;
};

/** Compares two schemas. Returns a line for each incompatible change, beginning with `path`. */
export function compareSchemas(
  released: Json | undefined,
  current: Json | undefined,
  path: string,
  comparison: Comparison,
): readonly string[] {
  const pair = `${referenceOf(released)} ${referenceOf(current)}`;
  if (comparison.seen.has(pair)) return [];
  const inner = pair === ' ' ? comparison : { ...comparison, seen: new Set([...comparison.seen, pair]) };
  const before = merged(released, inner.released);
  const after = merged(current, inner.current);
  if (before.discriminator !== undefined) return compareTypes(before, after, path, inner);
  const alternatives = [alternativesOf(before), alternativesOf(after)] as const;
  if (alternatives.some(({ length }) => length > 1)) return compareAlternatives(alternatives, path, inner);
  return compareOne(alternatives[0][0] ?? before, alternatives[1][0] ?? after, path, inner);
}

/** Compares schemas with a discriminator. Each type must stay, and new types may be added. */
function compareTypes(before: JsonObject, after: JsonObject, path: string, comparison: Comparison): readonly string[] {
  const mappingOf = (schema: JsonObject) => membersOf(membersOf(schema.discriminator).mapping);
  const now = mappingOf(after);
  return Object.entries(mappingOf(before)).flatMap(([type, reference]) => {
    const other = now[type];
    if (other === undefined) return [`${path}: the type ${type} is gone`];
    return compareSchemas(asReference(reference), asReference(other), `${path}<${type}>`, comparison);
  });
}

const asReference = (reference: Json | undefined): JsonObject => ({ $ref: reference });

/** Earlier requests must still fit one of the schemas; replies must fit one of the earlier schemas. */
function compareAlternatives(
  [before, after]: readonly [readonly JsonObject[], readonly JsonObject[]],
  path: string,
  comparison: Comparison,
): readonly string[] {
  const isRequest = comparison.direction === 'request';
  const [from, among] = isRequest ? [before, after] : [after, before];
  return from.flatMap((one) => {
    const compared = among.map((other) =>
      isRequest ? compareSchemas(one, other, path, comparison) : compareSchemas(other, one, path, comparison),
    );
    if (compared.some(({ length }) => length === 0)) return [];
    const nearest = compared.toSorted((left, right) => left.length - right.length)[0];
    const isNull = typesOf(one).join() === 'null';
    if (isNull) return [isRequest ? `${path}: null is no longer accepted` : `${path}: it can be null now`];
    return nearest ?? [`${path}: an alternative is gone`];
  });
}

function compareOne(before: JsonObject, after: JsonObject, path: string, comparison: Comparison): readonly string[] {
  return [
    ...compareTypeNames(before, after, path, comparison.direction),
    ...compareValues(before, after, path),
    ...compareLimits(before, after, path, comparison.direction),
    ...compareFields(before, after, path, comparison),
    ...compareMaps(before, after, path, comparison),
    ...(before.items === undefined ? [] : compareSchemas(before.items, after.items, `${path}[]`, comparison)),
  ];
}

function compareTypeNames(
  before: JsonObject,
  after: JsonObject,
  path: string,
  direction: Direction,
): readonly string[] {
  const [was, is] = [typesOf(before), typesOf(after)];
  if (was.length === 0 && (is.length === 0 || direction === 'reply')) return [];
  const fits = (type: string, types: readonly string[]) =>
    types.length === 0 || types.includes(type) || (type === 'integer' && types.includes('number'));
  const lost = direction === 'request' ? was.filter((type) => !fits(type, is)) : is.filter((type) => !fits(type, was));
  const isOpened = direction === 'reply' && is.length === 0;
  const isClosed = direction === 'request' && was.length === 0;
  if (lost.length === 0 && !isOpened && !isClosed) return [];
  return [`${path}: the type was ${was.join(' or ') || 'anything'} and is ${is.join(' or ') || 'anything'}`];
}

/**
 * Values may be added but not removed, because callers send or expect them. Adding a list of values where there was
 * none narrows the schema.
 */
function compareValues(before: JsonObject, after: JsonObject, path: string): readonly string[] {
  const [was, is] = [valuesOf(before), valuesOf(after)];
  if (was === undefined) return is === undefined ? [] : [`${path}: only ${is.join(', ')} are left`];
  if (is === undefined) return [];
  return was.filter((value) => !is.includes(value)).map((value) => `${path}: the value ${value} is gone`);
}

/** Limits, and whether a higher or a lower value is narrower. */
const LIMITS: Readonly<Record<string, 'higher' | 'lower'>> = {
  minimum: 'higher',
  minLength: 'higher',
  minItems: 'higher',
  maximum: 'lower',
  maxLength: 'lower',
  maxItems: 'lower',
  maxProperties: 'lower',
};

function compareLimits(before: JsonObject, after: JsonObject, path: string, direction: Direction): readonly string[] {
  const shown = (value: Json | undefined) => (value === undefined ? 'none' : String(value));
  const formats = ['pattern', 'format'].filter((name) =>
    direction === 'request' ? after[name] !== undefined && after[name] !== before[name] : before[name] !== after[name],
  );
  // Values in replies may become shorter or longer.
  const tighter =
    direction === 'reply'
      ? []
      : Object.entries(LIMITS).filter(([name, worse]) => {
          const [was, is] = [before[name], after[name]];
          if (typeof is !== 'number') return false;
          return typeof was !== 'number' || (worse === 'higher' ? is > was : is < was);
        });
  const names = [...formats, ...tighter.map(([name]) => name)];
  return names.map((name) => `${path}: ${name} was ${shown(before[name])} and is ${shown(after[name])}`);
}

function compareFields(before: JsonObject, after: JsonObject, path: string, comparison: Comparison): readonly string[] {
  const [was, is] = [membersOf(before.properties), membersOf(after.properties)];
  const [requiredBefore, requiredAfter] = [namesIn(before.required), namesIn(after.required)];
  const kept = Object.entries(was).flatMap(([name, schema]) => {
    if (is[name] === undefined) return [`${path}.${name}: the field is gone`];
    return compareSchemas(schema, is[name], `${path}.${name}`, comparison);
  });
  if (comparison.direction === 'reply') {
    const loose = requiredBefore.filter((name) => is[name] !== undefined && !requiredAfter.includes(name));
    return [...kept, ...loose.map((name) => `${path}.${name}: the field can be missing now`)];
  }
  const wanted = requiredAfter.filter((name) => !requiredBefore.includes(name));
  const isClosed = before.additionalProperties !== false && after.additionalProperties === false;
  return [
    ...kept,
    ...wanted.map((name) => `${path}.${name}: the field is required now`),
    ...(isClosed ? [`${path}: unknown fields are refused now`] : []),
  ];
}

function compareMaps(before: JsonObject, after: JsonObject, path: string, comparison: Comparison): readonly string[] {
  const [was, is] = [before.additionalProperties, after.additionalProperties];
  if (typeof was !== 'object' || typeof is !== 'object') return [];
  return compareSchemas(was, is, `${path}{}`, comparison);
}

/** A schema with references resolved and its parts (allOf) merged. */
export function merged(value: Json | undefined, resolve: Resolve): JsonObject {
  const schema = resolve(value);
  const [only, ...others] = [...listOf(schema.anyOf), ...listOf(schema.oneOf)];
  if (only !== undefined && others.length === 0) return merged(only, resolve);
  const parts = listOf(schema.allOf).map((part) => merged(part, resolve));
  return parts.reduceRight<JsonObject>((whole, part) => joined(part, whole), { ...schema, allOf: undefined });
}

function joined(left: JsonObject, right: JsonObject): JsonObject {
  const both = new Set([...namesIn(left.required), ...namesIn(right.required)]);
  const properties = { ...membersOf(left.properties) };
  for (const [name, schema] of Object.entries(membersOf(right.properties))) {
    properties[name] = { ...membersOf(properties[name]), ...membersOf(schema) };
  }
  const own = Object.fromEntries(Object.entries(right).filter(([, value]) => value !== undefined));
  return { ...left, ...own, properties, required: [...both] };
}

function alternativesOf(schema: JsonObject): readonly JsonObject[] {
  const alternatives = [...listOf(schema.anyOf), ...listOf(schema.oneOf)].map(membersOf);
  if (alternatives.length > 0) return alternatives;
  const types = typesOf(schema);
  // `T | null` can be written in two ways.
  if (types.length < 2 || !types.includes('null')) return [schema];
  return [{ ...schema, type: types.filter((type) => type !== 'null') }, { type: 'null' }];
}

function typesOf({ type }: JsonObject): readonly string[] {
  return typeof type === 'string' ? [type] : namesIn(type);
}

function valuesOf(schema: JsonObject): readonly string[] | undefined {
  const { enum: listed, const: only } = schema;
  if (only !== undefined) return [JSON.stringify(only)];
  return listed === undefined ? undefined : listOf(listed).map((value) => JSON.stringify(value));
}

function referenceOf(value: Json | undefined): string {
  const { $ref } = membersOf(value);
  return typeof $ref === 'string' ? $ref : '';
}

/** The members of an object. Empty for any other value. */
export function membersOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** The items of a list. Empty for any other value. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function namesIn(value: Json | undefined): readonly string[] {
  return listOf(value).filter((one) => typeof one === 'string');
}
