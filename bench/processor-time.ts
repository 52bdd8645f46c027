import { readdirSync, readFileSync } from 'node:fs';

/** Linux reports the CPU time of processes in hundredths of a second, independent of the kernel's tick. */
const MILLISECONDS_PER_TICK = 10;

/** CPU time of a process and of its ended children. NaN without /proc, or if the process has ended. */
export function processorTimeMilliseconds(processId: number): number {
  const fields = readStatus(processId);
  return fields === undefined ? Number.NaN : (fields.own + fields.ofChildren) * MILLISECONDS_PER_TICK;
}

/** CPU time of a process and of all its children, running and ended. */
export function familyProcessorTimeMilliseconds(processId: number): number {
  // A child that ends between the two readings would be missing from both. So the readings are repeated until no child ends
  // between them.
  for (;;) {
    const before = readStatus(processId);
    const running = runningChildrenTicks(processId);
    const after = readStatus(processId);
    if (before === undefined || after === undefined) return Number.NaN;
    if (before.ofChildren === after.ofChildren) {
      return (after.own + after.ofChildren + running) * MILLISECONDS_PER_TICK;
    }
  }
}

function runningChildrenTicks(processId: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    const fields = /^[0-9]+$/.test(name) ? readStatus(Number(name)) : undefined;
    if (fields?.parent === processId) ticks += fields.own;
  }
  return ticks;
}

export function residentBytes(processId: number): number {
  const kilobytes = /^VmRSS:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

/** CPU time of the threads of a process by name, in milliseconds. Threads with the same name are added up. */
export type ThreadTimes = ReadonlyMap<string, number>;

/** Reads the CPU time of each thread. The main thread is called `main`. */
export function readThreadTimes(processId: number): ThreadTimes {
  const times = new Map<string, number>();
  for (const id of readdirSync(`/proc/${processId}/task`)) {
    const fields = readStatus(processId, `/task/${id}`);
    if (fields === undefined) continue;
    const name = id === `${processId}` ? 'main' : fields.name;
    times.set(name, (times.get(name) ?? 0) + fields.own * MILLISECONDS_PER_TICK);
  }
  return times;
}

type Status = { readonly name: string; readonly parent: number; readonly own: number; readonly ofChildren: number };

function readStatus(processId: number, thread = ''): Status | undefined {
  try {
    const text = readFileSync(`/proc/${processId}${thread}/stat`, 'utf8');
    // The name may contain anything. After its closing bracket come the state, the parent and so on.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15);
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'));
    return { name, parent, own: user + system, ofChildren: childrenUser + childrenSystem };
  } catch {
    return undefined;
  }
}
