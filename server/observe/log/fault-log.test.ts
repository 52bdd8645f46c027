import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openFaultLog } from './fault-log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('logs an outage as one line with its causes and then a count each second, and other faults as separate lines', () => {
  const lines: string[] = [];
  const note = openFaultLog({
    error: ({ event, requestId = '', count = '' }, sentence) =>
      void lines.push(`${event} ${requestId}${count}: ${sentence}`),
  });
  for (const requestId of ['a', 'b', 'c']) note({ requestId }, 'lost', true);
  note({ requestId: 'bug' }, 'a bug', false);
  expect(lines).toEqual(['server_error a: lost', 'server_error bug: a bug']);
  vi.advanceTimersByTime(1_000);
  note({ requestId: 'd' }, 'lost', true);
  vi.advanceTimersByTime(1_000);
  const told = 'failed within a second because the database is unavailable; the error log has each';
  expect(lines.slice(2)).toEqual([
    `server_errors 2: 2 more requests ${told}`,
    `server_errors 1: 1 more request ${told}`,
  ]);
  vi.advanceTimersByTime(10_001);
  expect(lines).toHaveLength(4);
  note({ requestId: 'e' }, 'lost', true);
  expect(lines.at(-1)).toBe('server_error e: lost');
});
