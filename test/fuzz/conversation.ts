import { connect, type Socket } from 'node:net';

/** An answer as its bytes said it. */
export type Answer = {
  readonly status: number;
  /** Status line and headers. */
  readonly head: string;
  readonly body: string;
};

/** What came of some requests that were sent one behind the other. */
export type Exchange = {
  readonly answers: readonly Answer[];
  /** Bytes behind the last whole answer. */
  readonly rest: string;
  /** Whether the service has ended the connection. */
  readonly isEnded: boolean;
};

/** One that is to be answered; the answer to HEAD has no body, whatever its headers say. */
export type Awaited = { readonly method: string };

/** An answer takes six seconds at most; one that takes longer than this never comes. */
const PATIENCE = 120_000;

/** A connection to the service, opened when it is needed and kept as long as the service keeps it. */
export class Conversation {
  readonly #port: number;
  #socket: Socket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #wake: () => void = () => undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends bytes and reads an answer for each of `awaited`, or up to the end of the connection. */
  async exchange(bytes: Buffer, awaited: readonly Awaited[], endsAfter: boolean): Promise<Exchange> {
    const socket = await this.#open();
    socket.write(bytes);
    if (endsAfter) socket.end();
    const answers: Answer[] = [];
    const deadline = performance.now() + PATIENCE;
    while (answers.length < awaited.length) {
      const answer = this.#take(awaited[answers.length]?.method ?? '');
      if (answer !== undefined) {
        if (answer.status >= 200) answers.push(answer);
      } else if (this.#isEnded || !(await this.#arrival(deadline))) break;
    }
    return this.#conclude(answers, endsAfter);
  }

  /** Sends bytes, ends, and reads whatever comes until the service ends, too. */
  async sendAndEnd(bytes: Buffer): Promise<Exchange> {
    const socket = await this.#open();
    socket.end(bytes);
    const deadline = performance.now() + PATIENCE;
    while (!this.#isEnded && (await this.#arrival(deadline)));
    const answers: Answer[] = [];
    for (let answer = this.#take('GET'); answer !== undefined; answer = this.#take('GET')) {
      if (answer.status >= 200) answers.push(answer);
    }
    return this.#conclude(answers, true);
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #conclude(answers: readonly Answer[], isOver: boolean): Exchange {
    const isEnded = this.#isEnded;
    const rest = this.#received.toString('latin1');
    const last = answers.at(-1);
    if (isEnded || isOver || last === undefined || saysClose(last)) this.close();
    return { answers, rest, isEnded };
  }

  async #open(): Promise<Socket> {
    if (this.#socket !== undefined && !this.#isEnded) return this.#socket;
    this.close();
    this.#received = Buffer.alloc(0);
    this.#isEnded = false;
    // Half open, so that our side can end before the answer has come.
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

  /** False when nothing has come in time. */
  #arrival(deadline: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), Math.max(0, deadline - performance.now()));
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  #take(method: string): Answer | undefined {
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

  /** An answer whose body comes in chunks, the last of which is empty. */
  #takeChunks(answer: Pick<Answer, 'status' | 'head'>, start: number): Answer | undefined {
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
      return { ...answer, body };
    }
  }
}

/** Whether an answer is the last one of its connection. */
export function saysClose({ head }: Answer): boolean {
  return /^Connection: close$/im.test(head);
}
