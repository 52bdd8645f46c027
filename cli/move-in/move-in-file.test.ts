import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DigestTable } from './check-lines.ts';
import { describeCheck } from './describe.ts';
import { readMoveInFile } from './move-in-file.ts';

const NOW = Date.parse('2026-01-31T09:30:00Z');
const SOON = '2026-02-05T09:30:00Z';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'move-in-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const HEAD = 'kind,card_id,currency,balance,holder_reference,last_four,amount,expires_at,reference,cards,holds,held';

type Fields = Readonly<Record<string, string | number | object>>;

const card = (name: string, balance: number | string, more: Fields = {}): Fields => ({
  ...{ kind: 'card', card_id: name, balance },
  ...more,
});
const hold = (name: string, amount: number, more: Fields = {}): Fields => ({
  ...{ kind: 'hold', card_id: name, amount, expires_at: SOON },
  ...more,
});
const total = (currency: string, cards: number, balance: number, holds = 0, held = 0): Fields => ({
  ...{ kind: 'total', currency, cards, balance, holds, held },
});

const csv = (lines: readonly Fields[]): string =>
  [HEAD, ...lines.map((line) => HEAD.split(',').map((name) => line[name] ?? ''))].join('\n');
const ndjson = (lines: readonly Fields[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

const FORMATS = [
  // The first line of a CSV names the columns.
  { format: 'CSV', write: csv, before: 1 },
  { format: 'NDJSON', write: ndjson, before: 0 },
] as const;

async function read(contents: string | Buffer, currency: string | undefined = 'USD', skipped = 0) {
  const path = join(folder, 'file');
  writeFileSync(path, contents);
  const { checked, portions } = await readMoveInFile(path, currency, NOW);
  const lines = [];
  if (checked.problemCount === 0) for await (const portion of portions(skipped)) lines.push(...portion);
  const problems = checked.problems.map(({ line, field, code }) => `${line} ${field} ${code}`);
  return { ...checked, all: checked.problems, problems, lines };
}

describe.each(FORMATS)('$format', ({ write, before }) => {
  test('reads cards, holds and totals, with the sums of each currency', async () => {
    const lines = [
      total('EUR', 1, 700),
      card('one', 12_500, { last_four: '0042', holder_reference: 'a "b", c' }),
      hold('one', 2000, { reference: 'hotel' }),
      card('euro', 700, { currency: 'EUR' }),
      total('USD', 1, 12_500, 1, 2000),
    ];
    const contents = write(lines)
      .replace('a "b", c', write === csv ? '"a ""b"", c"' : 'a \\"b\\", c')
      .replaceAll('\\\\"', '\\"');
    const found = await read(contents);
    expect(found).toMatchObject({
      ...{ lineCount: 3, problems: [], sha256: createHash('sha256').update(contents).digest('hex') },
      stated: [
        { currency: 'EUR', cards: 1, balance: 700, holds: 0, held: 0 },
        { currency: 'USD', cards: 1, balance: 12_500, holds: 1, held: 2000 },
      ],
      sums: {
        EUR: { cards: 1, balance: '700', holds: 0, held: '0' },
        USD: { cards: 1, balance: '12500', holds: 1, held: '2000' },
      },
    });
    expect(found.lines).toEqual([
      { line: before + 2, sent: lines[1] },
      { line: before + 3, sent: lines[2] },
      { line: before + 4, sent: lines[3] },
    ]);
    expect((await read(contents, 'USD', 2)).lines).toEqual([{ line: before + 4, sent: lines[3] }]);
    expect(await read(`\ufeff${contents}`)).toMatchObject({ lineCount: 3, problems: [] });
    expect(await read(contents.replaceAll('\n', '\r\n'))).toMatchObject({ lineCount: 3, problems: [] });
  });

  const number = '4111 1111 1111 1111';
  test.each<[string, readonly Fields[], string, string]>([
    [
      'a duplicate card',
      [card('one', 1), card('one', 2)],
      '2 card_id duplicate_card',
      "already has a card 'one'. Line",
    ],
    ['an unknown currency', [card('one', 1, { currency: 'ZZZ' })], '1 currency add_move_in_lines_schema', "'ZZZ'"],
    ['a negative balance', [card('one', -1)], '1 balance add_move_in_lines_schema', 'from 0 to 999999999999'],
    [
      'a card without a balance',
      [{ kind: 'card', card_id: 'one' }],
      '1 balance add_move_in_lines_schema',
      'a card needs it',
    ],
    [
      'an unknown kind',
      [{ ...card('one', 1), kind: 'account' }],
      '1 kind add_move_in_lines_schema',
      "'card', 'hold', 'transfer'",
    ],
    ['a field of a total', [card('one', 1, { cards: 1 })], '1 cards add_move_in_lines_schema', "no field 'cards'"],
    ['a hold without a card', [hold('one', 1), card('one', 1)], '1 card_id card_not_found', "must have the card 'one'"],
    [
      'a long hold',
      [card('one', 9), hold('one', 1, { expires_at: '2026-06-01T00:00:00Z' })],
      '2 expires_at add_move_in_lines_schema',
      '90 days',
    ],
    [
      'holds above the balance',
      [card('one', 900), hold('one', 500), hold('one', 401)],
      '3 amount insufficient_funds',
      'has 4.00 USD available, and the hold is for 4.01 USD',
    ],
    [
      'a duplicate reference',
      [card('one', 9), hold('one', 1, { reference: 'a' }), hold('one', 1, { reference: 'a' })],
      '3 reference duplicate_reference',
      "'a' already belongs to line",
    ],
    [
      'a card number as the card',
      [card(number.replaceAll(' ', ''), 1)],
      '1 card_id card_number_refused',
      "'card_id' looks like a card number",
    ],
    [
      'a card number as the holder',
      [card('one', 1, { holder_reference: number })],
      '1 holder_reference card_number_refused',
      'looks like a card number',
    ],
    [
      'a card number in a reference',
      [card('one', 9), hold('one', 1, { reference: `x ${number}` })],
      '2 reference card_number_refused',
      'looks like a card number',
    ],
    ['a wrong total', [card('one', 1), total('ZZZ', 1, 1)], '2 currency create_move_in_schema', "'ZZZ'"],
    ['a negative total', [card('one', 1), total('USD', 1, -1)], '2 balance create_move_in_schema', "'balance'"],
    [
      'two totals of a currency',
      [card('one', 1), total('USD', 1, 1), total('USD', 1, 1)],
      '3 currency create_move_in_schema',
      'twice',
    ],
    ['a file with totals only', [total('USD', 0, 0)], '0  create_move_in_schema', 'no card and no hold'],
  ])('refuses %s', async (_, lines, problem, message) => {
    const found = await read(write(lines));
    const [line = '', ...rest] = problem.split(' ');
    expect(found.problems).toEqual([[line === '0' ? 1 : Number(line) + before, ...rest].join(' ')]);
    expect(found.all[0]?.message).toContain(message);
    expect(found.all[0]?.message).not.toContain(number);
  });

  test('does not report the holds of a card whose own line has a problem', async () => {
    const found = await read(write([card('one', 1, { currency: 'ZZZ' }), hold('one', 500)]));
    expect(found.problems).toEqual([`${before + 1} currency add_move_in_lines_schema`]);
  });

  test('lists 100 problems and counts all', async () => {
    const lines = Array.from({ length: 250 }, (_, at) => card(`card-${at}`, -1));
    const found = await read(write(lines));
    expect(found).toMatchObject({ lineCount: 250, problemCount: 250 });
    expect(found.problems.length).toBe(100);
    const { text, isRight } = describeCheck('file', { ...found, problems: found.all });
    expect(isRight).toBe(false);
    expect(text).toContain('and 150 more\n');
  });

  test('needs a currency, unless every card has one', async () => {
    const own = card('one', 1, { currency: 'EUR' });
    const path = join(folder, 'currency');
    writeFileSync(path, write([own, card('two', 1)]));
    await expect(readMoveInFile(path, undefined, NOW)).rejects.toThrow(`line ${before + 2} has no currency`);
    writeFileSync(path, write([own]));
    expect((await readMoveInFile(path, undefined, NOW)).checked).toMatchObject({ problemCount: 0, lineCount: 1 });
  });

  test('refuses another encoding, and names the line', async () => {
    const text = write([card('one', 1), card('two', 1, { holder_reference: 'Zoë' }), card('three', 1)]);
    expect((await read(Buffer.from(text, 'latin1'))).problems).toEqual([`${before + 2}  add_move_in_lines_schema`]);
    const wide = await read(Buffer.from(`\ufeff${text}`, 'utf16le'));
    expect(wide.problems).toEqual(['1  add_move_in_lines_schema']);
    expect(wide.all[0]?.message).toBe('The file is not UTF-8.');
    expect((await read(Buffer.from(text, 'utf16le'))).problemCount).toBe(1);
  });

  test('says whether the lines add up to the stated totals', async () => {
    const cards = [card('one', 1), card('euro', 5, { currency: 'EUR' })];
    const sentenceOf = async (totals: readonly Fields[]) => {
      const found = await read(write([...cards, ...totals]));
      const { text, isRight } = describeCheck('file', { ...found, problems: [] });
      return [isRight, text.trimEnd().split('problems. ').at(-1)];
    };
    expect(await sentenceOf([])).toEqual([true, 'The file states no totals.']);
    const right = [total('EUR', 1, 5), total('USD', 1, 1)];
    expect(await sentenceOf(right)).toEqual([true, 'The lines add up to the totals that the file states.']);
    const no = 'The lines do not add up to the totals that the file states in';
    expect(await sentenceOf([total('EUR', 1, 5), total('USD', 2, 1)])).toEqual([false, `${no} USD.`]);
    expect(await sentenceOf([total('JPY', 1, 5)])).toEqual([false, `${no} EUR, JPY and USD.`]);
  });
});

test('refuses a truncated CSV', async () => {
  const text = csv([card('one', 1), card('two', 1, { holder_reference: '"Ada' })]);
  const found = await read(text);
  expect(found.problems).toEqual(['3  add_move_in_lines_schema']);
  expect(found.all[0]?.message).toContain('Quote Not Closed');
  expect((await read(csv([card('one', 1), card('two', 1)]).slice(0, -6))).problems).toEqual([
    '3  add_move_in_lines_schema',
  ]);
});

test.each([
  ['', '1  create_move_in_schema'],
  ['kind,card_id,balance,colour\n', '1 colour add_move_in_lines_schema'],
  ['kind,card_id,card_id\n', '1 card_id add_move_in_lines_schema'],
  ['kind,balance\n', '1 card_id add_move_in_lines_schema'],
  [`kind,card_id,balance\ncard,${'x'.repeat(20_000)},1\n`, '2  add_move_in_lines_schema'],
  [`kind,card_id,balance\ncard,${'x'.repeat(200_000)}`, '2  add_move_in_lines_schema'],
])('refuses a CSV whose columns or lines cannot be read: %j', async (text, problem) => {
  expect((await read(text)).problems).toEqual([problem]);
});

test.each<[string, string, string]>([
  ['{"kind":"card","card_id":"two","bal', '2  add_move_in_lines_schema', 'may be truncated'],
  ['{"kind":"card","card_id":"two","balance":1', '2  add_move_in_lines_schema', 'may be truncated'],
  ['{"kind":"card","card_id":"two"}}\n', '2  add_move_in_lines_schema', 'not valid JSON: at column 32'],
  ['{"kind":"card","balance":1,"balance":2}\n', '2 balance add_move_in_lines_schema', 'is repeated'],
  ['[]\n', '2  add_move_in_lines_schema', 'must be an object'],
  ['{"kind":"card","card_id":"two","balance":"1"}\n', '2 balance add_move_in_lines_schema', 'whole number'],
  [
    '{"kind":"card","card_id":"two","balance":1,"metadata":{"pan":"4111111111111111"}}\n',
    '2 metadata.pan card_number_refused',
    'card number',
  ],
  ['{"kind":"card","card_id":"two","balance":1,"4111111111111111":1}\n', '2  card_number_refused', 'field name'],
  [
    `{"kind":"card","card_id":"two","balance":1,"metadata":{"a":"${'x'.repeat(200_000)}"}}\n`,
    '2  add_move_in_lines_schema',
    'more than 100000 characters',
  ],
])('refuses a line of NDJSON that the service would refuse: %j', async (line, problem, message) => {
  const found = await read(`${ndjson([card('one', 1)])}${line}`);
  expect(found.problems).toEqual([problem]);
  expect(found.all[0]?.message).toContain(message);
});

test('sends metadata, and makes portions of 1,000 lines or of half a request', async () => {
  const path = join(folder, 'portions');
  const sizes = async (lines: readonly Fields[]): Promise<readonly number[]> => {
    writeFileSync(path, ndjson(lines));
    const { portions } = await readMoveInFile(path, 'USD', NOW);
    const found: number[] = [];
    for await (const portion of portions(0)) found.push(portion.length);
    return found;
  };
  const cards = (count: number, more: Fields = {}) =>
    Array.from({ length: count }, (_, at) => card(`card-${at}`, 1, more));
  expect(await sizes(cards(2100))).toEqual([1000, 1000, 100]);
  const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`name-${at}`, 'x'.repeat(490)]));
  const large = await sizes(cards(450, { metadata }));
  expect(large.length).toBe(3);
  expect((await read(ndjson([card('one', 1, { metadata: { tier: 'gold' } })]))).lines).toMatchObject([
    { sent: { metadata: { tier: 'gold' } } },
  ]);
});

test('a table of digests finds each of many texts, and no other', () => {
  const table = new DigestTable();
  for (let at = 0; at < 20_000; at += 1) expect(table.add(`card-${at}`)).toEqual({ index: at, isNew: true });
  for (let at = 0; at < 20_000; at += 997) {
    expect(table.add(`card-${at}`)).toEqual({ index: at, isNew: false });
    expect(table.indexOf(`card-${at}`)).toBe(at);
    expect(table.indexOf(`other-${at}`)).toBeUndefined();
  }
});
