import { expect, test } from 'vitest';
import { ERRORS } from '../../../contract/errors/catalogue.ts';
import { OPERATION_IDS, OPERATIONS } from '../../../contract/operations.ts';
import { READINESS_REASONS } from '../../../domain/service-status.ts';
import { type CountedResponse, REQUEST_KINDS, ResponseCounter } from '../../calls/responses/response-counter.ts';
import { DROP_REASONS } from '../../store/error.ts';
import {
  CODES_WITHOUT_OPERATION,
  codesOf,
  countCommits,
  countDeliveries,
  countJobFailures,
  showRequests,
} from './counts.ts';
import { showFigures } from './figures.ts';
import { showBackups, showConnections, showErrorLog, showLane, showProcess, showReadiness } from './parts.ts';
import { countCalls, showConnectors } from './processors.ts';
import { Metrics } from './registry.ts';

// Labels come from closed sets, so their number is limited. This matters because Prometheus keeps every series in memory.

const entry = {
  path: undefined,
  milliseconds: 1,
  moneyMoved: undefined,
  operation: undefined,
  code: undefined,
  isStray: false,
} as const;

function countRequests(metrics: Metrics): (entry: CountedResponse) => void {
  const responses = new ResponseCounter();
  showRequests(metrics, responses);
  return responses.note;
}

function fillRequests(metrics: Metrics): void {
  const count = countRequests(metrics);
  for (const operation of OPERATION_IDS) {
    count({ ...entry, operation, status: OPERATIONS[operation].status });
    count({ ...entry, operation, status: undefined });
    for (const code of codesOf(operation)) count({ ...entry, operation, code, status: ERRORS[code].status });
    // An export that was cut off has the status 200 and a code. Some codes are not defined for their operation.
    count({ ...entry, operation, code: `unknown_${operation}`, status: 200 });
    count({ ...entry, operation, code: 'card_not_found', status: 404 });
  }
  // A batch with refused rows has the status 200 and the code of one row.
  for (const code of codesOf('create_transfer_batch')) {
    count({ ...entry, operation: 'create_transfer_batch', code, status: 200 });
  }
  for (const path of ['/health/ready', '/errors', undefined]) {
    for (const code of CODES_WITHOUT_OPERATION) count({ ...entry, path, code, status: ERRORS[code].status });
    count({ ...entry, path, code: 'route_not_found', status: 404, isStray: true });
    for (const status of [200, 304, 404, 503, undefined]) count({ ...entry, path, status });
  }
}

/** Fills the page with every possible series. */
function fill(metrics: Metrics, connectorIds: readonly string[] = []): void {
  fillRequests(metrics);
  countDeliveries(metrics)({ succeeded: 1, failed: 1, timedOut: 1, inFlight: 1 });
  countJobFailures(metrics)('books');
  const { onGroup, onSettled } = countCommits(metrics);
  onGroup('chained', 1, 1);
  onGroup('locking', 1, 1);
  onSettled('unknown');
  showLane(metrics, { waiting: 1, submit: () => Promise.reject(new Error('none')) });
  const pools = (['application', 'background', 'authentication'] as const).flatMap((role) =>
    (['readers', 'writers'] as const).map((kind) => ({ role, kind, lent: 1, open: 1, waiting: 1, max: 1, idle: 0 })),
  );
  const health = { losses: 1 } as ReturnType<Parameters<typeof showConnections>[1]['health']>;
  showConnections(metrics, {
    pools: () => pools,
    health: () => health,
    host: () => ({ name: 'db1:5432', since: new Date() }),
  });
  showErrorLog(metrics, { figures: () => ({ queued: 1, spoolBytes: 1, dropped: new Map([[DROP_REASONS[0], 1]]) }) }, 1);
  showReadiness(metrics, { latest: () => ({ reason: READINESS_REASONS[0] ?? 'ready', since: new Date() }) });
  const lastCopyAt = new Date();
  showBackups(metrics, () => ({ lastCopyAt, coveredUntil: lastCopyAt, failures: 1, isCopying: true }));
  showProcess(metrics, { version: '1.0.0', mode: 'live' }).stop();
  const calls = countCalls(metrics);
  for (const connectorId of connectorIds) calls.begin(connectorId);
  const statuses = connectorIds.map((connectorId) => ({
    connectorId,
    state: 'up',
    since: 1,
    reason: null,
    inFlight: 1,
  }));
  showConnectors(metrics, { statuses: () => statuses as ReturnType<Parameters<typeof showConnectors>[1]['statuses']> });
  const { onFigures } = showFigures(metrics, { data: '/', backup: '/' }, connectorIds);
  onFigures('processors', {
    openAttempts: [{ connectorId: 'removed', status: 'unknown', count: 1, unknownSeconds: 1 }],
    openBreaks: [],
  });
  onFigures('support', {
    openCases: [{ urgency: 0, count: 1, unansweredSeconds: 1 }],
    incidentUpdateSeconds: 1,
    firstResponseSeconds: 1,
    slowFirstResponseSeconds: 1,
    resolutionSeconds: 1,
    slowResolutionSeconds: 1,
  });
  onFigures('ledger', {
    relayLagSeconds: 1,
    dueLateSeconds: 1,
    serviceDisabled: 1,
    programsDisabled: 1,
    disabledInPrograms: { programs: [{ name: 'one', types: ['load'] }], types: ['load'] },
    disabledAtConnectors: [{ connectorId: 'increase', types: [null], inEveryProgram: true, settings: 2, only: null }],
    fundingWatched: 1,
    fundingLow: 1,
    hostKeys: 1,
    approvalPendingSeconds: 1,
    booksVerifiedAt: 1,
    booksVerificationSeconds: 1,
    booksBalanced: true,
  });
  const days = { count: 1, named: [{ programId: '', name: 'one', day: '2030-01-30' }] };
  onFigures('days', { programs: 3, checked: 2, differing: days, late: days, earlier: days });
}

