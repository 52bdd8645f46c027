import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Resources } from '../resources.ts';

const SERVER = fileURLToPath(new URL('bare-route-server.ts', import.meta.url));

export type BareRoute = { readonly url: string; readonly processId: number; readonly stop: () => Promise<void> };

export async function startBareRoute(resources: Resources): Promise<BareRoute> {
  const child = spawn(process.execPath, [SERVER], { stdio: ['pipe', 'pipe', 'inherit'] });
  const stop = resources.add('the bare route', async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { url: line.toString().trim(), processId: child.pid ?? 0, stop };
}
