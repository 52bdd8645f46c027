/** The response to an operation's command, the request that it sends, and its output. */
export type Line = {
  /** Differences from the contract's example, or the text of an export. */
  readonly reply?: object | string;
  readonly sends?: object;
  /** Part of the output. The default is the first text of the response. */
  readonly shows?: string;
};
