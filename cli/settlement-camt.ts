import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { CURRENCY_EXPONENTS, formatMoney, isCurrency, MAXIMUM_AMOUNT } from '../domain/ledger/money.ts';
import { ProblemList } from './files/line-file.ts';
import {
  MAX_REFERENCE_CHARACTERS,
  MAX_SETTLEMENT_LINES,
  problemOf,
  type ReadSettlementFile,
  type SentLine,
  UnreadableField,
} from './settlement-csv.ts';

/** The elements of an entry that can contain our id of an order. */
export type Reference = 'EndToEndId' | 'InstrId' | 'TxId' | 'AcctSvcrRef';

/** The whole document is in memory while it is read. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Reads a camt.053 (statements) or camt.054 (notifications) of ISO 20022 and checks it. Each booked entry is a line, or each of
 * its transactions if it has several. In a camt.053, the opening balance plus the booked entries must be the closing balance.
 * `reference` is the element with our id. Banks cut it to 35 characters, so the id may lack its prefix. Rejects if the file
 * cannot be read.
 */
export async function readCamt(path: string, reference: Reference): Promise<ReadSettlementFile> {
  const { size } = await stat(path);
  if (size > MAX_BYTES) return refused('', 1, `The file has more than ${MAX_BYTES / 1024 / 1024} MiB. Split it.`);
  const bytes = await readFile(path);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refused(sha256, 1, 'The file is not UTF-8.');
  }
  // A document type can define entities, and those can refer to other files.
  const doctypeAt = text.search(/<!DOCTYPE/i);
  if (doctypeAt !== -1) return refused(sha256, lineAt(text, doctypeAt), 'A DOCTYPE is not allowed.');
  const valid = XMLValidator.validate(text);
  if (valid !== true) return refused(sha256, valid.err.line, `The file is not valid XML: ${valid.err.msg}`);
  const reader = new StatementReader(text, reference);
  reader.read(PARSER.parse(text));
  return readStatements(sha256, reader);
}

function readStatements(
  sha256: string,
  { lines, found, sequenceNumber }: Pick<StatementReader, 'lines' | 'found' | 'sequenceNumber'>,
): ReadSettlementFile {
  const number = sequenceNumber === undefined ? {} : { sequenceNumber };
  const { problems, problemCount } = found;
  return {
    checked: { sha256, lineCount: lines.length, problems, problemCount, ...number },
    portions: async function* (skipped) {
      for (let at = skipped; at < lines.length; at += MAX_SETTLEMENT_LINES)
        yield lines.slice(at, at + MAX_SETTLEMENT_LINES);
    },
  };
}

function refused(sha256: string, line: number, message: string): ReadSettlementFile {
  const found = new ProblemList();
  found.note({ line, field: '', message });
  return readStatements(sha256, { lines: [], found, sequenceNumber: undefined });
}

const LISTS: ReadonlySet<string> = new Set(['Stmt', 'Ntfctn', 'Bal', 'Ntry', 'NtryDtls', 'TxDtls']);

const PARSER = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  isArray: (name) => LISTS.has(name),
});

/** An element of the document. */
type Node = Readonly<Record<string, unknown>>;

const nodeOf = (value: unknown): Node => (typeof value === 'object' && value !== null ? (value as Node) : {});

const nodesOf = (value: unknown): readonly Node[] => (Array.isArray(value) ? value.map(nodeOf) : []);

/** The text of the element at the end of a path; empty if there is none. */
function textAt(node: unknown, ...path: readonly string[]): string {
  const value = path.reduce<unknown>((inner, name) => nodeOf(inner)[name], node);
  const text = typeof value === 'object' && value !== null ? nodeOf(value)['#text'] : value;
  return typeof text === 'string' ? text.trim() : '';
}

/** The number of the line, from 1, at a position of the text. */
const lineAt = (text: string, position: number): number => text.slice(0, Math.max(0, position)).split('\n').length;

class StatementReader {
  readonly lines: SentLine[] = [];
  readonly found = new ProblemList();
  sequenceNumber: number | undefined;
  readonly #reference: Reference;
  readonly #text: string;
  /** The positions of the entries in the text, in order. */
  readonly #entries: readonly number[];
  #entry = -1;

