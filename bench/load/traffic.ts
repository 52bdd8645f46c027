/** Requests that a generator sends: who sends them, and to which cards. */
export type Traffic = {
  /** Where the service listens, such as http://127.0.0.1:8080. */
  readonly url: string;
  /** The Bearer key, of an operator: the program is named by a header. */
  readonly key: string;
  /** Ids of card programs on the wire; each request picks one by chance. */
  readonly programs: readonly string[];
  /** Each request picks one of the cards bench-0000001 to this number, by chance. */
  readonly cards: number;
};

/** What the measured transfers move, in minor units. The fill moves the same, so that old keys can be replayed. */
export const AMOUNT = 100;

/** The id of a card of the bench, from 1. */
export function cardName(number: number): string {
  return `bench-${String(number).padStart(7, '0')}`;
}

/** Latencies in milliseconds at some percentiles. */
export type Latencies = {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly most: number;
};

/** What a generator counted. */
export type LoadResult = {
  /** Transfers (or reads) that were answered with 200 or 201. */
  readonly answered: number;
  /** Everything else: other answers, broken connections, timeouts. */
  readonly failed: number;
  readonly elapsed_s: number;
  readonly latenciesMilliseconds: Latencies;
  /** CPU time of the generator, in cores. */
  readonly generatorCores: number;
  /** The first bad answer, for the person who has to find out. */
  readonly firstFailure: string | null;
};
