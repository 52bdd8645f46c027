import { readdir, readFile } from 'node:fs/promises';
import { embeddedServerOf, type ServiceProcess, waitFor } from '../../test/harness/process.ts';
import { sendRaw } from '../../test/harness/raw-request.ts';

/** Sends a signal to a process, if it is still running. */
export function signal(processId: number, name: NodeJS.Signals): void {
  try {
    process.kill(processId, name);
  } catch {
    // The process has already ended.
  }
}

/** Finds the ids of all descendants. PostgreSQL starts new process groups, so a signal to the group would miss them. */
async function processesBelow(root: number): Promise<readonly number[]> {
  const children = new Map<number, number[]>();
  for (const entry of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    const status = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => undefined);
    if (status === undefined) continue;
    const parent = Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const below = (parent: number): readonly number[] =>
    (children.get(parent) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(root);
}

/** Suspends a process and all its descendants. Returns the ids of all of them. */
export async function suspendTree(root: number): Promise<readonly number[]> {
  // A suspended process starts no others in the meantime.
  signal(root, 'SIGSTOP');
  const all = [root, ...(await processesBelow(root))];
  for (const processId of all) signal(processId, 'SIGSTOP');
  return all;
}

export async function resumeTree(root: number): Promise<void> {
  for (const processId of [...(await processesBelow(root)), root]) signal(processId, 'SIGCONT');
}

/** Sends SIGKILL to a process and all its descendants, like a power loss. Returns the ids of all of them. */
export async function killTree(root: number): Promise<readonly number[]> {
  const all = await suspendTree(root);
  for (const processId of all) signal(processId, 'SIGKILL');
  return all;
}

/**
 * Kills the PostgreSQL server with this main process. If only the main process is killed, the others finish their current work
 * and exit. With `all`, every process is killed.
 */
export async function killServer(processId: number, all: boolean): Promise<void> {
  if (all) await killTree(processId);
  else signal(processId, 'SIGKILL');
}

/** Kills the PostgreSQL of a data directory, as {@link killServer} does. Returns the id of its main process. */
export async function killPostgres(path: string, all: boolean): Promise<number> {
  const { processId } = await embeddedServerOf(path);
  await killServer(processId, all);
  return processId;
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
  await waitFor('the database of the service', isBack);
  return performance.now() - killedAt;
}
