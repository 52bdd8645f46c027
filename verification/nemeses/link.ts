import { mkdir } from 'node:fs/promises';
import {
  type AddressInfo,
  createConnection,
  createServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import { join } from 'node:path';

/** A direction of a link: data from the server, or data from its clients. */
export type Direction = 'from_server' | 'from_clients';

/** The file name of PostgreSQL's socket. */
const SOCKET = '.s.PGSQL.5432';

/** The shared state of a link's wires. */
type Shared = {
  readonly wires: Set<Wire>;
  readonly withheld: Set<Direction>;
};

/** One connection through a link, with its withheld data. */
class Wire {
  readonly #ends: Readonly<Record<Direction, Socket>>;
  readonly #kept: Readonly<Record<Direction, Buffer[]>> = { from_server: [], from_clients: [] };
  readonly #ended = new Set<Direction>();
  readonly #shared: Shared;

  constructor(client: Socket, server: Socket, shared: Shared) {
    this.#ends = { from_server: client, from_clients: server };
    this.#shared = shared;
    shared.wires.add(this);
    this.#carry(server, 'from_server');
    this.#carry(client, 'from_clients');
  }

  /** Delivers the withheld data of a direction. */
  pass(direction: Direction): void {
    for (const chunk of this.#kept[direction].splice(0)) this.#ends[direction].write(chunk);
    if (this.#ended.has(direction)) this.cut();
  }

  /** Cuts both sides. Withheld data is lost. */
  cut(): void {
    this.#shared.wires.delete(this);
    for (const socket of Object.values(this.#ends)) socket.destroy();
  }

  #carry(from: Socket, direction: Direction): void {
    // Without this, Nagle's algorithm and delayed acknowledgements would add up to 84 ms to each transfer.
    from.setNoDelay(true);
    from.on('data', (chunk: Buffer) => {
      if (this.#shared.withheld.has(direction)) this.#kept[direction].push(chunk);
      else this.#ends[direction].write(chunk);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      // A partition also hides that a connection was closed.
      if (this.#shared.withheld.has(direction)) this.#ended.add(direction);
      else this.cut();
    });
  }
}

/**
 * A connection between two machines that a test can disturb. A real network loses data in transit when the primary fails. On
 * one machine, that data is already in the standby's socket, and survives. So this link reads all data, and can withhold it
 * and then drop it.
 */
export class Link {
  readonly #server: Server;
  readonly #shared: Shared = { wires: new Set(), withheld: new Set() };
  #target: string | undefined;

  private constructor(target: string | undefined) {
    this.#target = target;
    this.#server = createServer((client) => this.#connect(client));
  }

  /** Listens on a socket in a new directory, as PostgreSQL does. Leads to the server whose socket is in `target`. */
  static async inDirectory(directory: string, target?: string): Promise<Link> {
    await mkdir(directory);
    return new Link(target).#listen({ path: join(directory, SOCKET), writableAll: true, readableAll: true });
  }

  /** Listens on a port of the loopback interface. Leads to the server whose socket is in `target`. */
  static atPort(target?: string): Promise<Link> {
    return new Link(target).#listen({ port: 0, host: '127.0.0.1' });
  }

  /** The port. Throws if the link listens in a directory. */
  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('this link has no port');
    return (address satisfies AddressInfo).port;
  }

  /**
   * Leads new connections to the server whose socket is in this directory, or refuses them if it is undefined. Open
   * connections stay until `cut`, as they do when the address of a name changes.
   */
  leadTo(target: string | undefined): void {
    this.#target = target;
  }

  /** Withholds everything in these directions, even the closing of a connection. */
  withhold(...directions: readonly Direction[]): void {
    for (const direction of directions) this.#shared.withheld.add(direction);
  }

  /** Delivers all withheld data, and withholds no more. */
  pass(): void {
    for (const direction of this.#shared.withheld) for (const wire of this.#shared.wires) wire.pass(direction);
    this.#shared.withheld.clear();
  }

  /** Cuts every connection. Withheld data is lost. */
  cut(): void {
    for (const wire of this.#shared.wires) wire.cut();
    this.#shared.withheld.clear();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  async #listen(where: ListenOptions): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(where, resolve);
    });
    return this;
  }

  #connect(client: Socket): void {
    if (this.#target === undefined) {
      client.on('error', () => undefined).destroy();
      return;
    }
    const server = createConnection(join(this.#target, SOCKET));
    new Wire(client, server, this.#shared);
  }
}
