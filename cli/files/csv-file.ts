import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { blocksOf, MAX_LINE_CHARACTERS, type OnBytes, UnreadableFile } from './line-file.ts';

/** A line as text, by the names of the columns. */
export type CsvRecord = Readonly<Record<string, string>>;

/** All columns of a kind of file, and the required ones. */
export type CsvColumns = { readonly known: readonly string[]; readonly required: readonly string[] };

/**
 * Reads a file of comma-separated values with constant memory. Its first line names the columns.
 *
 * @throws {UnreadableFile} Also for a first line that does not name the columns.
 */
export async function* csvRecordsOf(
  path: string,
  columns: CsvColumns,
  onBytes: OnBytes = () => undefined,
): AsyncGenerator<{ readonly record: CsvRecord; readonly line: number }> {
  const parser = parse({
    columns: (head: readonly string[]) => checkHead(head, columns),
    info: true,
    skip_empty_lines: true,
    max_record_size: MAX_LINE_CHARACTERS,
    trim: true,
  });
  pipeline(blocksOf(path, MAX_LINE_CHARACTERS, onBytes), parser, () => undefined);
  try {
    for await (const { record, info } of parser) yield { record, line: info.lines };
  } catch (error) {
    if (error instanceof CsvError) throw new UnreadableFile(Number(error.lines ?? 1), error.message);
    throw error;
  }
}

function checkHead(head: readonly string[], { known, required }: CsvColumns): string[] {
  const are = `The columns are ${known.join(', ')}.`;
  const unknown = head.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UnreadableFile(1, `There is no column '${unknown}'. ${are}`, unknown);
  const repeated = head.find((name, at) => head.indexOf(name) !== at);
  if (repeated !== undefined) throw new UnreadableFile(1, `The column '${repeated}' occurs twice.`, repeated);
  const missing = required.find((name) => !head.includes(name));
  if (missing !== undefined) throw new UnreadableFile(1, `The first line has no column '${missing}'. ${are}`, missing);
  return [...head];
}

/** The values of a line that are not empty. `convert` is called for the columns in `numbers`. */
export function fieldsOf<Converted>(
  record: CsvRecord,
  numbers: ReadonlySet<string>,
  convert: (text: string) => Converted,
): Record<string, string | Converted> {
  const given = Object.entries(record).filter(([, text]) => text !== '');
  return Object.fromEntries(given.map(([name, text]) => [name, numbers.has(name) ? convert(text) : text]));
}

/** Returns the name of a column with a NUL character, or undefined. */
export function columnWithNul(record: CsvRecord): string | undefined {
  return Object.keys(record).find((name) => record[name]?.includes('\0'));
}
