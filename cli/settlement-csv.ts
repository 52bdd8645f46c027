import { createHash } from 'node:crypto';
import { MAX_SETTLEMENT_LINES, SettlementFileLine } from '../contract/processors/settlement-files.ts';
import { JsonNumber } from '../contract/reading/json.ts';
import { readFields } from '../contract/reading/read-fields.ts';
import { isCurrency } from '../domain/ledger/money.ts';
import type { AddSettlementLinesBody } from '../sdk/client.ts';
import { type CsvColumns, type CsvRecord, columnWithNul, csvRecordsOf, fieldsOf } from './files/csv-file.ts';
import { type CheckedLines, type LineProblem, ProblemList, portionsOf } from './files/line-file.ts';

export { MAX_SETTLEMENT_LINES };

/** A line in a request. */
export type SentLine = AddSettlementLinesBody['lines'][number];

/** A field of a bank statement that cannot be read. */
export class UnreadableField extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** A settlement file that was read to its end, with its hash and its problems. */
export type CheckedFile = CheckedLines & {
  /** The running number of the file, if it contains one. */
  readonly sequenceNumber?: number;
};

export type ReadSettlementFile = {
  readonly checked: CheckedFile;
  /** The lines after the first `skipped` ones, in portions of at most as many lines as a request can have. */
  readonly portions: (skipped: number) => AsyncIterable<readonly SentLine[]>;
};

const COLUMNS: CsvColumns = {
  known: Object.keys(SettlementFileLine.properties),
  required: SettlementFileLine.required,
};
const NUMBERS: ReadonlySet<string> = new Set(['amount', 'fee']);

/** Maximum length of a reference that the service accepts. */
export const MAX_REFERENCE_CHARACTERS = 255;

/** Reads a whole file once, with constant memory, and checks every line. Rejects if the file cannot be read. */
export async function checkFile(path: string): Promise<CheckedFile> {
  const hash = createHash('sha256');
  const found = new ProblemList();
  let lineCount = 0;
  try {
    for await (const { record, line } of csvRecordsOf(path, COLUMNS, (bytes) => hash.update(bytes))) {
      lineCount += 1;
      const problem = problemOf(record);
      if (problem !== undefined) found.note({ line, ...problem });
    }
  } catch (error) {
    found.noteEnd(error);
  }
  const { problems, problemCount } = found;
  return { sha256: hash.digest('hex'), lineCount, problems, problemCount };
}

/** Reads the lines of a checked file in portions, after the first `skipped` ones. */
export function readPortions(path: string, skipped: number): AsyncIterable<readonly SentLine[]> {
  return settlementPortions(sentLinesOf(path), skipped);
}

/** As many lines at a time as a request takes. */
export const settlementPortions = (lines: AsyncIterable<SentLine>, skipped: number) =>
  portionsOf(lines, skipped, ({ length }) => length === MAX_SETTLEMENT_LINES);

/** The lines in the form of the request. They were checked before. */
async function* sentLinesOf(path: string): AsyncGenerator<SentLine> {
  for await (const { record } of csvRecordsOf(path, COLUMNS)) yield fieldsOf(record, NUMBERS, Number) as SentLine;
}

/** Returns the problem that the service would report. */
export function problemOf(record: CsvRecord): Omit<LineProblem, 'line'> | undefined {
  const odd = columnWithNul(record);
  if (odd !== undefined) return { field: odd, message: `'${odd}' has a NUL character.` };
  const fields = fieldsOf(record, NUMBERS, (text) => new JsonNumber(text));
  const reading = readFields(SettlementFileLine, fields, 'body');
  if ('problem' in reading) {
    return { field: (reading.problem.field ?? '').replace('/', ''), message: reading.problem.message };
  }
  const { currency, attempt_id: attemptId, processor_reference: reference } = reading.fields;
  if (!isCurrency(currency)) return { field: 'currency', message: `'${currency}' is not an ISO 4217 currency code.` };
  if (attemptId !== undefined || reference !== undefined) return undefined;
  return { field: '', message: "A line needs 'attempt_id' or 'processor_reference'." };
}
