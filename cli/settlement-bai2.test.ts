import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SentLine } from './settlement-csv.ts';
import { readSettlementFile } from './settlement-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bai2-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(text: string | Buffer, skipped = 0) {
  const path = join(folder, `${crypto.randomUUID()}.bai`);
  await writeFile(path, text);
  const { checked, portions } = await readSettlementFile(path, 'EndToEndId');
  const lines: SentLine[] = [];
  if (checked.problemCount === 0) for await (const portion of portions(skipped)) lines.push(...portion);
  if (checked.problemCount === 0) expect(lines.length).toBe(checked.lineCount - skipped);
  return { lines, problems: checked.problems.map(({ line, message }) => `${line}: ${message}`) };
}

const OURS = '0196f5c2d9a47b19a3d5c8e07f61b2d4';

const HEADER = '01,122099999,123456789,260131,0200,7,80,,2/';

/** A file with one group of one account, whose control totals are correct. */
function file(records: readonly string[], { total = 0n, account = '03,0123456789,,,,,/', group = '1,260130' } = {}) {
  const inAccount = [account, ...records];
  return [
    HEADER,
    `02,031001234,122099999,${group},2359,,2/`,
    ...inAccount,
    `49,${total},${inAccount.length + 1}/`,
    `98,${total},1,${inAccount.length + 3}/`,
    `99,${total},1,${inAccount.length + 5}/`,
    '',
  ].join('\n');
}

describe('a BAI2 file', () => {
  test('has a line for each credit and debit: a debit is money for a card, and a reversal has the direction of its order', async () => {
    const records = [
      `16,495,1000,Z,theirs-1,${OURS},PAYOUT, WITH A COMMA/AND A SLASH`,
      '88,MORE TEXT, 4711',
      `16,195,550,,theirs-2,PAT_${OURS.toUpperCase()},/`,
      '16,252,200,,,their-customer-3,/',
      '16,552,50,0,,,/',
      '16,699,7,,/',
      '16,965,1,2,custom,,',
      '16,890,,,,,detail reports will be delayed until 11:00 AM.',
      '16,475,,S,1,2,3,,,/',
      `16,455,0,,theirs-4,${OURS},PRENOTE`,
    ];
    const { lines, problems } = await read(file(records, { total: 1808n }));
    expect(problems).toEqual([]);
    const about = { currency: 'USD', settled_on: '2026-01-30' };
    const ours = { attempt_id: `pat_${OURS}` };
    expect(lines).toEqual([
      { ...ours, processor_reference: 'theirs-1', kind: 'push', amount: 1000, status: 'settled', ...about },
      { ...ours, processor_reference: 'theirs-2', kind: 'pull', amount: 550, status: 'settled', ...about },
      { processor_reference: 'their-customer-3', kind: 'push', amount: 200, status: 'reversed', ...about },
      { processor_reference: '260131-7/8', kind: 'pull', amount: 50, status: 'reversed', ...about },
      { processor_reference: '260131-7/9', kind: 'push', amount: 7, status: 'settled', ...about },
      { processor_reference: 'custom', kind: 'push', amount: 1, status: 'settled', ...about },
    ]);
  });

  test('can begin with any of its lines when an import continues', async () => {
    const records = ['16,495,1,,a,,/', '16,495,2,,b,,/', '16,495,3,,c,,/'];
    const { lines } = await read(file(records, { total: 6n }), 2);
    expect(lines.map(({ processor_reference: reference }) => reference)).toEqual(['c']);
  });

  test.each([
    ['no availability', ''],
    ['an unknown availability', 'Z'],
    ['a one-day availability', '1'],
    ['a value date', 'V,260201,'],
    ['a value date and time', 'V,260201,1300'],
    ['three amounts', 'S,,200000,-300000'],
    ['no distribution', 'D,0'],
    ['distributed amounts', 'D,3,0,20000000,1,30000000,3,20000000'],
  ])('has its references after the funds type, with %s', async (_, funds) => {
    const fields = `16,495,1000,${funds},theirs,${OURS},text`.split(',');
    const whole = file([fields.join(',')], { total: 1000n });
    const expected = [expect.objectContaining({ attempt_id: `pat_${OURS}`, processor_reference: 'theirs' })];
    expect((await read(whole)).lines).toEqual(expected);
    // A record can be continued after each of its fields.
    for (let at = 2; at < fields.length; at += 1) {
      const parts = [`${fields.slice(0, at).join(',')}/`, `88,${fields.slice(at).join(',')}`];
      expect(await read(file(parts, { total: 1000n })), `split before field ${at}`).toEqual({
        lines: expected,
        problems: [],
      });
    }
  });

  test('has the currency of its account or of its group, in minor units', async () => {
    const text = [
      HEADER,
      '02,,122099999,3,260130,,JPY,/',
      '03,1,,,,,/',
      '16,495,7,,yen,,/',
      '49,7,3/',
      '03,2,BHD,,,,/',
      '16,495,1500,,dinar,,/',
      '49,1500,3/',
      '98,1507,2,8/',
      '02,,122099999,1,260131,,,/',
      '03,1,,,,,/',
      '16,495,2,,dollar,,/',
      '49,+2,3/',
      '98,2,1,5/',
      '99,1509,2,15/',
    ].join('\r\n');
    const { lines, problems } = await read(text);
    expect(problems).toEqual([]);
    expect(lines.map((line) => [line.processor_reference, line.amount, line.currency, line.settled_on])).toEqual([
      ['yen', 7, 'JPY', '2026-01-30'],
      ['dinar', 1500, 'BHD', '2026-01-30'],
      ['dollar', 2, 'USD', '2026-01-31'],
    ]);
  });

  // The control total is from the standard. It excludes amounts by availability.
  test('can have summaries of the account in continued records', async () => {
    const records = [
      '88,500000,,,110,1000000,,,072,500000,,,074,500000,,,040/',
      '88,-1500000,,/',
      '16,115,500000,S,,200000,300000,,,LOCK BOX NO.68751',
    ];
    const account = '03,9876543210,,010,-500000,,,100,1000000,,,400,2000000,5,D,1,0,7,190/';
    const { lines, problems } = await read(file(records, { account, total: 4_000_000n }));
    expect(problems).toEqual([]);
    expect(lines).toHaveLength(1);
  });
});

