/** The color of a series in the theme. */
export type SeriesTone = 'ink' | 'good' | 'waiting' | 'bad' | 'process' | 'quiet' | 'fourth' | 'fifth';

/** A value at one time. Null if nothing was measured, which a chart shows as a gap. */
export type Value = number | null;

export type Series = {
  readonly label: string;
  readonly values: readonly Value[];
  readonly tone: SeriesTone;
};