async function seriesWith(connectorIds: readonly string[]): Promise<readonly string[]> {
  const metrics = new Metrics();
  fill(metrics, connectorIds);
  const lines = (await metrics.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => line.slice(0, line.lastIndexOf(' ')));
}

test('the page has fewer than 3,600 series in the worst case, plus 30 for each connector', async () => {
  const series = await seriesWith([]);
  expect(series.length).toBeLessThan(3_600);
  expect(new Set(series).size).toBe(series.length);
  expect((await seriesWith(['one', 'two'])).length).toBeLessThanOrEqual(series.length + 2 * 30);
});

test('counts all undefined codes of an operation in one series', async () => {
  const metrics = new Metrics();
  const count = countRequests(metrics);
  for (const code of ['card_not_found', 'limit_exceeded', 'insufficient_funds'] as const) {
    count({ ...entry, operation: 'get_switch', code, status: 409 });
  }
  const text = await metrics.render();
  expect(text).toContain(
    'transfer_service_requests_total{operation="get_switch",kind="read",code="other",status="409"} 3',
  );
  expect(text).not.toContain('operation="get_switch",kind="read",code="card_not_found"');
});

test('counts responses that cannot say whether money moved', async () => {
  const metrics = new Metrics();
  const count = countRequests(metrics);
  const create = { ...entry, operation: 'create_transfer', code: 'unknown_create_transfer', status: 500 } as const;
  for (const moneyMoved of ['no', 'yes', 'unknown', undefined] as const) count({ ...create, moneyMoved });
  // A transfer that waits for a processor: once alone, and once in a batch with a refused row.
  const waits = { ...entry, moneyMoved: 'unknown' } as const;
  count({ ...waits, operation: 'create_transfer', status: 201 });
  count({ ...waits, operation: 'create_transfer_batch', code: 'card_not_found', status: 200 });
  const text = await metrics.render();
  expect(text).toMatch(/^transfer_service_money_unknown_total 1$/m);
  expect(text).toContain('code="unknown_create_transfer",status="500"} 4');
});

test('counts a request that its caller aborted', async () => {
  const metrics = new Metrics();
  countRequests(metrics)({ ...entry, operation: 'get_card', status: undefined });
  expect(await metrics.render()).toContain('operation="get_card",kind="read",code="disconnected",status="none"} 1');
});

test('measures every kind of request', async () => {
  const metrics = new Metrics();
  const count = countRequests(metrics);
  for (const operation of OPERATION_IDS) count({ ...entry, operation, status: 200 });
  for (const path of ['/health/live', '/docs']) count({ ...entry, path, status: 200 });
  count({ ...entry, code: 'route_not_found', status: 404 });
  count({ ...entry, code: 'route_not_found', status: 404, isStray: true });
  const text = await metrics.render();
  const counts = [...text.matchAll(/request_seconds_count\{kind="(\w+)"\} (\d+)/g)].map(([, kind, n]) => [
    kind,
    Number(n),
  ]);
  expect(counts.map(([kind]) => kind).sort()).toEqual([...REQUEST_KINDS].sort());
  expect(counts.reduce((sum, [, n]) => sum + Number(n), 0)).toBe(OPERATION_IDS.length + 4);
});