  constructor(text: string, reference: Reference) {
    this.#text = text;
    this.#reference = reference;
    this.#entries = [...text.matchAll(/<(?:[\w.-]+:)?Ntry[\s>]/g)].map(({ index }) => index);
  }

  read(document: unknown): void {
    const root = nodeOf(nodeOf(document).Document);
    const statements = nodesOf(nodeOf(root.BkToCstmrStmt).Stmt);
    const notifications = nodesOf(nodeOf(root.BkToCstmrDbtCdtNtfctn).Ntfctn);
    if (statements.length + notifications.length === 0) {
      this.#note(
        0,
        'Document',
        'The file is neither a camt.053 nor a camt.054: it has no statement and no notification.',
      );
    }
    this.sequenceNumber = sequenceNumberOf(root, [...statements, ...notifications]);
    for (const statement of statements) this.#readStatement(statement);
    for (const notification of notifications) this.#readEntries(notification);
  }

  /** Notes a problem of the element at a position of the text. */
  #note(position: number, field: string, message: string): void {
    this.found.note({ line: lineAt(this.#text, position), field, message });
  }

  #readStatement(statement: Node): void {
    const first = this.#entries[this.#entry + 1] ?? this.#text.length;
    const moved = this.#readEntries(statement);
    if (this.found.problemCount > 0) return;
    const balanceOf = (...codes: readonly string[]): Node | undefined =>
      nodesOf(statement.Bal).find((balance) => codes.includes(textAt(balance, 'Tp', 'CdOrPrtry', 'Cd')));
    // PRCD is the closing balance of the previous statement.
    const [opening, closing] = [balanceOf('OPBD', 'PRCD'), balanceOf('CLBD')];
    if (opening === undefined || closing === undefined) {
      this.#note(
        first,
        'Bal',
        `The statement needs its opening balance (OPBD or PRCD) and its closing balance (CLBD).`,
      );
      return;
    }
    try {
      const from = signed(opening);
      const to = signed(closing);
      if (from.currency === to.currency && from.amount + moved === to.amount) return;
      const reached = formatMoney(from.amount + moved, from.currency);
      const says = `The opening balance plus the booked entries is ${reached}`;
      this.#note(first, 'Bal', `${says}, but the closing balance is ${formatMoney(to.amount, to.currency)}.`);
    } catch (error) {
      if (!(error instanceof UnreadableField)) throw error;
      this.#note(first, error.field, error.message);
    }
  }

  /** Reads the booked entries of a statement. Returns their sum, where a credit is positive. */
  #readEntries(statement: Node): bigint {
    let sum = 0n;
    for (const [index, entry] of nodesOf(statement.Ntry).entries()) {
      this.#entry += 1;
      const status = textAt(entry, 'Sts', 'Cd') || textAt(entry, 'Sts');
      if (status !== '' && status !== 'BOOK') continue;
      try {
        sum += signed(entry).amount;
        for (const line of linesOf(entry, this.#reference, `${textAt(statement, 'Id')}/${index + 1}`)) {
          const problem = problemOf(
            Object.fromEntries(Object.entries(line).map(([name, value]) => [name, String(value)])),
          );
          if (problem !== undefined) throw new UnreadableField(problem.field, problem.message);
          this.lines.push(line);
        }
      } catch (error) {
        if (!(error instanceof UnreadableField)) throw error;
        this.#note(this.#entries[this.#entry] ?? 0, error.field, error.message);
      }
    }
    return sum;
  }
}

/**
 * The running number of the only statement of a file. Undefined if the file has several statements, or a part of one, because their
 * numbers do not number files.
 */
function sequenceNumberOf(root: Node, [statement, ...others]: readonly Node[]): number | undefined {
  const text = textAt(statement, 'ElctrncSeqNb') || textAt(statement, 'LglSeqNb');
  if (statement === undefined || others.length > 0 || !/^0*[1-9]\d{0,8}$/.test(text)) return undefined;
  const isPart = [root.BkToCstmrStmt, root.BkToCstmrDbtCdtNtfctn]
    .map((message) => nodeOf(nodeOf(message).GrpHdr).MsgPgntn)
    .concat(statement.StmtPgntn, statement.NtfctnPgntn)
    .some((pages) => pages !== undefined && (textAt(pages, 'PgNb') !== '1' || textAt(pages, 'LastPgInd') !== 'true'));
  return isPart ? undefined : Number(text);
}

