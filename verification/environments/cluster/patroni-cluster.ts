import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Resources } from '../../../bench/resources.ts';
import { SERVICE } from '../../../test/harness/postgres/postgres-server.ts';
import { temporaryDirectory, waitFor } from '../../../test/harness/process.ts';
import { pause } from '../../campaign.ts';
import { lackOfNamespaces, type Machine, makeMachines } from './machines.ts';
import type { Addressing } from './pair-cluster.ts';

/** The folder with the files of docs/three-machines.md. */
export const FILES = resolve(import.meta.dirname, '../../../ops/patroni');

/** The guide's machines: three for the database, and one for the service. */
const DATABASES = ['db1', 'db2', 'db3'] as const;
const APPLICATION = 'app1';

const OWN = {
  onDisk: ['/var/lib/postgresql', '/var/lib/etcd'],
  inMemory: ['/var/run/postgresql'],
} as const;

/** Debian's packages, each with a command that succeeds if it is installed. */
const NEEDED = [
  { name: 'patroni', words: ['patroni', '--version'] },
  { name: 'etcd-server', words: ['etcd', '--version'] },
  { name: 'etcd-client', words: ['etcdctl', 'version'] },
  { name: 'haproxy', words: ['haproxy', '-v'] },
  { name: 'postgresql-15', words: ['/usr/lib/postgresql/15/bin/postgres', '--version'] },
] as const;

/** Returns why the guide's cluster cannot run here, or undefined if it can. */
export async function lackOfPatroni(): Promise<string | undefined> {
  const missing = NEEDED.filter(({ words: [program, ...rest] }) => spawnSync(program, rest).status !== 0);
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(' ');
    return `it needs Debian's packages (apt-get install ${names}), whose services must not run`;
  }
  return lackOfNamespaces();
}

/** How to start Patroni: from Debian's package, or a different version from a source folder. */
export type PatroniProgram = {
  readonly words: readonly string[];
  readonly version: string;
  readonly settings: Settings;
};

type Settings = Readonly<Record<string, string>>;

/** Returns Debian's Patroni, or the Patroni in a source folder. */
export function patroniIn(folder: string | undefined): PatroniProgram {
  const words = folder === undefined ? ['patroni'] : ['/usr/bin/python3', join(folder, 'patroni.py')];
  const settings: Settings = folder === undefined ? {} : { PYTHONPATH: folder };
  const [program = '', ...rest] = words;
  const { stdout, stderr, status } = spawnSync(program, [...rest, '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`Patroni in ${folder ?? '/usr/bin'} does not start: ${stderr}`);
  return { words, version: stdout.trim().split(' ').at(-1) ?? '', settings };
}

/** Reads the environment from a unit's drop-in on a machine. */
async function dropInOf(unit: string, machine: Machine): Promise<Settings> {
  const text = await readFile(machine.pathOf(`/etc/systemd/system/${unit}.service.d/ledger.conf`), 'utf8');
  return assignmentsIn(text.replaceAll(/^Environment=/gm, '').replaceAll('%H', machine.name));
}

function assignmentsIn(text: string): Settings {
  const lines = [...text.matchAll(/^([A-Z_0-9]+)=(.*)$/gm)];
  return Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]));
}

/** Adapts a machine's file to the test machines. Throws if the text is missing. */
async function adapt(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
  await writeFile(path, text.replace(from, to));
}

/** Step 1 of the guide on each machine with a database. */
const INSTALL = `install -D -m 644 etcd.service.conf /etc/systemd/system/etcd.service.d/ledger.conf
install -D -m 644 patroni.service.conf /etc/systemd/system/patroni.service.d/ledger.conf
install -D -m 644 config.yml /etc/patroni/config.yml`;

/** The cluster of docs/three-machines.md: etcd, Patroni and PostgreSQL on three machines, and HAProxy on a fourth. */
export class PatroniCluster {
  readonly databaseUrl: string;
  /** Connects this process to the primary through HAProxy. */
  readonly connection: { readonly connectionString: string };
  readonly databases: readonly Machine[];
  /** The machine with HAProxy. */
  readonly application: Machine;
  readonly #program: PatroniProgram;
  /** The last leader that handed over or lost its power. */
  #former: Machine | undefined;
  /** The machine without power. */
  #lost: Machine | undefined;

