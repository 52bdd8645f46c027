import { expect, test } from 'vitest';
import { readConfiguration } from './configuration.ts';

test('what is stored for how long has defaults, and numbers of errors are kept as long as errors', () => {
  const defaults = { attemptRetentionDays: 14, refusedKeyRetentionDays: 30, errorCountRetentionDays: 90 };
  expect(readConfiguration({})).toMatchObject(defaults);
  expect(readConfiguration({ ERROR_RETENTION_DAYS: '7' })).toMatchObject({ errorCountRetentionDays: 7 });
  const own = { ERROR_RETENTION_DAYS: '7', ERROR_COUNT_RETENTION_DAYS: '700' };
  expect(readConfiguration(own)).toMatchObject({ errorRetentionDays: 7, errorCountRetentionDays: 700 });
});

test.each([
  ['REFUSED_KEY_RETENTION_DAYS', '29', '30 to 3650'],
  ['EVENT_RETENTION_DAYS', '30', '31 to 3650'],
  ['WEBHOOK_ATTEMPT_RETENTION_DAYS', '0', '1 to 3650'],
  ['ERROR_COUNT_RETENTION_DAYS', 'all', '1 to 3650'],
])('%s=%s is refused', (name, value, allowed) => {
  expect(() => readConfiguration({ [name]: value })).toThrow(new RegExp(`^${name} is '${value}'.*${allowed}`));
});
