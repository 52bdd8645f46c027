import { InvalidArgument } from './error.ts';

/**
 * The part of the platform's fetch that the client uses. Called once for each attempt, with a new `Headers` object that it
 * may change.
 */
export type Fetch = (
  url: string,
  init: RequestInit & { readonly method: string; readonly headers: Headers },
) => Promise<Response>;

/** Called with each warning for developers. */
export type Warn = (message: string) => void;

/** The settings of a client, with defaults applied. */
export type ClientSettings = {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string | undefined;
  readonly programId: string | undefined;
  readonly timeoutMilliseconds: number;
  readonly maxRetries: number;
  readonly fetch: Fetch;
  /** Undefined switches the warnings off. */
  readonly warn: Warn | undefined;
};

type Limits = { readonly timeoutMilliseconds: number; readonly maxRetries: number };

/** With a longer time, `setTimeout` would fire immediately. */
const MAX_MILLISECONDS = 2 ** 31 - 1;

/**
 * Returns the given limits, or else the defaults. An attempt may take `waitSeconds` longer, up to the maximum. Throws
 * {@link InvalidArgument} if a limit is out of range.
 */
export function readLimits(
  given: { readonly [Name in keyof Limits]?: number | undefined },
  defaults: Limits,
  waitSeconds = 0,
): Limits {
  const timeoutMilliseconds = given.timeoutMilliseconds ?? defaults.timeoutMilliseconds;
  if (!(timeoutMilliseconds > 0 && timeoutMilliseconds <= MAX_MILLISECONDS)) {
    throw new InvalidArgument(
      `timeoutMilliseconds must be more than 0 and at most ${MAX_MILLISECONDS}, but it is ${timeoutMilliseconds}.`,
    );
  }
  const maxRetries = given.maxRetries ?? defaults.maxRetries;
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new InvalidArgument(`maxRetries must be a whole number from 0, but it is ${maxRetries}.`);
  }
  return {
    timeoutMilliseconds: Math.min(timeoutMilliseconds + waitSeconds * 1000, MAX_MILLISECONDS),
    maxRetries,
  };
}
