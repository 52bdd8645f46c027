import type { Findings } from './campaign.ts';

export type Result = Findings & {
  readonly campaign: string;
  readonly unit: string;
  readonly count: number;
  readonly seed: number;
  readonly seconds: number;
  /** The error that ended the campaign. */
  readonly error?: string | undefined;
};

const HEADINGS = ['campaign', 'how much', 'seconds', 'outcome', 'figures'] as const;

/** Formats the results as a table for a terminal. */
export function tableOf(results: readonly Result[]): string {
  const lines = [HEADINGS, ...results.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const padded = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return padded.map((line) => line.join('  ').trimEnd()).join('\n');
}

function cellsOf({ campaign, unit, count, seconds, violations, notRun, figures, error }: Result): readonly string[] {
  const outcome =
    error !== undefined ? 'FAILED' : notRun !== undefined ? 'NOT RUN' : violations.length > 0 ? 'VIOLATED' : 'kept';
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  return [campaign, `${count} ${unit}`, String(seconds), outcome, shown.join(', ')];
}

/**
 * The interval between reports of progress, in milliseconds. A terminal shows one line, which is updated. A file gets a
 * new line for each report.
 */
const BETWEEN = { terminal: 200, file: 15_000 } as const;

/** Returns a function that shows the progress of a campaign. */
export function progressOf(total: number, unit: string): (done: number, remark?: string) => void {
  const started = performance.now();
  let shownAt = 0;
  return (done, remark = '') => {
    const now = performance.now();
    const { isTTY, columns = 100 } = process.stdout;
    if (done < total && now - shownAt < (isTTY ? BETWEEN.terminal : BETWEEN.file)) return;
    shownAt = now;
    const seconds = (now - started) / 1000;
    const left = done === 0 ? '' : `, ${Math.round((seconds / done) * Math.max(0, total - done))} s left`;
    const line = `  ${done} of ${total} ${unit} in ${Math.round(seconds)} s${left}; ${remark}`;
    process.stdout.write(isTTY ? `\r${line.slice(0, columns - 1).padEnd(columns - 1)}` : `${line}\n`);
  };
}
