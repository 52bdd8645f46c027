import { describe, expect, test } from 'vitest';
import { StoreFailure } from '../../server/store/connection/failure.ts';
import {
  BIGINT,
  BOOLEAN,
  BYTES,
  type Column,
  CURRENCY,
  columns,
  DATE,
  HEX,
  INTEGER,
  JSON_TEXT,
  json,
  many,
  NUMBER,
  nullable,
  SMALLINT,
  statement,
  statementOfRows,
  TEXT,
  TIME,
  UUID,
  word,
} from '../../server/store/sql.ts';
import { useLedger, useServer } from '../harness/use-ledger.ts';

// Tests that values of every column type arrive in the database and come back unchanged.

const { database } = useLedger((await useServer()).connection);

const TEXTS = [
  'plain',
  '',
  ' ',
  'NULL',
  'null',
  '{}',
  '{"a","b"}',
  'a "b", \'c\' (d), e\\f \\"g\\" \\\\x00 $1 :sent --',
  'line\nfeed\ttab\u001eseparator\u007f\u0001',
  'Grüße 日本語 한국어 עברית',
  '💶 👩‍👩‍👧 𝔘',
  '\ufeff\ufffd\uffff',
  'x'.repeat(100_000),
  'é'.repeat(40_000),
];

const JSONS: readonly unknown[] = [
  {},
  [],
  'a "b" \\ \u001e \n 💶',
  { a: { b: [1, null, true, '{}'] }, '"': '\\' },
  0,
  -1.5,
  true,
];

const MOMENTS = [
  0,
  -1,
  1,
  Date.parse('2000-01-01T00:00:00.000Z'),
  Date.parse('1999-12-31T23:59:59.999Z'),
  Date.parse('2026-11-22T01:02:03.004Z'),
  Date.parse('1900-01-01T00:00:00.000Z'),
  Date.parse('9999-12-31T23:59:59.999Z'),
  Date.parse('0001-01-01T00:00:00.000Z'),
  Date.parse('+012026-02-03T04:05:06.007Z'),
];

const BYTE_STRINGS = ['', '00', 'ff', '5c785c', Buffer.from(TEXTS.join('')).toString('hex')];

const of = <Value>(column: Column<Value>, values: readonly Value[]) => ({ column, values });

const CASES = {
  uuid: of(UUID, [
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '01234567-89ab-cdef-0123-456789abcdef',
  ]),
  bigint: of(BIGINT, [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 999_999_999_999n]),
  number: of(NUMBER, [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1, 1 - 2 ** 53]),
  smallint: of(SMALLINT, [0, -1, 32_767, -32_768]),
  integer: of(INTEGER, [0, -1, 2 ** 31 - 1, -(2 ** 31)]),
  boolean: of(BOOLEAN, [true, false]),
  currency: of(CURRENCY, ['USD', 'JPY']),
  text: of(TEXT, TEXTS),
  word: of(word(), ['completed', 'card_to_card']),
  'text of JSON': of(JSON_TEXT, [...JSONS.map((value) => JSON.stringify(value)), '{"a" :1.0}']),
  jsonb: of(json<unknown>('jsonb'), JSONS),
  json: of(json<unknown>('json'), JSONS),
  time: of(TIME, MOMENTS),
  date: of(
    DATE,
    MOMENTS.map((time) => new Date(time)),
  ),
  bytes: of(
    BYTES,
    BYTE_STRINGS.map((digits) => Buffer.from(digits, 'hex')),
  ),
  hex: of(HEX, BYTE_STRINGS),
};

describe.each(Object.entries(CASES))('values of type %s', (name, { column, values }) => {
  const place = { place: INTEGER };
  // Each value is checked against the type of its column.
  const set = columns({ ...place, value: nullable(column as Column<unknown>) });
  const echo = statementOfRows(`echo_${name.replaceAll(' ', '_')}`, set, 'select * from :sent order by place');

  async function send(sent: readonly unknown[]): Promise<readonly unknown[]> {
    const rows = await database.read(echo(sent.map((value, index) => ({ place: index, value }))));
    return rows.map((row) => set.read(row).value);
  }

  test('come back unchanged', async () => {
    expect(await send(values)).toEqual(values);
  });

  test('come back with nulls among them, and as an empty list', async () => {
    const mixed = values.flatMap((value) => [null, value, null]);
    expect(await send(mixed)).toEqual(mixed);
    expect(await send([null])).toEqual([null]);
    expect(await send([null, null])).toEqual([null, null]);
    expect(await send([])).toEqual([]);
    expect(await send([undefined])).toEqual([null]);
  });

  test('come back from a parameter that is an array', async () => {
    const list = statement(
      `list_${name.replaceAll(' ', '_')}`,
      { values: many(column as Column<unknown>) },
      'select value from unnest(:values) with ordinality as sent(value, place) order by place',
    );
    const result = columns({ value: column as Column<unknown> });
    const read = async (sent: readonly unknown[]) =>
      (await database.read(list({ values: sent }))).map((row) => result.read(row).value);
    expect(await read(values)).toEqual(values);
    expect(await read([])).toEqual([]);
  });
});

const echoTexts = statementOfRows('echo_texts', columns({ text: TEXT }), 'select * from :sent');

test('text with U+0000 is refused as a fault of its row, alone and among other rows', async () => {
  for (const texts of [['\0'], ['a', 'b\0c', 'd'], [`${'x'.repeat(100)}\0`]]) {
    const failure = await database.read(echoTexts(texts.map((text) => ({ text })))).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreFailure);
    expect(failure).toMatchObject({ sqlState: '22021', rowAtFault: true });
  }
});

test('half of a surrogate pair is stored as U+FFFD', async () => {
  const rows = await database.read(echoTexts([{ text: 'a\ud83d' }, { text: '\udcb6b' }]));
  expect(rows.map(({ text }) => text)).toEqual(['a\ufffd', '\ufffdb']);
});

test('a thousand rows of several columns stay together', async () => {
  const set = columns({ id: INTEGER, note: nullable(TEXT), amount: BIGINT, body: json<unknown>() });
  const sent = Array.from({ length: 1000 }, (_, id) => ({
    id,
    note: id % 3 === 0 ? null : 'é"'.repeat(id),
    amount: BigInt(id) - 500n,
    body: { id, text: 'x'.repeat(id) },
  }));
  const rows = await database.read(statementOfRows('echo_rows', set, 'select * from :sent order by id')(sent));
  expect(rows.map(set.read)).toEqual(sent);
});
