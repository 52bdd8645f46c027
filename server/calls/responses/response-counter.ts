import { ERRORS } from '../../../contract/errors/catalogue.ts';
import type { Operation } from '../../../contract/operation.ts';
import { type ErrorCode, OPERATION_IDS, OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import type { MoneyMoved } from '../../../domain/refusal.ts';

// The metrics page shows all counts since the process started, and the operators' overview shows only the recent ones.

/**
 * The purpose of a request. The promises about latency and money apply to some kinds only. Requests for guessed paths, such as
 * /favicon.ico, and errors of the console's own requests are `stray`. Input that is not a request, and errors of pages, are
 * `none`.
 */
export const REQUEST_KINDS = ['money', 'change', 'read', 'live', 'export', 'page', 'health', 'stray', 'none'] as const;

export type RequestKind = (typeof REQUEST_KINDS)[number];

const KINDS_WITHOUT_OPERATION = ['page', 'health', 'stray', 'none'] as const;
type KindWithoutOperation = (typeof KINDS_WITHOUT_OPERATION)[number];

/** The upper bounds of {@link Times}, in seconds. 0.5 is the bound in the promise about latency. */
export const TIME_BOUNDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const OUTCOMES = ['succeeded', 'refused', 'invalid', 'failed'] as const;

/** The number of requests that move money, by outcome. */
export type Outcomes = Record<(typeof OUTCOMES)[number], number>;

export type CountedResponse = {
  readonly operation: OperationId | undefined;
  /** The pattern of the route. Undefined if no route was found. */
  readonly path: string | undefined;
  /** Undefined if the caller disconnected before a response was written. */
  readonly status: number | undefined;
  readonly code: ErrorCode | undefined;
  /** Whether the request counts as `stray`. */
  readonly isStray: boolean;
  readonly milliseconds: number;
  readonly moneyMoved: MoneyMoved | undefined;
};

/** The responses with one code, of one operation or of a kind without operations. The code determines the status. */
export type Series = {
  readonly operation: OperationId | undefined;
  readonly kind: RequestKind;
  readonly status: number | undefined;
  readonly code: ErrorCode | undefined;
  count: number;
};

/**
 * A histogram of the duration of requests, and the total. Each bound in {@link TIME_BOUNDS} has the number of requests that were
 * within it but not within the previous one.
 */
export type Times = { readonly within: number[]; seconds: number; count: number };

export class ResponseCounter {
  /** The series, in the order of their first responses. */
  readonly series: Series[] = [];
  /** The times of each kind that had a request, in the order of the first requests. */
  readonly times = new Map<RequestKind, Times>();
  readonly outcomes: Outcomes = { succeeded: 0, refused: 0, invalid: 0, failed: 0 };
  readonly latencies = new Latencies();
  /** Responses that could not say whether money moved. */
  moneyUnknown = 0;
  readonly #operations: Record<OperationId, Responses>;
  readonly #others: Record<KindWithoutOperation, Responses>;

  constructor() {
    const { series } = this;
    this.#operations = Object.fromEntries(
      OPERATION_IDS.map((id) => [id, new Responses(series, id, kindOf(id))]),
    ) as Record<OperationId, Responses>;
    this.#others = Object.fromEntries(
      KINDS_WITHOUT_OPERATION.map((kind) => [kind, new Responses(series, undefined, kind)]),
    ) as Record<KindWithoutOperation, Responses>;
    // Creates these series in advance. Otherwise, a rate computed from the metrics would miss the first response of each.
    for (const id of OPERATION_IDS) {
      this.#operations[id].find(OPERATIONS[id].status, undefined);
      for (const code of [`unknown_${id}`, 'service_unavailable'] as const) {
        this.#operations[id].find(ERRORS[code].status, code);
      }
    }
  }

  /** Called for every response. Must not throw, and must cost next to nothing. */
  readonly note = (entry: CountedResponse): void => {
    const { operation, status, code, isStray, milliseconds, moneyMoved } = entry;
    const responses =
      operation === undefined || isStray ? this.#others[kindOfPath(entry)] : this.#operations[operation];
    responses.find(status, code).count += 1;
    this.#noteTime(responses.kind, milliseconds / 1000);
    // A transfer that waits for a processor is a success, although it is unknown whether its money moved.
    if (moneyMoved === 'unknown' && !isSuccess(status, code)) this.moneyUnknown += 1;
    if (responses.kind !== 'money' || status === undefined) return;
    this.outcomes[outcomeOf(status, code)] += 1;
    this.latencies.note(milliseconds);
  };

  #noteTime(kind: RequestKind, seconds: number): void {
    let times = this.times.get(kind);
    if (times === undefined) {
      times = { within: TIME_BOUNDS.map(() => 0), seconds: 0, count: 0 };
      this.times.set(kind, times);
    }
    const place = TIME_BOUNDS.findIndex((bound) => seconds <= bound);
    if (place !== -1) times.within[place] = (times.within[place] ?? 0) + 1;
    times.seconds += seconds;
    times.count += 1;
  }
}

