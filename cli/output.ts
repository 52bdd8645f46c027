import { formatMoney } from '../domain/ledger/money.ts';

/** Maximum width of text, in characters. */
const MAX_WIDTH = 80;

const AMOUNT_NAMES = /(^|_)(amount|balance)$|^(held|available|incoming|sum)$/;

/** A field's name and its text. */
export type Pair = readonly [name: string, value: string];

/** An amount in minor units and in its currency: `1000 (10.00 USD)`. */
export function money(amount: number, currency: string): string {
  return Number.isSafeInteger(amount) ? `${amount} (${formatMoney(BigInt(amount), currency)})` : String(amount);
}

/** The fields of a record; null is omitted, and nested fields are joined by dots. */
export function pairsOf(record: object, currency = currencyOf(record)): Pair[] {
  return Object.entries(record).flatMap(([name, value]): Pair[] => {
    if (value === null || value === undefined) return [];
    if (typeof value === 'object') {
      return pairsOf(value, currency).map(([inner, text]): Pair => [`${name}.${inner}`, text]);
    }
    if (typeof value === 'number' && currency !== undefined && AMOUNT_NAMES.test(name)) {
      return [[name, money(value, currency)]];
    }
    return [[name, typeof value === 'boolean' ? yesOrNo(value) : String(value)]];
  });
}

function currencyOf(record: object): string | undefined {
  return 'currency' in record && typeof record.currency === 'string' ? record.currency : undefined;
}

/** A boolean as text. */
export function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}

/** One line for each pair, with the values aligned. */
export function alignedLines(pairs: readonly Pair[]): string {
  const width = Math.max(0, ...pairs.map(([name]) => name.length)) + 1;
  return pairs.map(([name, value]) => `${`${name}:`.padEnd(width)} ${printable(value)}\n`).join('');
}

/**
 * A column of a table: a field of the items, or a heading and what to show below it. `right` aligns right, as numbers
 * of a field are.
 */
export type Column<Item> =
  | (keyof Item & string)
  | { readonly heading: string; readonly show: (item: Item) => string | null; readonly right?: boolean };

/** A column for an amount in the currency of its item. */
export function moneyColumn<Item extends { readonly currency: string }>(name: keyof Item & string): Column<Item> {
  return { heading: name, show: (item) => money(Number(item[name]), item.currency), right: true };
}

/** A table: a line of headings, then a line for each item, with columns two spaces apart. Null is shown as `-`. */
export function table<Item extends object>(columns: readonly Column<Item>[], items: readonly Item[]): string {
  const full = columns.map((column) => (typeof column === 'object' ? column : fieldColumn(column, items)));
  const cells = [
    full.map(({ heading }) => heading),
    ...items.map((item) => full.map(({ show }) => printable(show(item) ?? '-'))),
  ];
  const widths = full.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)));
  return cells
    .map((row) => {
      const padded = row.map((cell, index) => {
        const width = widths[index] ?? 0;
        return full[index]?.right ? cell.padStart(width) : cell.padEnd(width);
      });
      return `${padded.join('  ').trimEnd()}\n`;
    })
    .join('');
}

function fieldColumn<Item>(name: keyof Item & string, items: readonly Item[]) {
  const show = (item: Item): string | null => {
    const value = item[name];
    if (value === null || value === undefined) return null;
    return typeof value === 'boolean' ? yesOrNo(value) : String(value);
  };
  return { heading: name, show, right: items.some((item) => typeof item[name] === 'number') };
}

/** Wraps text at 80 characters; every line after the first begins with `indent`. */
export function wrap(text: string, first: string, indent: string): string {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(' ')) {
    const isFull = line.length + word.length >= MAX_WIDTH && line.trim() !== first.trim();
    if (isFull) lines.push(line.trimEnd());
    line = isFull ? `${indent}${word} ` : `${line}${word} `;
  }
  return `${[...lines, line.trimEnd()].join('\n')}\n`;
}

/** Text from others, with control characters escaped: a terminal would execute them. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}
