/** One row of the table: what a target demands and what was measured. */
export type Outcome = {
  /** Number of the target in docs/performance.md. */
  readonly target: number;
  readonly title: string;
  readonly measured: string;
  readonly against: string;
  readonly ratio: number;
  /** The bound, and on which side of it the ratio must be. */
  readonly bound: { readonly at: 'least' | 'most'; readonly ratio: number };
  /** What would be better still. */
  readonly aim: number | null;
  /** Single runs, so that a reader sees how far they lie apart. */
  readonly runs: Readonly<Record<string, readonly number[]>>;
  readonly notes: readonly string[];
};

/** Whether the target was reached. */
export function isMet({ ratio, bound }: Outcome): boolean {
  return bound.at === 'least' ? ratio >= bound.ratio : ratio <= bound.ratio;
}
