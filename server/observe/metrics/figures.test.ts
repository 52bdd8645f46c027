import { afterEach, expect, test, vi } from 'vitest';
import { showFigures, showSupport } from './figures.ts';
import { Metrics } from './registry.ts';

afterEach(() => void vi.useRealTimers());

test('shows no support figures before the first reading, or when they are old', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const metrics = new Metrics();
  const show = showSupport(metrics);
  const shown = async () => (await metrics.render()).split('\n').filter((line) => /^[a-z].* \d/.test(line));
  expect(await shown()).toEqual([]);
  vi.advanceTimersByTime(100_000);
  const none = { firstResponseSeconds: null, slowFirstResponseSeconds: null };
  const openCases = [
    { urgency: 0, count: 2, unansweredSeconds: null },
    { urgency: 3, count: 1, unansweredSeconds: 70 },
  ];
  show({ ...none, openCases, incidentUpdateSeconds: null, resolutionSeconds: null, slowResolutionSeconds: null });
  const lines = await shown();
  expect(lines).toContain('transfer_service_cases_open{urgency="urgent",severity="critical"} 2');
  expect(lines).toContain('transfer_service_case_oldest_unanswered_seconds{urgency="urgent"} 70');
  expect(lines).toContain('transfer_service_incident_oldest_update_seconds 0');
  expect(lines).toHaveLength(16 + 4 + 1);
  vi.advanceTimersByTime(61_000);
  expect(await shown()).toEqual([]);
});

test('shows how many days do not add up, and how many last days were not checked', async () => {
  const metrics = new Metrics();
  const { onFigures } = showFigures(metrics, {}, []);
  const days = (count: number) => ({ count, named: [] });
  onFigures('days', { programs: 12, checked: 9, differing: days(2), late: days(0), earlier: days(4) });
  const page = await metrics.render();
  expect(page).toMatch(/^transfer_service_days_not_adding_up 6$/m);
  expect(page).toMatch(/^transfer_service_days_unchecked 3$/m);
});
