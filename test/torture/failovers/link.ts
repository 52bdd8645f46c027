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

/** Which direction of a link is withheld: what the server sends, or what its clients send. */
export type Direction = 'from_server' | 'from_clients';

/** How PostgreSQL names its socket in a directory. */
const SOCKET = '.s.PGSQL.5432';

/** What the wires of a link share. */
type Shared = {
  readonly wires: Set<Wire>;
  /** The directions that are withheld. */
  readonly withheld: Set<Direction>;
};

/** One connection through a link, and what is withheld of it. */
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

  /** Passes on what was withheld in a direction. */
  pass(direction: Direction): void {
    for (const chunk of this.#kept[direction].splice(0)) this.#ends[direction].write(chunk);
    if (this.#ended.has(direction)) this.cut();
  }

  /** Cuts both sides; what is withheld never arrives. */
  cut(): void {
    this.#shared.wires.delete(this);
    for (const socket of Object.values(this.#ends)) socket.destroy();
  }

  #carry(from: Socket, direction: Direction): void {
    // Otherwise Nagle's algorithm and delayed acknowledgements add up to 84 ms to each transfer.
    from.setNoDelay(true);
    from.on('data', (chunk: Buffer) => {
      if (this.#shared.withheld.has(direction)) this.#kept[direction].push(chunk);
      else this.#ends[direction].write(chunk);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      // Behind a partition, nobody hears of an end either.
      if (this.#shared.withheld.has(direction)) this.#ended.add(direction);
      else this.cut();
    });
  }
}

/**
 * A connection between two machines that a test can spoil. On one machine what a primary has sent is in the standby's socket
 * at once and survives the primary; on a network, what is under way is lost with it. So this link reads everything, and can
 * withhold what it has read and then drop it.
 */
export class Link {
  readonly #server: Server;
  readonly #shared: Shared = { wires: new Set(), withheld: new Set() };
  #target: string | undefined;

  private constructor(target: string | undefined) {
    this.#target = target;
    this.#server = createServer((client) => this.#connect(client));
  }

  /** Listens in a new directory, as PostgreSQL does, and leads to the server whose socket is in `target`. */
  static async inDirectory(directory: string, target?: string): Promise<Link> {
    await mkdir(directory);
    return new Link(target).#listen({ path: join(directory, SOCKET), writableAll: true, readableAll: true });
  }

  /** The same at a port of the loopback interface. */
  static atPort(target?: string): Promise<Link> {
    return new Link(target).#listen({ port: 0, host: '127.0.0.1' });
  }

  /** The port; only of a link that has one. */
  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('this link has no port');
    return (address satisfies AddressInfo).port;
  }

  /**
   * Leads new connections to the server whose socket is in a directory, or refuses them. Open ones stay until `cut`, as
   * behind a name whose address has changed.
   */
  leadTo(target: string | undefined): void {
    this.#target = target;
  }

  /** From now on nothing arrives in these directions, not even the end of a connection. */
  withhold(...directions: readonly Direction[]): void {
    for (const direction of directions) this.#shared.withheld.add(direction);
  }

  /** Passes on what was withheld, and everything after it. */
  pass(): void {
    for (const direction of this.#shared.withheld) for (const wire of this.#shared.wires) wire.pass(direction);
    this.#shared.withheld.clear();
  }

  /** Cuts every connection; what is withheld is lost. */
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
