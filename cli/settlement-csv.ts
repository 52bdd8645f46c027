import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { MAX_SETTLEMENT_LINES, SettlementFileLine } from '../contract/processors/settlement-files.ts';
import { JsonNumber, type JsonObject } from '../contract/reading/json.ts';
import { readFields } from '../contract/reading/read-fields.ts';
import { isCurrency } from '../domain/ledger/money.ts';
import type { AddSettlementLinesBody } from '../sdk/client.ts';

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

/** A problem in a line of the file. `line` counts from 1, including the first line with the columns. */
export type LineProblem = { readonly line: number; readonly field: string; readonly message: string };

/** A settlement file that was read to its end, with its hash and its problems. */
export type CheckedFile = {
  /** 64 hex digits. */
  readonly sha256: string;
  readonly lineCount: number;
  /** At most {@link MAX_PROBLEMS}. */
  readonly problems: readonly LineProblem[];
  readonly problemCount: number;
  /** The running number of the file, if it contains one. */
  readonly sequenceNumber?: number;
};

export type ReadSettlementFile = {
  readonly checked: CheckedFile;
  /** The lines after the first `skipped` ones, in portions of at most as many lines as a request can have. */
  readonly portions: (skipped: number) => AsyncIterable<readonly SentLine[]>;
};

export const MAX_PROBLEMS = 100;

const COLUMNS = Object.keys(SettlementFileLine.properties);
const REQUIRED: readonly string[] = SettlementFileLine.required;
const NUMBERS: ReadonlySet<string> = new Set(['amount', 'fee']);

/** Longer than any line that the contract allows, so that a file without line breaks does not fill the memory. */
export const MAX_LINE_CHARACTERS = 10_000;

/** Maximum length of a reference that the service accepts. */
export const MAX_REFERENCE_CHARACTERS = 255;

/** Reads a whole file once, with constant memory, and checks every line. Rejects if the file cannot be read. */
export async function checkFile(path: string): Promise<CheckedFile> {
  const hash = createHash('sha256');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const problems: LineProblem[] = [];
  let lineCount = 0;
  let problemCount = 0;
  const note = (problem: LineProblem): void => {
    problemCount += 1;
    if (problems.length < MAX_PROBLEMS) problems.push(problem);
  };
  try {
    for await (const { record, line } of recordsOf(path, (bytes) => {
      hash.update(bytes);
      decoder.decode(bytes, { stream: true });
    })) {
      lineCount += 1;
      const problem = problemOf(record);
      if (problem !== undefined) note({ line, ...problem });
    }
  } catch (error) {
    if (error instanceof HeadProblem) note({ line: 1, field: error.column, message: error.message });
    else if (error instanceof TypeError) note({ line: lineCount + 1, field: '', message: 'The file is not UTF-8.' });
    else if (error instanceof CsvError) note({ line: Number(error.lines ?? 1), field: '', message: error.message });
    else throw error;
  }
  return { sha256: hash.digest('hex'), lineCount, problems, problemCount };
}

/** Reads the lines of a checked file in portions, after the first `skipped` ones. */
export async function* readPortions(path: string, skipped: number, size: number): AsyncGenerator<readonly SentLine[]> {
  let portion: SentLine[] = [];
  let seen = 0;
  for await (const { record } of recordsOf(path)) {
    seen += 1;
    if (seen <= skipped) continue;
    portion.push(toLine(record));
    if (portion.length < size) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

/** A line as text, by the names of the columns. */
type CsvRecord = Readonly<Record<string, string>>;

/** The first line of the file does not name the columns. */
class HeadProblem extends Error {
  readonly column: string;

  constructor(message: string, column: string) {
    super(message);
    this.column = column;
  }
}

async function* recordsOf(
  path: string,
  onBytes: (bytes: Buffer) => void = () => undefined,
): AsyncGenerator<{ readonly record: CsvRecord; readonly line: number }> {
  const parser = parse({
    bom: true,
    columns: checkHead,
    info: true,
    skip_empty_lines: true,
    max_record_size: MAX_LINE_CHARACTERS,
    trim: true,
  });
  const source = createReadStream(path);
  source.on('data', (bytes) => {
    try {
      onBytes(bytes as Buffer);
    } catch (error) {
      source.destroy(error as Error);
    }
  });
  pipeline(source, parser, () => undefined);
  for await (const { record, info } of parser) yield { record, line: info.lines };
}

function checkHead(head: readonly string[]): string[] {
  const known = `The columns are ${COLUMNS.join(', ')}.`;
  const unknown = head.find((name) => !COLUMNS.includes(name));
  if (unknown !== undefined) throw new HeadProblem(`There is no column '${unknown}'. ${known}`, unknown);
  const repeated = head.find((name, at) => head.indexOf(name) !== at);
  if (repeated !== undefined) throw new HeadProblem(`The column '${repeated}' occurs twice.`, repeated);
  const missing = REQUIRED.find((name) => !head.includes(name));
  if (missing !== undefined) throw new HeadProblem(`The first line has no column '${missing}'. ${known}`, missing);
  return [...head];
}

/** Returns the problem that the service would report. */
export function problemOf(record: CsvRecord): Omit<LineProblem, 'line'> | undefined {
  const odd = Object.entries(record).find(([, text]) => text.includes('\0'));
  if (odd !== undefined) return { field: odd[0], message: `'${odd[0]}' has a NUL character.` };
  const given = Object.entries(record).filter(([, text]) => text !== '');
  const fields = given.map(([name, text]) => [name, NUMBERS.has(name) ? new JsonNumber(text) : text] as const);
  const reading = readFields(SettlementFileLine, Object.fromEntries(fields) as JsonObject, 'body');
  if ('problem' in reading) {
    return { field: (reading.problem.field ?? '').replace('/', ''), message: reading.problem.message };
  }
  const { currency, attempt_id: attemptId, processor_reference: reference } = reading.fields;
  if (!isCurrency(currency)) return { field: 'currency', message: `'${currency}' is not an ISO 4217 currency code.` };
  if (attemptId !== undefined || reference !== undefined) return undefined;
  return { field: '', message: "A line needs 'attempt_id' or 'processor_reference'." };
}

/** Returns a line in the form of the request. The line was checked before. */
function toLine(record: CsvRecord): SentLine {
  const given = Object.entries(record).filter(([, text]) => text !== '');
  const fields = given.map(([name, text]) => [name, NUMBERS.has(name) ? Number(text) : text] as const);
  return Object.fromEntries(fields) as SentLine;
}
