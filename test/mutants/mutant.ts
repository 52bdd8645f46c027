/** Text that stands exactly once in a file, and what is put in its place. */
export type Edit = { readonly file: string; readonly find: string; readonly replace: string };

/** A test file that ought to notice; `only` narrows it to the tests whose names contain it. */
export type Witness = { readonly file: string; readonly only?: string };

/** One mistake of the kind that one makes, built into a copy of the source. */
export type Mutant = {
  readonly name: string;
  /** What is wrong with it. */
  readonly mistake: string;
  readonly edits: readonly [Edit, ...Edit[]];
  /** The first one that fails has caught it. */
  readonly witnesses: readonly [Witness, ...Witness[]];
};