const LEDGER = '03,1,,010,10000,,,015,9700,,/';
const GOOD = ['16,495,1000,,a,,/', '16,195,700,,b,,/'];
const good = file(GOOD, { account: LEDGER, total: 21_400n });

test('the file that the following tests change is correct', async () => {
  expect(await read(good)).toMatchObject({ problems: [], lines: [{ kind: 'push' }, { kind: 'pull' }] });
});

test.each([
  [
    'a closing ledger that does not fit',
    [/9700/, '9800', /21400/g, '21500'],
    3,
    'The opening ledger plus the credits minus the debits is 97.00 USD, but the closing ledger is 98.00 USD.',
  ],
  [
    'a wrong total of an account',
    [/49,21400/, '49,21401'],
    6,
    'The sum of the amounts is 21400, but the control total is 21401.',
  ],
  [
    'a wrong total of a group',
    [/98,21400/, '98,-21400'],
    7,
    'The sum of the amounts is 21400, but the control total is -21400.',
  ],
  [
    'a wrong total of the file',
    [/99,21400/, '99,0'],
    8,
    'The sum of the amounts is 21400, but the control total is 0.',
  ],
  [
    'a wrong number of records of an account',
    [/,4\/\n98/, ',5/\n98'],
    6,
    "There are 4 records, but the record says '5'.",
  ],
  ['a wrong number of accounts', [/,1,6\//, ',2,6/'], 7, "There are 1 accounts, but the record says '2'."],
  ['a wrong number of records of a group', [/,1,6\//, ',1,/'], 7, "There are 6 records, but the record says ''."],
  ['a wrong number of groups', [/,1,8\//, ',0,8/'], 8, "There are 1 groups, but the record says '0'."],
  ['a wrong number of records of the file', [/,1,8\//, ',1,7/'], 8, "There are 8 records, but the record says '7'."],
  ['a lost record', [/16,195.*\n/, ''], 5, 'The sum of the amounts is 20700, but the control total is 21400.'],
  ['a decimal point', [/,1000,/, ',10.00,'], 4, "'10.00' is not an amount in minor units, without a decimal point."],
  ['a funds type that does not exist', [/1000,,/, '1000,X,'], 4, "'X' is not a funds type."],
  ['a distribution without a number', [/1000,,/, '1000,D,'], 4, "'D,a' is not a funds type."],
  ['a summary among the transactions', [/16,495/, '16,400'], 4, "'400' is not the type code of a credit or a debit."],
  ['the code of a loan', [/16,495/, '16,721'], 4, "'721' is not the type code of a credit or a debit."],
  [
    'a status among the transactions',
    [/16,495,1000/, '16,010,'],
    4,
    "'010' is not the type code of a credit or a debit.",
  ],
  ['a code of four digits', [/16,495/, '16,4950'], 4, "'4950' is not the type code of a credit or a debit."],
  ['a currency that does not exist', [/03,1,,/, '03,1,XXX,'], 3, "'XXX' is not an ISO 4217 currency code."],
  [
    'a deletion',
    [/,1,260130/, ',2,260130'],
    2,
    'The group deletes earlier data (2). Withdraw the file that contained that data instead.',
  ],
  ['a group that is only a test', [/,1,260130/, ',4,260130'], 2, 'The group is only a test (4).'],
  ['a group status that does not exist', [/,1,260130/, ',,260130'], 2, "'' is not a group status."],
  ['a day in another form', [/,1,260130/, ',1,20260130'], 2, "'20260130' is not a date as YYMMDD."],
  ['version 1', [/,2\//, ',1/'], 1, "The version of the format must be 2, not '1'."],
  ['a group without its end', [/98.*\n/, ''], 7, "A record 03 or 98 must be here, not '99'."],
  ['a file without its end', [/\n99,.*/, ''], 7, 'The file ends without a record 99.'],
  ['a second file', [/$/, `${HEADER}\n`], 9, "Record 99 must be the last one, not '01'."],
  ['a record that does not exist', [/16,195/, '17,195'], 5, "A record 16 or 49 must be here, not '17'."],
] as const)('refuses the whole BAI2 file, with the line of the problem: %s', async (_, changes, line, message) => {
  const text = changes.reduce<string>(
    (changed, change, at) => (at % 2 === 0 ? changed.replace(change, String(changes[at + 1])) : changed),
    good,
  );
  expect(await read(text)).toMatchObject({ lines: [], problems: [`${line}: ${message}`] });
});

test('names every record that cannot be read', async () => {
  const records = ['16,495,,,a,,/', '16,495,-1,,a,,/', '16,495,0,,b,,/', '16,495,1000000000000,,c,,/'];
  const { problems } = await read(file(records));
  expect(problems.map((problem) => problem.split(':')[0])).toEqual(['5', '7']);
});

test('refuses text that is not UTF-8, and a line without an end', async () => {
  const wrong = Buffer.concat([Buffer.from(`${HEADER}\n02,`), Buffer.from([0xff]), Buffer.from('\n')]);
  expect((await read(wrong)).problems).toEqual(['2: The file is not UTF-8.']);
  expect((await read(`${HEADER}\n02,${'1'.repeat(200_000)}`)).problems).toEqual([
    '2: The line has more than 10000 characters.',
  ]);
});

const transaction = fc.record({
  cents: fc.integer({ min: 1, max: 999_999_999_999 }),
  code: fc.constantFrom('101', '195', '252', '399', '920', '401', '495', '558', '699', '960'),
  funds: fc.constantFrom('', 'Z', 'V,260201,', 'S,1,,3', 'D,2,0,5,1,-6'),
  text: fc.constantFrom('', 'text, with / both', '16,495,1'),
  isContinued: fc.boolean(),
});

const isDebit = (code: string) => /^(4|5|6|96)/.test(code);

test('every amount and direction of a correct file arrives exactly, and a changed total is refused', async () => {
  const accounts = fc.array(
    fc.record({
      opening: fc.integer({ min: -1_000_000, max: 1_000_000 }),
      all: fc.array(transaction, { maxLength: 8 }),
    }),
    { maxLength: 4 },
  );
  const groups = fc.array(accounts, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(groups, fc.nat(), async (sent, changed) => {
      const records: string[] = [HEADER];
      let fileTotal = 0n;
      for (const group of sent) {
        const first = records.length;
        let groupTotal = 0n;
        records.push('02,,122099999,1,260130,,,/');
        for (const { opening, all } of group) {
          const begin = records.length;
          const moved = all.reduce((sum, { cents, code }) => sum + BigInt(isDebit(code) ? -cents : cents), 0n);
          const closing = BigInt(opening) + moved;
          records.push(`03,1,,010,${opening},,,015,${closing},,/`);
          for (const { cents, code, funds, text, isContinued } of all) {
            const rest = `${funds},,,${text === '' ? '/' : text}`;
            records.push(...(isContinued ? [`16,${code},${cents}/`, `88,${rest}`] : [`16,${code},${cents},${rest}`]));
          }
          const amounts = all.reduce((sum, { cents }) => sum + BigInt(cents), BigInt(opening) + closing);
          records.push(`49,${amounts},${records.length - begin + 1}/`);
          groupTotal += amounts;
        }
        records.push(`98,${groupTotal},${group.length},${records.length - first + 1}/`);
        fileTotal += groupTotal;
      }
      records.push(`99,${fileTotal},${sent.length},${records.length + 1}/`);
      const { lines, problems } = await read(records.join('\n'));
      expect(problems).toEqual([]);
      const all = sent.flatMap((group) => group.flatMap((account) => account.all));
      expect(lines.map((line) => [line.amount, line.kind, line.status])).toEqual(
        all.map(({ cents, code }) => {
          const isReversed = code === '252' || code === '558';
          return [cents, isDebit(code) === isReversed ? 'pull' : 'push', isReversed ? 'reversed' : 'settled'];
        }),
      );
      const trailers = [...records.entries()].filter(([, record]) => /^(49|9[89]),/.test(record));
      const [index, trailer] = trailers[changed % trailers.length] ?? [0, ''];
      const wrong = trailer.replace(/,(-?\d+),/, (_, total) => `,${BigInt(total) + 1n},`);
      const refused = await read(records.with(index, wrong).join('\n'));
      expect(refused.problems).toEqual([expect.stringMatching(`^${index + 1}: The sum of the amounts is`)]);
    }),
    { numRuns: 30 },
  );
});
