import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DatabaseServer } from '../ledger/server.ts';
import type { Stage } from '../stage.ts';

const PROXY = fileURLToPath(new URL('distance-proxy.ts', import.meta.url));

type DistantServer = { readonly server: DatabaseServer; readonly stop: () => Promise<void> };

/** Puts a distance between PostgreSQL and its clients: the time of a round trip. The bench's own queries do not cross it. */
export async function startDistantServer({ resources, server }: Stage, milliseconds: number): Promise<DistantServer> {
  const path = `${server.host}/.s.PGSQL.${server.port}`;
  const child = spawn(process.execPath, [PROXY, path, `${milliseconds}`], { stdio: ['pipe', 'pipe', 'inherit'] });
  const stop = resources.add('the distance', async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { server: { ...server, host: '127.0.0.1', port: Number(line.toString()) }, stop };
}
