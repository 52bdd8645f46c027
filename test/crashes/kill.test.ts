import { expect, test } from 'vitest';
import { Resources } from '../../bench/resources.ts';
import { run } from '../../verification/campaigns/kills.ts';
import { isThorough } from '../harness/run/ring.ts';

/**
 * With two kills and this seed, the first kill hits the service that owns PostgreSQL, and the second one kills
 * PostgreSQL.
 */
const [count, seed] = isThorough ? [20, 1 + Math.floor(Math.random() * 999_999_999)] : [2, 2];

test(`${count} kills of services and PostgreSQL lose no transfer, duplicate none and change no response`, {
  timeout: 900_000,
}, async () => {
  const resources = new Resources();
  try {
    const setting = { seed, count, resources, progress: () => undefined, main: undefined, isQuick: true };
    const { figures, violations } = await run(setting);
    console.log(`seed ${seed}: ${JSON.stringify(figures)}`);
    expect(violations).toEqual([]);
    // Without lost responses, replays, refusals and reversals, the run would prove too little.
    for (const proof of ['unanswered', 'replayed', 'refused_409', 'reversals']) {
      expect(figures[proof], proof).toBeGreaterThan(0);
    }
  } finally {
    await resources.endAll(console.log);
  }
});
