import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Resources } from '../../../bench/resources.ts';
import { temporaryDirectory, waitFor } from '../../harness/process.ts';
import { lackOfNamespaces, type Machine, makeMachines, type Network } from './machines.ts';

const FILES = resolve(import.meta.dirname, '../../../ops/patroni');

/** The machines of the guide: three with a database, and one with the service. */
export const DATABASES = ['db1', 'db2', 'db3'] as const;
const APPLICATION = 'app1';

/** Where each machine has a directory of its own. */
const OWNED = ['/etc/patroni', '/var/lib/postgresql', '/var/run/postgresql', '/var/lib/etcd'];

const SERVICE = 'transfer_service';

/** Debian's packages, the program by which each is found, and what that prints its version for. */
const NEEDED = [
  { name: 'patroni', words: ['patroni', '--version'] },
  { name: 'etcd-server', words: ['etcd', '--version'] },
  { name: 'etcd-client', words: ['etcdctl', 'version'] },
  { name: 'haproxy', words: ['haproxy', '-v'] },
  { name: 'postgresql-15', words: ['/usr/lib/postgresql/15/bin/postgres', '--version'] },
] as const;

/** Why the cluster of the guide cannot be run here; undefined if it can. */
export async function lackOfPatroni(): Promise<string | undefined> {
  const missing = NEEDED.filter(({ words: [program, ...rest] }) => spawnSync(program, rest).status !== 0);
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(' ');
    return `it needs Debian's packages (apt-get install ${names}), whose services must not run`;
  }
  return lackOfNamespaces();
}

/** How Patroni is started: Debian's program, or the source of another version in a folder. */
export type PatroniProgram = {
  readonly words: readonly string[];
  readonly version: string;
  readonly settings: Settings;
};

type Settings = Readonly<Record<string, string>>;

/** Debian's Patroni, or that whose source is in a folder. */
export function patroniIn(folder: string | undefined): PatroniProgram {
  const words = folder === undefined ? ['patroni'] : ['/usr/bin/python3', join(folder, 'patroni.py')];
  const settings: Settings = folder === undefined ? {} : { PYTHONPATH: folder };
  const [program = '', ...rest] = words;
  const { stdout, stderr, status } = spawnSync(program, [...rest, '--version'], {
    encoding: 'utf8',
    env: { ...settings },
  });
  if (status !== 0) throw new Error(`Patroni in ${folder ?? '/usr/bin'} does not start: ${stderr}`);
  return { words, version: stdout.trim().split(' ').at(-1) ?? '', settings };
}

/** What a unit's drop-in of ops/patroni says to a machine. */
async function environmentOf(file: string, machine: Machine): Promise<Settings> {
  const text = await readFile(join(FILES, file), 'utf8');
  const lines = [...text.matchAll(/^Environment=([A-Z_0-9]+)=(.*)$/gm)];
  return Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value.replaceAll('%H', machine.name)]));
}

/** A file of ops/patroni with what this machine lacks or cannot share; each replacement must find its place. */
async function fileWith(file: string, replacements: readonly (readonly [string, string])[]): Promise<string> {
  return replacements.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
      return text.replace(from, to);
    },
    await readFile(join(FILES, file), 'utf8'),
  );
}

/** The cluster of docs/three-machines.md: on each of three machines etcd, Patroni and PostgreSQL, and HAProxy on a fourth. */
export class PatroniCluster {
  readonly databaseUrl: string;
  readonly network: Network;
  readonly #program: PatroniProgram;
  readonly #secrets: Settings;

  private constructor(network: Network, program: PatroniProgram, secrets: Settings, password: string) {
    this.network = network;
    this.#program = program;
    this.#secrets = secrets;
    this.databaseUrl = `postgresql://${SERVICE}:${password}@${this.application.address}:5432/${SERVICE}`;
  }

