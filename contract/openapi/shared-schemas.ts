/** A JSON value in the OpenAPI document. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** An object in the document. Undefined fields are omitted. */
export type JsonObject = { readonly [name: string]: Json | undefined };

/** Returns a reference to a component of the document. */
export function reference(kind: string, name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/**
 * Minimum number of characters that a component must save for a repeated schema: about ten lines. With fewer, the names of the
 * components make the compressed document larger.
 */
const MIN_SAVED_CHARACTERS = 400;

const REFERENCE_CHARACTERS = 60;

/** Used as the name of a response that has none. */
const UNNAMED = 'Reply';

/**
 * Returns the replacement of a schema. `name` is the name of its component, if the schema becomes a component. `inner` visits its
 * inner schemas.
 */
type Visit = (schema: JsonObject, name: string, inner: () => JsonObject) => JsonObject;

/**
 * Returns the document with repeated schemas as components, and unions of one type and null as schemas with two types.
 */
export function withSharedSchemas(document: JsonObject): JsonObject {
  const plain = mapDocument(document, (_schema, _name, inner) => withNullType(inner()));
  const counts = new Map<string, number>();
  mapDocument(plain, (schema, _name, inner) => {
    const text = JSON.stringify(schema);
    counts.set(text, (counts.get(text) ?? 0) + 1);
    // The schemas inside a repeated schema count once, because in the result they occur once, in its component.
    return counts.get(text) === 1 ? inner() : schema;
  });
  const named: Record<string, JsonObject> = {};
  const references = new Map<string, JsonObject>();
  const taken = new Set(Object.keys(membersOf(membersOf(plain.components).schemas)));
  const whole = mapDocument(plain, (schema, name, inner) => {
    const text = JSON.stringify(schema);
    const known = references.get(text);
    if (known !== undefined) return known;
    const saved = ((counts.get(text) ?? 0) - 1) * (text.length - REFERENCE_CHARACTERS);
    if (schema.$ref !== undefined || saved < MIN_SAVED_CHARACTERS) return inner();
    const free = firstFree(name, taken);
    taken.add(free);
    const shared = reference('schemas', free);
    references.set(text, shared);
    named[free] = inner();
    return shared;
  });
  const components = membersOf(whole.components);
  const schemas = withBases({ ...membersOf(components.schemas), ...named });
  return withoutSingleUses({ ...whole, components: { ...components, schemas } }, Object.keys(named));
}

/** Puts a component back in place if only one reference to it is left. This happens when a record extends another one. */
function withoutSingleUses(document: JsonObject, names: readonly string[]): JsonObject {
  const text = JSON.stringify(document);
  const components = membersOf(document.components);
  const all = membersOf(components.schemas);
  const isSingle = (name: string) => text.split(JSON.stringify(reference('schemas', name))).length === 2;
  const single = new Map<Json | undefined, JsonObject>(
    names.filter(isSingle).map((name) => [reference('schemas', name).$ref, membersOf(all[name])]),
  );
  const others = Object.entries(all).filter(([name]) => !single.has(reference('schemas', name).$ref));
  const visit: Visit = (schema, name, inner) => {
    const only = single.get(schema.$ref);
    return only === undefined ? inner() : mapInner(only, name, visit);
  };
  return mapDocument({ ...document, components: { ...components, schemas: Object.fromEntries(others) } }, visit);
}

/** The minimum number of fields of a record that other records extend. */
const MIN_SHARED_FIELDS = 6;

/**
 * Rewrites each record that contains all fields of another record as a reference to that record, plus the additional
 * fields.
 */
function withBases(schemas: JsonObject): JsonObject {
  const records = Object.entries(schemas).filter(([, schema]) => isRecord(membersOf(schema)));
  const bases = new Map<string, string>();
  for (const [name, schema] of records) {
    const possible = records.filter(
      ([other, base]) => other !== name && extendsAll(membersOf(schema), membersOf(base)),
    );
    const [largest] = possible.toSorted(([, left], [, right]) => fieldCount(right) - fieldCount(left));
    if (largest !== undefined) bases.set(name, largest[0]);
  }
  return mapMembers(schemas, (member, name) => {
    const schema = membersOf(member);
    const base = bases.get(name);
    if (base === undefined) return schema;
    const known = membersOf(schemas[base]);
    const { type, required, properties, ...others } = schema;
    // Leaves out the example, because the base has one with its fields, and each additional field has a description.
    const rest = Object.entries(others).filter(
      ([keyword]) => keyword === 'description' || known[keyword] === undefined,
    );
    const added = Object.entries(membersOf(properties)).filter(
      ([field]) => !Object.hasOwn(membersOf(known.properties), field),
    );
    const needed = namesIn(required).filter((field) => !namesIn(known.required).includes(field));
    return {
      allOf: [reference('schemas', base)],
      ...Object.fromEntries(rest),
      ...(needed.length === 0 ? {} : { required: needed }),
      properties: Object.fromEntries(added),
    };
  });
}

/** Whether a schema is an object with fields that other records can extend. */
function isRecord({ type, properties, additionalProperties }: JsonObject): boolean {
  return type === 'object' && fieldCount({ properties }) >= MIN_SHARED_FIELDS && additionalProperties === undefined;
}

/** Whether a keyword does not constrain values. */
function isAnnotation(keyword: string): boolean {
  return keyword === 'description' || keyword === 'examples';
}

/**
 * Whether a record extends another one: it has the same fields and conditions, requires the same fields, and has more
 * fields.
 */
function extendsAll(record: JsonObject, base: JsonObject): boolean {
  const { type, required, properties, ...conditions } = base;
  const isEqual = (own: JsonObject) => (entry: readonly [string, Json | undefined]) =>
    JSON.stringify(own[entry[0]]) === JSON.stringify(entry[1]);
  const fields = Object.entries(membersOf(properties));
  const needed = namesIn(record.required);
  return (
    fields.length < fieldCount(record) &&
    fields.every(isEqual(membersOf(record.properties))) &&
    namesIn(required).every((name) => needed.includes(name)) &&
    Object.entries(conditions).every((entry) => isAnnotation(entry[0]) || isEqual(record)(entry))
  );
}

function fieldCount(schema: Json | undefined): number {
  return Object.keys(membersOf(membersOf(schema).properties)).length;
}

function namesIn(required: Json | undefined): readonly string[] {
  return isList(required) ? required.map(String) : [];
}

function firstFree(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const numbered = number === 1 ? name : `${name}${number}`;
    if (!taken.has(numbered)) return numbered;
  }
}

