import { describe, expect, test } from 'vitest';
import { ArrayWriter } from './binary-array.ts';
import {
  BIGINT,
  type Column,
  columns,
  HEX,
  insertRow,
  insertRows,
  json,
  many,
  mergeWrites,
  NUMBER,
  nullable,
  rows,
  statement,
  statementOfRows,
  statementVariants,
  TEXT,
  TIME,
  UUID,
} from './sql.ts';

const ONE = '00000000-0000-0000-0000-000000000001';
const TWO = '00000000-0000-0000-0000-000000000002';

const THING = columns({ thingId: UUID, note: nullable(TEXT), amount: BIGINT });

function arrayOf<Value>({ element }: Column<Value>, values: readonly (Value | null)[]): Buffer {
  if (element === undefined) throw new Error('the column has no arrays');
  return new ArrayWriter().writeAll(element, values);
}

describe('a statement with named parameters', () => {
  test('numbers each parameter once, in order of appearance, and ignores casts, quotes and comments', () => {
    const find = statement(
      'find',
      { first: TEXT, secondOne: BIGINT },
      `select ':first', 'it''s :first', x::uuid -- :first isn't one
        from t where a = :secondOne::bigint and b = :first and c > :secondOne`,
    );
    expect(find({ first: 'a', secondOne: 2n })).toEqual({
      name: 'find',
      text: `select ':first', 'it''s :first', x::uuid -- :first isn't one
        from t where a = $1::bigint and b = $2 and c > $1`,
      values: [2n, 'a'],
    });
  });

  test('throws when the module is loaded if the SQL and the parameters do not match', () => {
    expect(() => statement('one', { a: TEXT }, 'select :a, :b')).toThrow('the statement one has no parameter :b');
    expect(() => statement('two', { a: TEXT, b: TEXT }, 'select :a')).toThrow('does not use its parameter b');
  });

  test('throws if PostgreSQL would treat a bigint as an integer in a computation', () => {
    const after = (text: string) => () => statement('after', { after: NUMBER }, `select 1 where position > ${text}`);
    expect(after(':after + 1')).toThrow('the statement after must cast :after to bigint before it computes with it');
    expect(after(':after - 20')).toThrow('must cast :after');
    for (const text of [':after::bigint + 1', ':after', ':after / 1000.0', ':after + length'])
      expect(after(text)).not.toThrow();
  });

  test('sends rows as one array for each column', () => {
    const insert = statement(
      'insert',
      { things: rows(THING), now: TIME },
      'insert into thing select things.*, :now::timestamptz from :things',
    );
    const things = [
      { thingId: ONE, note: 'a "b", c', amount: 5n, more: 'ignored' },
      { thingId: TWO, note: null, amount: -6n },
    ];
    expect(insert({ things, now: 0 })).toEqual({
      name: 'insert',
      text:
        'insert into thing select things.*, $1::timestamptz from ' +
        'unnest($2::uuid[], $3::text[], $4::bigint[]) as things(thing_id, note, amount)',
      values: [new Date(0), arrayOf(UUID, [ONE, TWO]), arrayOf(TEXT, ['a "b", c', null]), arrayOf(BIGINT, [5n, -6n])],
    });
  });

  test('derives an insert from the columns', () => {
    expect(insertRow('one', 'thing', THING)({ thingId: ONE, note: null, amount: 5n })).toEqual({
      name: 'one',
      text: 'insert into thing (thing_id, note, amount) values ($1, $2, $3)',
      values: [ONE, null, 5n],
    });
    expect(insertRows('all', 'thing', THING.omit('note'))([{ thingId: ONE, amount: 5n }])).toEqual({
      name: 'all',
      text: 'insert into thing (thing_id, amount) select thing_id, amount from unnest($1::uuid[], $2::bigint[]) as sent(thing_id, amount)',
      values: [arrayOf(UUID, [ONE]), arrayOf(BIGINT, [5n])],
    });
  });

  test('compiles each named variant once', () => {
    const list = statementVariants({ after: nullable(UUID), codes: many(TEXT) });
    let compiled = 0;
    const text = () => {
      compiled += 1;
      return 'select from t where id < :after';
    };
    expect(list('list', text, { after: '1', codes: [] })).toEqual(list('list', text, { after: '1', codes: [] }));
    expect(list('list', text, { after: null, codes: ['a'] }).values).toEqual([null]);
    expect(compiled).toBe(1);
    expect(list('by_code', () => 'select :codes', { after: null, codes: ['a', 'b'] })).toEqual({
      name: 'by_code',
      text: 'select $1::text[]',
      values: [arrayOf(TEXT, ['a', 'b'])],
    });
  });

  test('gets a unique name, even if the name is longer than PostgreSQL allows', () => {
    const variants = statementVariants({ one: TEXT });
    const start = `list_things${'_by_a_filter'.repeat(5)}`;
    const names = [start, `${start}_by_from`, `${start}_by_from_by_to`].map(
      (name) => variants(name, () => 'select :one', { one: 'x' }).name,
    );
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(/^list_things_\w{1,52}$/);
    expect(variants('list_things', () => 'select :one', { one: 'x' }).name).toBe('list_things');
  });

  test('merges with other statements by shifting their parameters', () => {
    const one = statementOfRows('one', THING.pick('amount'), 'insert into a select amount from :sent');
    const two = statement('two', { a: TEXT, b: TEXT }, 'delete from b where a = :a and b = :b returning 1');
    const merged = mergeWrites([one([{ amount: 1n }]), two({ a: 'x', b: 'y' })]);
    expect(merged.text).toBe(
      'with one as (insert into a select amount from unnest($1::bigint[]) as sent(amount)), ' +
        'two as (delete from b where a = $2 and b = $3 returning 1) select',
    );
    expect(merged.values).toEqual([arrayOf(BIGINT, [1n]), 'x', 'y']);
    expect(mergeWrites([one([]), two({ a: '', b: '' })])).toMatchObject({ name: merged.name, text: merged.text });
    expect(mergeWrites([two({ a: '', b: '' })]).name).not.toBe(merged.name);
  });
});

