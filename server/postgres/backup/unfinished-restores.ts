import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { endServerOf } from '../processes.ts';

const TEMPORARY = /^postgresql\.restore-[0-9a-f]{12}$/;

/** What a restore that was killed left: its server still runs. The caller holds the lock of `home`. */
export async function removeUnfinishedRestores(home: string, onProgress: (line: string) => void): Promise<void> {
  for (const name of await readdir(home)) {
    if (!TEMPORARY.test(name)) continue;
    const path = join(home, name);
    await endServerOf(path, onProgress);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
}
