import { connect, type Socket } from 'node:net';

const TRANSFER = '/api/v0.1/core/transfer';

/** Returns a POST of a body to create_transfer, with exactly these headers. */
export function post(body: string | Buffer, headers: readonly string[] = ['Content-Type: application/json']): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const head = [`POST ${TRANSFER} HTTP/1.1`, 'Host: localhost', ...headers, `Content-Length: ${bytes.length}`];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

export function bare(method: string, path: string, headers: readonly string[] = ['Host: localhost']): string {
  return `${[`${method} ${path} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`;
}

/** A response, parsed from its bytes. */
export type RawResponse = {
  readonly statusLine: string;
  readonly status: number;
  /** Headers by lower-case name. Repeated headers are joined by " & ", so that a test can detect them. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

/** The time limit for a response, in milliseconds. Only a server that never responds reaches it. */
const TIMEOUT_MILLISECONDS = 120_000;

/** A connection on which a test can send arbitrary bytes and read responses one by one. */
export class RawConnection {
  readonly socket: Socket;
  /** Chunks that have not been read. They are joined only when read, because a stream has thousands. */
  #chunks: Buffer[] = [];
  #ended = false;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#wake();
    });
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    socket.on('end', end).on('close', end).on('error', end);
  }

  static open(port: number, host = '127.0.0.1'): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      // Half-closing is allowed, so that the test decides when to close its half.
      const socket = connect({ port, host, allowHalfOpen: true });
      const connection = new RawConnection(socket);
      socket.once('connect', () => resolve(connection)).once('error', reject);
    });
  }

  send(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Reads the next final response. A response to HEAD has no body. */
  async next(method = 'GET'): Promise<RawResponse> {
    for (;;) {
      const response = this.#take(method);
      if (response !== undefined && response.status >= 200) return response;
      if (response !== undefined) continue;
      if (this.#ended) throw new Error(`The connection ended after: ${JSON.stringify(this.received)}`);
      await this.#wait();
    }
  }

  /** Returns all bytes after the last response that was read, until the connection is closed. */
  async rest(): Promise<string> {
    while (!this.#ended) await this.#wait();
    return this.received;
  }

  get received(): string {
    return this.#received().toString();
  }

  close(): void {
    this.socket.destroy();
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`No response: ${this.received}`)), TIMEOUT_MILLISECONDS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #received(): Buffer {
    const received = Buffer.concat(this.#chunks);
    this.#chunks = [received];
    return received;
  }

  #take(method: string): RawResponse | undefined {
    const received = this.#received();
    const end = received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [statusLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n');
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers.set(name, headers.has(name) ? `${headers.get(name)} & ${value}` : value);
    }
    const status = Number(statusLine.split(' ')[1]);
    const length = method === 'HEAD' || status < 200 ? 0 : Number(headers.get('content-length') ?? 0);
    if (received.length < end + 4 + length) return undefined;
    const body = received.subarray(end + 4, end + 4 + length).toString();
    this.#chunks = [received.subarray(end + 4 + length)];
    return { statusLine, status, headers, body };
  }
}

export function isListening(port: number): Promise<boolean> {
  return RawConnection.open(port).then(
    (connection) => {
      connection.close();
      return true;
    },
    () => false,
  );
}
