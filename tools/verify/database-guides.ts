// Follows docs/managed-postgresql.md on a PostgreSQL 15 and docs/three-machines.md on machines that are network namespaces, and
// checks the units of ops/patroni. Part of `npm run verify`.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Resources } from '../../bench/resources.ts';
import { readListings } from '../../test/guides/guide-runner.ts';
import type { ServiceSettings } from '../../test/harness/process.ts';
import type { Machine } from '../../verification/environments/cluster/machines.ts';
import type { PatroniCluster } from '../../verification/environments/cluster/patroni-cluster.ts';
import { DEBIAN_POSTGRES, reportMissing, root } from '../command.ts';

export type GuideCommand = { readonly line: number; readonly command: string };

function commandsOf(guide: string): readonly GuideCommand[] {
  const listings = readListings(readFileSync(join(root, guide), 'utf8'));
  return listings.flatMap((listing) => (listing.kind === 'command' ? [listing] : []));
}

const MANAGED = 'docs/managed-postgresql.md';

/** Follows the guide with the PostgreSQL of a distribution, whose user owns only its database. */
async function followManaged(resources: Resources): Promise<void> {
  if (!existsSync(join(DEBIAN_POSTGRES, 'initdb')) || spawnSync('psql', ['--version']).status !== 0)
    return reportMissing(
      `${MANAGED} was not followed: it needs PostgreSQL 15 and psql (apt-get install postgresql-15).`,
    );
  const { runCommand, startService, temporaryDirectory } = await import('../../test/harness/process.ts');
  const { stockPostgresIn } = await import('../../test/harness/postgres/stock-postgres.ts');
  const { path, remove } = await temporaryDirectory();
  resources.add('the database', remove);
  const { url: DATABASE_URL } = await stockPostgresIn(path, DEBIAN_POSTGRES);
  const settings: ServiceSettings & Record<string, string> = {
    DATABASE_URL,
    DATA_DIR: join(path, 'data'),
    LOG_LEVEL: 'silent',
  };
  const run = async (command: string): Promise<string | undefined> => {
    if (command === 'npx transfer-service start') {
      const service = await startService(settings);
      settings.PORT = new URL(service.url).port;
      resources.add('the service', async () => void (await service.stop()));
      return undefined;
    }
    if (command.startsWith('npx transfer-service ')) {
      const { exitCode, output, errors } = await runCommand(command.split(' ').slice(2), settings);
      return exitCode === 0 ? undefined : output + errors;
    }
    const env = { PATH: process.env.PATH ?? '', DATABASE_URL };
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8' });
    return status === 0 ? undefined : stdout + stderr;
  };
  for (const { line, command } of commandsOf(MANAGED)) {
    const problem = await run(command);
    if (problem !== undefined) throw new Error(`${MANAGED}, line ${line}: ${command}\n${problem}`);
    console.log(`ok      ${MANAGED}, line ${line}: ${command}`);
  }
}

/** The folder of the units in Debian's packages. */
const UNITS = '/lib/systemd/system';

/** Checks the drop-ins of ops/patroni with systemd's own tool, over the units of Debian's packages. */
function checkUnits(): void {
  for (const name of ['etcd', 'patroni'] as const) checkUnit(name);
}

