import { expect, test } from 'vitest';
import { withSharedSchemas } from './shared-schemas.ts';

const LONG = `An amount in minor units: ${'digits '.repeat(80)}`;
const amount = { type: 'integer', description: LONG };
const reply = (schema: object) => ({
  get: { responses: { 200: { content: { 'application/json': { schema, example: { amount: 1 } } } } } },
});
const object = (properties: object) => ({ type: 'object', properties });
const shared = (paths: object, schemas: object = {}) =>
  withSharedSchemas(JSON.parse(JSON.stringify({ paths, components: { schemas } })));

test('a long schema that repeats becomes a component, named after the first field that has it', () => {
  const document = shared({ '/a': reply(object({ amount })) }, { CardRecord: object({ amount }) });
  const referred = object({ amount: { $ref: '#/components/schemas/CardRecordAmount' } });
  expect(document).toMatchObject({
    paths: { '/a': reply(referred) },
    components: { schemas: { CardRecord: referred, CardRecordAmount: amount } },
  });
});

test('a schema inside a repeated schema does not become a component', () => {
  const whole = object({ amount, items: { type: 'array', items: object({ id: { type: 'string' } }) } });
  const { components } = shared({}, { One: object({ part: whole }), Two: object({ part: whole }) });
  expect(components).toMatchObject({ schemas: { OnePart: whole } });
  expect(JSON.stringify(components)).not.toContain('OnePartAmount');
});

test('short schemas and examples stay in place', () => {
  const document = { '/a': reply(object({ id: { type: 'string' } })), '/b': reply(object({ id: { type: 'string' } })) };
  expect(shared(document)).toEqual({ paths: document, components: { schemas: {}, parameters: {}, responses: {} } });
});

test('a second schema of the same name gets a number', () => {
  const id = { type: 'string' };
  const { components } = shared(
    { '/a': reply(object({ amount })), '/b': reply(object({ amount, id })) },
    { Amount: object({}) },
  );
  expect(components).toMatchObject({ schemas: { Amount: object({}), Amount2: amount } });
});

test('a union of one type and null becomes a schema with two types', () => {
  const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
  const record = object({
    at: orNull({ type: 'string', format: 'date-time', description: 'When' }),
    role: orNull({ type: 'string', enum: ['viewer'] }),
    limits: orNull({ $ref: '#/components/schemas/Limits' }),
    sum: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] },
  });
  expect(shared({}, { Record: record }).components).toMatchObject({
    schemas: {
      Record: object({
        at: { type: ['string', 'null'], format: 'date-time', description: 'When' },
        role: { type: ['string', 'null'], enum: ['viewer', null] },
        limits: orNull({ $ref: '#/components/schemas/Limits' }),
        sum: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] },
      }),
    },
  });
});

test('a record with all fields of another record refers to it', () => {
  const record = (...names: readonly string[]) => ({
    type: 'object',
    required: names.slice(0, 2),
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string', description: name }])),
  });
  const fields = ['key_id', 'name', 'role', 'scopes', 'created_at', 'expires_at'];
  const different = { ...record(...fields, 'other'), required: ['other'] };
  const { components } = shared(
    {},
    {
      KeyRecord: record(...fields),
      NewKeyRecord: { ...record(...fields, 'key'), description: 'New' },
      Other: different,
    },
  );
  expect(components).toMatchObject({
    schemas: {
      KeyRecord: record(...fields),
      NewKeyRecord: {
        allOf: [{ $ref: '#/components/schemas/KeyRecord' }],
        description: 'New',
        properties: { key: { type: 'string', description: 'key' } },
      },
      // This schema does not require a field that KeyRecord requires.
      Other: different,
    },
  });
});

test('a record extends another record with conditions only if it has the same conditions', () => {
  const fields = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, { type: 'string' }]));
  const body = { ...object(fields), dependentRequired: { a: ['b'] } };
  const row = { ...object({ ...fields, key: { type: 'integer' } }), dependentRequired: { a: ['b'] } };
  const unlike = { ...object({ ...fields, key: { type: 'integer' } }), dependentRequired: { a: ['c'] } };
  const closed = { ...object(fields), additionalProperties: false };
  const { components } = shared({}, { Body: body, Row: row, Unlike: unlike });
  expect(components).toMatchObject({
    schemas: {
      Row: {
        allOf: [{ $ref: '#/components/schemas/Body' }],
        properties: { key: { type: 'integer' } },
      },
      Unlike: unlike,
    },
  });
  // A schema that refuses other fields would refuse the fields that a record adds.
  const more = { ...object({ ...fields, key: { type: 'integer' } }), additionalProperties: false };
  expect(shared({}, { Closed: closed, More: more }).components).toMatchObject({
    schemas: { Closed: closed, More: more },
  });
});
