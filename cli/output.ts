import { formatMoney } from '../domain/ledger/money.ts';

/** Widest line of running text, in characters. */
const WIDTH = 80;

const AMOUNT_NAMES = /(^|_)(amount|balance)$|^(held|available|incoming|sum)$/;

/** Members that may be undefined, as members that may be absent. */
type Given<Members> = {
  [Name in keyof Members as undefined extends Members[Name] ? never : Name]: Members[Name];
} & { [Name in keyof Members as undefined extends Members[Name] ? Name : never]?: Exclude<Members[Name], undefined> };

/** A name and what stands behind it. */
export type Pair = readonly [name: string, value: string];

/** The members that have a value: an option that was not given is no member. */
export function given<Members extends object>(members: Members): Given<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<Members>;
}

/** An amount of minor units as the service counts it and as a person reads it: `1000 (10.00 USD)`. */
export function money(amount: number, currency: string): string {
  return Number.isSafeInteger(amount) ? `${amount} (${formatMoney(BigInt(amount), currency)})` : String(amount);
}

/** The members of a record by their names on the wire; what is null is left out. */
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

/** How a person reads a truth value. */
export function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}

/** Pairs below each other, the values aligned. */
export function alignedLines(pairs: readonly Pair[]): string {
  const width = Math.max(0, ...pairs.map(([name]) => name.length)) + 1;
  return pairs.map(([name, value]) => `${`${name}:`.padEnd(width)} ${printable(value)}\n`).join('');
}

/** A column of a table: its heading, and what it shows of an item; `right` for numbers. */
export type Column<Item> = {
  readonly heading: string;
  readonly show: (item: Item) => string | null;
  readonly right?: boolean;
};

/** A table without borders: a heading and a line per item, columns two spaces apart. What is null shows as `-`. */
export function table<Item>(columns: readonly Column<Item>[], items: readonly Item[]): string {
  const cells = [
    columns.map(({ heading }) => heading),
    ...items.map((item) => columns.map(({ show }) => printable(show(item) ?? '-'))),
  ];
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)));
  return cells
    .map((row) => {
      const padded = row.map((cell, index) => {
        const width = widths[index] ?? 0;
        return columns[index]?.right ? cell.padStart(width) : cell.padEnd(width);
      });
      return `${padded.join('  ').trimEnd()}\n`;
    })
    .join('');
}

/** Running text broken into lines of 80 characters, every line but the first indented. */
export function wrap(text: string, first: string, indent: string): string {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(' ')) {
    const isFull = line.length + word.length >= WIDTH && line.trim() !== first.trim();
    if (isFull) lines.push(line.trimEnd());
    line = isFull ? `${indent}${word} ` : `${line}${word} `;
  }
  return `${[...lines, line.trimEnd()].join('\n')}\n`;
}

/** Text of other people without what a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}
