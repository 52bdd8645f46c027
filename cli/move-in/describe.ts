import { differing, type MoveInTotals } from '../../domain/move-in.ts';
import type { ComparisonRecord, MoveInRecord } from '../../sdk/client.ts';
import { grouped, problemLines } from '../files/line-file.ts';
import { alignedLines, type Column, money, pairsOf, table } from '../output.ts';
import { byCurrency } from './check-lines.ts';
import type { CheckedMoveIn } from './move-in-file.ts';

type Row = {
  readonly currency: string;
  readonly sums: string;
  readonly cards: number;
  readonly balance: string;
  readonly holds: number;
  readonly held: string;
};

const COLUMNS: readonly Column<Row>[] = [
  'currency',
  'sums',
  'cards',
  { heading: 'balance', show: ({ balance, currency }) => money(balance, currency), right: true },
  'holds',
  { heading: 'held', show: ({ held, currency }) => money(held, currency), right: true },
];

/** A table of sums: one row for each currency and name. The names say where the sums come from. */
function sumsTable(sums: Readonly<Record<string, MoveInTotals>>): string {
  const currencies = [...new Set(Object.values(sums).flatMap((totals) => Object.keys(totals)))].sort();
  const rows = currencies.flatMap((currency) =>
    Object.entries(sums).flatMap(([name, totals]): Row[] => {
      const total = totals[currency];
      return total === undefined ? [] : [{ currency, sums: name, ...total }];
    }),
  );
  return rows.length === 0 ? '' : table(COLUMNS, rows);
}

const counts = (count: number, name: string): string => `${grouped(count)} ${name}${count === 1 ? '' : 's'}`;

const listed = (names: readonly string[]): string => names.join(', ').replace(/, ([^,]*)$/, ' and $1');

/** What `check` prints about a file. `isRight`: no line has a problem, and the lines add up to the stated totals. */
export function describeCheck(name: string, checked: CheckedMoveIn) {
  const { sha256, lineCount, problems, problemCount, sums } = checked;
  const stated = byCurrency(checked.stated);
  const wrong = wrongTotals(checked);
  const right =
    checked.stated.length === 0 ? 'The file states no totals.' : 'The lines add up to the totals that the file states.';
  const counted = `${counts(lineCount, 'line')}, ${problemCount === 0 ? 'no problems' : counts(problemCount, 'problem')}.`;
  const parts = [
    ...problemLines(checked).map((line) => `${line}\n`),
    `${problemCount === 0 ? '' : '\n'}${sumsTable({ lines: sums, stated })}`,
    `\n${counted} ${wrong ?? right}\n`,
  ];
  return {
    record: {
      ...{ name, sha256, line_count: lineCount, problem_count: problemCount, problems },
      ...{ totals: wireTotals(sums), stated_totals: wireTotals(stated), differing_currencies: differingIn(checked) },
    },
    text: parts.join(''),
    isRight: problemCount === 0 && wrong === undefined,
  };
}

/** Names the currencies whose lines do not add up to the stated totals. Undefined if they do, or without stated totals. */
export function wrongTotals(checked: CheckedMoveIn): string | undefined {
  const wrong = differingIn(checked);
  return wrong.length === 0
    ? undefined
    : `The lines do not add up to the totals that the file states in ${listed(wrong)}.`;
}

function differingIn({ stated, sums }: CheckedMoveIn): readonly string[] {
  return stated.length === 0 ? [] : differing(byCurrency(stated), sums);
}

const wireTotals = (totals: MoveInTotals) =>
  Object.entries(totals).map(([currency, { cards, balance, holds, held }]) => ({
    ...{ currency, cards, balance: Number(balance), holds, held: Number(held) },
  }));

/** What `run` prints below the record. `isRight`: the books equal the totals of the file. */
export function describeBooks(moved: MoveInRecord, { sums, stated }: CheckedMoveIn) {
  const books = byCurrency(moved.totals);
  const isStated = stated.length > 0;
  const file = isStated ? byCurrency(stated) : sums;
  const wrong = differing(file, books);
  const named = isStated
    ? 'the totals that the file states'
    : 'the sums of the lines of the file, which states no totals';
  const sentence =
    wrong.length === 0 ? `The books equal ${named}.` : `The books differ from ${named}, in ${listed(wrong)}.`;
  return {
    text: `${sumsTable({ books, [isStated ? 'stated' : 'lines']: file })}\n${sentence}\n`,
    isRight: wrong.length === 0,
  };
}

/** The sums of a move-in as a table below its record; empty without lines. */
export function describeSums({ totals }: MoveInRecord): string {
  const sums = sumsTable({ books: byCurrency(totals) });
  return sums === '' ? '' : `\n${sums}`;
}

/** A comparison for people: its record, and a table of the sums on both sides. */
export function describeComparison(record: ComparisonRecord): string {
  const { totals_here: here, totals_there: there, differences, report: _, ...shown } = record;
  const byReason = Object.fromEntries(differences.map(({ reason, count }) => [reason, count]));
  const sums = sumsTable({ here: byCurrency(here), there: byCurrency(there) });
  return `${alignedLines(pairsOf({ ...shown, differences: byReason }))}${sums === '' ? '' : `\n${sums}`}`;
}

/** The report of a comparison as the last line, after an empty one. Empty until all cards are compared. */
export const reportLine = ({ report }: ComparisonRecord): string => (report === null ? '' : `\n${report}\n`);
