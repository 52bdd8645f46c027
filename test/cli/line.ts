/** The response that an operation's command gets, the request that it must send, and the output that it must print. */
export type Line = {
  /** Differences from the contract's example, or the text of an export. */
  readonly reply?: object | string;
  readonly sends?: object;
  /** Part of the output. The default is the first text of the response. */
  readonly shows?: string;
};
