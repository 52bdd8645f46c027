/**
 * How a receiver answers: 204, the same some time later, a 500, a 429, not at all, or by closing the connection; with a
 * share, only so many of the requests, and 204 to the rest.
 */
export type Conduct = {
  readonly kind: 'good' | 'slow' | 'fails' | 'limits' | 'black hole' | 'closes';
  readonly share?: number;
};

/** What the receiver is told: how to answer at a webhook and what its secrets are, to listen, or to end. */
export type Instruction =
  | { readonly webhook: string; readonly conduct: Conduct; readonly secrets: readonly string[] }
  | 'listen'
  | 'exit';

/** A line of the file of the receiver: a request that came in, or the status with which one was answered. */
export type Note =
  | {
      readonly delivery: string;
      readonly webhook: string;
      readonly at: number;
      readonly eventId: string;
      readonly hash: string;
      /** Which of the secrets have signed it. */
      readonly verified: readonly number[];
    }
  | { readonly delivery: string; readonly status: number };

/** A request that came in; without a status it was not answered. */
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
