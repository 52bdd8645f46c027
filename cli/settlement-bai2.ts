import { createHash } from 'node:crypto';
import { formatMoney, isCurrency } from '../domain/ledger/money.ts';
import { linesOf, MAX_LINE_CHARACTERS, ProblemList, UnreadableFile } from './files/line-file.ts';
import {
  MAX_REFERENCE_CHARACTERS,
  problemOf,
  type ReadSettlementFile,
  type SentLine,
  settlementPortions,
  UnreadableField,
} from './settlement-csv.ts';

/** A record with its continuation records. `line` is the line of the file that it begins on, from 1. */
type Bai2Record = { readonly line: number; readonly code: string; readonly fields: string[]; recordCount: number };

/** Far more than any record has. It bounds the memory for a record that is continued without an end. */
const MAX_FIELDS = 10_000;

/**
 * Reads a file of the Cash Management Balance Reporting Specifications, version 2 (BAI2), with constant memory, and checks it.
 * Each record 16 about a credit or a debit is a line. The control totals must be correct. If an account states both an
 * opening and a closing ledger balance, the opening balance plus credits minus debits must equal the closing balance. Rejects if
 * the file cannot be read.
 */
export async function readBai2(path: string): Promise<ReadSettlementFile> {
  const hash = createHash('sha256');
  const reader = new TransmissionReader();
  let lineCount = 0;
  let last = 1;
  try {
    for await (const record of recordsOf(path, (bytes) => hash.update(bytes))) {
      last = record.line;
      if (reader.read(record) !== undefined) lineCount += 1;
    }
    reader.end(last);
  } catch (error) {
    reader.found.noteEnd(error);
  }
  const { problems, problemCount } = reader.found;
  const checked = { sha256: hash.digest('hex'), lineCount, problems, problemCount };
  return { checked, portions: (skipped) => settlementPortions(sentLinesOf(path), skipped) };
}

/** The lines of a checked file. */
async function* sentLinesOf(path: string): AsyncGenerator<SentLine> {
  const reader = new TransmissionReader();
  for await (const record of recordsOf(path)) {
    const line = reader.read(record);
    if (line !== undefined) yield line;
  }
}

/**
 * Reads the records of a file, each with its continuation records (88). The delimiter at the end of a record is removed. The text
 * of a record 16 can contain commas and becomes several fields, which are not used.
 */
async function* recordsOf(path: string, onBytes: (bytes: Buffer) => void = () => undefined) {
  let record: Bai2Record | undefined;
  let line = 0;
  for await (const text of linesOf(path, MAX_LINE_CHARACTERS, onBytes)) {
    line += 1;
    if (text.trim() === '') continue;
    const [code = '', ...fields] = text.trim().replace(/\/$/, '').split(',');
    const values = fields.map((field) => field.trim());
    if (code !== '88' || record === undefined) {
      if (record !== undefined) yield record;
      record = { line, code, fields: values, recordCount: 1 };
      continue;
    }
    if (record.fields.length + values.length > MAX_FIELDS) {
      throw new UnreadableFile(record.line, `The record has more than ${MAX_FIELDS} fields.`);
    }
    record.fields.push(...values);
    record.recordCount += 1;
  }
  if (record !== undefined) yield record;
}

/** How deep the next record is: before the file, in the file, in a group, in an account, or after the file. */
type Level = 'start' | 'file' | 'group' | 'account' | 'end';

/** Where a record must be, and where the next record is. */
const LEVELS: ReadonlyMap<string, readonly [from: Level, to: Level]> = new Map([
  ['01', ['start', 'file']],
  ['02', ['file', 'group']],
  ['03', ['group', 'account']],
  ['16', ['account', 'account']],
  ['49', ['account', 'group']],
  ['98', ['group', 'file']],
  ['99', ['file', 'end']],
]);

/** The sum of the amounts, the number of records, and the number of accounts or groups so far. */
type Counted = { total: bigint; recordCount: number; members: number };

const NOTHING: Counted = { total: 0n, recordCount: 0, members: 0 };

/** Type codes of reversals. A reversal and its order have opposite directions. */
const REVERSALS: ReadonlySet<string> = new Set(['252', '258', '552', '558']);

/** The group statuses of data that must not be imported. The others are an update (1) and a correction (3). */
const REFUSED_GROUPS: ReadonlyMap<string, string> = new Map([
  ['2', 'The group deletes earlier data (2). Withdraw the file that contained that data instead.'],
  ['4', 'The group is only a test (4).'],
]);

