import type { Writable } from 'node:stream';
import type { LogEvent } from './log-events.ts';

/** Maximum number of bytes that are buffered while the reader is slow. This is several thousand lines. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** A batch is written when it has this length or age. One system call per line would cost more than the line. */
const MAX_BATCH_LENGTH = 32_768;
const MAX_BATCH_MILLISECONDS = 50;

/** Pino's number for the level `warn`. */
const WARN = 40;

/**
 * The destination of lines: a Node stream, because it never blocks. Writing to a file descriptor would block while no process reads
 * it.
 */
export type LineStream = Pick<Writable, 'write' | 'writableLength' | 'once'>;

/**
 * Writes lines to a stream, in order and never twice, without waiting for the reader. If its buffer is full, or the stream fails to
 * write, for example on a full disk, lines are dropped. A separate line gives their number when there is room again.
 */
export class LineWriter {
  readonly #stream: LineStream;
  readonly #onLost: (lines: number) => void;
  #batch = '';
  #batchLines = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The number of dropped lines that have not been reported yet. */
  #lost = 0;
  #hasFailed = false;
  #render: (lines: string) => string = (lines) => lines;

  /** `onLost` is called each time lines are dropped, with their number. */
  constructor(stream: LineStream, onLost: (lines: number) => void = () => undefined) {
    this.#stream = stream;
    this.#onLost = onLost;
  }

  /** From now on, writes the output of `render` instead of the lines. `render` must not add characters that are not ASCII. */
  renderWith(render: (lines: string) => string): void {
    this.#render = render;
  }

  /** Writes a line now, after the waiting lines. */
  write(line: string): void {
    this.flush();
    this.#send(line, 1);
  }

  /**
   * Writes a line soon, together with others. The line must contain only ASCII characters, because they are written without a
   * conversion.
   */
  add(line: string): void {
    this.#batch += line;
    this.#batchLines += 1;
    if (this.#batch.length >= MAX_BATCH_LENGTH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), MAX_BATCH_MILLISECONDS).unref();
  }

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
    // A failed write may have left an incomplete line.
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
    // This line itself does not count as lost. If it is dropped, the number will be reported again.
    this.#put(`${JSON.stringify(record)}\n`, 0);
  }
}
