import { ERRORS } from '../../../contract/errors/catalogue.ts';
import type { Operation } from '../../../contract/operation.ts';
import {
  type ErrorCode,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  precedenceOf,
} from '../../../contract/operations.ts';
import { SHARED_CODES } from '../../../domain/error-codes.ts';
import type { ResponseEntry } from '../../http/response-entry.ts';
import type { Count, Distribution, Metrics } from './registry.ts';

// Invariant: A page of metrics has fewer than 2,500 series, and a scrape waits for no database
// Kept by: labels from closed sets; one job reads the figures (`server/background/jobs/read-figures.ts`)
// Tested by: `server/observe/metrics/series.test.ts`, `test/metrics/metrics.test.ts`

/**
 * What a request is for: promises about latency and money are about some of these. Guesses, such as /favicon.ico, are
 * `stray`; `none` is what is no request, and errors of pages.
 */
export const REQUEST_KINDS = ['money', 'change', 'read', 'live', 'export', 'page', 'health', 'stray', 'none'] as const;

/** One of {@link REQUEST_KINDS}. */
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** Seconds; 0.5 is the bound of the promise about latency. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const KINDS_WITHOUT_OPERATION = ['page', 'health', 'stray', 'none'] as const;
type KindWithoutOperation = (typeof KINDS_WITHOUT_OPERATION)[number];

/** The label of what belongs to no operation. */
const NO_OPERATION = 'none';

/** The label of a success, which has no error code. */
const NO_CODE = 'ok';

/** The label of a request whose caller disconnected before there was a response. */
const DISCONNECTED = 'disconnected';

/** What an operation cannot respond with according to its definition, such as a code that a sandbox was asked for. */
const OTHER_CODE = 'other';

/** What is counted of a response. */
export type CountedResponse = Pick<
  ResponseEntry,
  'operation' | 'path' | 'status' | 'code' | 'isStray' | 'milliseconds' | 'moneyMoved'
>;

/** The kind of an operation's requests. */
export function kindOf(id: OperationId): RequestKind {
  const { movesMoney, csv, stream, method }: Operation = OPERATIONS[id];
  if (movesMoney) return 'money';
  if (csv) return 'export';
  // Whoever waits for events has a slow response by intention.
  if (stream !== undefined) return 'live';
  return method === 'GET' ? 'read' : 'change';
}

/** Counts responses: their status follows from the code, so it makes no more series. */
export function countRequests(metrics: Metrics): (entry: CountedResponse) => void {
  const requests = metrics.counter({
    name: 'requests_total',
    help: 'Responses, by operation, kind of operation, error code (ok for a success) and HTTP status.',
    labels: ['operation', 'kind', 'code', 'status'],
  });
  const seconds = metrics.histogram(
    { name: 'request_seconds', help: 'Time from the head of a request to its response, by kind.', labels: ['kind'] },
    BUCKETS,
  );
  const unknown = metrics.counter({
    name: 'money_unknown_total',
    help: 'Responses that could not say whether money moved (Money-Moved: unknown).',
  })();
  unknown.inc(0);
  const durations = Object.fromEntries(REQUEST_KINDS.map((kind) => [kind, seconds(kind)])) as Record<
    RequestKind,
    Distribution
  >;
  const operations = Object.fromEntries(
    OPERATION_IDS.map((id) => [id, new Responses(requests, id, kindOf(id), codesOf(id))]),
  ) as Record<OperationId, Responses>;
  // A rate sees nothing of the first response of a series, unless the series was there before it.
  for (const id of OPERATION_IDS) {
    operations[id].find(OPERATIONS[id].status, undefined).inc(0);
    for (const code of [`unknown_${id}`, 'service_unavailable'] as const) {
      operations[id].find(ERRORS[code].status, code).inc(0);
    }
  }
  const others = Object.fromEntries(
    KINDS_WITHOUT_OPERATION.map((kind) => [kind, new Responses(requests, NO_OPERATION, kind, CODES_WITHOUT_OPERATION)]),
  ) as Record<KindWithoutOperation, Responses>;
  return (entry) => {
    const { operation, status, code, milliseconds, moneyMoved } = entry;
    const responses = operation === undefined ? others[kindOfPath(entry)] : operations[operation];
    responses.find(status, code).inc();
    durations[responses.kind].observe(milliseconds / 1000);
    if (moneyMoved === 'unknown') unknown.inc();
  };
}

/** What a response is for that belongs to no operation. Only routes have a path; what is not found has none. */
function kindOfPath({ path, code, isStray }: CountedResponse): KindWithoutOperation {
  if (isStray) return 'stray';
  if (path?.startsWith('/health/') === true) return 'health';
  return code === undefined ? 'page' : 'none';
}

/** The counters of one operation, each bound when a response first has its code and status. */
class Responses {
  readonly kind: RequestKind;
  readonly #bind: (...values: readonly string[]) => Count;
  readonly #operation: string;
  /** The codes that get a series of their own. */
  readonly #codes: ReadonlySet<ErrorCode>;
  readonly #successes = new Map<number | undefined, Count>();
  readonly #errors = new Map<ErrorCode, Count>();
  /** Of exports that were cut off, and batches with refused rows: their status is that of a success. */
  readonly #partial = new Map<ErrorCode, Count>();

  constructor(
    bind: (...values: readonly string[]) => Count,
    operation: string,
    kind: RequestKind,
    codes: readonly ErrorCode[],
  ) {
    this.#bind = bind;
    this.#operation = operation;
    this.kind = kind;
    this.#codes = new Set(codes);
  }

  find(status: number | undefined, code: ErrorCode | undefined): Count {
    if (code === undefined) return this.#successes.get(status) ?? this.#bindSuccess(status);
    const counts = status !== undefined && status < 400 ? this.#partial : this.#errors;
    return counts.get(code) ?? this.#bindError(counts, status, code);
  }

  #bindSuccess(status: number | undefined): Count {
    const count = this.#count(status === undefined ? DISCONNECTED : NO_CODE, status);
    this.#successes.set(status, count);
    return count;
  }

  #bindError(counts: Map<ErrorCode, Count>, status: number | undefined, code: ErrorCode): Count {
    const count = this.#count(this.#codes.has(code) ? code : OTHER_CODE, status);
    counts.set(code, count);
    return count;
  }

  #count(code: string, status: number | undefined): Count {
    return this.#bind(this.#operation, this.kind, code, status === undefined ? 'none' : String(status));
  }
}

/** The error codes of an operation; those of a batch are also those of its rows. */
export function codesOf(id: OperationId): readonly ErrorCode[] {
  return id === 'create_transfer_batch' ? [...precedenceOf(id), ...precedenceOf('create_transfer')] : precedenceOf(id);
}

/** The codes of what belongs to no operation: faults of HTTP itself. */
export const CODES_WITHOUT_OPERATION: readonly ErrorCode[] = SHARED_CODES.filter((code) =>
  OPERATION_IDS.every((id) => !OPERATIONS[id].errors.some((own) => own === code)),
);