/** Stands in for a day that could not be read, so that its problem is named once. */
const ANY_DAY = '2000-01-01';

/** The type codes of the opening and the closing ledger. */
const [OPENING, CLOSING] = ['010', '015'];

class TransmissionReader {
  readonly found = new ProblemList();
  #level: Level = 'start';
  /** Identifies the file among the files of its sender. */
  #name = '';
  #groupCurrency = '';
  #settledOn = '';
  #currency = '';
  #accountLine = 0;
  #balances = new Map<string, bigint>();
  /** The credits minus the debits of the account. */
  #moved = 0n;
  #file = { ...NOTHING };
  #group = { ...NOTHING };
  #account = { ...NOTHING };

  note(line: number, field: string, message: string): void {
    this.found.note({ line, field, message });
  }

  /** Reads the next record. Returns the line of a record 16 about a credit or a debit. */
  read({ line, code, fields, recordCount }: Bai2Record): SentLine | undefined {
    const [from, to] = LEVELS.get(code) ?? [];
    if (from !== this.#level || to === undefined) {
      const allowed = [...LEVELS].filter(([, [level]]) => level === this.#level).map(([one]) => one);
      const expected =
        allowed.length === 0 ? 'Record 99 must be the last one' : `A record ${allowed.join(' or ')} must be here`;
      throw new UnreadableFile(line, `${expected}, not '${code.slice(0, 20)}'.`);
    }
    this.#level = to;
    if (code === '02') this.#group = { ...NOTHING };
    if (code === '03') this.#account = { ...NOTHING };
    for (const counted of [this.#file, this.#group, this.#account]) counted.recordCount += recordCount;
    try {
      return this.#readFields(code, fields, line);
    } catch (error) {
      if (!(error instanceof UnreadableField)) throw error;
      this.note(line, error.field, error.message);
      return undefined;
    }
  }

  /** Checks that the file is complete. `line` is the line of its last record. */
  end(line: number): void {
    if (this.#level !== 'end') throw new UnreadableFile(line, 'The file ends without a record 99.');
  }

  #readFields(code: string, fields: readonly string[], line: number): SentLine | undefined {
    if (code === '01') this.#beginFile(fields);
    if (code === '02') this.#beginGroup(fields);
    if (code === '03') this.#beginAccount(fields, line);
    if (code === '16') return this.#readTransaction(fields, line);
    if (code === '49') this.#endAccount(fields);
    if (code === '98') this.#endEnvelope(fields, this.#group, this.#file, 'accounts');
    if (code === '99') this.#endEnvelope(fields, this.#file, undefined, 'groups');
    return undefined;
  }

  #beginFile([, , createdOn = '', , id = '', , , version = '']: readonly string[]): void {
    this.#name = `${createdOn}-${id}`;
    if (version !== '2')
      throw new UnreadableField('version number', `The version of the format must be 2, not '${version}'.`);
  }

  #beginGroup([, , status = '', day = '', , currency = '']: readonly string[]): void {
    this.#groupCurrency = currency;
    this.#settledOn = `20${day.slice(0, 2)}-${day.slice(2, 4)}-${day.slice(4)}`;
    if (status !== '1' && status !== '3') {
      const message = REFUSED_GROUPS.get(status) ?? `'${status}' is not a group status.`;
      throw new UnreadableField('group status', message);
    }
    if (/^\d{6}$/.test(day)) return;
    this.#settledOn = ANY_DAY;
    throw new UnreadableField('as-of date', `'${day}' is not a date as YYMMDD.`);
  }

  #beginAccount([, currency = '', ...summaries]: readonly string[], line: number): void {
    this.#currency = currency || this.#groupCurrency || 'USD';
    this.#accountLine = line;
    this.#balances = new Map();
    this.#moved = 0n;
    if (!isCurrency(this.#currency)) {
      const message = `'${this.#currency}' is not an ISO 4217 currency code.`;
      // Reports the problem once, not for each transaction.
      this.#currency = 'USD';
      throw new UnreadableField('currency code', message);
    }
    // Each summary has a type code, an amount, a number of items and the funds type.
    for (let at = 0; at < summaries.length; at = afterFunds(summaries, at + 3)) {
      const [code = '', text = ''] = summaries.slice(at);
      if (text === '') continue;
      const amount = toAmount(text);
      this.#account.total += amount;
      this.#balances.set(code, amount);
    }
  }

  #readTransaction(fields: readonly string[], line: number): SentLine | undefined {
    const [code = '', text = ''] = fields;
    const [bank = '', customer = ''] = fields.slice(afterFunds(fields, 2));
    const isDebit = /^(4(?!00)|[56]|9[6-9])/.test(code);
    const isCredit = /^(1(?!00)|[23]|9[2-5])/.test(code);
    // 890 is a message.
    if (code !== '890' && (!/^\d{3}$/.test(code) || isDebit === isCredit)) {
      throw new UnreadableField('type code', `'${code}' is not the type code of a credit or a debit.`);
    }
    // Without an amount, a record only changes when money is available.
    if (text === '') return undefined;
    const amount = toAmount(text);
    this.#account.total += amount;
    // An amount of 0 moves no money. Banks report prenotifications like that.
    if (code === '890' || amount === 0n) return undefined;
    this.#moved += isDebit ? -amount : amount;
    const ours = /^(?:pat_)?([0-9a-f]{32})$/i.exec(customer)?.[1]?.toLowerCase();
    const isReversed = REVERSALS.has(code);
    const found: SentLine = {
      ...(ours === undefined ? {} : { attempt_id: `pat_${ours}` }),
      processor_reference: (bank || customer || `${this.#name}/${line}`).slice(0, MAX_REFERENCE_CHARACTERS),
      // A debit of our account at the processor is money for a card. A reversal has the opposite direction of its order.
      kind: isDebit === isReversed ? 'pull' : 'push',
      amount: Number(amount),
      currency: this.#currency,
      status: isReversed ? 'reversed' : 'settled',
      settled_on: this.#settledOn,
    };
    const problem = problemOf(
      Object.fromEntries(Object.entries({ ...found, amount }).map(([name, value]) => [name, String(value)])),
    );
    if (problem !== undefined) throw new UnreadableField(problem.field, problem.message);
    return found;
  }

