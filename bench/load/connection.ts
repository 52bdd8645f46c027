import { connect, type Socket } from 'node:net';

/** A response: its status, and its body if the caller asked for it. */
export type Response = { readonly status: number; readonly body: string };

const BLANK_LINE = Buffer.from('\r\n\r\n');
/** The header before the length, in the spellings that Node and Fastify use. */
const LENGTHS = ['\r\nContent-Length: ', '\r\ncontent-length: '].map((text) => Buffer.from(text));
const [ZERO, NINE] = [48, 57];
/** The index of the status in `HTTP/1.1 201 Created`. */
const STATUS_AT = 9;

/** Larger than the response to a single transfer. Larger responses arrive in several reads. */
const READ_BYTES = 65_536;

/** All connections read into one buffer. Each read is consumed or copied before the next one. */
const shared = Buffer.allocUnsafe(READ_BYTES);

/**
 * One HTTP/1.1 connection that carries one request at a time. It parses only the status and the length of a response, because the
 * generator shares the machine with the measured service.
 */
export class Connection {
  readonly #host: string;
  readonly #port: number;
  readonly #wantsBody: boolean;
  #socket: Socket | undefined;
  #received: Buffer | undefined;
  #onResponse: ((response: Response | Error) => void) | undefined;

  constructor(host: string, port: number, wantsBody: boolean) {
    this.#host = host;
    this.#port = port;
    this.#wantsBody = wantsBody;
  }

  /** Sends a whole request and calls `onResponse` once. Reopens a connection that was closed while idle. */
  send(request: Buffer, onResponse: (response: Response | Error) => void): void {
    this.#onResponse = onResponse;
    this.#socket ??= this.#open();
    this.#socket.write(request);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const callback = (length: number): boolean => {
      this.#read(shared.subarray(0, length));
      return true;
    };
    const socket = connect({
      host: this.#host,
      port: this.#port,
      noDelay: true,
      onread: { buffer: shared, callback },
    });
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
    const bodyAt = headEnd + BLANK_LINE.length;
    const length = headEnd === -1 ? Number.NaN : readLength(bytes, headEnd);
    if (headEnd !== -1 && Number.isNaN(length)) this.#end(new Error('the response has no length'));
    else if (headEnd === -1 || bytes.length < bodyAt + length) {
      this.#received = bytes === chunk ? Buffer.from(chunk) : bytes;
    } else {
      const status = readNumber(bytes, STATUS_AT);
      const body = this.#wantsBody || status > 299 ? bytes.toString('utf8', bodyAt, bodyAt + length) : '';
      this.#end({ status, body });
    }
  }

  #end(response: Response | Error): void {
    this.#received = undefined;
    const report = this.#onResponse;
    this.#onResponse = undefined;
    report?.(response);
  }
}

function readLength(bytes: Buffer, headEnd: number): number {
  for (const text of LENGTHS) {
    const at = bytes.indexOf(text);
    if (at !== -1 && at < headEnd) return readNumber(bytes, at + text.length);
  }
  return Number.NaN;
}

function readNumber(bytes: Buffer, from: number): number {
  let number = 0;
  for (let at = from; ; at += 1) {
    const digit = bytes[at] ?? 0;
    if (digit < ZERO || digit > NINE) return number;
    number = number * 10 + digit - ZERO;
  }
}
