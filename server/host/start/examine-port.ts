import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { type Check, ok, problem } from '../../../domain/doctor-check.ts';
import type { CommandConfiguration } from '../../foundation/configuration/configuration.ts';
import type { RunningService } from '../../postgres/running-services.ts';

/** Checks whether the service can listen on its port, or already does. `serving` is a port where a service responds. */
export async function examinePort(
  { port, hosts }: Pick<CommandConfiguration, 'port' | 'hosts'>,
  services: readonly RunningService[],
  serving: number | undefined,
): Promise<readonly Check[]> {
  const name = 'port';
  const own = services.find((service) => service.port === port);
  if (own !== undefined)
    return [ok(name, `${port} is used by the service of this data directory, process ${own.processId}`)];
  const [other] = services;
  const started =
    other === undefined ? [] : [ok('process', `a service of this data directory runs on port ${other.port}`)];
  for (const host of hosts) {
    const code = await tryToListen(host, port);
    // A machine without IPv6 has no ::1.
    if (code === undefined || code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') continue;
    if (code === 'EADDRINUSE' && port === serving) {
      return [ok(name, `${port} is used by the service above, which uses a different data directory from this shell`)];
    }
    if (code === 'EADDRINUSE') return [...started, problem(name, await describeUse(port), 'port-unavailable')];
    const text = code === 'EACCES' ? 'This user may not listen on it. Set PORT to one above 1023.' : `(${code})`;
    return [...started, problem(name, `Port ${port} cannot be used. ${text}`, 'port-unavailable')];
  }
  return [...started, ok(name, `${port} is free`)];
}

/** Returns the error code of listening on an address, or undefined if it works. */
function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function describeUse(port: number): Promise<string> {
  const owner = await ownerOf(port);
  const who = owner === undefined ? 'by another process' : `by process ${owner.processId}: ${owner.command}`;
  return `Port ${port} is used ${who}. Stop that process, or set PORT to another port.`;
}

/** Returns the process that listens on a port, if Linux shows that to this user. */
async function ownerOf(port: number): Promise<{ readonly processId: string; readonly command: string } | undefined> {
  const sockets = await listeningSockets(port);
  if (sockets.size === 0) return undefined;
  for (const processId of await listed('/proc')) {
    if (!/^\d+$/.test(processId)) continue;
    for (const file of await listed(`/proc/${processId}/fd`)) {
      const target = await readlink(`/proc/${processId}/fd/${file}`).catch(() => '');
      if (!sockets.has(target)) continue;
      const command = await readFile(`/proc/${processId}/cmdline`, 'utf8').catch(() => '');
      return { processId, command: programOf(command.split('\0')) };
    }
  }
  return undefined;
}

/** Returns only the executable and its script. Other arguments can be secrets, and people share the output of `doctor`. */
function programOf([program = '', script = '']: readonly string[]): string {
  return (/^[\w./@-]+\.(?:py|rb|[cm]?[jt]s)$/.test(script) ? `${program} ${script}` : program).slice(0, 80);
}

/** Returns the sockets that listen on a port, named like the file descriptors in /proc. */
async function listeningSockets(port: number): Promise<ReadonlySet<string>> {
  const LISTENING = '0A';
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'utf8').catch(() => '')),
  );
  const lines = tables.join('\n').split('\n');
  return new Set(
    lines.flatMap((line) => {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
      return local.endsWith(`:${hex}`) && state === LISTENING ? [`socket:[${inode}]`] : [];
    }),
  );
}

function listed(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch(() => []);
}
