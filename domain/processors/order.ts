/** Which way an order moves money: `push` to the card at its processor (a load), `pull` from it (an unload). */
export const ORDER_KINDS = ['push', 'pull'] as const;

/** One of {@link ORDER_KINDS}. */
export type OrderKind = (typeof ORDER_KINDS)[number];

/** What is asked of a processor about an order: to carry it out, what became of it, or to undo it. */
export const ORDER_REQUESTS = ['send', 'inquire', 'reverse'] as const;

/** One of {@link ORDER_REQUESTS}. */
export type OrderRequest = (typeof ORDER_REQUESTS)[number];

/** An order to a card processor. Every request about one attempt has the same values but `notAfter` and `isRepeat`. */
export type Order = {
  /** Id of the attempt on the wire, `att_` and 32 hex digits: the key by which the processor recognizes the order, for ever. */
  readonly attemptId: string;
  /** Id of the card program on the wire, `prog_` and 32 hex digits. */
  readonly programId: string;
  /** Id of the transfer on the wire, `tr_` and 32 hex digits. */
  readonly transferId: string;
  readonly kind: OrderKind;
  /** In minor units, 1 to 999,999,999,999. */
  readonly amount: bigint;
  /** ISO 4217 code. */
  readonly currency: string;
  /** What the processor knows the card by. Not a card number; never in logs, errors or events. */
  readonly processorToken: string;
  /** Milliseconds since 1970 after which the order must not be carried out any more; null for no such time. */
  readonly notAfter: number | null;
  /** Whether this order was sent before under the same attempt id. */
  readonly isRepeat: boolean;
  /** How the simulator shall behave, such as `decline=51`; null in live mode. */
  readonly sandboxBehavior: string | null;
};

/** What a connector can answer about an order. */
export const ORDER_STATUSES = ['approved', 'declined', 'pending', 'not_found', 'reversed', 'not_executed'] as const;

/** One of {@link ORDER_STATUSES}. */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/**
 * What a request to a connector came to: a status that it answered, or
 *
 * - `not_sent`: provably no byte of the request left, because the host was not found, not allowed or not reached, or because
 *   TLS failed;
 * - `unknown`: anything else. The processor may or may not have carried out the order.
 */
export type Outcome = OrderStatus | 'not_sent' | 'unknown';

/** The longest time after which a processor can advise another try: 31 days. The longest advice known is 10 days. */
export const MAX_RETRY_AFTER_SECONDS = 2_678_400;

/** The outcome of a request about an order, with what the processor said of it. */
export type Answer = {
  readonly outcome: Outcome;
  /** The processor's own reference, at most 255 characters of printable ASCII. */
  readonly processorReference: string | null;
  /** The processor's own code, such as `51`: at most 64 characters of printable ASCII. */
  readonly code: string | null;
  /** Seconds after which the same is worth another try, 0 to {@link MAX_RETRY_AFTER_SECONDS}. */
  readonly retryAfterSeconds: number | null;
  /** Why the outcome is `unknown` or `not_sent`: one sentence for operators, at most 300 characters, without secrets. */
  readonly detail: string | null;
};

/** How a processor can undo an order: not at all, by a request that it may refuse, or by an advice that it must accept. */
export const REVERSALS = ['none', 'request', 'advice'] as const;

/** One of {@link REVERSALS}. */
export type Reversal = (typeof REVERSALS)[number];

/** What happens to a transfer while its connector is known to be down: it is refused, or waits. */
export const WHEN_DOWN = ['refuse', 'queue'] as const;

/** One of {@link WHEN_DOWN}. */
export type WhenDown = (typeof WHEN_DOWN)[number];

/** What the service may rely on with a processor. */
export type Traits = {
  /** Whether it says what became of an order when asked by the id of the attempt. */
  readonly hasInquiry: boolean;
  /** Whether it carries out an order that is sent again under the same attempt id only once. */
  readonly canResend: boolean;
  /** How long it recognizes an attempt id, in seconds; null for ever. Past it nothing is sent again. */
  readonly keyMemorySeconds: number | null;
  /** How long an order may take until an inquiry finds it, in seconds. */
  readonly settleDelaySeconds: number;
  /** How long after the sending a `not_found` cannot change any more, in seconds. */
  readonly notFoundFinalSeconds: number;
  readonly reversal: Reversal;
  /** How long an order may wait before it is first sent, in seconds; then its transfer fails. */
  readonly readySeconds: number;
  readonly whenDown: WhenDown;
  /** Requests that the service has open with it at the same time, from each process. */
  readonly maxInFlight: number;
};
