import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Resources } from '../../../bench/resources.ts';
import { isRunning, waitFor } from '../../harness/process.ts';

const execute = promisify(execFile);

const ip = async (...words: readonly string[]): Promise<string> => (await execute('ip', [...words])).stdout;

/** Why no machines can be made here; undefined if they can. */
export async function lackOfNamespaces(): Promise<string | undefined> {
  const name = `probe-${process.pid}`;
  try {
    await ip('netns', 'add', name);
    await ip('netns', 'del', name);
    return undefined;
  } catch (error) {
    const [reason = ''] = String(Reflect.get(error as object, 'stderr') ?? error).split('\n');
    return `it needs network namespaces, which only root may make: ${reason}`;
  }
}

/** A directory of a machine that programs on it see at its usual path. */
type Mount = { readonly own: string; readonly path: string };

/** Settings of a program in its environment; it inherits none. */
type Settings = Readonly<Record<string, string>>;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Network names of Linux have at most 15 characters. */
let made = 0;

/**
 * A machine of the tests: a network namespace with an address of its own, and directories of its own at usual paths. It can
 * lose its power, and be cut off from others.
 */
export class Machine {
  readonly name: string;
  readonly address: string;
  readonly directory: string;
  readonly #namespace: string;
  readonly #mounts: readonly Mount[];

  constructor(name: string, address: string, directory: string, namespace: string, mounts: readonly Mount[]) {
    this.name = name;
    this.address = address;
    this.directory = directory;
    this.#namespace = namespace;
    this.#mounts = mounts;
  }

  /** Runs a program to its end as a user, and gives what it printed; throws with that if it fails. */
  async run(user: string, words: readonly string[], settings: Settings = {}): Promise<string> {
    const [program, rest] = this.#within(user, words);
    const env = { PATH, LC_ALL: 'C.UTF-8', ...settings };
    const { stdout } = await execute(program, rest, { cwd: '/', env, timeout: 120_000 });
    return stdout;
  }

  /** Starts a program as a user; what it prints goes to the file `<log>.log` in its directory. */
  start(user: string, log: string, words: readonly string[], settings: Settings): ChildProcess {
    const [program, rest] = this.#within(user, words);
    const file = openSync(join(this.directory, `${log}.log`), 'a');
    const env = { PATH, LC_ALL: 'C.UTF-8', ...settings };
    return spawn(program, [...rest], { cwd: '/', env, stdio: ['ignore', file, file] });
  }

  /** Ends every process on it at once. */
  async losePower(): Promise<void> {
    const victims = await this.#processes();
    // Nothing is started between the search and the end.
    for (const name of ['SIGSTOP', 'SIGKILL'] as const) {
      for (const victim of await this.#processes()) signal(victim, name);
    }
    const areOver = async () => (await Promise.all(victims.map(isRunning))).every((isLeft) => !isLeft);
    await waitFor(`all processes of ${this.name} are gone`, areOver);
  }

  /** Drops everything between it and other machines, or ends that. */
  async partition(others: readonly Machine[], isCut: boolean): Promise<void> {
    for (const { address } of others) {
      const words = isCut ? ['add', 'blackhole', address] : ['del', 'blackhole', address];
      await ip('netns', 'exec', this.#namespace, 'ip', 'route', ...words);
    }
  }

  async #processes(): Promise<readonly number[]> {
    const found = await ip('netns', 'pids', this.#namespace);
    return found.split('\n').filter(Boolean).map(Number);
  }

  /** The mounts are made anew for each program: `ip netns exec` gives it a mount namespace of its own. */
  #within(user: string, words: readonly string[]): readonly [string, string[]] {
    const mounts = this.#mounts.map(({ own, path }) => `mount --bind ${own} ${path}`);
    const script = [...mounts, `exec setpriv --reuid=${user} --regid=${user} --init-groups -- "$@"`].join(' && ');
    return ['ip', ['netns', 'exec', this.#namespace, 'sh', '-c', script, 'sh', ...words]];
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

/** The machines of a network, and the address at which this process is reached from them. */
export type Network = { readonly machines: readonly Machine[]; readonly own: string };

/**
 * Makes machines on a network of their own that this process can reach; each knows the names of all. `owned` are the paths at
 * which each has a directory of its own. All is removed when `resources` are ended.
 */
export async function makeMachines(
  resources: Resources,
  directory: string,
  names: readonly string[],
  owned: readonly string[],
): Promise<Network> {
  made += 1;
  const mark = `${process.pid}-${made}`;
  // From the block for benchmarks of networks, RFC 2544: nothing else is there.
  const subnet = `198.${18 + (process.pid % 2)}.${(process.pid >> 1) % 250}`;
  const bridge = `b${mark}`.slice(0, 15);
  await ip('link', 'add', bridge, 'type', 'bridge');
  resources.add('the bridge', async () => void (await ip('link', 'del', bridge)));
  await ip('addr', 'add', `${subnet}.1/24`, 'dev', bridge);
  await ip('link', 'set', bridge, 'up');
  const hosts = names.map((name, index) => `${subnet}.${11 + index} ${name}`);
  const machines: Machine[] = [];
  for (const [index, name] of names.entries()) {
    const namespace = `${name}-${mark}`;
    const own = join(directory, name);
    await mkdir(own, { mode: 0o755 });
    await ip('netns', 'add', namespace);
    // Programs in the namespace find these in place of /etc/hosts.
    const settings = join('/etc/netns', namespace);
    await mkdir(settings, { recursive: true });
    await writeFile(join(settings, 'hosts'), `127.0.0.1 localhost\n${hosts.join('\n')}\n`);
    const mounts = owned.map((path) => ({ own: join(own, path.slice(1).replaceAll('/', '-')), path }));
    for (const mount of mounts) await mkdir(mount.own);
    const machine = new Machine(name, `${subnet}.${11 + index}`, own, namespace, mounts);
    machines.push(machine);
    resources.add(`the machine ${name}`, async () => {
      await machine.losePower();
      await ip('netns', 'del', namespace);
      await rm(settings, { recursive: true, force: true });
    });
    await connect(namespace, bridge, `v${index}-${mark}`.slice(0, 15), `${machine.address}/24`);
  }
  return { machines, own: `${subnet}.1` };
}

async function connect(namespace: string, bridge: string, cable: string, address: string): Promise<void> {
  await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  await ip('link', 'set', cable, 'master', bridge, 'up');
  await ip('-n', namespace, 'addr', 'add', address, 'dev', 'eth0');
  await ip('-n', namespace, 'link', 'set', 'eth0', 'up');
  await ip('-n', namespace, 'link', 'set', 'lo', 'up');
}
