export type Outcome = {
  /** Number of the row in docs/performance.md. A row with two targets has two outcomes. */
  readonly row: number;
  readonly title: string;
  readonly measured: string;
  readonly against: string;
  /** The value to compare with the target: a ratio, or an amount in `unit`. */
  readonly value: number;
  readonly unit: '' | 'KB' | 'MB' | 'ms';
  readonly target: { readonly at: 'least' | 'most'; readonly value: number };
  /** A value that is better than the target, and that we would like to reach. Null if there is none. */
  readonly aim: number | null;
  /** The values of the single runs or rounds, to show their spread. */
  readonly runs: Readonly<Record<string, readonly number[]>>;
  readonly notes: readonly string[];
};

export function isMet({ value, target }: Outcome): boolean {
  return target.at === 'least' ? value >= target.value : value <= target.value;
}

/** How far the target was missed, as a share of it. Zero or less if it was met. */
export function shortfall({ value, target }: Outcome): number {
  const over = (value - target.value) / target.value;
  return target.at === 'least' ? -over : over;
}
