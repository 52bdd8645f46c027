import { afterEach, expect, test, vi } from 'vitest';
import { countDeliveries } from './counts.ts';
import { Metrics } from './registry.ts';

afterEach(() => void vi.useRealTimers());

test('shows no requests in flight once the delivery thread has stopped reporting, for example after a crash', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const metrics = new Metrics();
  const note = countDeliveries(metrics);
  const shown = async () => /^transfer_service_webhook_requests_in_flight (\d+)$/m.exec(await metrics.render())?.[1];
  expect(await shown()).toBe('0');
  vi.advanceTimersByTime(60_000);
  note({ succeeded: 1, failed: 0, timedOut: 0, inFlight: 7 });
  vi.advanceTimersByTime(20_000);
  expect(await shown()).toBe('7');
  vi.advanceTimersByTime(11_000);
  expect(await shown()).toBe('0');
  note({ succeeded: 0, failed: 0, timedOut: 0, inFlight: 2 });
  expect(await shown()).toBe('2');
});
