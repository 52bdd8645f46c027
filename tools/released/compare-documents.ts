// Finds changes that break callers of a released OpenAPI document: removed parts, narrower requests and wider replies.
import type { Json, JsonObject } from '../../contract/openapi/shared-schemas.ts';
import { compareSchemas, type Direction, listOf, membersOf, merged } from './compare-schemas.ts';

// Invariant: Callers of the last release keep working: the API only adds to it
// Kept by: `tools/released/`, which compares `contract/openapi.json` with `openapi.released.json`
// Tested by: `test/rules/released-api.test.ts`

type Documents = { readonly released: JsonObject; readonly current: JsonObject };

/** Returns one line for each change that breaks callers of the released interface. */
export function findBreakingChanges(released: JsonObject, current: JsonObject): readonly string[] {
  const documents = { released, current };
  return Object.entries(membersOf(released.paths)).flatMap(([path, item]) =>
    Object.entries(membersOf(item)).flatMap(([method, operation]) => {
      const now = membersOf(membersOf(current.paths)[path])[method];
      const name = `${method.toUpperCase()} ${path}`;
      if (now === undefined) return [`${name}: the operation is gone`];
      return compareOperations(membersOf(operation), membersOf(now), name, documents);
    }),
  );
}

function compareOperations(
  before: JsonObject,
  after: JsonObject,
  name: string,
  documents: Documents,
): readonly string[] {
  const [was, is] = [before.operationId, after.operationId];
  return [
    ...(was === is ? [] : [`${name}: the operationId was ${String(was)} and is ${String(is)}`]),
    ...compareParameters(before, after, name, documents),
    ...compareBodies(before, after, name, documents),
    ...compareResponses(before, after, name, documents),
  ];
}

function compareParameters(
  before: JsonObject,
  after: JsonObject,
  name: string,
  documents: Documents,
): readonly string[] {
  const byName = (operation: JsonObject, document: JsonObject) =>
    new Map(
      listOf(operation.parameters).map((one) => {
        const parameter = resolved(one, document);
        return [`${String(parameter.in)} parameter ${String(parameter.name)}`, parameter] as const;
      }),
    );
  const [was, is] = [byName(before, documents.released), byName(after, documents.current)];
  const kept = [...was].flatMap(([key, parameter]) => {
    const now = is.get(key);
    if (now === undefined) return [`${name}: the ${key} is gone`];
    return compare(parameter.schema, now.schema, `${name}: ${key}`, 'request', documents);
  });
  const required = [...is].filter(([key, { required }]) => required === true && was.get(key)?.required !== true);
  return [...kept, ...required.map(([key]) => `${name}: the ${key} is required now`)];
}

function compareBodies(before: JsonObject, after: JsonObject, name: string, documents: Documents): readonly string[] {
  const [was, is] = [resolved(before.requestBody, documents.released), resolved(after.requestBody, documents.current)];
  const isRequired = is.required === true && was.required !== true;
  return [
    ...(isRequired ? [`${name}: a body is required now`] : []),
    ...compareContents(was, is, `${name}: body`, 'request', documents),
  ];
}

function compareResponses(
  before: JsonObject,
  after: JsonObject,
  name: string,
  documents: Documents,
): readonly string[] {
  const [was, is] = [responsesOf(before, documents.released), responsesOf(after, documents.current)];
  const kept = Object.entries(was).flatMap(([status, one]) => {
    const other = is[status];
    if (other === undefined) return [`${name}: the status ${status} is gone`];
    const headers = Object.keys(membersOf(one.headers)).filter(
      (header) => membersOf(other.headers)[header] === undefined,
    );
    const left = codesOf(other, documents.current);
    const codes = codesOf(one, documents.released).filter((code) => !left.includes(code));
    return [
      ...headers.map((header) => `${name}: ${status}: the header ${header} is gone`),
      ...codes.map((code) => `${name}: ${status}: the error code ${code} is gone`),
      ...compareContents(one, other, `${name}: ${status}`, 'reply', documents),
    ];
  });
  const isSuccess = (status: string) => status.startsWith('2');
  const added = Object.keys(is).filter((status) => isSuccess(status) && was[status] === undefined);
  return [...kept, ...added.map((status) => `${name}: it can succeed with ${status} now`)];
}

/** The responses of an operation by status. A range has the same response for each status that it lists. */
function responsesOf({ responses }: JsonObject, document: JsonObject): Readonly<Record<string, JsonObject>> {
  return Object.fromEntries(
    Object.entries(membersOf(responses)).flatMap(([status, one]) => {
      const response = resolved(one, document);
      return status.endsWith('XX') ? partsOfRange(response, document) : [[status, response] as const];
    }),
  );
}

/** The response for each status that a range lists, with only the codes that have the status in the examples. */
function partsOfRange(range: JsonObject, document: JsonObject): readonly (readonly [string, JsonObject])[] {
  const json = membersOf(membersOf(range.content)['application/json']);
  const schema = resolved(json.schema, document);
  const { Status: listed, ...properties } = membersOf(schema.properties);
  return listOf(membersOf(listed).enum).map((status) => {
    const examples = Object.entries(membersOf(json.examples)).filter(
      ([, one]) => membersOf(resolved(one, document).value).Status === status,
    );
    const codes = listOf(membersOf(properties.Code).enum).filter((code) => examples.some(([name]) => name === code));
    const narrowed = { ...schema, properties: { ...properties, Code: { enum: codes } } };
    const content = { 'application/json': { ...json, schema: narrowed, examples: Object.fromEntries(examples) } };
    return [String(status), { ...range, content }] as const;
  });
}

/** The error codes of a response, and the patterns of its codes that contain the name of an operation. */
function codesOf(response: JsonObject, document: JsonObject): readonly string[] {
  const { schema } = membersOf(membersOf(response.content)['application/json']);
  const code = membersOf(membersOf(merged(schema, (value) => resolved(value, document)).properties).Code);
  const choices = [code, ...listOf(code.anyOf).map(membersOf)];
  return choices.flatMap(({ enum: codes, pattern = [] }) => [listOf(codes), pattern].flat().map(String));
}

function compareContents(
  before: JsonObject,
  after: JsonObject,
  path: string,
  direction: Direction,
  documents: Documents,
): readonly string[] {
  return Object.entries(membersOf(before.content)).flatMap(([type, content]) => {
    const now = membersOf(after.content)[type];
    if (now === undefined) return [`${path}: the media type ${type} is gone`];
    return compare(membersOf(content).schema, membersOf(now).schema, path, direction, documents);
  });
}

function compare(
  before: Json | undefined,
  after: Json | undefined,
  path: string,
  direction: Direction,
  { released, current }: Documents,
): readonly string[] {
  const problems = compareSchemas(before, after, path, {
    direction,
    released: (value) => resolved(value, released),
    current: (value) => resolved(value, current),
    seen: new Set(),
  });
  return [...new Set(problems)];
}

/** Resolves a reference, with the members next to it. Returns any other value unchanged. */
function resolved(value: Json | undefined, document: JsonObject): JsonObject {
  const { $ref, ...beside } = membersOf(value);
  if (typeof $ref !== 'string') return beside;
  const target = $ref
    .slice(2)
    .split('/')
    .reduce<Json | undefined>((inner, name) => membersOf(inner)[name], document);
  if (target === undefined) throw new Error(`${$ref} does not exist`);
  return { ...resolved(target, document), ...beside };
}
