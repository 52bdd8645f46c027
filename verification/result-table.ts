import type { Findings } from './campaign.ts';

export type Result = Findings & {
  readonly row: string;
  readonly unit: string;
  readonly count: number;
  readonly seed: number;
  readonly seconds: number;
};

const HEADINGS = ['row', 'how much', 'seconds', 'outcome', 'figures'] as const;

/** Formats the results as a table for a terminal. */
export function tableOf(results: readonly Result[]): string {
  const rows = [HEADINGS, ...results.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(column === HEADINGS.length - 1 ? 0 : (widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}

function cellsOf({ row, unit, count, seconds, violations, notRun, figures }: Result): readonly string[] {
  const outcome = notRun !== undefined ? 'NOT RUN' : violations.length > 0 ? 'VIOLATED' : 'kept';
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  return [row, `${count} ${unit}`, String(seconds), outcome, shown.join(', ')];
}
