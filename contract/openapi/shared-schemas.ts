import type { Json, JsonObject } from './json.ts';
import { reference } from './json.ts';

/** Of how many characters a repeated schema must relieve the document to become a component: some five lines. */
const MIN_RELIEF = 200;

/** The characters of a reference in the place of a schema. */
const REFERENCE = 60;

/** Visits a schema; what it returns takes its place. `name` is what a component of it would be called. */
type Visit = (schema: JsonObject, name: string, inner: () => JsonObject) => JsonObject;

/** The document with every schema that repeats as a component, and `null` as one of the types where it is the only other one. */
export function withSharedSchemas(document: JsonObject): JsonObject {
  const plain = mapDocument(document, (_schema, _name, inner) => withNullType(inner()));
  const counts = new Map<string, number>();
  mapDocument(plain, (schema, _name, inner) => {
    const text = JSON.stringify(schema);
    counts.set(text, (counts.get(text) ?? 0) + 1);
    // What is inside of a repeated schema is in its component once.
    return counts.get(text) === 1 ? inner() : schema;
  });
  const named: Record<string, JsonObject> = {};
  const references = new Map<string, JsonObject>();
  const taken = new Set(Object.keys(membersOf(membersOf(plain.components).schemas)));
  const whole = mapDocument(plain, (schema, name, inner) => {
    const text = JSON.stringify(schema);
    const known = references.get(text);
    if (known !== undefined) return known;
    const relief = ((counts.get(text) ?? 0) - 1) * (text.length - REFERENCE);
    if (schema.$ref !== undefined || relief < MIN_RELIEF) return inner();
    const free = firstFree(name, taken);
    taken.add(free);
    const shared = reference('schemas', free);
    references.set(text, shared);
    named[free] = inner();
    return shared;
  });
  const components = membersOf(whole.components);
  return { ...whole, components: { ...components, schemas: { ...membersOf(components.schemas), ...named } } };
}

function firstFree(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const numbered = number === 1 ? name : `${name}${number}`;
    if (!taken.has(numbered)) return numbered;
  }
}

/** A schema or null, as one schema with two types: JSON Schema means the same by both. */
function withNullType(schema: JsonObject): JsonObject {
  const { anyOf, ...beside } = schema;
  const [of, nothing, ...others] = isList(anyOf) ? anyOf.map(membersOf) : [];
  if (of === undefined || others.length > 0 || JSON.stringify(nothing) !== '{"type":"null"}') return schema;
  if (typeof of.type !== 'string' || of.const !== undefined) return schema;
  const values = isList(of.enum) ? { enum: [...of.enum, null] } : {};
  return { ...of, ...beside, type: [of.type, 'null'], ...values };
}

/** Passes every schema of the document to `visit`, except the components themselves, of which it gets what is inside. */
function mapDocument(document: JsonObject, visit: Visit): JsonObject {
  const components = membersOf(document.components);
  const schemas = mapMembers(components.schemas, (schema, name) => mapInner(membersOf(schema), name, visit));
  const outside = (value: Json, key: string): Json => {
    if (key === 'example' || key === 'examples') return value;
    if (key === 'schema') return mapSchema(membersOf(value), 'Reply', visit);
    if (isList(value)) return value.map((item) => outside(item, ''));
    return typeof value === 'object' && value !== null ? mapMembers(value, outside) : value;
  };
  const { parameters = {}, responses = {} } = components;
  return {
    ...document,
    paths: outside(document.paths ?? {}, 'paths'),
    components: {
      ...components,
      schemas,
      parameters: outside(parameters, 'parameters'),
      responses: outside(responses, 'responses'),
    },
  };
}

function mapSchema(schema: JsonObject, name: string, visit: Visit): JsonObject {
  return visit(schema, name, () => mapInner(schema, name, visit));
}

/** What is inside of a schema; the alternatives of one (`anyOf`) are too small to be components. */
function mapInner(schema: JsonObject, name: string, visit: Visit): JsonObject {
  const { properties, items, additionalProperties: pairs } = schema;
  const below = (value: Json, word: string) => mapSchema(membersOf(value), nameBelow(name, word), visit);
  const alternatives = (['anyOf', 'oneOf', 'allOf'] as const).flatMap((kind) => {
    const list = schema[kind];
    return isList(list) ? [[kind, list.map((one) => mapInner(membersOf(one), name, visit))] as const] : [];
  });
  return {
    ...schema,
    ...Object.fromEntries(alternatives),
    ...(properties === undefined ? {} : { properties: mapMembers(properties, below) }),
    ...(items === undefined ? {} : { items: below(items, 'item') }),
    ...(typeof pairs === 'object' ? { additionalProperties: below(pairs, 'value') } : {}),
  };
}

/** Such as `KeyRecordProgramId`; a reply without a name gives its fields none. */
function nameBelow(name: string, word: string): string {
  const words = word.split('_').map((one) => `${one.charAt(0).toUpperCase()}${one.slice(1)}`);
  return `${name === 'Reply' ? '' : name}${words.join('')}`;
}

function mapMembers(value: Json | undefined, map: (member: Json, key: string) => Json): JsonObject {
  return Object.fromEntries(
    Object.entries(membersOf(value)).flatMap(([key, member]) =>
      member === undefined ? [] : [[key, map(member, key)]],
    ),
  );
}

function membersOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !isList(value) ? value : {};
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
