import { expect, test } from 'vitest';
import { Resources } from '../../bench/resources.ts';
import { ROLLING_RESTART } from '../../verification/campaigns/rolling-restart.ts';

test('a rolling restart of two processes under load answers every request and keeps the books balanced', {
  timeout: 900_000,
}, async () => {
  const resources = new Resources();
  try {
    const setting = { seed: 6, count: 2, resources, progress: () => undefined, main: undefined, inHaste: true };
    const { figures, violations } = await ROLLING_RESTART.run(setting);
    expect(violations).toEqual([]);
    expect(figures).toMatchObject({ restarts: 2, unknown: 0 });
  } finally {
    await resources.endAll(() => undefined);
  }
});
