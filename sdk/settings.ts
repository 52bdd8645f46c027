import { InvalidArgument } from './error.ts';

/**
 * What the client needs of the platform's fetch. It is called once for each attempt, with headers of its own, to which more can
 * be added.
 */
export type Fetch = (
  url: string,
  init: RequestInit & { readonly method: string; readonly headers: Headers },
) => Promise<Response>;

/** Gets what the client has to say to a developer. */
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
  /** Undefined for no warnings. */
  readonly warn: Warn | undefined;
};

/** How long one attempt may take, and how often a call is tried again. */
type Limits = { readonly timeoutMilliseconds: number; readonly maxRetries: number };

/** With a longer time, `setTimeout` would fire at once. */
const MAX_TIMEOUT_MILLISECONDS = 2 ** 31 - 1;

/** The limits that are given, or else the defaults. Throws {@link InvalidArgument} for what is no limit. */
export function readLimits(given: { readonly [Name in keyof Limits]?: number | undefined }, defaults: Limits): Limits {
  const timeoutMilliseconds = given.timeoutMilliseconds ?? defaults.timeoutMilliseconds;
  if (!(timeoutMilliseconds > 0 && timeoutMilliseconds <= MAX_TIMEOUT_MILLISECONDS)) {
    throw new InvalidArgument(
      `timeoutMilliseconds must be more than 0 and at most ${MAX_TIMEOUT_MILLISECONDS}, but it is ${timeoutMilliseconds}.`,
    );
  }
  const maxRetries = given.maxRetries ?? defaults.maxRetries;
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new InvalidArgument(`maxRetries must be a whole number from 0, but it is ${maxRetries}.`);
  }
  return { timeoutMilliseconds, maxRetries };
}
