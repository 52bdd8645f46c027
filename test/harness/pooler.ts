import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

/**
 * The modes of a stand-in for PgBouncer. `session` gives every client its own session and drops the startup options.
 * `transaction` lets all clients share one session, one transaction at a time. `refusing` rejects the startup options, as
 * PgBouncer does by default. `translating` does not pool: it acts as a server with messages in German.
 */
export type PoolerMode = 'session' | 'transaction' | 'refusing' | 'translating';

export type Pooler = { readonly host: string; readonly close: () => Promise<void> };

const SOCKET = '.s.PGSQL.5432';

/** Starts a pooler in front of the server whose Unix socket is in `target`. */
export async function startPooler(target: string, mode: PoolerMode): Promise<Pooler> {
  const host = await mkdtemp('/tmp/pooler-');
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    return socket;
  };
  const openSession = () => keep(createConnection(join(target, SOCKET)));
  const shared = new SharedSession(openSession);
  const server = createServer((client) => {
    keep(client).once('data', (startup) => {
      if (mode === 'refusing') client.end(refusal());
      else if (mode === 'transaction') shared.serve(client, startup);
      else passOn(client, openSession(), startup, mode);
    });
  });
  await new Promise<void>((resolve) => server.listen(join(host, SOCKET), resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    await rm(host, { recursive: true, force: true });
  };
  return { host, close };
}

function passOn(client: Socket, session: Socket, startup: Buffer, mode: PoolerMode): void {
  session.write(mode === 'session' ? withoutOptions(startup) : startup);
  client.on('data', (data) => session.write(data));
  session.on('data', (data: Buffer) => client.write(mode === 'translating' ? translated(data) : data));
  client.on('close', () => session.destroy());
  session.on('close', () => client.destroy());
}

/** A session that all clients share. It finishes one client's transaction before it serves the next client. */
class SharedSession {
  readonly #open: () => Socket;
  #session: Socket | undefined;
  #greeting: Promise<Buffer> | undefined;
  #served: Socket | undefined;
  #free: () => void = () => undefined;
  #turn: Promise<void> = Promise.resolve();
  #rest = Buffer.alloc(0);

  constructor(open: () => Socket) {
    this.#open = open;
  }

  serve(client: Socket, startup: Buffer): void {
    this.#greeting ??= this.#begin(startup);
    void this.#greeting.then((greeting) => client.write(greeting));
    client.on('data', (data: Buffer) => {
      // On Terminate, keeps the session for the other clients.
      if (data[0] === 'X'.charCodeAt(0)) return;
      if (this.#served === client) {
        this.#session?.write(data);
        return;
      }
      this.#turn = this.#turn.then(() => {
        this.#served = client;
        this.#session?.write(data);
        return new Promise<void>((free) => {
          this.#free = free;
          client.once('close', free);
        });
      });
    });
  }

  #begin(startup: Buffer): Promise<Buffer> {
    const session = this.#open();
    this.#session = session;
    session.write(withoutOptions(startup));
    return new Promise((resolve) => {
      session.on('data', (data: Buffer) => {
        this.#served?.write(data);
        const isIdle = this.#endsIdle(data);
        if (this.#served === undefined) resolve(data);
        else if (isIdle) {
          this.#served = undefined;
          this.#free();
        }
      });
    });
  }

  /** Returns whether the last message from the server is ReadyForQuery outside a transaction. */
  #endsIdle(data: Buffer): boolean {
    this.#rest = Buffer.concat([this.#rest, data]);
    let isIdle = false;
    while (this.#rest.length >= 5 && this.#rest.length > this.#rest.readInt32BE(1)) {
      const length = 1 + this.#rest.readInt32BE(1);
      isIdle = this.#rest.toString('latin1', 0, length).startsWith('Z') && this.#rest[5] === 'I'.charCodeAt(0);
      this.#rest = this.#rest.subarray(length);
    }
    return isIdle && this.#rest.length === 0;
  }
}

/**
 * Removes the options from a client's first packet, which contains its length, the version, and pairs of zero-terminated strings.
 */
function withoutOptions(startup: Buffer): Buffer {
  const parts = startup.toString('latin1', 8).split('\0');
  const at = parts.findIndex((part, index) => index % 2 === 0 && part === 'options');
  if (at !== -1) parts.splice(at, 2);
  const packet = Buffer.from(`${startup.toString('latin1', 0, 8)}${parts.join('\0')}`, 'latin1');
  packet.writeInt32BE(packet.length, 0);
  return packet;
}

function refusal(): Buffer {
  const fields = 'SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0';
  const message = Buffer.from(`E\0\0\0\0${fields}`, 'latin1');
  message.writeInt32BE(message.length - 1, 1);
  return message;
}

/**
 * Translates the severity of a message. The severities have the same length in both languages, so the message keeps its
 * length.
 */
function translated(data: Buffer): Buffer {
  return Buffer.from(data.toString('latin1').replaceAll('SWARNING\0', 'SWARNUNG\0'), 'latin1');
}