/** A union of one type and null, as a schema with two types, which has the same meaning in JSON Schema. */
function withNullType(schema: JsonObject): JsonObject {
  const { anyOf, ...beside } = schema;
  const [of, nothing, ...others] = isList(anyOf) ? anyOf.map(membersOf) : [];
  if (of === undefined || others.length > 0 || JSON.stringify(nothing) !== '{"type":"null"}') return schema;
  if (typeof of.type !== 'string' || of.const !== undefined) return schema;
  const values = isList(of.enum) ? { enum: [...of.enum, null] } : {};
  return { ...of, ...beside, type: [of.type, 'null'], ...values };
}

/** Passes every schema of the document to `visit`. A component itself is not passed, but its inner schemas are. */
function mapDocument(document: JsonObject, visit: Visit): JsonObject {
  const components = membersOf(document.components);
  const schemas = mapMembers(components.schemas, (schema, name) => mapInner(membersOf(schema), name, visit));
  // A schema outside the components has the name of its parameter.
  const outside = (value: Json, key: string, name = UNNAMED): Json => {
    if (key === 'example' || key === 'examples') return value;
    if (key === 'schema') return mapSchema(membersOf(value), name, visit);
    if (isList(value)) return value.map((item) => outside(item, ''));
    if (typeof value !== 'object' || value === null) return value;
    const own = typeof value.name === 'string' ? nameBelow(UNNAMED, value.name) : name;
    return mapMembers(value, (member, word) => outside(member, word, own));
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

/** A schema with its inner schemas visited, except its alternatives (`anyOf`), which are too small to be components. */
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

/**
 * The name of an inner schema, such as `KeyRecordProgramId`. Inside an unnamed reply, it is the inner name only, such as
 * `ProgramId`.
 */
function nameBelow(name: string, word: string): string {
  const words = word.split('_').map((one) => `${one.charAt(0).toUpperCase()}${one.slice(1)}`);
  return `${name === UNNAMED ? '' : name}${words.join('')}`;
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
