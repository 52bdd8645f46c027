import type { Writable } from 'node:stream';
import type { LogEvent } from './log-events.ts';

/** Maximum bytes buffered while the reader is slow: some thousands of lines. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** A batch is written when it is this long, or this old: a system call per line would cost more than the line. */
const MAX_BATCH_LENGTH = 32_768;
const MAX_BATCH_MILLISECONDS = 50;

/** Log level `warn`, as pino writes it. */
const WARN = 40;

/**
 * Where lines go: a stream of Node, which never blocks. Writing to a file descriptor would block while nobody reads it.
 */
export type LineStream = Pick<Writable, 'write' | 'writableLength' | 'once'>;

/**
 * Writes lines to a stream, in order and never twice, without ever waiting for the reader: lines beyond its buffer are
 * dropped, and so are those that the stream fails to write, such as on a full disk. A separate line says how many, as
 * soon as there is room.
 */
export class LineWriter {
  readonly #stream: LineStream;
  readonly #onLost: (lines: number) => void;
  #batch = '';
  #batchLines = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Dropped lines that have not been reported. */
  #lost = 0;
  #hasFailed = false;
  #render: (lines: string) => string = (lines) => lines;

  /** `onLost` is called with each number of lines that are dropped. */
  constructor(stream: LineStream, onLost: (lines: number) => void = () => undefined) {
    this.#stream = stream;
    this.#onLost = onLost;
  }

  /** From now on, writes lines as `render` returns them. It must not add characters beyond ASCII. */
  renderWith(render: (lines: string) => string): void {
    this.#render = render;
  }

  /** Writes a line now, after the waiting ones. */
  write(line: string): void {
    this.flush();
    this.#send(line, 1);
  }

  /**
   * Writes a line soon, together with others. It may only have ASCII characters, which are written without a
   * conversion.
   */
  add(line: string): void {
    this.#batch += line;
    this.#batchLines += 1;
    if (this.#batch.length >= MAX_BATCH_LENGTH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), MAX_BATCH_MILLISECONDS).unref();
  }

  /** Writes the waiting lines. */
  flush(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#batchLines === 0) return;
    const [batch, lines] = [this.#batch, this.#batchLines];
    this.#batch = '';
    this.#batchLines = 0;
    this.#send(batch, lines, 'latin1');
  }

  #send(text: string, lines: number, encoding: BufferEncoding = 'utf8'): void {
    if (this.#stream.writableLength >= MAX_BUFFERED_BYTES) {
      if (this.#lost === 0) this.#stream.once('drain', () => this.#tell());
      this.#lose(lines);
      return;
    }
    this.#tell();
    this.#put(text, lines, encoding);
  }

  #put(text: string, lines: number, encoding: BufferEncoding = 'utf8'): void {
    // A failed write may have left part of a line.
    const start = this.#hasFailed ? '\n' : '';
    this.#hasFailed = false;
    this.#stream.write(start + this.#render(text), encoding, (error) => {
      if (error === undefined || error === null) return;
      this.#hasFailed = true;
      this.#lose(lines);
    });
  }

  #lose(lines: number): void {
    this.#lost += lines;
    this.#onLost(lines);
  }

  #tell(): void {
    if (this.#lost === 0) return;
    const lines = this.#lost;
    this.#lost = 0;
    const event: LogEvent = 'log_lines_lost';
    const record = {
      level: WARN,
      time: new Date().toISOString(),
      event,
      lines,
      msg: `${lines} lines of the log were lost`,
    };
    // Not counted as lost itself: if it is, the number is reported again.
    this.#put(`${JSON.stringify(record)}\n`, 0);
  }
}
