import { afterEach, expect, test, vi } from 'vitest';
import { BREAK_KINDS } from '../../../domain/processors/break.ts';
import type { ConnectorStatus } from '../../calls/processors.ts';
import { countCalls, showConnectors, showProcessors } from './processors.ts';
import { Metrics } from './registry.ts';

afterEach(() => void vi.useRealTimers());

const linesOf = async (metrics: Metrics) =>
  (await metrics.render()).split('\n').filter((line) => /^transfer_service_.* \d/.test(line));

test('shows attempts by connector and status, unless the figures are old', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const metrics = new Metrics();
  const show = showProcessors(metrics, ['increase', 'simulator']);
  expect(await linesOf(metrics)).toEqual([]);
  vi.advanceTimersByTime(100_000);
  show({
    openAttempts: [
      { connectorId: 'increase', status: 'unknown', count: 2, unknownSeconds: 70 },
      { connectorId: 'increase', status: 'attention', count: 1, unknownSeconds: 90_000 },
      { connectorId: 'increase', status: 'ready', count: 4, unknownSeconds: null },
    ],
    openBreaks: [{ kind: 'late_approval', count: 3, oldestSeconds: 172_900 }],
  });
  const lines = await linesOf(metrics);
  expect(lines).toContain('transfer_service_processor_attempts_open{connector="increase",status="unknown"} 2');
  expect(lines).toContain('transfer_service_processor_oldest_unknown_seconds{connector="increase"} 90000');
  // No attempt waits for this connector. It still shows 0, because a gap in a graph would look like a failure.
  expect(lines).toContain('transfer_service_processor_attempts_open{connector="simulator",status="attention"} 0');
  expect(lines).toContain('transfer_service_processor_oldest_unknown_seconds{connector="simulator"} 0');
  expect(lines).toContain('transfer_service_processor_breaks_open{kind="late_approval"} 3');
  expect(lines).toContain('transfer_service_processor_breaks_open{kind="contradiction"} 0');
  expect(lines).toContain('transfer_service_processor_oldest_break_seconds{kind="late_approval"} 172900');
  expect(lines).toContain('transfer_service_processor_oldest_break_seconds{kind="contradiction"} 0');
  expect(lines).toHaveLength(2 * 7 + 2 * BREAK_KINDS.length);
  vi.advanceTimersByTime(61_000);
  expect(await linesOf(metrics)).toEqual([]);
});

test('counts attempts of unknown connectors together', async () => {
  const metrics = new Metrics();
  const show = showProcessors(metrics, ['simulator']);
  const openAttempts = (['one', 'two'] as const).map((connectorId) => ({
    connectorId,
    status: 'attention' as const,
    count: 1,
    unknownSeconds: 5,
  }));
  show({ openAttempts, openBreaks: [] });
  const other = 'transfer_service_processor_attempts_open{connector="other",status="attention"} 2';
  expect(await linesOf(metrics)).toContain(other);
  show({ openAttempts: [], openBreaks: [] });
  expect((await linesOf(metrics)).filter((line) => line.includes('other'))).toEqual([]);
});

test('shows whether a connector is up', async () => {
  const metrics = new Metrics();
  let status: ConnectorStatus = { connectorId: 'increase', state: 'up', since: null, reason: null, inFlight: 3 };
  showConnectors(metrics, { statuses: () => [status] });
  expect(await linesOf(metrics)).toEqual([
    'transfer_service_connector_up{connector="increase"} 1',
    'transfer_service_connector_calls_in_flight{connector="increase"} 3',
  ]);
  status = { ...status, state: 'down', reason: 'It does not answer.', inFlight: 0 };
  expect(await linesOf(metrics)).toContain('transfer_service_connector_up{connector="increase"} 0');
});

test('counts calls from 0, by result', async () => {
  const metrics = new Metrics();
  const calls = countCalls(metrics);
  calls.begin('increase');
  const before = await linesOf(metrics);
  expect(before).toContain('transfer_service_connector_calls_total{connector="increase",outcome="unknown"} 0');
  calls.note({ connectorId: 'increase', answer: { outcome: 'unknown' }, milliseconds: 10_000 });
  calls.note({ connectorId: 'increase', answer: { outcome: 'approved' }, milliseconds: 20 });
  const lines = await linesOf(metrics);
  expect(lines).toContain('transfer_service_connector_calls_total{connector="increase",outcome="unknown"} 1');
  expect(lines).toContain('transfer_service_connector_call_seconds_bucket{le="0.05",connector="increase"} 1');
  expect(lines).toContain('transfer_service_connector_call_seconds_count{connector="increase"} 2');
});
