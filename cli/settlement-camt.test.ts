import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Reference, readCamt } from './settlement-camt.ts';
import type { SentLine } from './settlement-csv.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'camt-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(text: string, reference: Reference = 'EndToEndId') {
  const path = join(folder, `${crypto.randomUUID()}.xml`);
  await writeFile(path, text);
  const { checked, portions } = await readCamt(path, reference);
  const lines: SentLine[] = [];
  for await (const portion of portions(0)) lines.push(...portion);
  expect(checked.lineCount).toBe(lines.length);
  return { lines, problems: checked.problems.map(({ line, message }) => `${line}: ${message}`) };
}

const OURS = '0196f5c2d9a47b19a3d5c8e07f61b2d4';

const amount = (text: string, direction: string, currency = 'USD') =>
  `<Amt Ccy="${currency}">${text}</Amt><CdtDbtInd>${direction}</CdtDbtInd>`;

const balance = (code: string, text: string, direction = 'CRDT') =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp>${amount(text, direction)}<Dt><Dt>2026-01-31</Dt></Dt></Bal>\n`;

const entry = (money: string, inner = '', status = 'BOOK') =>
  `<Ntry>${money}<Sts>${status}</Sts><BookgDt><Dt>2026-01-31</Dt></BookgDt>${inner}</Ntry>\n`;

const details = (...transactions: readonly string[]) =>
  `<NtryDtls>${transactions.map((one) => `<TxDtls>${one}</TxDtls>`).join('')}</NtryDtls>`;

const refs = (element: string, id: string) => `<Refs><${element}>${id}</${element}></Refs>`;

const statement = (...inner: readonly string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Id>S1</Id>
${inner.join('')}</Stmt></BkToCstmrStmt></Document>`;

describe('a camt.053', () => {
  test('has a line for each booked entry: a debit is money for a card, and a reversal has the direction of its order', async () => {
    const { lines, problems } = await read(
      statement(
        balance('OPBD', '100.00'),
        balance('CLBD', '97.00'),
        entry(amount('10.00', 'DBIT'), details(refs('EndToEndId', OURS))),
        entry(amount('5.5', 'CRDT'), '<AcctSvcrRef>theirs-2</AcctSvcrRef>'),
        entry(`${amount('2.00', 'CRDT')}<RvslInd>true</RvslInd>`, details(refs('EndToEndId', 'NOTPROVIDED'))),
        entry(`${amount('.50', 'DBIT').replace('.50', '0.50')}<RvslInd>true</RvslInd>`, details(refs('TxId', 'tx-4'))),
        entry(amount('9999.00', 'DBIT'), '', 'PDNG'),
      ),
    );
    expect(problems).toEqual([]);
    const about = { currency: 'USD', settled_on: '2026-01-31' };
    expect(lines).toEqual([
      { attempt_id: `pat_${OURS}`, processor_reference: OURS, kind: 'push', amount: 1000, status: 'settled', ...about },
      { processor_reference: 'theirs-2', kind: 'pull', amount: 550, status: 'settled', ...about },
      { processor_reference: 'S1/3', kind: 'push', amount: 200, status: 'reversed', ...about },
      { processor_reference: 'tx-4', kind: 'pull', amount: 50, status: 'reversed', ...about },
    ]);
  });

  test('has a line for each transaction of a batch, with the amounts of version 2 or 8', async () => {
    const batch = details(
      `${refs('InstrId', `pat_${OURS}`)}<Amt Ccy="USD">1.00</Amt>`,
      `${refs('InstrId', 'unknown')}<AmtDtls><TxAmt><Amt Ccy="USD">2.00</Amt></TxAmt></AmtDtls>`,
    );
    const { lines } = await read(
      statement(balance('PRCD', '0'), balance('CLBD', '3.00', 'DBIT'), entry(amount('3.00', 'DBIT'), batch)),
      'InstrId',
    );
    expect(lines.map((line) => [line.attempt_id, line.processor_reference, line.amount])).toEqual([
      [`pat_${OURS}`, 'S1/1/1', 100],
      [undefined, 'S1/1/2', 200],
    ]);
  });

  test.each([
    [
      'a wrong closing balance',
      [balance('OPBD', '1.00'), balance('CLBD', '1.00'), entry(amount('1.00', 'CRDT'))],
      5,
      'The opening balance plus the booked entries is 2.00 USD, but the closing balance is 1.00 USD.',
    ],
    [
      'no opening balance',
      [balance('CLBD', '1.00'), entry(amount('1.00', 'CRDT'))],
      4,
      'The statement needs its opening balance (OPBD or PRCD) and its closing balance (CLBD).',
    ],
    [
      'half a cent',
      [entry(amount('1.00', 'CRDT')), entry(amount('1.005', 'CRDT'))],
      4,
      "'1.005' is not an amount in USD.",
    ],
    [
      'a currency that does not exist',
      [entry(amount('1.00', 'CRDT', 'XXX'))],
      3,
      "'XXX' is not an ISO 4217 currency code.",
    ],
    ['no direction', [entry(amount('1.00', ''))], 3, "'' is neither CRDT nor DBIT."],
    [
      'an amount of zero',
      [entry(amount('0.00', 'CRDT'))],
      3,
      '0.00 USD is not between 1 and 999,999,999,999 minor units.',
    ],
    [
      'a day that does not exist',
      [entry(amount('1.00', 'CRDT')).replace('2026-01-31', '2026-02-31')],
      3,
      "'settled_on' must be a date from 1900-01-01 to 9999-12-31, as YYYY-MM-DD, but it is '2026-02-31'.",
    ],
    ['no date', [entry(amount('1.00', 'CRDT')).replace(/<BookgDt>.*<\/BookgDt>/, '')], 3, 'The entry has no date.'],
    [
      'a batch that does not add up',
      [entry(amount('3.00', 'CRDT'), details('<Amt Ccy="USD">1.00</Amt>', '<Amt Ccy="USD">1.00</Amt>'))],
      3,
      'The transactions of the entry do not add up to 3.00 USD.',
    ],
  ] as const)('is refused with the line of the problem: %s', async (_, inner, line, message) => {
    expect((await read(statement(...inner))).problems).toEqual([`${line}: ${message}`]);
  });
});

