/** Text that occurs exactly once in a file, and its replacement. */
export type Edit = { readonly file: string; readonly find: string; readonly replace: string };

/** A test file that must catch the mutant; `only` selects the tests whose names contain it. */
export type Witness = { readonly file: string; readonly only?: string };

/** A typical mistake, made in a copy of the source. */
export type Mutant = Edit & {
  readonly name: string;
  readonly mistake: string;
  /** Further edits that belong to the mistake. */
  readonly also?: readonly Edit[];
  /** In this order, until one fails: that one has caught the mutant. */
  readonly witnesses: readonly [Witness, ...Witness[]];
};