function checkUnit(name: 'etcd' | 'patroni'): void {
  const dropIn = `ops/patroni/${name}.service.conf`;
  const unit = `${name}.service`;
  if (!existsSync(join(UNITS, unit)) || spawnSync('systemd-analyze', ['--version']).status !== 0) {
    reportMissing(`${dropIn} was not checked: it needs systemd-analyze and Debian's ${unit}.`);
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), 'transfer-service-units-'));
  try {
    cpSync(join(UNITS, unit), join(directory, unit));
    mkdirSync(join(directory, `${unit}.d`));
    cpSync(join(root, dropIn), join(directory, `${unit}.d`, 'ledger.conf'));
    const env = { ...process.env, SYSTEMD_UNIT_PATH: `${directory}:` };
    const words = ['verify', '--man=no', join(directory, unit)];
    const { stderr } = spawnSync('systemd-analyze', words, { env, encoding: 'utf8' });
    const problems = stderr.split('\n').filter((line) => line.includes('ledger.conf'));
    if (problems.length > 0) throw new Error(`${dropIn}:\n${problems.join('\n')}`);
    console.log(`ok      systemd accepts ${dropIn}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const THREE_MACHINES = 'docs/three-machines.md';

/** These patterns choose the machines for a command. By default it runs on the first one. */
const EVERY = /^(?:install |echo 'create_main|apt-get install postgresql|systemctl (?:stop|daemon-reload|enable))/;
const ON_THE_LEADER = /^(?:runuser |set -a|patronictl)/;
const ON_THE_APPLICATION = /haproxy/;

/** Follows the guide of the three machines. The class does the work of systemd and the package manager. */
class Reader {
  readonly #cluster: PatroniCluster;
  readonly #resources: Resources;
  /** The commands that change the shell of each machine, such as its umask and its variables. */
  readonly #shells = new Map<Machine, string>();
  #followed = 0;

  constructor(cluster: PatroniCluster, resources: Resources) {
    this.#cluster = cluster;
    this.#resources = resources;
  }

  async follow({ line, command }: GuideCommand): Promise<void> {
    const where = `${THREE_MACHINES}, line ${line}: ${command}`;
    try {
      await this.#do(command);
      this.#followed += 1;
      console.log(`ok      ${where}`);
    } catch (error) {
      throw new Error(`${where}\n${error instanceof Error ? error.message : error}`);
    }
  }

  end(): void {
    console.log(`${this.#followed} commands of ${THREE_MACHINES} were followed.`);
  }

  async #do(command: string): Promise<void> {
    const [program = '', ...words] = command.split(' ');
    if (program === 'apt-get') return requirePackages(words.slice(1));
    if (program === 'systemctl') return this.#control(words);
    if (program === 'scp') return this.#copy(words);
    if (command.startsWith('npx transfer-service')) return this.#runService(words.slice(1));
    for (const machine of await this.#machinesOf(command)) await this.#type(machine, command);
  }

  async #machinesOf(command: string): Promise<readonly Machine[]> {
    const { application, databases } = this.#cluster;
    if (ON_THE_APPLICATION.test(command)) return [application];
    if (EVERY.test(command)) return databases;
    if (ON_THE_LEADER.test(command)) return [await this.#cluster.untilLeader()];
    return databases.slice(0, 1);
  }

  /** Runs a line in the shell of a machine, in the directory of the files. */
  async #type(machine: Machine, command: string): Promise<void> {
    const typed = this.#shells.get(machine) ?? '';
    const output = await machine.run('root', ['bash', '-ec', `${typed}\n${command}`], {}, join(root, 'ops/patroni'));
    if (/^(?:umask|set) /.test(command)) this.#shells.set(machine, `${typed}\n${command}`);
    if (command.startsWith('etcdctl')) requireTimes(output, 'is healthy', 3);
    if (command.endsWith(' list')) await this.#requireRoles(machine, command);
  }

  async #requireRoles(machine: Machine, command: string): Promise<void> {
    await this.#cluster.untilWhole();
    const output = await machine.run('root', ['sh', '-c', command]);
    requireTimes(output, 'Leader', 1);
    requireTimes(output, 'Sync Standby', 1);
  }

  async #control([verb = '', ...rest]: readonly string[]): Promise<void> {
    const unit = rest.at(-1);
    if (verb !== 'enable' && verb !== 'restart') return;
    const { databases } = this.#cluster;
    if (unit === 'haproxy') return this.#cluster.startProxy();
    for (const machine of databases) {
      if (unit === 'etcd') await this.#cluster.startEtcd(machine);
      if (unit === 'patroni') await this.#cluster.startPatroni(machine);
    }
    if (unit === 'etcd') await this.#cluster.untilEtcd();
    if (unit === 'patroni') await this.#cluster.untilWhole();
  }

  async #copy([from = '', to = '']: readonly string[]): Promise<void> {
    const [name = '', directory = ''] = to.split(':');
    const target = this.#cluster.databases.find((machine) => machine.name === name);
    const [first] = this.#cluster.databases;
    if (target === undefined || first === undefined) throw new Error(`there is no machine ${name}`);
    await copyFile(first.pathOf(from), target.pathOf(`${directory}${from.split('/').at(-1)}`));
  }

  /** Creates a transfer at the address of the guide after the switchover, and runs the command that checks the books. */
  async #runService(words: readonly string[]): Promise<void> {
    const { runCommand, startService, temporaryDirectory } = await import('../../test/harness/process.ts');
    const { untilServing } = await import('../../verification/generators/load.ts');
    const { path, remove } = await temporaryDirectory();
    const removeFiles = this.#resources.add('the files of the service', remove);
    const [, address = ''] = /^(postgresql:\S+)$/m.exec(readFileSync(join(root, THREE_MACHINES), 'utf8')) ?? [];
    // The 127.0.0.1 of the guide is the application's machine, where HAProxy runs. This process runs elsewhere.
    const DATABASE_URL = address.replace('127.0.0.1', this.#cluster.application.address);
    const settings = { DATABASE_URL, DATA_DIR: path, LOG_LEVEL: 'silent' };
    const service = await startService(settings);
    const stop = this.#resources.add('the service', async () => void (await service.stop()));
    if ((await untilServing(service.url)) === Number.POSITIVE_INFINITY) throw new Error('no transfer succeeds');
    const { exitCode, output, errors } = await runCommand(words, settings);
    if (exitCode !== 0) throw new Error(output + errors);
    await stop();
    await removeFiles();
  }
}

function requirePackages(names: readonly string[]): void {
  const missing = names.filter((name) => !existsSync(`/var/lib/dpkg/info/${name}.list`));
  if (missing.length > 0) throw new Error(`Debian has no ${missing.join(', ')}, or it is not installed here`);
}

function requireTimes(output: string, text: string, times: number): void {
  const found = output.split(text).length - 1;
  if (found !== times) throw new Error(`'${text}' occurs ${found} times instead of ${times}:\n${output}`);
}

/** Follows the guide on four machines inside this one. If they cannot be created, reports why. */
async function followThreeMachines(resources: Resources): Promise<void> {
  const { lackOfPatroni, PatroniCluster } = await import('../../verification/environments/cluster/patroni-cluster.ts');
  const lack = await lackOfPatroni();
  if (lack !== undefined) {
    reportMissing(`${THREE_MACHINES} was not followed: ${lack}.`);
    return;
  }
  const reader = new Reader(await PatroniCluster.make(resources), resources);
  for (const command of commandsOf(THREE_MACHINES)) await reader.follow(command);
  reader.end();
}

// Invariant: The commands of the guides about database failover work unchanged
// Kept by: `ops/patroni/`
// Tested by: `tools/verify/database-guides.ts` in `npm run verify`

const resources = new Resources();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void resources.endAll(console.error).finally(() => process.exit(1)));
try {
  await followManaged(resources);
  checkUnits();
  await followThreeMachines(resources);
} catch (error) {
  console.error(`FAILED  ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await resources.endAll(console.error);
}
