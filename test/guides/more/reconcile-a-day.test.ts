import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll } from 'vitest';
import { followGuide } from '../guide-trial.ts';

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

// All steps of the guide must run on the same date. The guide closes the previous day, which must have ended at least a
// minute ago.
beforeAll(async () => {
  const sinceMidnight = Date.now() % DAY;
  const isSafe = sinceMidnight > MINUTE && sinceMidnight < DAY - 4 * MINUTE;
  if (!isSafe) await sleep((DAY + MINUTE - sinceMidnight) % DAY);
}, 6 * MINUTE);

followGuide('reconcile-a-day');