  private constructor(machines: readonly Machine[], program: PatroniProgram, addressing: Addressing) {
    const application = machines.at(-1);
    if (application === undefined) throw new Error('there is no machine for the service');
    this.databases = machines.slice(0, -1);
    this.application = application;
    this.#program = program;
    const user = `${SERVICE}:${randomBytes(24).toString('hex')}`;
    this.connection = { connectionString: `postgresql://${user}@${application.address}:5432/${SERVICE}` };
    const hosts = addressing === 'one_address' ? [application] : this.databases;
    const addresses = hosts.map(({ address }) => `${address}:5432`).join();
    this.databaseUrl = `postgresql://${user}@${addresses}/${SERVICE}?target_session_attrs=read-write`;
  }

  /** Creates the machines, without starting any service on them. */
  static async make(
    resources: Resources,
    program = patroniIn(undefined),
    addressing: Addressing = 'one_address',
  ): Promise<PatroniCluster> {
    const { path, remove } = await temporaryDirectory();
    resources.add('the files of the machines', remove);
    const machines = await makeMachines(resources, path, [...DATABASES, APPLICATION], OWN);
    const cluster = new PatroniCluster(machines, program, addressing);
    for (const machine of cluster.databases) await cluster.own(machine);
    return cluster;
  }

  /** Creates the machines, and starts the cluster with an empty database for the service. */
  static async start(resources: Resources, program?: PatroniProgram, addressing?: Addressing): Promise<PatroniCluster> {
    const cluster = await PatroniCluster.make(resources, program, addressing);
    await cluster.#install();
    for (const machine of cluster.databases) await cluster.startEtcd(machine);
    await cluster.untilEtcd();
    for (const machine of cluster.databases) await cluster.startPatroni(machine);
    await cluster.untilWhole();
    await cluster.application.run(
      'root',
      ['install', '-m', '644', 'haproxy.cfg', '/etc/haproxy/haproxy.cfg'],
      {},
      FILES,
    );
    await cluster.startProxy();
    await cluster.#createDatabase();
    return cluster;
  }

  /** Gives the directories to the users that the services run as, like Debian's packages. */
  async own(machine: Machine): Promise<void> {
    await mkdir(machine.pathOf('/var/lib/postgresql/15'), { recursive: true });
    for (const path of ['/var/lib/postgresql', '/var/lib/postgresql/15', '/var/run/postgresql'])
      await chown(machine.pathOf(path), ...idsOf('postgres'));
    await chown(machine.pathOf('/var/lib/etcd'), ...idsOf('etcd'));
    await chmod(machine.pathOf('/var/lib/etcd'), 0o700);
  }

  /** Does the same as `systemctl start etcd` with the guide's drop-in. */
  async startEtcd(machine: Machine): Promise<void> {
    machine.start('etcd', 'etcd', ['etcd'], await dropInOf('etcd', machine));
  }

  /** Does the same as `systemctl start patroni` with the guide's drop-in. */
  async startPatroni(machine: Machine): Promise<void> {
    const config = machine.pathOf('/etc/patroni/config.yml');
    // Test machines have no watchdog.
    if ((await readFile(config, 'utf8')).includes('required')) await adapt(config, 'mode: required', 'mode: automatic');
    const { words, settings } = this.#program;
    const passwords = assignmentsIn(await readFile(machine.pathOf('/etc/patroni_env.conf'), 'utf8'));
    const environment = { ...settings, ...(await dropInOf('patroni', machine)), ...passwords };
    machine.start('postgres', 'patroni', [...words, '/etc/patroni/config.yml'], environment);
  }

  /** Does the same as `systemctl restart haproxy`. Call it only once. */
  async startProxy(): Promise<void> {
    const { application } = this;
    // The service under test runs outside of this machine.
    const file = '/etc/haproxy/haproxy.cfg';
    await adapt(application.pathOf(file), 'bind 127.0.0.1:5432', `bind ${application.address}:5432`);
    application.start('root', 'haproxy', ['haproxy', '-db', '-f', file], {});
  }

  /** Waits until all members of etcd are healthy. */
  async untilEtcd(): Promise<void> {
    const endpoints = DATABASES.map((name) => `http://${name}:2379`).join();
    const words = ['etcdctl', `--endpoints=${endpoints}`, 'endpoint', 'health'];
    const [machine] = this.databases;
    await waitFor('etcd', async () =>
      machine === undefined
        ? false
        : machine.run('root', words, { ETCDCTL_API: '3' }).then(
            () => true,
            () => false,
          ),
    );
  }

