/** The callers and cards of the requests that a generator sends. */
export type Traffic = {
  /** The address of the service, such as http://127.0.0.1:8080. */
  readonly url: string;
  /** Bearer keys, each for one card program. Each request picks one at random. */
  readonly keys: readonly string[];
  /** Each request picks one of the cards from bench-0000001 to this number at random. */
  readonly cards: number;
};

/** The amount of the measured transfers, in minor units. The fill uses the same amount, so that its keys can be replayed. */
export const AMOUNT = 100;

/** The id of a card of the bench, from 1. */
export function cardName(number: number): string {
  return `bench-${String(number).padStart(7, '0')}`;
}

export type Latencies = {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly maximum: number;
};

export type LoadResult = {
  /** Transfers (or reads) with a response of 200 or 201. */
  readonly succeeded: number;
  /** Everything else: other responses, broken connections. */
  readonly failed: number;
  readonly elapsedSeconds: number;
  readonly latenciesMilliseconds: Latencies;
  /** CPU time of the generator, in cores. */
  readonly generatorCores: number;
  /** The first failure, to help find the cause. */
  readonly firstFailure: string | null;
};
