import { readdir, readFile } from 'node:fs/promises';

/** Finds the ids of all descendants. PostgreSQL starts new process groups, so a signal to the group would miss them. */
export async function processesBelow(root: number): Promise<readonly number[]> {
  const children = new Map<number, number[]>();
  for (const entry of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    const status = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => undefined);
    if (status === undefined) continue;
    const parent = Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const found: number[] = [];
  const look = (parent: number): void => {
    for (const child of children.get(parent) ?? []) {
      found.push(child);
      look(child);
    }
  };
  look(root);
  return found;
}

/** Sends SIGKILL to a process and all its descendants. */
export async function killTree(root: number): Promise<void> {
  for (const victim of [root, ...(await processesBelow(root))]) {
    try {
      process.kill(victim, 'SIGKILL');
    } catch {
      // Already ended.
    }
  }
}