  #endAccount([total = '', recordCount = '']: readonly string[]): void {
    this.#check(total, this.#account);
    this.#checkCount(recordCount, this.#account.recordCount, 'records');
    this.#group.total += this.#account.total;
    this.#group.members += 1;
    const [opening, closing] = [this.#balances.get(OPENING), this.#balances.get(CLOSING)];
    if (this.found.problemCount > 0 || opening === undefined || closing === undefined) return;
    const reached = opening + this.#moved;
    if (reached === closing) return;
    const [sum, stated] = [reached, closing].map((amount) => formatMoney(amount, this.#currency));
    const message = `The opening ledger plus the credits minus the debits is ${sum}, but the closing ledger is ${stated}.`;
    this.note(this.#accountLine, 'amount', message);
  }

  #endEnvelope(
    [total = '', members = '', recordCount = '']: readonly string[],
    envelope: Counted,
    outer: Counted | undefined,
    inner: string,
  ): void {
    this.#check(total, envelope);
    this.#checkCount(members, envelope.members, inner);
    this.#checkCount(recordCount, envelope.recordCount, 'records');
    if (outer === undefined) return;
    outer.total += envelope.total;
    outer.members += 1;
  }

  /** Compares a control total with the sum, unless an amount could not be read. */
  #check(stated: string, { total }: Counted): void {
    if (this.found.problemCount > 0 || toAmount(stated) === total) return;
    throw new UnreadableField(
      'control total',
      `The sum of the amounts is ${total}, but the control total is ${stated}.`,
    );
  }

  #checkCount(stated: string, count: number, what: string): void {
    if (this.found.problemCount > 0 || (/^\d{1,12}$/.test(stated) && Number(stated) === count)) return;
    throw new UnreadableField(`number of ${what}`, `There are ${count} ${what}, but the record says '${stated}'.`);
  }
}

/** Returns the position after the fields of the funds type that begins at a position. */
function afterFunds(fields: readonly string[], at: number): number {
  const [type = '', count = ''] = fields.slice(at, at + 2);
  if (['', 'Z', '0', '1', '2'].includes(type)) return at + 1;
  // A date and a time.
  if (type === 'V') return at + 3;
  // The amounts that are available at once, after a day, and later.
  if (type === 'S') return at + 4;
  // Pairs of a number of days and an amount.
  if (type === 'D' && /^\d{1,4}$/.test(count)) return at + 2 + 2 * Number(count);
  const shown = type === 'D' ? `D,${count}` : type;
  throw new UnreadableField('funds type', `'${shown}' is not a funds type.`);
}

/** Returns an amount in minor units. */
function toAmount(text: string): bigint {
  if (!/^[+-]?\d{1,30}$/.test(text)) {
    throw new UnreadableField('amount', `'${text}' is not an amount in minor units, without a decimal point.`);
  }
  return BigInt(text.replace('+', ''));
}
