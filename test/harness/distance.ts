import { createConnection, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A round trip: everything that a client sent before it waited for an answer. `statements` are the names of prepared statements
 * and the texts of simple queries, in order.
 */
export type RoundTrip = { readonly connection: number; readonly statements: string[] };

/** A TCP proxy to PostgreSQL that adds a round trip time, like a database in another data center. */
export type Distance = {
  readonly host: string;
  readonly port: number;
  /** Starts to record the round trips of all connections. */
  readonly record: () => readonly RoundTrip[];
  readonly close: () => Promise<void>;
};

/** The end of a chain of chunks. Each chunk is passed on when its time has come, in order. */
class DelayedPipe {
  readonly #to: Socket;
  readonly #milliseconds: number;
  readonly #chunks: { readonly chunk: Buffer; readonly due: number }[] = [];
  #isRunning = false;

  constructor(to: Socket, milliseconds: number) {
    this.#to = to;
    this.#milliseconds = milliseconds;
  }

  push(chunk: Buffer): void {
    this.#chunks.push({ chunk, due: performance.now() + this.#milliseconds });
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#chunks[0]; next !== undefined; next = this.#chunks[0]) {
      await until(next.due);
      this.#to.write(next.chunk);
      this.#chunks.shift();
    }
    this.#isRunning = false;
  }
}

const NAP = new Int32Array(new SharedArrayBuffer(4));

/** Waits more precisely than a timer, whose resolution is a millisecond. */
async function until(due: number): Promise<void> {
  for (let left = due - performance.now(); left > 0; left = due - performance.now()) {
    if (left > 2) await delay(left - 1.5);
    else {
      Atomics.wait(NAP, 0, 0, Math.min(left, 0.1));
      await new Promise((turn) => setImmediate(turn));
    }
  }
}

const SIMPLE_QUERY = 0x51;
const BIND = 0x42;

/** Reads the messages of a client (PostgreSQL's protocol, version 3) from its chunks. */
class Messages {
  #rest = Buffer.alloc(0);
  #isStarted = false;

  /** Returns the statements in a chunk. */
  read(chunk: Buffer): readonly string[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const found: string[] = [];
    for (;;) {
      // The first message has a length but no type.
      const start = this.#isStarted ? 1 : 0;
      if (this.#rest.length < start + 4) return found;
      const end = start + this.#rest.readUInt32BE(start);
      if (this.#rest.length < end) return found;
      const type = this.#isStarted ? this.#rest[0] : undefined;
      const texts = this.#rest.toString('utf8', start + 4, end).split('\0', 2);
      if (type === SIMPLE_QUERY) found.push(texts[0] ?? '');
      if (type === BIND) found.push(texts[1] ?? '');
      this.#isStarted = true;
      this.#rest = this.#rest.subarray(end);
    }
  }
}

/** Starts a proxy in front of a server that adds `milliseconds` to every round trip, half of it each way. */
export async function startDistance(target: NetConnectOpts, milliseconds: number): Promise<Distance> {
  let trips: RoundTrip[] | undefined;
  let made = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(target);
    const toServer = new DelayedPipe(upstream, milliseconds / 2);
    const toClient = new DelayedPipe(client, milliseconds / 2);
    made += 1;
    const connection = made;
    const messages = new Messages();
    let trip: RoundTrip | undefined;
    client.on('data', (chunk: Buffer) => {
      if (trip === undefined) {
        trip = { connection, statements: [] };
        trips?.push(trip);
      }
      trip.statements.push(...messages.read(chunk));
      toServer.push(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      trip = undefined;
      toClient.push(chunk);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return {
    host: '127.0.0.1',
    port,
    record: () => {
      trips = [];
      return trips;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
