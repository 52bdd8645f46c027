import { existsSync, readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Resources } from '../../bench/resources.ts';
import type { Machine } from '../../test/torture/failovers/machines.ts';
import type { PatroniCluster } from '../../test/torture/failovers/patroni-cluster.ts';
import { root } from '../command.ts';
import { commandsOf, type GuideCommand } from './guide-commands.ts';
import { reportMissing } from './reports.ts';

const GUIDE = 'docs/three-machines.md';

/** On which machines the guide wants a command; the first one otherwise. */
const EVERY = /^(?:install |echo 'create_main|apt-get install postgresql|systemctl (?:stop|daemon-reload|enable))/;
const ON_THE_LEADER = /^(?:runuser |set -a|patronictl)/;
const ON_THE_APPLICATION = /haproxy/;

/** Follows the guide of the three machines. What systemd and the package manager do is done in their place. */
class Reader {
  readonly #cluster: PatroniCluster;
  readonly #resources: Resources;
  /** What the shell of each machine has been told, such as its umask and its variables. */
  readonly #shells = new Map<Machine, string>();
  #followed = 0;

  constructor(cluster: PatroniCluster, resources: Resources) {
    this.#cluster = cluster;
    this.#resources = resources;
  }

  async follow({ line, command }: GuideCommand): Promise<void> {
    const where = `${GUIDE}, line ${line}: ${command}`;
    try {
      await this.#do(command);
      this.#followed += 1;
      console.log(`ok      ${where}`);
    } catch (error) {
      throw new Error(`${where}\n${error instanceof Error ? error.message : error}`);
    }
  }

  end(): void {
    console.log(`${this.#followed} commands of ${GUIDE} were followed.`);
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

  /** A line in the shell of a machine, in the directory of the files. */
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

  /** What a unit of systemd would do. */
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

  /** A file to another machine. */
  async #copy([from = '', to = '']: readonly string[]): Promise<void> {
    const [name = '', directory = ''] = to.split(':');
    const target = this.#cluster.databases.find((machine) => machine.name === name);
    const [first] = this.#cluster.databases;
    if (target === undefined || first === undefined) throw new Error(`there is no machine ${name}`);
    await copyFile(first.pathOf(from), target.pathOf(`${directory}${from.split('/').at(-1)}`));
  }

  /** Makes a transfer on the address of the guide after the switchover, and runs the command about the books. */
  async #runService(words: readonly string[]): Promise<void> {
    const { runCommand, startService, temporaryDirectory } = await import('../../test/harness/process.ts');
    const { untilAtWork } = await import('../../test/torture/loads.ts');
    const { path, remove } = await temporaryDirectory();
    const removeFiles = this.#resources.add('the files of the service', remove);
    const [, address = ''] = /^(postgresql:\S+)$/m.exec(readFileSync(join(root, GUIDE), 'utf8')) ?? [];
    // HAProxy is on a machine of its own, because this one has no 127.0.0.1 of its own.
    const DATABASE_URL = address.replace('127.0.0.1', this.#cluster.application.address);
    const settings = { DATABASE_URL, DATA_DIR: path, LOG_LEVEL: 'silent' };
    const service = await startService(settings);
    const stop = this.#resources.add('the service', async () => void (await service.stop()));
    if ((await untilAtWork(service.url)) === Number.POSITIVE_INFINITY) throw new Error('no transfer succeeds');
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
  if (found !== times) throw new Error(`'${text}' is there ${found} times instead of ${times}:\n${output}`);
}

/** Follows the guide on four machines of this one; says why, where they cannot be made. */
export async function followThreeMachines(resources: Resources): Promise<void> {
  const { lackOfPatroni, PatroniCluster } = await import('../../test/torture/failovers/patroni-cluster.ts');
  const lack = await lackOfPatroni();
  if (lack !== undefined) {
    reportMissing(`${GUIDE} was not followed: ${lack}.`);
    return;
  }
  const reader = new Reader(await PatroniCluster.make(resources), resources);
  for (const command of commandsOf(GUIDE)) await reader.follow(command);
  reader.end();
}
