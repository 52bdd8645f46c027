import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { COMPILED } from '../harness/process.ts';
import type { Question } from './stand-in.ts';

/** How a line reacts to a new connection: it resets the connection, or lets it pass. */
export type Connecting = 'pass' | 'reset';

/** How a line handles a request to the processor. */
export type Carrying =
  | 'pass'
  /** Half of the request arrives, then both sides are cut. */
  | 'cut'
  /** Half of the request arrives, then nothing more. */
  | 'silence'
  /** The request arrives byte by byte. */
  | 'slow'
  /** Part of the request's body changes on the way. */
  | 'malformed'
  /** The request's amount changes on the way. */
  | 'wrong_amount'
  /** Half of the request arrives, and the other half when the promise resolves. */
  | Promise<void>;

/**
 * The actions of a line. They depend on the connection's number, or on the request's number among the same kind of
 * requests for one attempt.
 */
export type LineScript = {
  readonly connecting?: (nth: number) => Connecting;
  readonly carrying?: (question: Question, nth: number) => Carrying;
};

/** The connection of one connector to the processor. It can lose or change requests. It passes answers on unchanged. */
export class Line {
  readonly #port: number;
  readonly #seen = new Map<string, number>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #script: LineScript = {};
  #connections = 0;

  /** Connects to a port on this machine. */
  constructor(port: number) {
    this.#port = port;
    this.#server = createServer((client) => void this.#serve(client).catch(() => client.destroy()));
  }

  /** The number of complete requests that have reached the line. */
  get requests(): number {
    return [...this.#seen.values()].reduce((sum, times) => sum + times, 0);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  play(script: LineScript): void {
    this.#script = script;
    this.#connections = 0;
    this.#seen.clear();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(client: Socket): Promise<void> {
    this.#keep(client);
    const nth = this.#connections;
    this.#connections += 1;
    if (this.#script.connecting?.(nth) === 'reset') {
      client.resetAndDestroy();
      return;
    }
    const request = await readRequest(client);
    const carrying = this.#carryingOf(request);
    const server = createConnection(this.#port, '127.0.0.1');
    this.#keep(server);
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
    server.pipe(client);
    await carry(request, carrying, client, server);
  }

  #carryingOf(request: Buffer): Carrying {
    const text = request.toString();
    const [, question = ''] = /^\S+ \S*\/(\w+) /.exec(text) ?? [];
    const [about = ''] = /"attempt_id":"\w+"/.exec(text) ?? [];
    const nth = this.#seen.get(`${question} ${about}`) ?? 0;
    this.#seen.set(`${question} ${about}`, nth + 1);
    return this.#script.carrying?.(question as Question, nth) ?? 'pass';
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

async function readRequest(client: Socket): Promise<Buffer> {
  let request = Buffer.alloc(0);
  for (;;) {
    const end = request.indexOf('\r\n\r\n');
    const [, length = '0'] = /^content-length: (\d+)/im.exec(request.toString()) ?? [];
    if (end !== -1 && request.length >= end + 4 + Number(length)) return request;
    const [chunk] = (await once(client, 'data')) as [Buffer];
    request = Buffer.concat([request, chunk]);
  }
}

async function carry(request: Buffer, carrying: Carrying, client: Socket, server: Socket): Promise<void> {
  // Cuts in the middle of the body, where the first half looks like an order.
  const half = request.length - 40;
  switch (carrying) {
    case 'pass':
      server.write(request);
      return;
    case 'cut':
      server.write(request.subarray(0, half), () => {
        server.destroy();
        client.destroy();
      });
      return;
    case 'silence':
      server.write(request.subarray(0, half));
      return;
    case 'slow':
      for (const byte of request) {
        server.write(Buffer.of(byte));
        await new Promise((turn) => setImmediate(turn));
      }
      return;
    case 'malformed':
      server.write(Buffer.from(request.toString().replace('"currency"', '"curren"y"')));
      return;
    case 'wrong_amount':
      server.write(Buffer.from(request.toString().replace(/"amount":\d/, '"amount":9')));
      return;
    default:
      server.write(request.subarray(0, half));
      await carrying;
      server.write(request.subarray(half));
  }
}

/** A process that passes connections on. When the test stops it, its port stays open. */
const PASS_ON = `
  const { createConnection, createServer } = require('node:net');
  const server = createServer((client) => {
    const upstream = createConnection(Number(process.argv[1]), '127.0.0.1');
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [[client, upstream], [upstream, client]]) {
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`;

/**
 * The number of connections that fit in the host's queue, and the number that are opened, which is larger so that the
 * queue is certainly full.
 */
const PLACES = 2;
const CONNECTIONS = 5;

/** The host of a processor. It can be made to stop responding, and then neither accepts nor refuses new connections. */
export class Host {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #waiting: Socket[] = [];

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#port = port;
  }

  static async start(port: number): Promise<Host> {
    const child = spawn(process.execPath, ['-e', PASS_ON, String(port)], {
      env: { ...COMPILED },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed] = (await once(child.stdout as NonNullable<typeof child.stdout>, 'data')) as [Buffer];
    return new Host(child, Number(printed.toString()));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Stops the host and fills its queue of connections, so that the next one gets no response. */
  async fallSilent(): Promise<void> {
    this.#child.kill('SIGSTOP');
    for (let made = 0; made < CONNECTIONS; made += 1) {
      const socket = createConnection(this.#port, '127.0.0.1');
      socket.on('error', () => undefined);
      this.#waiting.push(socket);
    }
    await Promise.all(this.#waiting.slice(0, PLACES).map((socket) => once(socket, 'connect')));
  }

  answer(): void {
    this.#child.kill('SIGCONT');
    for (const socket of this.#waiting.splice(0)) socket.destroy();
  }

  async stop(): Promise<void> {
    this.answer();
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
