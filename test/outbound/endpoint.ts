import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server that a test controls byte by byte. */
export type Endpoint = {
  readonly port: number;
  readonly connections: () => number;
  /** The number of currently open connections, and the highest number so far. */
  readonly open: () => number;
  readonly mostOpen: () => number;
  readonly received: () => string;
  /** Stops listening, so that new connections are refused. */
  readonly close: () => Promise<void>;
};

/** Called after each chunk with everything that a connection has received so far. */
export type Behaviour = (socket: Socket, received: string) => unknown;

/** Listens on loopback until the end of the test, or on every address of this machine if the host is null. */
export async function listen(behave: Behaviour, host: string | null = '127.0.0.1'): Promise<Endpoint> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let mostOpen = 0;
  let all = '';
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    mostOpen = Math.max(mostOpen, sockets.size);
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      all += chunk.toString('latin1');
      behave(socket, received);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen({ port: 0, ...(host !== null && { host }) });
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  return {
    port: address.port,
    connections: () => connections,
    open: () => sockets.size,
    mostOpen: () => mostOpen,
    received: () => all,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Calls `answer` for each complete request on a connection, with the number of requests so far. */
export function perRequest(answer: (socket: Socket, count: number) => unknown): Behaviour {
  const read = new WeakMap<Socket, { readonly end: number; readonly count: number }>();
  return (socket, received) => {
    for (;;) {
      const { end, count } = read.get(socket) ?? { end: 0, count: 0 };
      const head = /content-length: (\d+)\r\n.*?\r\n\r\n/is.exec(received.slice(end));
      const nextEnd = end + (head?.index ?? 0) + (head?.[0].length ?? 0) + Number(head?.[1]);
      if (head === null || received.length < nextEnd) return;
      read.set(socket, { end: nextEnd, count: count + 1 });
      answer(socket, count + 1);
    }
  };
}

/** Answers each request with these bytes and leaves the connection open. */
export function replying(...parts: readonly (string | Buffer)[]): Behaviour {
  return perRequest((socket) => {
    for (const part of parts) socket.write(part);
  });
}

/** An empty successful answer. */
export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
