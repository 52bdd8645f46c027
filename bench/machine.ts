import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';

/** The machine, as far as numbers depend on it; nothing that would name it. */
export type Machine = {
  readonly cores: number;
  readonly model: string;
  readonly memory: string;
  readonly kernel: string;
  readonly node: string;
  readonly fileSystem: string;
  readonly loadAtStart: string;
};

/** Magic numbers of file systems on which fsync costs what it costs, and of one on which it costs nothing. */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  2035054128: 'overlayfs',
  16914836: 'tmpfs (memory: fsync costs nothing there, the ratios mean little)',
};

/** Describes the machine and the file system that holds `directory`. */
export async function describeMachine(directory: string): Promise<Machine> {
  const { type } = await statfs(directory);
  const [first] = cpus();
  return {
    cores: cpus().length,
    model: first?.model ?? 'unknown',
    memory: `${Math.round(totalmem() / 1024 ** 3)} GB`,
    kernel: `${process.platform} ${release()}`,
    node: process.versions.node,
    fileSystem: FILE_SYSTEMS[Number(type)] ?? `number ${type}`,
    loadAtStart: loadavg()[0]?.toFixed(2) ?? '0',
  };
}

/** A tool of the system: where it is and which version. */
export type Tool = { readonly path: string; readonly version: string };

/** Finds pgbench in PATH or where Debian keeps it, the newest first. */
export function findPgbench(): Tool | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((one, other) => Number(other) - Number(one)) : [];
  return firstThatRuns(['pgbench', ...versions.map((version) => join(debian, version, 'bin/pgbench'))], '--version');
}

/** Finds wrk in PATH. */
export function findWrk(): Tool | undefined {
  return firstThatRuns(['wrk'], '-v');
}

function firstThatRuns(paths: readonly string[], versionOption: string): Tool | undefined {
  for (const path of paths) {
    const version = askVersion(path, versionOption);
    if (version !== undefined) return { path, version };
  }
  return undefined;
}

/** wrk says its version and ends with 1, so the exit code says nothing. */
function askVersion(path: string, option: string): string | undefined {
  try {
    return firstLine(execFileSync(path, [option], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  } catch (error) {
    const output: unknown = error instanceof Error ? Reflect.get(error, 'stdout') : undefined;
    return typeof output === 'string' && output !== '' ? firstLine(output) : undefined;
  }
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').replace(/\s*(\[epoll\])?\s*Copyright.*$/, '').trim();
}
