import { expect, test } from 'vitest';
import { compareRecordings } from '../../tools/responses/compare.ts';
import { Placeholders, type Recorded } from '../../tools/responses/record.ts';

// What records the responses of two versions, and compares them: tools/responses/main.ts.

const TRANSFER = `tr_${'0a'.repeat(16)}`;
const OTHER = `tr_${'0b'.repeat(16)}`;

test('random values are numbered by kind, and what is not random stays', () => {
  const placeholders = new Placeholders(40_123);
  expect(placeholders.in(`${TRANSFER} ${OTHER} ${TRANSFER} http://localhost:40123/`)).toBe(
    '<tr 1> <tr 2> <tr 1> http://localhost:<port>/',
  );
  expect(placeholders.in('{"next_cursor":"abc","cursor":"abc","next_cursor":null}')).toBe(
    '{"next_cursor":"<cursor 1>","cursor":"<cursor 1>","next_cursor":null}',
  );
  expect(placeholders.in('2026-11-23T13:01:15.680Z 2026-11-23T00:00:00.000Z Mon, 23 Nov 2026 13:01:15 GMT')).toBe(
    '<moment> 2026-11-23T00:00:00.000Z <date>',
  );
  expect(placeholders.in('{"amount":500,"milliseconds":7.5}')).toBe('{"amount":500,"milliseconds":"<number>"}');
});

const recorded = (change: Partial<Recorded> = {}): Recorded => ({
  name: '1.0 get_transfer',
  operation: 'get_transfer',
  status: 200,
  headers: [['Request-Id', '<req 1>']],
  body: '{"transfer_id":"<tr 1>","amount":5}',
  ...change,
});
const later = (body: string): Recorded => recorded({ name: '2.0 get_transfer', body });

/** The kinds of the differences, with how often each is there. */
const kindsOf = (before: readonly Recorded[], after: readonly Recorded[]) =>
  Object.fromEntries(compareRecordings(before, after).map(({ kind, count }) => [kind, count]));

test('recordings that are the same have no differences, also where one numbers its ids otherwise', () => {
  expect(kindsOf([recorded()], [recorded()])).toEqual({});
  const shifted = recorded({ body: '{"transfer_id":"<tr 7>","amount":5}' });
  expect(kindsOf([recorded(), later('"<tr 1>"')], [shifted, later('"<tr 7>"')])).toEqual({});
});

test('an id that stands for another one than before is a difference', () => {
  const first = recorded({ body: '{"transfer_id":"<tr 7>","amount":5}' });
  expect(kindsOf([recorded(), later('"<tr 1>"')], [first, later('"<tr 8>"')])).toEqual({ 'get_transfer: body': 1 });
  expect(kindsOf([recorded(), later('"<tr 2>"')], [first, later('"<tr 7>"')])).toEqual({ 'get_transfer: body': 1 });
});

test.each<readonly [string, Partial<Recorded>]>([
  ['status 200 -> 404', { status: 404 }],
  ['header Money-Moved is new', { headers: [...recorded().headers, ['Money-Moved', 'no']] }],
  ['header Request-Id is gone', { headers: [] }],
  ['header Request-Id', { headers: [['Request-Id', '<key 1>']] }],
  ['body.amount', { body: '{"transfer_id":"<tr 1>","amount":6}' }],
  ['body.amount is gone', { body: '{"transfer_id":"<tr 1>"}' }],
  ['body.note is new', { body: '{"transfer_id":"<tr 1>","amount":5,"note":null}' }],
  ['body: order of the fields', { body: '{"amount":5,"transfer_id":"<tr 1>"}' }],
])('a difference is told by its kind: %s', (kind, change) => {
  expect(kindsOf([recorded()], [recorded(change)])).toEqual({ [`get_transfer: ${kind}`]: 1 });
});

test('differences of one kind are counted, and so are responses that are missing or more', () => {
  const changed = { body: '{"transfer_id":"<tr 1>","amount":6}' };
  const second = { name: '2.0 get_transfer' };
  expect(kindsOf([recorded(), recorded(second)], [recorded(changed), recorded({ ...second, ...changed })])).toEqual({
    'get_transfer: body.amount': 2,
  });
  expect(kindsOf([recorded()], [recorded(second)])).toEqual({
    'get_transfer: no response': 1,
    'get_transfer: an extra response': 1,
  });
});
