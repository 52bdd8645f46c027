import { createHash } from 'node:crypto';
import { MAX_MOVE_IN_LINES, MoveInLine } from '../../contract/move-ins.ts';
import { isJsonObject, JsonNumber, type JsonValue } from '../../contract/reading/json.ts';
import { JsonFault, parseStrictText } from '../../contract/reading/strict-json.ts';
import type { MoveInTotals } from '../../domain/move-in.ts';
import { printable } from '../../domain/printable-text.ts';
import { type AddMoveInLinesBody, InvalidArgument } from '../../sdk/client.ts';
import { type CsvColumns, csvRecordsOf, fieldsOf } from '../files/csv-file.ts';
import {
  beginningOf,
  type CheckedLines,
  linesOf,
  type OnBytes,
  portionsOf,
  UnreadableFile,
} from '../files/line-file.ts';
import { isTotal, LineChecker, type StatedTotal, TOTAL_FIELDS } from './check-lines.ts';

/** A file of cards and holds that was read to its end. */
export type CheckedMoveIn = CheckedLines & {
  /** The sums of its lines, by currency. */
  readonly sums: MoveInTotals;
  /** The sums that it states. */
  readonly stated: readonly StatedTotal[];
};

/** A line for a request, with its number in the file. */
export type SentMoveInLine = { readonly line: number; readonly sent: AddMoveInLinesBody['lines'][number] };

export type ReadMoveInFile = {
  readonly checked: CheckedMoveIn;
  /** The lines after the first `skipped` ones, as many at a time as a request takes. Lines with sums are left out. */
  readonly portions: (skipped: number) => AsyncIterable<readonly SentMoveInLine[]>;
  /** Every line except those with sums. Rejects at the end if the file is not the checked one anymore. */
  readonly lines: () => AsyncIterable<SentMoveInLine>;
};

/** A line of the file as JSON. `bytes` is its size in a request. */
type FileLine = { readonly line: number; readonly value: JsonValue; readonly bytes: number };

const NUMBERS: ReadonlySet<string> = new Set(['balance', 'amount', 'cards', 'holds', 'held']);

const COLUMNS: CsvColumns = {
  known: [...new Set([...Object.keys(MoveInLine.properties), ...TOTAL_FIELDS])].filter((name) => name !== 'metadata'),
  required: MoveInLine.required,
};

/** More than the contract allows, with every character of the metadata escaped. */
const MAX_JSON_CHARACTERS = 100_000;

/** Half of the largest body that the service accepts. 1,000 lines with much metadata are larger. */
const MAX_PORTION_BYTES = 2_000_000;

/**
 * Reads and checks a file of cards and holds, as CSV or NDJSON. `currency` is the currency of the card program. The memory does not depend
 * on the size of the file, except a few bytes for each card and reference. Rejects if the file cannot be read.
 */
export async function readMoveInFile(
  path: string,
  currency: string | undefined,
  now = Date.now(),
): Promise<ReadMoveInFile> {
  const beginning = await beginningOf(path);
  const read = beginning.startsWith('{') || beginning.startsWith('[') ? jsonLinesOf : csvLinesOf;
  const hash = createHash('sha256');
  const checker = new LineChecker(currency, now);
  try {
    for await (const { value, line } of read(path, (bytes) => hash.update(bytes))) checker.check(value, line);
  } catch (error) {
    checker.found.noteEnd(error, 'add_move_in_lines_schema');
  }
  const { lineCount, stated } = checker;
  if (lineCount === 0 && checker.found.problemCount === 0) {
    const message = 'The file has no card and no hold.';
    checker.found.note({ line: 1, field: '', code: 'create_move_in_schema', message });
  }
  const { problems, problemCount } = checker.found;
  const sha256 = hash.digest('hex');
  return {
    checked: { sha256, lineCount, problems, problemCount, sums: checker.sums(), stated },
    portions: (skipped) => sentPortionsOf(read(path), skipped),
    lines: () => sentLinesOf(path, read, sha256),
  };
}

async function* csvLinesOf(path: string, onBytes?: OnBytes): AsyncGenerator<FileLine> {
  for await (const { record, line } of csvRecordsOf(path, COLUMNS, onBytes)) {
    yield { line, value: fieldsOf(record, NUMBERS, (text) => new JsonNumber(text)), bytes: 0 };
  }
}

async function* jsonLinesOf(path: string, onBytes: OnBytes = () => undefined): AsyncGenerator<FileLine> {
  let line = 0;
  for await (const text of linesOf(path, MAX_JSON_CHARACTERS, onBytes)) {
    line += 1;
    if (text.trim() === '') continue;
    yield { line, value: parseLine(text, line), bytes: Buffer.byteLength(text) };
  }
}

function parseLine(text: string, line: number): JsonValue {
  try {
    return parseStrictText(text, 'line');
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault;
    const advice = text.endsWith('\n') ? '' : ' It is the last line, and the file may be truncated.';
    throw new UnreadableFile(line, `${fault.message}${advice}`, fault.field?.slice(1));
  }
}

async function* sentPortionsOf(
  lines: AsyncIterable<FileLine>,
  skipped: number,
): AsyncGenerator<readonly SentMoveInLine[]> {
  let bytes = 0;
  const isFull = (portion: readonly FileLine[]): boolean => {
    bytes = (portion.length === 1 ? 0 : bytes) + (portion.at(-1)?.bytes ?? 0);
    return portion.length === MAX_MOVE_IN_LINES || bytes >= MAX_PORTION_BYTES;
  };
  for await (const portion of portionsOf(withoutTotals(lines), skipped, isFull)) {
    yield portion.map(toSent);
  }
}

async function* sentLinesOf(path: string, read: typeof csvLinesOf, sha256: string): AsyncGenerator<SentMoveInLine> {
  const hash = createHash('sha256');
  for await (const line of withoutTotals(read(path, (bytes) => hash.update(bytes)))) yield toSent(line);
  if (hash.digest('hex') !== sha256) throw new InvalidArgument(`${printable(path)} was changed while it was read`);
}

const toSent = ({ line, value }: FileLine): SentMoveInLine => ({ line, sent: plain(value) as SentMoveInLine['sent'] });

async function* withoutTotals(lines: AsyncIterable<FileLine>): AsyncGenerator<FileLine> {
  for await (const line of lines) {
    if (!isTotal(line.value)) yield line;
  }
}

/** The value that JSON.parse would return. The line was checked before, so every number is a safe integer. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.source);
  if (Array.isArray(value)) return value.map(plain);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}
