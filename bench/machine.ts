import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';

/** The properties of the machine that affect the figures. Nothing identifies the machine. */
export type Machine = {
  readonly cores: number;
  readonly model: string;
  readonly memory: string;
  readonly kernel: string;
  readonly node: string;
  readonly fileSystem: string;
  readonly loadAtStart: string;
};

/** Magic numbers of file systems. */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  2035054128: 'overlayfs',
  16914836: 'tmpfs (in memory: fsync costs nothing, so the ratios mean little)',
};

/** Describes the machine and the file system of `directory`. */
export async function describeMachine(directory: string): Promise<Machine> {
  const { type } = await statfs(directory);
  const [first] = cpus();
  return {
    cores: availableParallelism(),
    model: first?.model ?? 'unknown',
    memory: `${Math.round(totalmem() / 1024 ** 3)} GB`,
    kernel: `${process.platform} ${release()}`,
    node: process.versions.node,
    fileSystem: FILE_SYSTEMS[Number(type)] ?? `number ${type}`,
    loadAtStart: loadavg()[0]?.toFixed(2) ?? '0',
  };
}

export type Tool = { readonly path: string; readonly version: string };

/** Debian's folder with each major version of PostgreSQL. */
const DEBIAN_DIRECTORY = '/usr/lib/postgresql';

/** The oldest version that the service supports. Debian 12 has it. */
const OWN_VERSION = '15';

/** Finds pgbench in PATH or in Debian's folders, the newest first. */
export function findPgbench(): Tool | undefined {
  const versions = existsSync(DEBIAN_DIRECTORY)
    ? readdirSync(DEBIAN_DIRECTORY).sort((one, other) => Number(other) - Number(one))
    : [];
  for (const path of ['pgbench', ...versions.map((version) => join(DEBIAN_DIRECTORY, version, 'bin/pgbench'))]) {
    const version = readVersion(path);
    if (version !== undefined) return { path, version };
  }
  return undefined;
}

/** The programs of Debian's PostgreSQL 15. */
export function findOwnPostgres(): string | undefined {
  const directory = join(DEBIAN_DIRECTORY, OWN_VERSION, 'bin');
  return existsSync(join(directory, 'postgres')) && existsSync(join(directory, 'initdb')) ? directory : undefined;
}

function readVersion(path: string): string | undefined {
  try {
    return execFileSync(path, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
