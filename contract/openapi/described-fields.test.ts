import { describe, expect, test } from 'vitest';
import { EVENT_CATALOGUE } from '../events/catalogue.ts';
import { OPERATION_IDS, OPERATIONS } from '../operations.ts';
import type { SchemaShape } from '../schema-parts.ts';

type FoundField = { readonly path: string; readonly shape: SchemaShape };

/** Returns every field below a schema. The fields inside a union, a list or a map belong to the field around them. */
function fieldsIn(schema: object | undefined, path: string): readonly FoundField[] {
  if (schema === undefined) return [];
  const { properties = {}, anyOf = [], items, additionalProperties: pairs }: SchemaShape = schema;
  const inner = [...anyOf, ...(items === undefined ? [] : [items]), ...(typeof pairs === 'object' ? [pairs] : [])];
  return [
    ...Object.entries(properties).flatMap(([name, shape]) => [
      { path: `${path}.${name}`, shape },
      ...fieldsIn(shape, `${path}.${name}`),
    ]),
    ...inner.flatMap((one) => fieldsIn(one, path)),
  ];
}

const descriptionOf = ({ description, anyOf = [] }: SchemaShape): string =>
  description ?? anyOf.find((one) => one.description !== undefined)?.description ?? '';

const isNullable = ({ anyOf = [] }: SchemaShape): boolean => anyOf.some(({ type }) => type === 'null');

function problemsOf(fields: readonly FoundField[], isReply: boolean): readonly string[] {
  return fields.flatMap(({ path, shape }) => {
    const description = descriptionOf(shape);
    if (description === '') return [`${path} has no description`];
    if (description.endsWith('.')) return [`${path}: a description has no full stop at its end`];
    if (isReply && isNullable(shape) && !/\bnull\b/i.test(description))
      return [`${path}: when is it null? (${description})`];
    return [];
  });
}

describe('every field is described, and fields of a reply say when they are null', () => {
  test.each(OPERATION_IDS)('%s', (id) => {
    const { params, query, body, reply, stream } = OPERATIONS[id];
    const sent = [params, query, body].flatMap((schema) => fieldsIn(schema, id));
    const returned = [reply, stream].flatMap((schema) => fieldsIn(schema, id));
    expect([...problemsOf(sent, false), ...problemsOf(returned, true)]).toEqual([]);
  });

  test.each(Object.entries(EVENT_CATALOGUE))('%s', (type, { data }) => {
    expect(problemsOf(fieldsIn(data, type), true)).toEqual([]);
  });
});

test('finds fields at any depth that have no description, or do not say when they are null', () => {
  const bare = { type: 'string' };
  const list = { type: 'array', description: 'Some', items: { type: 'object', properties: { bare } } };
  const whole = {
    type: 'object',
    properties: { list, either: { anyOf: [{ ...bare, description: 'A name' }, { type: 'null' }] } },
  };
  expect(problemsOf(fieldsIn(whole, 'x'), true)).toEqual([
    'x.list.bare has no description',
    'x.either: when is it null? (A name)',
  ]);
});
