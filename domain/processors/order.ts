import type { RefusalCode } from '../error-codes.ts';

/** Which way an order moves money: `push` to the card at its processor (a load), `pull` from it (an unload). */
export const ORDER_KINDS = ['push', 'pull'] as const;

export type OrderKind = (typeof ORDER_KINDS)[number];

/** The requests about an order: carry it out, report its outcome, or undo it. */
export const ORDER_REQUESTS = ['send', 'inquire', 'reverse'] as const;

export type OrderRequest = (typeof ORDER_REQUESTS)[number];

/** An order to a card processor. Every request about one attempt has the same values, except `notAfter` and `isRepeat`. */
export type Order = {
  /** Id of the attempt on the wire, `pat_` and 32 hex digits. The processor recognizes the order by it. */
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
  /** The processor's token for the card. Not a card number; never in logs, errors or events. */
  readonly processorToken: string;
  /** The order must not be carried out after this time, in milliseconds since 1970. Null for no limit. */
  readonly notAfter: number | null;
  /** Whether this order was sent before under the same attempt id. */
  readonly isRepeat: boolean;
  /** The simulator's behavior, such as `decline=51`. Null in live mode. */
  readonly sandboxBehavior: string | null;
};

/** The answers that a connector can give about an order. */
export const ORDER_STATUSES = ['approved', 'declined', 'pending', 'not_found', 'reversed', 'not_executed'] as const;

export type OrderStatus = (typeof ORDER_STATUSES)[number];

/**
 * The result of a request to a connector: the status that the connector returned, or
 *
 * - `not_sent`: provably no byte of the request left, because the host was not found, not allowed or not reached, or because TLS
 *   failed;
 * - `unknown`: anything else. The processor may or may not have carried out the order.
 */
export type Outcome = OrderStatus | 'not_sent' | 'unknown';

/** The longest pause that a processor can advise before another try: 31 days. The longest known advice is 10 days. */
export const MAX_RETRY_AFTER_SECONDS = 2_678_400;

/** The outcome of a request about an order, and the details that the processor gave. */
export type Answer = {
  readonly outcome: Outcome;
  /** The processor's own reference, at most 255 characters of printable ASCII. */
  readonly processorReference: string | null;
  /** The processor's own code, such as `51`: at most 64 characters of printable ASCII. */
  readonly code: string | null;
  /** How long to wait before another try of the same order, in seconds, 0 to {@link MAX_RETRY_AFTER_SECONDS}. */
  readonly retryAfterSeconds: number | null;
  /** Why the outcome is `unknown` or `not_sent`: one sentence for operators, at most 300 characters, without secrets. */
  readonly detail: string | null;
};

/** How a processor can undo an order: never, by a request that it may refuse, or by an advice message that it must accept. */
export const REVERSALS = ['none', 'request', 'advice'] as const;

export type Reversal = (typeof REVERSALS)[number];

/** The handling of a transfer while its connector is known to be down: it is refused, or it waits. */
export const WHEN_DOWN = ['refuse', 'queue'] as const;

export type WhenDown = (typeof WHEN_DOWN)[number];

/** The behavior of a processor that the service may rely on. */
export type Traits = {
  /** Whether the processor reports the outcome of an order when it is asked by the id of the attempt. */
  readonly hasInquiry: boolean;
  /** Whether the processor carries out an order only once, even if the order is sent again under the same attempt id. */
  readonly canResend: boolean;
  /** How long the processor recognizes an attempt id, in seconds, or null for unlimited. After that nothing is sent again. */
  readonly keyMemorySeconds: number | null;
  /** How long it can take until an inquiry finds an order, in seconds. */
  readonly settleDelaySeconds: number;
  /** How long after an order was sent the answer `not_found` can still change, in seconds. */
  readonly notFoundFinalSeconds: number;
  readonly reversal: Reversal;
  /** How long an order may wait before it is first sent, in seconds. After that its transfer fails. */
  readonly readySeconds: number;
  readonly whenDown: WhenDown;
  /** Maximum number of concurrent requests to the processor, per process. */
  readonly maxInFlight: number;
  /** How long after its approval an order may take to appear in a settlement file, in hours. Null if there are no such files. */
  readonly settledWithinHours: number | null;
};

/**
 * The error code for a processor's decline code (ISO 8583, field 39): Request Errors for causes that the caller can change,
 * Process Errors for failures at the processor. Null if the code means that the outcome is unknown and the processor must be
 * asked.
 */
export function codeOfDecline(code: string | null): RefusalCode | null {
  if (code === null) return 'processor_declined';
  const known = CODES.get(code);
  return known === undefined ? 'processor_declined' : known;
}

/** Whether a code has a specific meaning here. Any other counts as `processor_declined`. */
export function isMappedCode(code: string): boolean {
  return CODES.has(code);
}

const CODES: ReadonlyMap<string, RefusalCode | null> = new Map<string, RefusalCode | null>([
  ['05', 'processor_declined'],
  ['51', 'insufficient_funds'],
  ['61', 'limit_exceeded'],
  ['65', 'limit_exceeded'],
  ['54', 'card_expired'],
  ['41', 'card_lost'],
  ['43', 'card_lost'],
  ['59', 'card_suspected_fraud'],
  ['03', 'processor_error'],
  ['12', 'processor_error'],
  ['13', 'processor_error'],
  ['30', 'processor_error'],
  ['58', 'processor_error'],
  ['91', 'processor_unavailable'],
  ['92', 'processor_unavailable'],
  ['96', 'processor_unavailable'],
  // 68: the answer came too late. 94: the order was seen before.
  ['68', null],
  ['94', null],
]);
