import { expect, test } from 'vitest';
import type { SchemaShape } from '../schema-parts.ts';
import { isComposed, isShownByRecord, recordExamples, type ShownReply } from './record-examples.ts';

const schema = { $ref: '#/components/schemas/CardRecord' };
const page = { allOf: [{ $ref: '#/components/schemas/Page' }], properties: { data: { type: 'array', items: schema } } };
const active = { card_id: 'card_1', status: 'active', closed_at: null };
const closed = { ...active, status: 'closed', closed_at: '2026-01-31T09:30:00.000Z' };
const renamed = { ...active, card_id: 'card_2' };
const fields: SchemaShape = {
  properties: {
    card_id: { type: 'string' },
    status: { type: 'string', enum: ['active', 'closed'] },
    closed_at: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
  },
};

const examples = recordExamples([
  { schema: page, example: { data: [active], next_cursor: null } },
  { schema, example: closed },
]);
const isShown = (reply: ShownReply): boolean => isShownByRecord(reply, examples, () => fields);

test('a record has the example of the first response that contains it', () => {
  expect([...examples]).toEqual([['CardRecord', active]]);
});

test.each<[what: string, shown: boolean, reply: ShownReply]>([
  ['the record', true, { schema, example: active }],
  ['another record in the same state', true, { schema, example: renamed }],
  ['a record with another status', false, { schema, example: { ...active, status: 'closed' } }],
  ['a record with a time that is null in the example', false, { schema, example: { ...active, closed_at: '2026' } }],
  ['the last page with the record', true, { schema: page, example: { data: [active], next_cursor: null } }],
  ['a page that is not the last', false, { schema: page, example: { data: [active], next_cursor: 'next' } }],
  ['an empty page', false, { schema: page, example: { data: [], next_cursor: null } }],
  ['a page with another field', false, { schema: page, example: { data: [active], next_cursor: null, number: 1 } }],
  ['a schema without a name', false, { schema: { type: 'object' }, example: active }],
])('the example of the record shows %s: %s', (_what, shown, reply) => {
  expect(isShown(reply)).toBe(shown);
});

test('an example that contains another record is composed of both examples', () => {
  expect(isComposed({ count: 1, cards: [active] }, examples)).toBe(true);
  expect(isComposed({ card: { of: active } }, examples)).toBe(true);
  expect(isComposed({ card: closed }, examples)).toBe(false);
  expect(isComposed(active, examples)).toBe(false);
});
