import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Resources } from '../../../bench/resources.ts';
import { startServer, type TestServer } from '../../../test/harness/ledger.ts';
import { type ServiceProcess, startService, temporaryDirectory } from '../../../test/harness/process.ts';

/** A service process whose address stays the same when the process is replaced. */
type Member = { readonly port: number; readonly url: string; readonly path: string; process: ServiceProcess };

/** Service processes that share a database. The database outlives them. */
export type Fleet = {
  readonly server: TestServer;
  readonly urls: readonly string[];
  readonly process: (index: number) => ServiceProcess;
  /** Sends SIGTERM and waits for the exit. Returns the exit code and the duration in milliseconds. */
  readonly stop: (index: number) => Promise<{ readonly exitCode: number | null; readonly milliseconds: number }>;
  /** Replaces the stopped process. `main` overrides the checkout's program. */
  readonly start: (index: number, main?: string) => Promise<void>;
  readonly end: () => Promise<void>;
};

/** A fleet's own database, its first program, and the settings of all its processes. */
export type Beginning = {
  readonly server: TestServer;
  readonly main: string;
  readonly settings: Readonly<Record<string, string>>;
};

/**
 * Starts some processes. This process owns the database, because a service stops its embedded database when it exits.
 */
export async function startFleet(resources: Resources, processes: number, beginning?: Beginning): Promise<Fleet> {
  const server = beginning?.server ?? (await startServer());
  const stopServer = resources.add('the database', server.stop);
  const members: Member[] = [];
  const end = resources.add('the services', async () => {
    await Promise.all(members.map(({ process }) => process.stop()));
    for (const { path } of members) await rm(path, { recursive: true, force: true, maxRetries: 5 });
  });
  for (let index = 0; index < processes; index += 1) {
    members.push(await startMember(server, beginning?.main, beginning?.settings));
  }
  const member = (index: number): Member => {
    const found = members[index];
    if (found === undefined) throw new Error(`there is no process ${index}`);
    return found;
  };
  return {
    server,
    urls: members.map(({ url }) => url),
    process: (index) => member(index).process,
    stop: async (index) => {
      const started = performance.now();
      const exitCode = await member(index).process.stop();
      return { exitCode, milliseconds: performance.now() - started };
    },
    start: async (index, main) => {
      member(index).process = await startAt(server, member(index), main, beginning?.settings);
    },
    end: async () => {
      await end();
      await stopServer();
    },
  };
}

async function startMember(
  server: TestServer,
  main?: string,
  more?: Readonly<Record<string, string>>,
): Promise<Member> {
  const port = await freePort();
  const { path } = await temporaryDirectory();
  const process = await startAt(server, { port, path }, main, more);
  return { port, path, process, url: process.url };
}

function startAt(
  { embedded }: TestServer,
  { port, path }: Pick<Member, 'port' | 'path'>,
  main?: string,
  more: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  const settings = { DATABASE_URL: embedded.url, DATA_DIR: path, PORT: String(port), LOG_LEVEL: 'silent' };
  return startService({ ...settings, ...more }, main);
}

/** Ports below the kernel's ephemeral range: a client that connects to an ephemeral port can connect to itself. */
const LOWEST_PORT = 20_000;
const PORTS = 12_000;

/** Finds a free port that no outgoing connection takes while a process is down. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST_PORT + Math.floor(Math.random() * PORTS);
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(false));
      probe.listen({ port, host: '127.0.0.1' }, () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
