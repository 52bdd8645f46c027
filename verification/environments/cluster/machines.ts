import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Resources } from '../../../bench/resources.ts';
import { isRunning, waitFor } from '../../../test/harness/process.ts';
import { signal } from '../../nemeses/kill.ts';

const execute = promisify(execFile);

const ip = async (...words: readonly string[]): Promise<string> => (await execute('ip', [...words])).stdout;

/** Returns why machines cannot be created here, or undefined if they can. */
export async function lackOfNamespaces(): Promise<string | undefined> {
  const name = `probe-${process.pid}`;
  try {
    await ip('netns', 'add', name);
    await ip('netns', 'del', name);
    return undefined;
  } catch (error) {
    const [reason = ''] = String(Reflect.get(error as object, 'stderr') ?? error).split('\n');
    return `it needs network namespaces, which only root can make: ${reason}`;
  }
}

/** The environment of a command. It does not inherit this process's environment. */
type Settings = Readonly<Record<string, string>>;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The paths of a machine's own directories. The directories in memory are empty after each start. */
export type Own = { readonly onDisk: readonly string[]; readonly inMemory: readonly string[] };

/**
 * A test machine: a network namespace with its own address, its own `/etc` on top of the real one, and its own
 * versions of some other directories. It can lose power.
 */
export class Machine {
  readonly name: string;
  readonly address: string;
  /** The directory that contains the machine's own directories: its `/var/lib/etcd` is `var/lib/etcd` in this directory. */
  readonly directory: string;
  readonly #namespace: string;
  readonly #own: Own;
  /** The process that keeps the mounts. All others enter its namespaces. */
  #init: ChildProcess | undefined;

  constructor(name: string, address: string, directory: string, namespace: string, own: Own) {
    this.name = name;
    this.address = address;
    this.directory = directory;
    this.#namespace = namespace;
    this.#own = own;
  }

  /** Turns the machine on, with its directories, without starting any service. */
  async boot(): Promise<void> {
    const { onDisk, inMemory } = this.#own;
    for (const path of inMemory) await rm(this.pathOf(path), { recursive: true, force: true });
    for (const path of [...onDisk, ...inMemory, '/etc', '/.work']) await mkdir(this.pathOf(path), { recursive: true });
    const layers = `lowerdir=/etc,upperdir=${this.pathOf('/etc')},workdir=${this.pathOf('/.work')}`;
    const mounts = [...onDisk, ...inMemory].map((path) => `mount --bind ${this.pathOf(path)} ${path}`);
    const script = [`mount -t overlay etc -o ${layers} /etc`, ...mounts, 'echo up', 'exec sleep infinity'].join(' && ');
    const init = spawn('ip', ['netns', 'exec', this.#namespace, 'sh', '-c', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    init.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    await new Promise<void>((up, fail) => {
      init.stdout.once('data', () => up());
      init.once('exit', () => fail(new Error(`${this.name} does not start: ${said}`)));
    });
    this.#init = init;
  }

  /** Returns where a path of this machine is on the real machine. */
  pathOf(path: string): string {
    return join(this.directory, path);
  }

  /** Runs a command as a user and returns its output. Throws if the command fails. */
  async run(user: string, words: readonly string[], settings: Settings = {}, cwd = '/'): Promise<string> {
    const [program, rest] = this.#within(user, words, cwd);
    const env = { PATH, LC_ALL: 'C.UTF-8', ...settings };
    const { stdout, stderr } = await execute(program, rest, { env, timeout: 120_000 });
    return stdout + stderr;
  }

  /** Starts a command as a user. Its output goes to the file `<log>.log` in the machine's directory. */
  start(user: string, log: string, words: readonly string[], settings: Settings): void {
    const [program, rest] = this.#within(user, words, '/');
    const file = openSync(join(this.directory, `${log}.log`), 'a');
    const env = { PATH, LC_ALL: 'C.UTF-8', ...settings };
    spawn(program, rest, { env, stdio: ['ignore', file, file] });
    closeSync(file);
  }

