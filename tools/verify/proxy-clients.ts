// A client over TLS, and a relay between a proxy and the service, for the verification of the proxies.
import { once } from 'node:events';
import { request as requestInClear } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { request } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { HOST_NAME } from './proxy-programs.ts';

/** One request. `from` is the loopback address that it comes from. */
export type Ask = {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly from?: string;
};

export type Reply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
};

/** Sends a request over TLS and HTTP/1.1, or over HTTP/1.1 without TLS. */
export function ask(port: number, { method = 'GET', path, headers, body, from }: Ask, isClear = false): Promise<Reply> {
  const send = isClear ? requestInClear : request;
  const options = { host: '127.0.0.1', port, method, path, localAddress: from, servername: HOST_NAME };
  return new Promise((resolve, reject) => {
    const sent = send(
      {
        ...options,
        headers: { Host: HOST_NAME, ...headers, ...lengthOf(body) },
        rejectUnauthorized: false,
        agent: false,
      },
      (response) => {
        readAll(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
          reject,
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

export type Connection = {
  readonly ask: (ask: Ask) => Promise<Reply>;
  /** Opens a stream and returns its data as it arrives. */
  readonly open: (ask: Ask) => Readable;
  readonly close: () => void;
};

export async function connectOverHttp2(port: number): Promise<Connection> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { servername: HOST_NAME, rejectUnauthorized: false });
  await once(session, 'connect');
  const open = ({ method = 'GET', path, headers, body }: Ask) => {
    const head = { ':method': method, ':path': path, ':authority': HOST_NAME, ...headers, ...lengthOf(body) };
    const stream = session.request(head, { endStream: body === undefined });
    stream.setEncoding('utf8');
    if (body !== undefined) stream.end(body);
    return stream;
  };
  const askOver = async (sent: Ask): Promise<Reply> => {
    const stream = open(sent);
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
    return { status: headers[':status'] ?? 0, headers, text: await readAll(stream) };
  };
  return { ask: askOver, open, close: () => session.destroy() };
}

export async function readUntil(stream: Readable, isThere: (text: string) => boolean): Promise<string> {
  let text = '';
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (isThere(text)) return text;
  }
  throw new Error(`the stream ended too early: ${text}`);
}

function lengthOf(body: string | undefined): Readonly<Record<string, string>> {
  return body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
}

async function readAll(stream: Readable): Promise<string> {
  let text = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) text += chunk;
  return text;
}

/** Forwards bytes between a proxy and a service, and records the bytes from the proxy. */
export type Relay = {
  readonly port: number;
  readonly connections: () => number;
  /** Everything that the proxy sent since the last call. */
  readonly takeSent: () => string;
  /** Ends all connections and refuses new ones. */
  readonly stop: () => Promise<void>;
};

export async function startRelay(servicePort: number): Promise<Relay> {
  let connections = 0;
  let sent = '';
  const sockets = new Set<Socket>();
  const server = createServer((incoming) => {
    connections += 1;
    const outgoing = connect(servicePort, '127.0.0.1').setNoDelay(true);
    for (const socket of [incoming.setNoDelay(true), outgoing]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    incoming.on('data', (chunk) => {
      sent += chunk.toString('latin1');
    });
    incoming.pipe(outgoing).pipe(incoming);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address !== 'object') throw new Error('no address');
  return {
    port: address.port,
    connections: () => connections,
    takeSent: () => {
      const taken = sent;
      sent = '';
      return taken;
    },
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
