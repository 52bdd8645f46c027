import { connect, type Socket } from 'node:net';

/** An answer: its status, and its body where somebody wants to look. */
export type Answer = { readonly status: number; readonly body: string };

const BLANK_LINE = Buffer.from('\r\n\r\n');

/**
 * One HTTP/1.1 connection that carries one request at a time. It reads no more of an answer than its status and length:
 * a generator shares the machine with what it measures.
 */
export class Connection {
  readonly #host: string;
  readonly #port: number;
  readonly #wantsBody: boolean;
  #socket: Socket | undefined;
  #received: Buffer | undefined;
  #onResponse: ((answer: Answer | Error) => void) | undefined;

  constructor(host: string, port: number, wantsBody: boolean) {
    this.#host = host;
    this.#port = port;
    this.#wantsBody = wantsBody;
  }

  /** Sends a whole request; `onResponse` is called once. A connection that was closed while idle is opened again. */
  send(request: string, onResponse: (answer: Answer | Error) => void): void {
    this.#onResponse = onResponse;
    this.#socket ??= this.#open();
    this.#socket.write(request, 'latin1');
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true });
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#end(new Error('the connection was closed'));
    });
    return socket;
  }

  #read(chunk: Buffer): void {
    const bytes = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = bytes.indexOf(BLANK_LINE);
    const head = headEnd === -1 ? '' : bytes.toString('latin1', 0, headEnd);
    const length = Number(/\r\ncontent-length: *([0-9]+)/i.exec(head)?.[1]);
    const whole = headEnd + BLANK_LINE.length + length;
    if (headEnd !== -1 && Number.isNaN(length)) this.#end(new Error('the answer has no length'));
    else if (headEnd === -1 || bytes.length < whole) this.#received = bytes;
    else {
      const status = Number(head.slice(9, 12));
      const body = this.#wantsBody || status > 299 ? bytes.toString('utf8', headEnd + BLANK_LINE.length, whole) : '';
      this.#end({ status, body });
    }
  }

  #end(answer: Answer | Error): void {
    this.#received = undefined;
    const tell = this.#onResponse;
    this.#onResponse = undefined;
    tell?.(answer);
  }
}