  /** Ends every process of the machine at once. */
  async losePower(): Promise<void> {
    const victims = await this.#processes();
    // Stopped processes cannot start other processes before they are killed.
    for (const name of ['SIGSTOP', 'SIGKILL'] as const) {
      for (const victim of await this.#processes()) signal(victim, name);
    }
    const areOver = async () => (await Promise.all(victims.map(isRunning))).every((isLeft) => !isLeft);
    await waitFor(`all processes of ${this.name} are gone`, areOver);
    this.#init = undefined;
  }

  async #processes(): Promise<readonly number[]> {
    const found = await ip('netns', 'pids', this.#namespace);
    return found.split('\n').filter(Boolean).map(Number);
  }

  #within(user: string, words: readonly string[], cwd: string): readonly [string, string[]] {
    const pid = this.#init?.pid;
    if (pid === undefined) throw new Error(`${this.name} has no power`);
    const enter = ['--target', String(pid), '--mount', '--net', `--wd=${cwd}`];
    return ['nsenter', [...enter, 'setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--', ...words]];
  }
}

/** The number of networks created so far. */
let made = 0;

/**
 * Creates machines on a separate network that this process can reach. Each machine knows the names of the others.
 * Ending `resources` removes the machines and the network. Linux limits the names of network devices to 15 characters.
 */
export async function makeMachines(
  resources: Resources,
  directory: string,
  names: readonly string[],
  own: Own,
): Promise<readonly Machine[]> {
  made += 1;
  const mark = `${process.pid}-${made}`;
  const subnet = await findSubnet();
  const bridge = `b${mark}`.slice(0, 15);
  await ip('link', 'add', bridge, 'type', 'bridge');
  resources.add('the bridge', async () => void (await ip('link', 'del', bridge)));
  await ip('addr', 'add', `${subnet}.1/24`, 'dev', bridge);
  await ip('link', 'set', bridge, 'up');
  const hosts = names.map((name, index) => `${subnet}.${11 + index} ${name}`);
  const machines: Machine[] = [];
  for (const [index, name] of names.entries()) {
    const namespace = `${name}-${mark}`;
    const machine = new Machine(name, `${subnet}.${11 + index}`, join(directory, name), namespace, own);
    await ip('netns', 'add', namespace);
    resources.add(`the machine ${name}`, async () => {
      await machine.losePower();
      await ip('netns', 'del', namespace);
    });
    await connect(namespace, bridge, `v${index}-${mark}`.slice(0, 15), `${machine.address}/24`);
    await mkdir(machine.pathOf('/etc'), { recursive: true });
    await writeFile(machine.pathOf('/etc/hosts'), `127.0.0.1 localhost\n${hosts.join('\n')}\n`);
    await machine.boot();
    machines.push(machine);
  }
  return machines;
}

/** Finds the first three numbers of a free network, in the block for network benchmarks (RFC 2544). */
async function findSubnet(): Promise<string> {
  // Another run, or the remains of a killed run, may use some of these networks.
  const addresses = await ip('-oneline', '-4', 'address', 'show');
  for (let number = process.pid; number < process.pid + 500; number += 1) {
    const subnet = `198.${18 + (number % 2)}.${(number >> 1) % 250}`;
    if (!addresses.includes(` ${subnet}.`)) return subnet;
  }
  throw new Error('all networks of 198.18.0.0/15 are in use');
}

async function connect(namespace: string, bridge: string, cable: string, address: string): Promise<void> {
  await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  await ip('link', 'set', cable, 'master', bridge, 'up');
  await ip('-n', namespace, 'addr', 'add', address, 'dev', 'eth0');
  await ip('-n', namespace, 'link', 'set', 'eth0', 'up');
  await ip('-n', namespace, 'link', 'set', 'lo', 'up');
}