/** The series of one operation. A series is created when a response first has its code and status. */
class Responses {
  readonly kind: RequestKind;
  readonly #all: Series[];
  readonly #operation: OperationId | undefined;
  readonly #successes = new Map<number | undefined, Series>();
  readonly #errors = new Map<ErrorCode, Series>();
  /** Series for exports that were cut off and batches with refused rows. The status of these responses says success. */
  readonly #partial = new Map<ErrorCode, Series>();

  constructor(all: Series[], operation: OperationId | undefined, kind: RequestKind) {
    this.#all = all;
    this.#operation = operation;
    this.kind = kind;
  }

  find(status: number | undefined, code: ErrorCode | undefined): Series {
    if (code === undefined) return this.#successes.get(status) ?? this.#begin(this.#successes, status, status, code);
    const errors = status !== undefined && status < 400 ? this.#partial : this.#errors;
    return errors.get(code) ?? this.#begin(errors, code, status, code);
  }

  #begin<Key>(group: Map<Key, Series>, key: Key, status: number | undefined, code: ErrorCode | undefined): Series {
    const series: Series = { operation: this.#operation, kind: this.kind, status, code, count: 0 };
    group.set(key, series);
    this.#all.push(series);
    return series;
  }
}

function kindOf(id: OperationId): RequestKind {
  const { movesMoney, csv, stream, method }: Operation = OPERATIONS[id];
  if (movesMoney) return 'money';
  if (csv) return 'export';
  // A request that waits for events takes a long time on purpose.
  if (stream !== undefined) return 'live';
  return method === 'GET' ? 'read' : 'change';
}

/** Returns the kind of a response without an operation. Only routes have a path. */
function kindOfPath({ path, code, isStray }: CountedResponse): KindWithoutOperation {
  if (isStray) return 'stray';
  if (path?.startsWith('/health/') === true) return 'health';
  return code === undefined ? 'page' : 'none';
}

/** Returns whether a response is a success. Also true for a batch, although its code is the code of its most severe row. */
function isSuccess(status: number | undefined, code: ErrorCode | undefined): boolean {
  return status !== undefined && status < 400 && (code === undefined || ERRORS[code].status < 500);
}

/**
 * Returns the outcome of a response. A 409 and a disabled switch are the ledger's answer to a correct request. The caller's other
 * errors are not.
 */
function outcomeOf(status: number, code: ErrorCode | undefined): keyof Outcomes {
  if (status < 400) return 'succeeded';
  if (status === 409 || code === 'service_disabled') return 'refused';
  const isCallers = code === undefined ? status < 500 : ERRORS[code].type === 'Request Error';
  return isCallers ? 'invalid' : 'failed';
}

/** Eight buckets for each doubling of the latency, so that results are accurate to five percent. */
const BUCKETS_PER_DOUBLING = 8;

/** The middle of the first bucket. Shorter latencies are not distinguished. */
const SHORTEST_MILLISECONDS = 0.05;

/** The last bucket is at half a minute, longer than any request of an operation takes. */
const BUCKETS = 160;

/** A histogram of latencies. Its buckets become wider as the latency grows. */
export class Latencies {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;

  note(milliseconds: number): void {
    const doublings = Math.log2(Math.max(milliseconds, SHORTEST_MILLISECONDS) / SHORTEST_MILLISECONDS);
    const bucket = Math.min(Math.round(doublings * BUCKETS_PER_DOUBLING), BUCKETS - 1);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
  }

  add(other: Latencies): void {
    if (other.#count === 0) return;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + (other.#counts[bucket] ?? 0);
    }
    this.#count += other.#count;
  }

  /** Sets this histogram to the increase from `known` to `total`, and then sets `known` to `total`. */
  takeIncrease(total: Latencies, known: Latencies): void {
    this.#count = total.#count - known.#count;
    if (this.#count === 0) return;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      // The difference is correct even if a count of the total has overflowed its 32 bits.
      this.#counts[bucket] = (total.#counts[bucket] ?? 0) - (known.#counts[bucket] ?? 0);
    }
    known.#counts.set(total.#counts);
    known.#count = total.#count;
  }

  /** Returns the buckets that are not empty, with their counts, for another process to add. */
  counts(): [bucket: number, count: number][] {
    const found: [number, number][] = [];
    for (const [bucket, count] of this.#counts.entries()) if (count > 0) found.push([bucket, count]);
    return found;
  }

  addCounts(counts: readonly (readonly [bucket: number, count: number])[]): void {
    for (const [bucket, count] of counts) {
      const place = Math.min(Math.max(bucket, 0), BUCKETS - 1);
      this.#counts[place] = (this.#counts[place] ?? 0) + count;
      this.#count += count;
    }
  }

  clear(): void {
    if (this.#count === 0) return;
    this.#counts.fill(0);
    this.#count = 0;
  }

  /** Returns the latency in milliseconds that this share of the requests did not exceed. Null if there were no requests. */
  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    let left = Math.ceil(this.#count * share);
    let bucket = 0;
    for (; bucket < BUCKETS - 1; bucket += 1) {
      left -= this.#counts[bucket] ?? 0;
      if (left <= 0) break;
    }
    const milliseconds = SHORTEST_MILLISECONDS * 2 ** (bucket / BUCKETS_PER_DOUBLING);
    return Number(milliseconds.toPrecision(2));
  }
}
