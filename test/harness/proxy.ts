import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/** What the proxy does with the next COMMIT. */
export type CommitFault =
  /** Cuts the connection before the server has seen it. */
  | 'cut_before'
  /** Cuts it when the server has committed, before any of its answer gets back. */
  | 'cut_after'
  /** Lets the server have it, and the service's side is gone at once: the server works for nobody, if it goes on. */
  | 'orphan';

/** A wire between the service and PostgreSQL that a test can cut where it hurts. */
export type DatabaseProxy = {
  /** Directory of the proxy's Unix socket, to be used as `host`. */
  readonly host: string;
  /** Faults for the COMMITs to come, first one first; taken off as they happen. */
  readonly faults: CommitFault[];
  /** How often the talk on any connection has turned: the client spoke after the server had. */
  readonly turns: () => number;
  readonly close: () => Promise<void>;
};

const SOCKET = '.s.PGSQL.5432';

/** The simple query `commit`, as the service sends it. */
const COMMIT = Buffer.from('Q\0\0\0\x0bcommit\0', 'latin1');

/** The server's answer to it. */
const COMMITTED = Buffer.from('COMMIT\0', 'latin1');

/** Starts a proxy in front of the server whose Unix socket is in `target`. */
export async function startProxy(target: string): Promise<DatabaseProxy> {
  const host = await mkdtemp('/tmp/proxy-');
  const faults: CommitFault[] = [];
  const sockets = new Set<Socket>();
  let turns = 0;
  const server: Server = createServer((client) => {
    const upstream = createConnection(join(target, SOCKET));
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    let fault: CommitFault | undefined;
    let serverSpoke = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        if (fault !== 'orphan') cut();
      });
    }
    client.on('data', (chunk: Buffer) => {
      if (serverSpoke) turns += 1;
      serverSpoke = false;
      const at = chunk.indexOf(COMMIT);
      if (at !== -1) fault = faults.shift();
      if (fault === 'cut_before') {
        // The statements before it do arrive, as they would on a network.
        upstream.end(chunk.subarray(0, at));
        client.destroy();
        return;
      }
      upstream.write(chunk);
      if (fault === 'orphan') client.destroy();
    });
    upstream.on('data', (chunk: Buffer) => {
      serverSpoke = true;
      if (fault === undefined) client.write(chunk);
      else if (chunk.includes(COMMITTED)) cut();
    });
  });
  await new Promise<void>((resolve) => server.listen(join(host, SOCKET), resolve));
  return {
    host,
    faults,
    turns: () => turns,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(host, { recursive: true, force: true });
    },
  };
}
