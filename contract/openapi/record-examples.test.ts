import { expect, test } from 'vitest';
import { isComposed, recordExamples, recordIn, type ShownReply } from './record-examples.ts';

const schema = { $ref: '#/components/schemas/CardRecord' };
const page = { allOf: [{ $ref: '#/components/schemas/Page' }], properties: { data: { type: 'array', items: schema } } };
const active = { card_id: 'card_1', status: 'active', closed_at: null };
const closed = { ...active, status: 'closed', closed_at: '2026-01-31T09:30:00.000Z' };
const examples = recordExamples([
  { schema: page, example: { data: [active], next_cursor: null } },
  { schema, example: closed },
]);

test('a record has the example of the first response that contains it', () => {
  expect([...examples]).toEqual([['CardRecord', active]]);
});

test.each<[what: string, record: string | undefined, reply: ShownReply]>([
  ['a record', 'CardRecord', { schema, example: closed }],
  ['the last page with a record', 'CardRecord', { schema: page, example: { data: [active], next_cursor: null } }],
  ['a page that is not the last', undefined, { schema: page, example: { data: [active], next_cursor: 'next' } }],
  ['an empty page', undefined, { schema: page, example: { data: [], next_cursor: null } }],
  ['a page with another field', undefined, { schema: page, example: { data: [active], next_cursor: null, number: 1 } }],
  ['a schema without a name', undefined, { schema: { type: 'object' }, example: active }],
])('the record of %s is %s', (_what, record, reply) => {
  expect(recordIn(reply)).toBe(record);
});

test('an example that contains another record is composed of both examples', () => {
  expect(isComposed({ count: 1, cards: [active] }, examples)).toBe(true);
  expect(isComposed({ card: { of: active } }, examples)).toBe(true);
  expect(isComposed({ card: closed }, examples)).toBe(false);
  expect(isComposed(active, examples)).toBe(false);
});