  /** Starts all of it, with an empty database of the service. */
  static async start(resources: Resources, program = patroniIn(undefined)): Promise<PatroniCluster> {
    const { path, remove } = await temporaryDirectory();
    resources.add('the files of the machines', remove);
    const network = await makeMachines(resources, path, [...DATABASES, APPLICATION], OWNED);
    const cluster = new PatroniCluster(network, program, secretsOfGuide(), randomBytes(24).toString('hex'));
    await cluster.#prepare();
    for (const machine of cluster.databases) await cluster.startEtcd(machine);
    await waitFor('etcd', () => cluster.#isEtcdHealthy());
    for (const machine of cluster.databases) await cluster.startPatroni(machine);
    await cluster.untilWhole();
    await cluster.startProxy();
    return cluster;
  }

  get databases(): readonly Machine[] {
    return this.network.machines.slice(0, DATABASES.length);
  }

  /** The one with HAProxy. */
  get application(): Machine {
    const found = this.network.machines.at(-1);
    if (found === undefined) throw new Error('there is no machine for the service');
    return found;
  }

  /** As `systemctl start etcd` does with the drop-in of the guide. */
  async startEtcd(machine: Machine): Promise<void> {
    machine.start('etcd', 'etcd', ['etcd'], await environmentOf('etcd.service.conf', machine));
  }

  /** As `systemctl start patroni` does with the drop-in of the guide. */
  async startPatroni(machine: Machine): Promise<void> {
    const { words, settings } = this.#program;
    const own = await environmentOf('patroni.service.conf', machine);
    machine.start('postgres', 'patroni', [...words, '/etc/patroni/config.yml'], {
      ...settings,
      ...own,
      ...this.#secrets,
    });
  }

  async startProxy(): Promise<void> {
    const { application } = this;
    const text = await fileWith('haproxy.cfg', [
      // The service of the tests is outside of this machine.
      ['bind 127.0.0.1:5432', `bind ${application.address}:5432`],
    ]);
    const file = join(application.directory, 'haproxy.cfg');
    await writeFile(file, text);
    application.start('root', 'haproxy', ['haproxy', '-db', '-f', file], {});
  }

  /** Creates the role and the database of the service, as the guide does. */
  async createDatabase(): Promise<void> {
    const password = new URL(this.databaseUrl).password;
    const leader = await this.untilLeader();
    for (const statement of [
      `create role ${SERVICE} login createrole password '${password}'`,
      `create database ${SERVICE} owner ${SERVICE}`,
    ])
      await leader.run('postgres', ['psql', '-v', 'ON_ERROR_STOP=1', '-c', statement]);
  }

  /** The machine whose Patroni says that it runs the primary. */
  async findLeader(): Promise<Machine | undefined> {
    const roles = await Promise.all(
      this.databases.map(async (machine) => ({ machine, isLeader: (await ask(machine, '/primary')) === 200 })),
    );
    return roles.find(({ isLeader }) => isLeader)?.machine;
  }

  async untilLeader(): Promise<Machine> {
    let leader: Machine | undefined;
    await waitFor('a leader', async () => {
      leader = await this.findLeader();
      return leader !== undefined;
    });
    if (leader === undefined) throw new Error('there is no leader');
    return leader;
  }

  /** The machines whose standby has every acknowledged commit. */
  async findSynchronous(): Promise<readonly Machine[]> {
    const states = await Promise.all(
      this.databases.map(async (machine) => ({ machine, isFit: (await ask(machine, '/synchronous')) === 200 })),
    );
    return states.filter(({ isFit }) => isFit).map(({ machine }) => machine);
  }

  /** Waits for a leader, a synchronous standby, and a third one that streams. */
  async untilWhole(): Promise<void> {
    await waitFor('a leader and two standbys', async () => {
      const leader = await this.findLeader();
      if (leader === undefined || (await this.findSynchronous()).length === 0) return false;
      const others = this.databases.filter((machine) => machine !== leader);
      const states = await Promise.all(others.map((machine) => ask(machine, '/replica?lag=1MB')));
      return states.every((status) => status === 200);
    });
  }

  /** As `patronictl switchover`: by the interface of Patroni that it uses, whose versions differ less. */
  async switchOver(leader: Machine, candidate: Machine): Promise<void> {
    const password = this.#secrets.PATRONI_RESTAPI_PASSWORD ?? '';
    const answer = await fetch(`http://${leader.address}:8008/switchover`, {
      method: 'POST',
      headers: { Authorization: `Basic ${Buffer.from(`patroni:${password}`).toString('base64')}` },
      body: JSON.stringify({ leader: leader.name, candidate: candidate.name }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`the switchover was refused with ${answer.status}: ${text}`);
  }

  /** Starts everything of a machine that has lost its power; what it had in memory is gone, as /var/run is. */
  async restore(machine: Machine): Promise<void> {
    await machine.run('root', ['find', '/var/run/postgresql', '-mindepth', '1', '-delete']);
    await this.startEtcd(machine);
    await this.startPatroni(machine);
  }

  /** How this process reaches the primary: as the service does. */
  get connection() {
    return { connectionString: this.databaseUrl };
  }

  async #prepare(): Promise<void> {
    // This machine has no watchdog.
    const text = await fileWith('config.yml', [['mode: required', 'mode: automatic']]);
    const [postgres, etcd] = [idsOf('postgres'), idsOf('etcd')];
    for (const { directory } of this.databases) {
      const at = (name: string): string => join(directory, name);
      await writeFile(at('etc-patroni/config.yml'), text);
      await mkdir(at('var-lib-postgresql/15'));
      for (const name of ['var-lib-postgresql', 'var-lib-postgresql/15', 'var-run-postgresql', 'etc-patroni'])
        await chown(at(name), ...postgres);
      await chown(at('var-lib-etcd'), ...etcd);
    }
  }

  async #isEtcdHealthy(): Promise<boolean> {
    const [machine] = this.databases;
    const endpoints = DATABASES.map((name) => `http://${name}:2379`).join();
    const words = ['etcdctl', `--endpoints=${endpoints}`, 'endpoint', 'health'];
    return (
      (await machine?.run('root', words, { ETCDCTL_API: '3' }).then(
        () => true,
        () => false,
      )) ?? false
    );
  }
}

/** What the guide writes to /etc/patroni_env.conf. */
function secretsOfGuide(): Settings {
  const names = ['SUPERUSER', 'REPLICATION', 'REWIND', 'RESTAPI'].map((name) => `PATRONI_${name}_PASSWORD`);
  const passwords = Object.fromEntries(names.map((name) => [name, randomBytes(24).toString('hex')]));
  return { PATRONI_RESTAPI_USERNAME: 'patroni', ...passwords };
}

/** What Patroni responds to a question about its role; 0 if it does not. */
async function ask({ address }: Machine, path: string): Promise<number> {
  const signal = AbortSignal.timeout(2_000);
  try {
    const answer = await fetch(`http://${address}:8008${path}`, { signal });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

function idsOf(user: string): readonly [number, number] {
  const [uid, gid] = ['-u', '-g'].map((word) => Number(spawnSync('id', [word, user], { encoding: 'utf8' }).stdout));
  return [uid ?? 0, gid ?? 0];
}
