/** What the command of an operation does. */
export type Line = {
  /** What differs from the example in the contract, or the text of an export. */
  readonly reply?: object | string;
  /** The body of the request. */
  readonly sends?: object;
  /** Part of the output; by default the first text of the response. */
  readonly shows?: string;
};