describe('the running number of a camt file', () => {
  const numberIn = async (text: string) => {
    const path = join(folder, `${crypto.randomUUID()}.xml`);
    await writeFile(path, text);
    return (await readCamt(path, 'EndToEndId')).checked.sequenceNumber;
  };
  const notification = (inner: string) =>
    `<Document><BkToCstmrDbtCdtNtfctn><GrpHdr/><Ntfctn>${inner}</Ntfctn></BkToCstmrDbtCdtNtfctn></Document>`;
  const pages = (number: string, isLast: string) => `<PgNb>${number}</PgNb><LastPgInd>${isLast}</LastPgInd>`;
  const NUMBER = '<ElctrncSeqNb>15</ElctrncSeqNb>';

  test.each([
    ['the electronic number', notification(`<LglSeqNb>3</LglSeqNb>${NUMBER}`), 15],
    ['the legal number', notification('<LglSeqNb>0003</LglSeqNb>'), 3],
    ['the number of a statement', statement(NUMBER, balance('OPBD', '1'), balance('CLBD', '1')), 15],
    ['a number of the only page', notification(`<NtfctnPgntn>${pages('1', 'true')}</NtfctnPgntn>${NUMBER}`), 15],
    ['none', notification(''), undefined],
    ['zero', notification('<ElctrncSeqNb>0</ElctrncSeqNb>'), undefined],
    ['a number that is too large', notification('<ElctrncSeqNb>1000000000</ElctrncSeqNb>'), undefined],
    ['a text', notification('<ElctrncSeqNb>15/2026</ElctrncSeqNb>'), undefined],
    ['several', notification(`${NUMBER}</Ntfctn><Ntfctn><ElctrncSeqNb>16</ElctrncSeqNb>`), undefined],
    ['the first page', notification(`<NtfctnPgntn>${pages('1', 'false')}</NtfctnPgntn>${NUMBER}`), undefined],
    [
      'a page of a message',
      notification(NUMBER).replace('<GrpHdr/>', `<GrpHdr><MsgPgntn>${pages('2', 'true')}</MsgPgntn></GrpHdr>`),
      undefined,
    ],
  ])('%s', async (_, text, expected) => {
    expect(await numberIn(text)).toBe(expected);
  });
});

test('a camt.054 needs no balances', async () => {
  const text = statement(entry(amount('7', 'DBIT', 'JPY'), '<NtryRef>n-1</NtryRef>'))
    .replaceAll('BkToCstmrStmt', 'BkToCstmrDbtCdtNtfctn')
    .replaceAll('Stmt>', 'Ntfctn>')
    .replaceAll(/<(\/?)(\w)/g, '<$1doc:$2')
    .replace('xmlns=', 'xmlns:doc=');
  expect(await read(text)).toMatchObject({
    problems: [],
    lines: [{ processor_reference: 'n-1', kind: 'push', amount: 7, currency: 'JPY' }],
  });
});

test.each([
  ['another document', '<Document><Other/></Document>', /^1: The file is neither a camt\.053 nor a camt\.054/],
  [
    'a document type',
    '<?xml version="1.0"?>\n<!DOCTYPE d [<!ENTITY x SYSTEM "/etc/passwd">]>\n<Document>&x;</Document>',
    /^2: A DOCTYPE/,
  ],
  ['broken XML', '<Document>\n<Stmt></Document>', /^2: The file is not valid XML/],
  ['text that is not XML', '<', /not valid XML|neither/],
])('refuses %s', async (_, text, message) => {
  expect((await read(text)).problems).toEqual([expect.stringMatching(message)]);
});

test('every amount and direction of a correct statement arrives exactly', async () => {
  const entries = fc.array(
    fc.record({ cents: fc.integer({ min: 1, max: 999_999_999_999 }), isDebit: fc.boolean(), isReversed: fc.boolean() }),
    { maxLength: 20 },
  );
  await fc.assert(
    fc.asyncProperty(entries, fc.integer({ min: -1_000_000, max: 1_000_000 }), async (all, opening) => {
      const shown = (cents: bigint) => {
        const digits = String(cents < 0n ? -cents : cents).padStart(3, '0');
        return [`${digits.slice(0, -2)}.${digits.slice(-2)}`, cents < 0n ? 'DBIT' : 'CRDT'] as const;
      };
      const sum = all.reduce((total, { cents, isDebit }) => total + BigInt(isDebit ? -cents : cents), BigInt(opening));
      const { lines, problems } = await read(
        statement(
          balance('OPBD', ...shown(BigInt(opening))),
          balance('CLBD', ...shown(sum)),
          ...all.map(({ cents, isDebit, isReversed }) =>
            entry(`${amount(...shown(BigInt(isDebit ? -cents : cents)))}<RvslInd>${isReversed}</RvslInd>`),
          ),
        ),
      );
      expect(problems).toEqual([]);
      expect(lines.map((line) => [line.amount, line.kind, line.status])).toEqual(
        all.map(({ cents, isDebit, isReversed }) => [
          cents,
          isDebit !== isReversed ? 'push' : 'pull',
          isReversed ? 'reversed' : 'settled',
        ]),
      );
    }),
    { numRuns: 30 },
  );
});
