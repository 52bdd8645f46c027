/** Options of every call. */
export type CallOptions = {
  /** The card program to act in, instead of the client's. Required for operator keys. */
  readonly programId?: string | undefined;
  /**
   * Your id for the request: 1 to 64 letters, digits, `.`, `_` or `-`, without 12 digits in a row. Returned as
   * `Client-Request-Id`. Quote the response's request id to support, not this one.
   */
  readonly requestId?: string | undefined;
  /** The maximum duration of one attempt of this call, above 0 and at most 2,147,483,647, instead of the client's. */
  readonly timeoutMilliseconds?: number | undefined;
  /** The maximum number of automatic retries of this call, from 0, instead of the client's. */
  readonly maxRetries?: number | undefined;
  /** Aborts the call. It then rejects with a ConnectionFailure, because the service may have received the request. */
  readonly signal?: AbortSignal | undefined;
};

/** Options of a call that takes an idempotency key. */
export type KeyedCallOptions = CallOptions & {
  /** 1 to 255 visible ASCII characters. Generated if omitted, so that automatic retries are safe. */
  readonly idempotencyKey?: string | undefined;
};

/** Options of a call that changes or deletes a record with a version. */
export type VersionedCallOptions = CallOptions & {
  /**
   * The `version` of the response that the record was read from. If the record has a different version now, nothing
   * changes, and the call rejects with the code `precondition_failed`.
   */
  readonly ifMatch?: string | undefined;
};

/**
 * An amount in minor units of its currency (cents, for USD), 1 to 999,999,999,999. A number is sent unchanged, a bigint as
 * a JSON integer, a string of digits as a string. The service rejects anything else with `invalid_amount`. The service and
 * the client never round.
 */
export type Amount = number | bigint | string;

/**
 * A sum of amounts in a response, in minor units. It is a number up to 9,007,199,254,740,991 (2^53 - 1), positive or negative,
 * and a string of its digits beyond that, where not every JSON parser is exact.
 */
export type Sum = number | string;

/** One page of a list, newest first. `next_cursor` is null on the last page. */
export type Page<Item> = { readonly data: readonly Item[]; readonly next_cursor: string | null };

/**
 * A streamed response, chunk by chunk, for `for await`. A chunk can begin and end in the middle of a line. If the response
 * is cut off, the loop throws an IncompleteResponse. Leaving the loop cancels the response. The client waits for a slow
 * reader, but the service ends a stream if nothing is read from it for 30 seconds.
 */
export type TextChunks = AsyncGenerator<string, void, undefined>;

/** Whether a call moved money. `no` and `yes` are certain. */
export type MoneyMoved = 'no' | 'yes' | 'unknown';

/** The facts about a response in addition to its body. */
export type ResponseDetails = {
  /** HTTP status, 200 or 201. */
  readonly status: number;
  /** The id to quote to support. Undefined only if a proxy removed the header. */
  readonly requestId: string | undefined;
  /** Whether this is the stored first response to the idempotency key. If so, this request changed nothing. */
  readonly replayed: boolean;
  /**
   * Whether the request moved money: `no` for a hold, a scheduled transfer, a cancellation and every read. A replay has the
   * value of the first response. For a batch, `yes` if any row moved money. `unknown` if the operation can move money and
   * the service has version 0.1.0, which reports it only with errors.
   */
  readonly moneyMoved: MoneyMoved;
  /** The idempotency key that was sent, including a generated one. */
  readonly idempotencyKey: string | undefined;
  /**
   * The version of a card, card program, transfer or webhook (the `ETag` header). Send it as `ifMatch` with a change.
   * Undefined for other records, and for responses from version 0.1.0 of the service.
   */
  readonly version: string | undefined;
  /** The number of attempts. */
  readonly attempts: number;
  readonly headers: Headers;
};

/**
 * The body of a response, with `response` added. `response` is not enumerable, so the body prints, compares and serializes
 * as the service sent it. A copy made by spreading has no `response`.
 */
export type WithResponse<Body> = Body & { readonly response: ResponseDetails };

/** Returns every item of a list, and reads the next page when it is needed. Throws the errors of `list`. */
export async function* everyItem<Item, Query extends object>(
  list: (query: Query) => Promise<Page<Item>>,
  query: Query,
): AsyncGenerator<Item, void, undefined> {
  let wanted = query;
  for (;;) {
    const { data, next_cursor: cursor } = await list(wanted);
    yield* data;
    if (cursor == null) return;
    wanted = { ...query, cursor };
  }
}
