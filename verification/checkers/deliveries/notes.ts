/**
 * The response of a receiver: 204, 204 after a delay, 500, 429, no response, or a closed connection. With a `share`, only that
 * share of the requests gets it, and the rest gets 204.
 */
export type Conduct = {
  readonly kind: 'good' | 'slow' | 'fails' | 'limits' | 'black hole' | 'closes';
  readonly share?: number;
};

/** An instruction to the receiver: a webhook's behaviour and secrets, to listen, or to exit. */
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
      /** The indexes of the secrets that signed it. */
      readonly verified: readonly number[];
    }
  | { readonly delivery: string; readonly status: number };

/** An incoming request. The status is undefined if there was no response. */
export type Delivery = {
  readonly webhook: string;
  readonly at: number;
  readonly eventId: string;
  readonly hash: string;
  readonly verified: readonly number[];
  readonly status: number | undefined;
};

/** The deliveries of each webhook, in order of arrival. */
export type Deliveries = ReadonlyMap<string, readonly Delivery[]>;
