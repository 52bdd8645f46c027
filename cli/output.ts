import { formatMoney } from '../domain/ledger/money.ts';
import { printable } from '../domain/printable-text.ts';
import { paintField, strong } from './paint.ts';
import { plainField } from './times.ts';

/** Maximum width of text, in characters. */
const MAX_WIDTH = 80;

const AMOUNT_NAMES = /(^|_)(amount|balance|balance_as_of)$|^(held|available|incoming|sum)$/;

export type Pair = readonly [name: string, value: string];

/** Formats an amount in minor units, given as a number or as digits, for people: `10.00 USD`. */
export function money(amount: number | string, currency: string): string {
  const isExact = typeof amount === 'string' || Number.isSafeInteger(amount);
  return isExact ? formatMoney(BigInt(amount), currency) : String(amount);
}

/** Fields with free-form content from callers. */
const FREE_FORM: ReadonlySet<string> = new Set(['metadata', 'request']);

/** Returns the fields of a record. Null is omitted, and the names of nested fields are joined by dots. */
export function pairsOf(record: object, currency = currencyOf(record)): Pair[] {
  return Object.entries(record).flatMap(([name, value]): Pair[] => {
    if (value === null || value === undefined) return [];
    if (typeof value === 'object') {
      const inner = FREE_FORM.has(name) ? freeForm(value, currencyOf(value)) : pairsOf(value, currency);
      return inner.map(([innerName, text]): Pair => [`${name}.${innerName}`, text]);
    }
    if (typeof value === 'number' && currency !== undefined && AMOUNT_NAMES.test(name)) {
      return [[name, money(value, currency)]];
    }
    return [[name, typeof value === 'boolean' ? yesOrNo(value) : plainField(name, String(value))]];
  });
}

/** Returns the fields that are shown unchanged. */
function freeForm(record: object, currency: string | undefined): Pair[] {
  return Object.entries(record).flatMap(([name, value]): Pair[] => {
    if (typeof value === 'string') return [[name, value]];
    return pairsOf({ [name]: value }, currency);
  });
}

function currencyOf(record: object): string | undefined {
  return 'currency' in record && typeof record.currency === 'string' ? record.currency : undefined;
}

export function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}

export function alignedLines(pairs: readonly Pair[]): string {
  const width = Math.max(0, ...pairs.map(([name]) => name.length)) + 1;
  return pairs.map(([name, value]) => `${`${name}:`.padEnd(width)} ${paintField(name, printable(value))}\n`).join('');
}

/**
 * A column of a table: a field of the items, or a heading and a function that returns the text of a cell. `right`
 * aligns the column right. Numbers are always aligned right.
 */
export type Column<Item> =
  | (keyof Item & string)
  | { readonly heading: string; readonly show: (item: Item) => string | null; readonly right?: boolean };

export function moneyColumn<Item extends { readonly currency: string }>(name: keyof Item & string): Column<Item> {
  return { heading: name, show: (item) => money(Number(item[name]), item.currency), right: true };
}

const GAP = '  ';

/**
 * Returns a table: a line of headings, then a line for each item, with columns two spaces apart. Null is shown as `-`. If the
 * table is wider than the terminal, columns without values are left out. If it is still too wide, each item takes several lines.
 */
export function table<Item extends object>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  terminalWidth = Number.POSITIVE_INFINITY,
): string {
  const all = columns.map((column) => {
    const { heading, show, right } = typeof column === 'object' ? column : fieldColumn(column, items);
    const cells = items.map((item) => printable(show(item) ?? '-'));
    const width = Math.max(heading.length, ...cells.map((cell) => cell.length));
    const isEmpty = cells.length > 0 && cells.every((cell) => cell === '-');
    return { heading, cells, right, width, isEmpty };
  });
  const isTooWide = widthOf(all) > terminalWidth;
  const shown = isTooWide ? all.filter(({ isEmpty }) => !isEmpty) : all;
  const lines = flow(shown, terminalWidth);
  const rows = [undefined, ...items.keys()];
  return rows
    .flatMap((row) =>
      lines.map((line, index) => {
        const cells = line.map(({ heading, cells: values, right, width }) => {
          const text = row === undefined ? heading : (values[row] ?? '');
          const padded = right ? text.padStart(width) : text.padEnd(width);
          return row === undefined ? padded : { heading, padded };
        });
        const indent = index === 0 ? '' : GAP;
        return `${indent}${painted(cells)}\n`;
      }),
    )
    .join('');
}

/** Joins the cells of one line. Trailing blanks are removed before the colors are added. */
function painted(cells: readonly (string | { readonly heading: string; readonly padded: string })[]): string {
  const ended = cells.map((cell, index) => {
    const text = typeof cell === 'string' ? cell : cell.padded;
    return index === cells.length - 1 ? text.trimEnd() : text;
  });
  if (cells.some((cell) => typeof cell === 'string')) return strong(ended.join(GAP));
  return cells
    .map((cell, index) => paintField(typeof cell === 'string' ? '' : cell.heading, ended[index] ?? ''))
    .join(GAP);
}

type Sized = { readonly width: number };

function widthOf(columns: readonly Sized[]): number {
  return columns.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length);
}

/** Distributes the columns over lines that fit into the terminal. Every line after the first is indented. */
function flow<One extends Sized>(columns: readonly One[], terminalWidth: number): readonly (readonly One[])[] {
  const lines: One[][] = [[]];
  for (const column of columns) {
    const line = lines.at(-1) ?? [];
    const indent = lines.length === 1 ? 0 : GAP.length;
    if (line.length === 0 || indent + widthOf([...line, column]) <= terminalWidth) line.push(column);
    else lines.push([column]);
  }
  return lines;
}

function fieldColumn<Item>(name: keyof Item & string, items: readonly Item[]) {
  const show = (item: Item): string | null => {
    const value = item[name];
    if (value === null || value === undefined) return null;
    return typeof value === 'boolean' ? yesOrNo(value) : plainField(name, String(value));
  };
  return { heading: name, show, right: items.some((item) => typeof item[name] === 'number') };
}

/** Wraps text at 80 characters; every line after the first begins with `indent`. */
export function wrap(text: string, first: string, indent: string, maxWidth = MAX_WIDTH): string {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(' ')) {
    const isFull = line.length + word.length >= maxWidth && line.trim() !== first.trim();
    if (isFull) lines.push(line.trimEnd());
    line = isFull ? `${indent}${word} ` : `${line}${word} `;
  }
  return `${[...lines, line.trimEnd()].join('\n')}\n`;
}