  /** Returns the machine whose Patroni reports that it has the primary. */
  async findLeader(): Promise<Machine | undefined> {
    return (await this.#findAll('/primary'))[0];
  }

  async untilLeader(): Promise<Machine> {
    await waitFor('a leader', async () => (await this.findLeader()) !== undefined);
    return (await this.findLeader()) ?? this.untilLeader();
  }

  /** Returns the machines whose Patroni confirms this role. */
  async #findAll(role: string): Promise<readonly Machine[]> {
    const statuses = await Promise.all(this.databases.map((machine) => ask(machine, role)));
    return this.databases.filter((_, index) => statuses[index] === 200);
  }

  /** Waits for a leader, a synchronous standby, and streaming on the third machine. */
  async untilWhole(): Promise<void> {
    await waitFor('a leader and two standbys', async () => {
      const [leader, synchronous, replicas] = await Promise.all(
        ['/primary', '/synchronous', '/replica?lag=1MB'].map((role) => this.#findAll(role)),
      );
      return leader?.length === 1 && synchronous?.length !== 0 && replicas?.length === this.databases.length - 1;
    });
  }

  /** Does the same as `patronictl switchover`, through Patroni's REST API, which is the same in all versions. */
  async handOver(): Promise<void> {
    const leader = await this.#chooseLeader();
    const [candidate] = await this.#findAll('/synchronous');
    if (candidate === undefined) throw new Error('there is no synchronous standby');
    const { PATRONI_RESTAPI_USERNAME = '', PATRONI_RESTAPI_PASSWORD = '' } = assignmentsIn(
      await readFile(leader.pathOf('/etc/patroni_env.conf'), 'utf8'),
    );
    const credentials = Buffer.from(`${PATRONI_RESTAPI_USERNAME}:${PATRONI_RESTAPI_PASSWORD}`).toString('base64');
    const answer = await fetch(`http://${leader.address}:8008/switchover`, {
      method: 'POST',
      headers: { Authorization: `Basic ${credentials}` },
      body: JSON.stringify({ leader: leader.name, candidate: candidate.name }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`the switchover was refused with ${answer.status}: ${text}`);
  }

  /** Ends every process on the machine of the leader. */
  async losePrimary(): Promise<void> {
    this.#lost = await this.#chooseLeader();
    await this.#lost.losePower();
  }

  /** Waits until Patroni has a new leader. */
  async replacePrimary(): Promise<void> {
    while ((await this.findLeader()) === this.#former) await pause(50);
    await this.untilLeader();
  }

  /** Turns a lost machine on again, and waits until two standbys follow the leader. */
  async complete(): Promise<void> {
    const machine = this.#lost;
    this.#lost = undefined;
    if (machine !== undefined) {
      await machine.boot();
      await this.own(machine);
      await this.startEtcd(machine);
      await this.startPatroni(machine);
    }
    await this.untilWhole();
  }

  async #chooseLeader(): Promise<Machine> {
    await this.untilWhole();
    this.#former = await this.untilLeader();
    return this.#former;
  }

  async #install(): Promise<void> {
    const names = ['SUPERUSER', 'REPLICATION', 'REWIND', 'RESTAPI'];
    const passwords = names.map((name) => `PATRONI_${name}_PASSWORD=${randomBytes(24).toString('hex')}\n`);
    for (const machine of this.databases) {
      await machine.run('root', ['sh', '-ec', INSTALL], {}, FILES);
      await writeFile(
        machine.pathOf('/etc/patroni_env.conf'),
        `PATRONI_RESTAPI_USERNAME=patroni\n${passwords.join('')}`,
      );
    }
  }

  async #createDatabase(): Promise<void> {
    const { password } = new URL(this.connection.connectionString);
    const leader = await this.untilLeader();
    for (const statement of [
      `create role ${SERVICE} login createrole password '${password}'`,
      `create database ${SERVICE} owner ${SERVICE}`,
    ])
      await leader.run('postgres', ['psql', '-v', 'ON_ERROR_STOP=1', '-c', statement]);
  }
}

/** Asks Patroni about its role. Returns the status of the response, or 0 if there is none. */
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
