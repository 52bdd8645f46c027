import { databaseTime } from '../foundation/database-clock.ts';
import type { CsvExport } from './call.ts';

/**
 * The pages of an export. Each is read when it is requested. The generator receives the maximum number of lines for its next
 * page. The first page has {@link LINES_FIRST} lines.
 */
export type Pages = AsyncGenerator<readonly object[], void, number>;

export const LINES_FIRST = 250;

/** Maximum number of lines of a page. The SQL statement that reads such a page takes a few hundredths of a second. */
const MAX_LINES = 1000;

/** Target length of a page, in characters. Writing a page blocks the process, and lines can be very wide. */
const PAGE_CHARACTERS = 262_144;

/**
 * Writes comma-separated values (RFC 4180): a line with the names of the fields, then a line for each record. The first page is
 * read before the response begins, so that an early failure is an ordinary error.
 */
export async function writeCsv(
  name: string,
  schema: { readonly required?: readonly string[] },
  pages: Pages,
  /** Whether strings are written unchanged, even if a spreadsheet would take them for formulas. */
  isRaw: boolean,
  /** Fields that earlier versions did not have. They are the last columns, so that earlier columns keep their positions. */
  added: readonly string[] = [],
): Promise<CsvExport> {
  const columns = [...(schema.required ?? []).filter((name) => !added.includes(name)), ...added];
  const linesOf = (records: readonly object[]): string =>
    records.map((record) => csvLine(record, columns, isRaw)).join('');
  const first = await pages.next(LINES_FIRST);
  const records = first.done === true ? [] : first.value;
  const text = linesOf(records);
  const day = new Date(databaseTime()).toISOString().slice(0, 10);
  return {
    fileName: `${name}-${day}.csv`,
    first: `${columns.join(',')}\r\n${text}`,
    rest: textsOf(pages, linesOf, nextCount(records.length, text)),
  };
}

async function* textsOf(
  pages: Pages,
  linesOf: (records: readonly object[]) => string,
  from: number,
): AsyncGenerator<string, void, undefined> {
  let count = from;
  for (let page = await pages.next(count); page.done !== true; page = await pages.next(count)) {
    const text = linesOf(page.value);
    count = nextCount(page.value.length, text);
    yield text;
  }
}

function nextCount(lines: number, text: string): number {
  if (text === '') return MAX_LINES;
  return Math.min(MAX_LINES, Math.max(1, Math.floor((lines * PAGE_CHARACTERS) / text.length)));
}

function csvLine(record: object, columns: readonly string[], isRaw: boolean): string {
  const fields: Readonly<Record<string, unknown>> = { ...record };
  return `${columns.map((column) => csvField(fields[column], isRaw)).join(',')}\r\n`;
}

/**
 * The first characters that make a spreadsheet treat a field as a formula, including their full-width forms. No JSON in our records
 * begins with one. Numbers can begin only with a minus, and spreadsheets read those as numbers.
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^-?\d+$/;

/** Returns an empty field for null, JSON for an object, and any other value as a string. */
function csvField(value: unknown, isRaw: boolean): string {
  if (value === null || value === undefined) return '';
  const stored = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const isFormula = !isRaw && typeof value === 'string' && FORMULA.test(stored) && !NUMBER.test(stored);
  const text = isFormula ? `'${stored}` : stored;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
