import { readFile } from 'node:fs/promises';
import { embeddedServerOf, type ServiceProcess, waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';

/**
 * Kills PostgreSQL: its main process alone, whose others finish what they do and go, or all of them in the middle of
 * whatever it is.
 */
export async function killPostgres(path: string, all: boolean): Promise<number> {
  const { processId } = await embeddedServerOf(path);
  await killServer(processId, all);
  return processId;
}

/** The same, by its main process. */
export async function killServer(processId: number, all: boolean): Promise<void> {
  const children = all ? await readFile(`/proc/${processId}/task/${processId}/children`, 'utf8').catch(() => '') : '';
  for (const victim of [processId, ...children.split(' ').filter(Boolean).map(Number)]) {
    try {
      process.kill(victim, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}

/** Kills PostgreSQL under the living service, and gives the time until it is back, in milliseconds. */
export async function replaceDatabase(service: ServiceProcess, path: string, all: boolean): Promise<number> {
  const killedAt = performance.now();
  const killed = await killPostgres(path, all);
  const isBack = async () => {
    const ready = await sendRaw(service.url, { method: 'GET', path: '/health/ready' });
    const server = await embeddedServerOf(path).catch(() => undefined);
    return ready.status === 200 && server !== undefined && server.processId !== killed;
  };
  await waitFor('the service has its database back', isBack);
  return performance.now() - killedAt;
}