/** The lines of an entry: one for each of its transactions. `name` identifies an entry that has no reference. */
function linesOf(entry: Node, reference: Reference, name: string): readonly SentLine[] {
  const transactions = nodesOf(entry.NtryDtls).flatMap((details) => nodesOf(details.TxDtls));
  const [first = {}, ...others] = transactions;
  if (others.length === 0) return [lineOf(entry, first, amountOf(entry), reference, name)];
  const lines = transactions.map((transaction, index) => {
    const own = transaction.Amt === undefined ? nodeOf(nodeOf(transaction.AmtDtls).TxAmt) : transaction;
    return lineOf(entry, transaction, amountOf(own), reference, `${name}/${index + 1}`);
  });
  const sum = lines.reduce((all, { amount }) => all + BigInt(amount), 0n);
  const { amount, currency } = amountOf(entry);
  if (sum === amount && lines.every((line) => line.currency === currency)) return lines;
  throw new UnreadableField(
    'TxDtls',
    `The transactions of the entry do not add up to ${formatMoney(amount, currency)}.`,
  );
}

function lineOf(
  entry: Node,
  transaction: Node,
  { amount, currency }: Money,
  reference: Reference,
  name: string,
): SentLine {
  const refs = nodeOf(transaction.Refs);
  const given = (element: Reference): string => {
    const text = textAt(refs, element) || textAt(entry, element);
    return text === 'NOTPROVIDED' ? '' : text;
  };
  const attemptId = /^(?:pat_)?([0-9a-f]{32})$/.exec(given(reference))?.[1];
  const theirs = given('AcctSvcrRef') || textAt(entry, 'NtryRef') || given('TxId') || given('EndToEndId') || name;
  const isReversed = ['true', '1'].includes(textAt(entry, 'RvslInd'));
  const isDebit = textAt(entry, 'CdtDbtInd') === 'DBIT';
  const day = textAt(entry, 'BookgDt', 'Dt') || textAt(entry, 'BookgDt', 'DtTm') || textAt(entry, 'ValDt', 'Dt');
  const settledOn = /^\d{4}-\d{2}-\d{2}/.exec(day)?.[0];
  if (settledOn === undefined) throw new UnreadableField('BookgDt', 'The entry has no date.');
  if (amount === 0n || amount > MAXIMUM_AMOUNT) {
    throw new UnreadableField(
      'Amt',
      `${formatMoney(amount, currency)} is not between 1 and 999,999,999,999 minor units.`,
    );
  }
  return {
    ...(attemptId === undefined ? {} : { attempt_id: `pat_${attemptId}` }),
    processor_reference: theirs.slice(0, MAX_REFERENCE_CHARACTERS),
    // A debit of our account at the processor is money for a card. A reversal has the opposite direction of its order.
    kind: isDebit === isReversed ? 'pull' : 'push',
    amount: Number(amount),
    currency,
    status: isReversed ? 'reversed' : 'settled',
    settled_on: settledOn,
  };
}

type Money = { readonly amount: bigint; readonly currency: string };

/** The amount of an element in minor units. */
function amountOf(node: Node): Money {
  const currency = textAt(node, 'Amt', '@Ccy');
  if (!isCurrency(currency)) {
    throw new UnreadableField('Ccy', `'${currency}' is not an ISO 4217 currency code.`);
  }
  const exponent = CURRENCY_EXPONENTS[currency] ?? 0;
  const text = textAt(node, 'Amt');
  const [, whole, digits = ''] = /^(\d{1,16})(?:\.(\d{0,5}))?$/.exec(text) ?? [];
  if (whole === undefined || /[1-9]/.test(digits.slice(exponent))) {
    throw new UnreadableField('Amt', `'${text}' is not an amount in ${currency}.`);
  }
  return { amount: BigInt(whole + digits.slice(0, exponent).padEnd(exponent, '0')), currency };
}

/** The amount of an entry or a balance, positive for a credit. */
function signed(node: Node): Money {
  const { amount, currency } = amountOf(node);
  const direction = textAt(node, 'CdtDbtInd');
  if (direction !== 'CRDT' && direction !== 'DBIT') {
    throw new UnreadableField('CdtDbtInd', `'${direction}' is neither CRDT nor DBIT.`);
  }
  return { amount: direction === 'CRDT' ? amount : -amount, currency };
}