describe('columns', () => {
  test('name, list and read their columns', () => {
    const made = columns({ createdAt: TIME, endsAt: nullable(TIME), fingerprint: HEX, body: json<object>() });
    expect(made.of('t')).toBe('t.created_at, t.ends_at, t.fingerprint, t.body');
    const row = { created_at: new Date(7), ends_at: null, fingerprint: Buffer.from('0aff', 'hex'), body: {}, more: 1 };
    expect(made.read(row)).toEqual({ createdAt: 7, endsAt: null, fingerprint: '0aff', body: {} });
    expect(made.read(row)).not.toBe(made.read(row));
    expect(made.pick('body').names).toBe('body');
    expect(made.omit('body', 'createdAt').names).toBe('ends_at, fingerprint');
  });

  test('send one value as text, and bytes unchanged', () => {
    expect(HEX.write('0aff')).toEqual(Buffer.from([10, 255]));
    expect(nullable(HEX).write(null)).toBeNull();
    expect(TIME.write(7)).toEqual(new Date(7));
    expect(json<object>().write({ a: 1 })).toBe('{"a":1}');
    expect(nullable(json<object>()).write(null)).toBeNull();
  });

  test('must have valid names, because names become code', () => {
    const made = columns({ 'a: process.exit(1), b': TEXT });
    expect(() => made.read({})).toThrow('a: process.exit(1), b is not the name of a property');
  });

  test('have no arrays of arrays', () => {
    const lists = columns({ lists: many(TEXT) });
    const refusal = 'the parameter sent cannot have arrays of text[]';
    expect(() => statementOfRows('lists', lists, 'select from :sent')).toThrow(refusal);
    expect(() => many(many(TEXT))).toThrow('cannot have arrays of text[]');
  });
});
