import {
  type ErrorCode,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  precedenceOf,
} from '../../../contract/operations.ts';
import { SHARED_CODES } from '../../../domain/error-codes.ts';
import { type ResponseCounter, type Series, TIME_BOUNDS } from '../../calls/responses/response-counter.ts';
import { follow } from './parts.ts';
import type { Metrics } from './registry.ts';

// Invariant: A metrics page has fewer than 3,300 series, and a scrape does not wait for the database
// Kept by: labels from closed sets; one job reads the figures (`server/background/jobs/read-figures.ts`)
// Tested by: `server/observe/metrics/series.test.ts`, `test/metrics/metrics.test.ts`

const NO_OPERATION = 'none';

/** The label of a success, which has no error code. */
const NO_CODE = 'ok';

const DISCONNECTED = 'disconnected';

/** The label of codes that the operation does not define, such as a code requested from a sandbox. */
const OTHER_CODE = 'other';

/** Shows the responses. The status is determined by the code, so it adds no series. */
export function showRequests(metrics: Metrics, responses: ResponseCounter): void {
  const requests = metrics.counter({
    name: 'requests_total',
    help: 'Responses by operation, kind of operation, error code (ok for a success) and HTTP status.',
    labels: ['operation', 'kind', 'code', 'status'],
  });
  metrics.shownHistogram(
    { name: 'request_seconds', help: 'Time from the head of a request to its response, by kind.', labels: ['kind'] },
    TIME_BOUNDS,
    () => [...responses.times].map(([kind, times]) => ({ labels: { kind }, ...times })),
  );
  const unknown = follow(
    metrics.counter({
      name: 'money_unknown_total',
      help: 'Failed requests with Money-Moved: unknown, because the service could not tell whether money moved.',
    })(),
  );
  const codes = new Map<OperationId | undefined, ReadonlySet<ErrorCode>>([
    [undefined, new Set(CODES_WITHOUT_OPERATION)],
    ...OPERATION_IDS.map((id) => [id, new Set(codesOf(id))] as const),
  ]);
  const codeOf = ({ operation, code, status }: Series): string => {
    if (code === undefined) return status === undefined ? DISCONNECTED : NO_CODE;
    return codes.get(operation)?.has(code) ? code : OTHER_CODE;
  };
  const shown: ((total: number) => void)[] = [];
  metrics.beforePage(() => {
    for (const [place, series] of responses.series.entries()) {
      const { operation = NO_OPERATION, kind, status, count } = series;
      shown[place] ??= follow(
        requests(operation, kind, codeOf(series), status === undefined ? 'none' : String(status)),
      );
      shown[place](count);
    }
    unknown(responses.moneyUnknown);
  });
}

/** Returns the error codes of an operation. For a batch, they include the codes of its rows. */
export function codesOf(id: OperationId): readonly ErrorCode[] {
  return id === 'create_transfer_batch' ? [...precedenceOf(id), ...precedenceOf('create_transfer')] : precedenceOf(id);
}

/** The codes of requests without an operation: HTTP faults. */
export const CODES_WITHOUT_OPERATION: readonly ErrorCode[] = SHARED_CODES.filter((code) =>
  OPERATION_IDS.every((id) => !OPERATIONS[id].errors.some((own) => own === code)),
);
