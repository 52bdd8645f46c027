import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ServiceProcess } from '../../harness/process.ts';
import { directoryForTest, startForTest } from '../../harness/service.ts';

const startWith = async (delay: string): Promise<ServiceProcess> =>
  startForTest({ DATA_DIR: await directoryForTest(), OVERLOAD_DELAY_MILLISECONDS: delay });

/** Returns the status of a request after the process was stopped for half a second. */
async function statusAfterStall({ child, url }: ServiceProcess): Promise<number> {
  child.kill('SIGSTOP');
  await pause(500);
  child.kill('SIGCONT');
  // The service measures the delay ten times a second once the process continues.
  await pause(200);
  const response = await fetch(`${url}/api/v0.1/core/card/card_active`);
  await response.text();
  return response.status;
}

test('requests are refused when the event loop is late by more than the setting', async () => {
  const service = await startWith('1');
  await expect.poll(() => statusAfterStall(service)).toBe(503);
});

test('requests are never refused with a setting of 0', async () => {
  const service = await startWith('0');
  for (let times = 0; times < 5; times += 1) expect(await statusAfterStall(service)).toBe(200);
});
