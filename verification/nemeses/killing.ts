import { readFile } from 'node:fs/promises';
import { embeddedServerOf, type ServiceProcess, waitFor } from '../../test/harness/process.ts';
import { sendRaw } from '../../test/harness/raw-request.ts';

/**
 * Kills PostgreSQL, and returns the id of its main process. If only the main process is killed, the others finish their
 * current work and exit. With `all`, every process is killed.
 */
export async function killPostgres(path: string, all: boolean): Promise<number> {
  const { processId } = await embeddedServerOf(path);
  await killServer(processId, all);
  return processId;
}

/** Kills the PostgreSQL server with this main process. */
export async function killServer(processId: number, all: boolean): Promise<void> {
  const children = all ? await readFile(`/proc/${processId}/task/${processId}/children`, 'utf8').catch(() => '') : '';
  for (const victim of [processId, ...children.split(' ').filter(Boolean).map(Number)]) {
    try {
      process.kill(victim, 'SIGKILL');
    } catch {
      // It has already exited.
    }
  }
}

/** Kills PostgreSQL while the service runs. Returns the time until it is back, in milliseconds. */
export async function replaceDatabase(service: ServiceProcess, path: string, all: boolean): Promise<number> {
  const killedAt = performance.now();
  const killed = await killPostgres(path, all);
  const isBack = async () => {
    const ready = await sendRaw(service.url, { method: 'GET', path: '/health/ready' });
    const server = await embeddedServerOf(path).catch(() => undefined);
    return ready.status === 200 && server !== undefined && server.processId !== killed;
  };
  await waitFor('the database of the service is back', isBack);
  return performance.now() - killedAt;
}
