/** What the client needs of the platform's fetch. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The settings of a client, with defaults applied. */
export type ClientSettings = {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string | undefined;
  readonly programId: string | undefined;
  readonly timeoutMilliseconds: number;
  readonly maxRetries: number;
  readonly fetch: Fetch;
};
