/** The command of an operation, and what it does. */
export type Line = {
  /** What a person types. */
  readonly type: string;
  /** What differs from the example in the contract, or the text of an export. */
  readonly reply?: object | string;
  /** The body of the request. */
  readonly sends?: object;
  /** Part of the output. */
  readonly shows: string;
};
