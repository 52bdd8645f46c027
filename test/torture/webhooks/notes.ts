/**
 * How a receiver responds: 204, the same after a delay, 500, 429, not at all, or by closing the connection; with a `share`,
 * only to that share of the requests, and 204 to the rest.
 */
export type Conduct = {
  readonly kind: 'good' | 'slow' | 'fails' | 'limits' | 'black hole' | 'closes';
  readonly share?: number;
};

/** An instruction to the receiver: how to respond at a webhook and its secrets, to listen, or to end. */
export type Instruction =
  | { readonly webhook: string; readonly conduct: Conduct; readonly secrets: readonly string[] }
  | 'listen'
  | 'exit';

/** A line of the receiver's file: an incoming request, or the status of a response. */
export type Note =
  | {
      readonly delivery: string;
      readonly webhook: string;
      readonly at: number;
      readonly eventId: string;
      readonly hash: string;
      /** The indexes of the secrets that have signed it. */
      readonly verified: readonly number[];
    }
  | { readonly delivery: string; readonly status: number };

/** An incoming request; without a status if there was no response. */
export type Delivery = {
  readonly webhook: string;
  readonly at: number;
  readonly eventId: string;
  readonly hash: string;
  readonly verified: readonly number[];
  readonly status: number | undefined;
};

/** The deliveries of each webhook, in the order in which they came. */
export type Deliveries = ReadonlyMap<string, readonly Delivery[]>;
