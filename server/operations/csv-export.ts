import { databaseTime } from '../ids.ts';
import type { Reply } from './call.ts';

/**
 * The pages of an export, each read when it is asked for. The generator is told how many lines its next page is to have
 * at most; its first has {@link LINES_FIRST}.
 */
export type Pages = AsyncGenerator<readonly object[], void, number>;

/** Lines of the first page. */
export const LINES_FIRST = 250;

/** Lines of a page at most: a statement of some hundredths of a second. */
const LINES_MOST = 1000;

/** How long a page shall be, in characters. Nobody else is served while one is written, and lines can be very wide. */
const PAGE_LENGTH = 262_144;

/**
 * Answers with comma-separated values (RFC 4180): a line with the names of the members, then a line for each record.
 * The first page is read before the answer begins, so that what is wrong by then is an ordinary error.
 */
export async function answerCsv(name: string, schema: { readonly properties: object }, pages: Pages): Promise<Reply> {
  const columns = Object.keys(schema.properties);
  const linesOf = (records: readonly object[]): string => records.map((record) => csvLine(record, columns)).join('');
  const first = await pages.next(LINES_FIRST);
  const records = first.done === true ? [] : first.value;
  const text = linesOf(records);
  const day = new Date(databaseTime()).toISOString().slice(0, 10);
  return {
    status: 200,
    body: `${columns.map(csvField).join(',')}\r\n${text}`,
    csv: { fileName: `${name}-${day}.csv`, rest: textsOf(pages, linesOf, nextCount(records.length, text)) },
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

/** How many lines like these make a page. */
function nextCount(lines: number, text: string): number {
  if (text === '') return LINES_MOST;
  return Math.min(LINES_MOST, Math.max(1, Math.floor((lines * PAGE_LENGTH) / text.length)));
}

function csvLine(record: object, columns: readonly string[]): string {
  const members: Readonly<Record<string, unknown>> = { ...record };
  return `${columns.map((column) => csvField(members[column])).join(',')}\r\n`;
}

/** Null is nothing at all, what has members is JSON, and everything else is as it stands in the record. */
function csvField(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
