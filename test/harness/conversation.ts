import { connect, type Socket } from 'node:net';

/** A response, parsed from its bytes. */
export type ReceivedResponse = {
  readonly status: number;
  /** The status line and the headers. */
  readonly head: string;
  readonly body: string;
};

/** The responses to pipelined requests. */
export type Exchange = {
  readonly responses: readonly ReceivedResponse[];
  /** The bytes after the last complete response. */
  readonly rest: string;
  /** Whether the service has closed the connection. */
  readonly isEnded: boolean;
};

/** A request that must get a response. The response to HEAD has no body, even if its headers announce one. */
export type Awaited = { readonly method: string };

/** A response takes at most six seconds, so one that has not arrived within this time will never arrive. */
const TIMEOUT_MILLISECONDS = 120_000;

/** A connection to the service. It opens on first use, and again if the service has closed it. */
export class Conversation {
  readonly #port: number;
  #socket: Socket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #wake: () => void = () => undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends bytes, and reads one response for each request in `awaited` or until the connection ends. */
  async exchange(bytes: Buffer, awaited: readonly Awaited[], endsAfter: boolean): Promise<Exchange> {
    const socket = await this.#open();
    socket.write(bytes);
    if (endsAfter) socket.end();
    const responses: ReceivedResponse[] = [];
    const deadline = performance.now() + TIMEOUT_MILLISECONDS;
    while (responses.length < awaited.length) {
      const response = this.#take(awaited[responses.length]?.method ?? '');
      if (response !== undefined) {
        if (response.status >= 200) responses.push(response);
      } else if (this.#isEnded || !(await this.#arrival(deadline))) break;
    }
    return this.#conclude(responses, endsAfter);
  }

  /** Sends bytes, half-closes the connection, and reads everything until the service closes its half. */
  async sendAndEnd(bytes: Buffer): Promise<Exchange> {
    const socket = await this.#open();
    socket.end(bytes);
    const deadline = performance.now() + TIMEOUT_MILLISECONDS;
    while (!this.#isEnded && (await this.#arrival(deadline)));
    const responses: ReceivedResponse[] = [];
    for (let response = this.#take('GET'); response !== undefined; response = this.#take('GET')) {
      if (response.status >= 200) responses.push(response);
    }
    return this.#conclude(responses, true);
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #conclude(responses: readonly ReceivedResponse[], isOver: boolean): Exchange {
    const isEnded = this.#isEnded;
    const rest = this.#received.toString('latin1');
    const last = responses.at(-1);
    if (isEnded || isOver || last === undefined || saysClose(last)) this.close();
    return { responses, rest, isEnded };
  }

  async #open(): Promise<Socket> {
    if (this.#socket !== undefined && !this.#isEnded) return this.#socket;
    this.close();
    this.#received = Buffer.alloc(0);
    this.#isEnded = false;
    // Half-closing is allowed, so that the test can end its half of the connection before the response arrives.
    const socket = connect({ port: this.#port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const end = (): void => {
      if (socket !== this.#socket) return;
      this.#isEnded = true;
      this.#wake();
    };
    socket.on('data', (chunk: Buffer) => {
      if (socket !== this.#socket) return;
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on('end', end).on('close', end).on('error', end);
    this.#socket = socket;
    return socket;
  }

  /** Resolves to false if nothing arrives in time. */
  #arrival(deadline: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), Math.max(0, deadline - performance.now()));
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  #take(method: string): ReceivedResponse | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const head = this.#received.toString('latin1', 0, end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
    const hasBody = method !== 'HEAD' && status >= 200;
    if (hasBody && /^Transfer-Encoding: chunked$/im.test(head)) return this.#takeChunks({ status, head }, end + 4);
    const length = hasBody ? Number(/^Content-Length: (\d+)$/im.exec(head)?.[1] ?? 0) : 0;
    if (this.#received.length < end + 4 + length) return undefined;
    const body = this.#received.toString('utf8', end + 4, end + 4 + length);
    this.#received = this.#received.subarray(end + 4 + length);
    return { status, head, body };
  }

  /** Takes a response with a chunked body. The last chunk is empty. */
  #takeChunks(response: Pick<ReceivedResponse, 'status' | 'head'>, start: number): ReceivedResponse | undefined {
    const pieces: Buffer[] = [];
    for (let at = start; ; ) {
      const lineEnd = this.#received.indexOf('\r\n', at);
      if (lineEnd === -1) return undefined;
      const size = Number.parseInt(this.#received.toString('latin1', at, lineEnd), 16);
      const end = lineEnd + 2 + size;
      if (this.#received.length < end + 2) return undefined;
      pieces.push(this.#received.subarray(lineEnd + 2, end));
      at = end + 2;
      if (size > 0) continue;
      const body = Buffer.concat(pieces).toString('utf8');
      this.#received = this.#received.subarray(at);
      return { ...response, body };
    }
  }
}

/** Returns whether a response says that it is the last one on its connection. */
export function saysClose({ head }: ReceivedResponse): boolean {
  return /^Connection: close$/im.test(head);
}
