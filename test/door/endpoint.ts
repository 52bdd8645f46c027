import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server that a test controls to the byte. */
export type Endpoint = {
  readonly port: number;
  /** Connections so far. */
  readonly connections: () => number;
  /** Those that are open. */
  readonly open: () => number;
  /** What was received on all of them. */
  readonly received: () => string;
};

/** Called with what a connection has received so far, whenever that is more. */
export type Behaviour = (socket: Socket, received: string) => unknown;

/** Listens on loopback until the end of the test, or on every address of this machine if the host is null. */
export async function listen(behave: Behaviour, host: string | null = '127.0.0.1'): Promise<Endpoint> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let all = '';
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
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
  return { port: address.port, connections: () => connections, open: () => sockets.size, received: () => all };
}

/** Calls back once for each complete request of a connection. */
export function perRequest(answer: (socket: Socket, count: number) => void): Behaviour {
  const answered = new WeakMap<Socket, number>();
  return (socket, received) => {
    const before = answered.get(socket) ?? 0;
    const complete = received.split('{"type":"webhook.tested"}').length - 1;
    for (let count = before + 1; count <= complete; count += 1) {
      answered.set(socket, count);
      answer(socket, count);
    }
  };
}

/** Answers each request with these bytes and leaves the connection open. */
export function replying(...parts: readonly (string | Buffer)[]): Behaviour {
  return perRequest((socket) => {
    for (const part of parts) socket.write(part);
  });
}

/** An empty answer of success. */
export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
