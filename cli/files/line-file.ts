import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../../domain/printable-text.ts';
import { InvalidArgument, TransferServiceError } from '../../sdk/client.ts';
import { FileProblems } from '../failure.ts';

/**
 * A problem in a line of a file. `line` counts from 1, including a first line with the names of columns. `code` is the error code
 * that the service would give.
 */
export type LineProblem = {
  readonly line: number;
  readonly field: string;
  readonly message: string;
  readonly code?: string;
};

/** A file that was read to its end, with its hash and its problems. */
export type CheckedLines = {
  /** 64 hex digits. */
  readonly sha256: string;
  readonly lineCount: number;
  /** At most {@link MAX_PROBLEMS}. */
  readonly problems: readonly LineProblem[];
  readonly problemCount: number;
};

export const MAX_PROBLEMS = 100;

/** Longer than any line that the contract allows, so that a file without line breaks does not fill the memory. */
export const MAX_LINE_CHARACTERS = 10_000;

/** A problem that makes the rest of the file unreadable. */
export class UnreadableFile extends Error {
  readonly line: number;
  readonly field: string;

  constructor(line: number, message: string, field = '') {
    super(message);
    this.line = line;
    this.field = field;
  }
}

/** The problems of a file. Only the first ones are kept, and all are counted. */
export class ProblemList {
  readonly problems: LineProblem[] = [];
  problemCount = 0;

  note(problem: LineProblem): void {
    this.problemCount += 1;
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(problem);
  }

  /** Notes why the rest of the file is unreadable. Throws other errors. */
  noteEnd(error: unknown, code?: string): void {
    if (!(error instanceof UnreadableFile)) throw error;
    const { line, field, message } = error;
    this.note({ line, field, message, ...(code === undefined ? {} : { code }) });
  }
}

export type OnBytes = (bytes: Buffer) => void;

const NEWLINE = 0x0a;
const BYTES_OF_CHARACTER = 4;

/**
 * Reads a file in UTF-8, with or without a byte order mark, as blocks of whole lines. Needs memory for one block.
 *
 * @throws {UnreadableFile} The file is not UTF-8, or a line has more than `maxCharacters`.
 */
export async function* blocksOf(path: string, maxCharacters: number, onBytes: OnBytes): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest: Buffer = Buffer.alloc(0);
  let read = 0;
  const decode = (bytes: Buffer): string => {
    try {
      const text = decoder.decode(bytes);
      return read === 0 ? text.replace(/^\ufeff/, '') : text;
    } catch {
      throw new UnreadableFile(read + 1 + lineOfFault(bytes), 'The file is not UTF-8.');
    }
  };
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) {
    onBytes(bytes);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    const block = Buffer.concat([rest, end === 0 ? bytes : bytes.subarray(0, end)]);
    rest = end === 0 ? block : bytes.subarray(end);
    if (end !== 0) {
      const text = decode(block);
      read += newlinesIn(text);
      yield text;
    }
    if (rest.length > maxCharacters * BYTES_OF_CHARACTER) {
      throw new UnreadableFile(read + 1, `The line has more than ${maxCharacters} characters.`);
    }
  }
  if (rest.length > 0) yield decode(rest);
}

function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** Returns the index of the first line that is not UTF-8. A newline byte is never a part of another character. */
function lineOfFault(bytes: Buffer): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let index = 0;
  for (let start = 0; ; index += 1) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end === -1) return index;
    try {
      decoder.decode(bytes.subarray(start, end));
    } catch {
      return index;
    }
    start = end + 1;
  }
}

/** Reads a file line by line. Every line has its newline, except a last line without one. Throws as {@link blocksOf} does. */
export async function* linesOf(path: string, maxCharacters: number, onBytes: OnBytes): AsyncGenerator<string> {
  let read = 0;
  for await (const block of blocksOf(path, maxCharacters, onBytes)) {
    for (let start = 0; start < block.length; read += 1) {
      const newline = block.indexOf('\n', start);
      const end = newline === -1 ? block.length : newline + 1;
      if (end - start > maxCharacters) {
        throw new UnreadableFile(read + 1, `The line has more than ${maxCharacters} characters.`);
      }
      yield block.slice(start, end);
      start = end;
    }
  }
}

/** The first characters of a file that are not white space. */
export async function beginningOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(100), 0, 100, 0);
    const beginning = buffer.subarray(0, bytesRead).toString();
    return beginning.replace(/^\ufeff/, '').trimStart();
  } finally {
    await file.close();
  }
}

/** Groups lines into portions for requests, after the first `skipped` ones. `isFull` says whether a portion takes no more. */
export async function* portionsOf<Line>(
  lines: AsyncIterable<Line>,
  skipped: number,
  isFull: (portion: readonly Line[]) => boolean,
): AsyncGenerator<readonly Line[]> {
  let portion: Line[] = [];
  let seen = 0;
  for await (const line of lines) {
    seen += 1;
    if (seen <= skipped) continue;
    portion.push(line);
    if (!isFull(portion)) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

/** Reads a file of the command line. Throws InvalidArgument if it cannot be read. */
export function readFileOf<Read>(path: string, read: (path: string) => Promise<Read>): Promise<Read> {
  return read(path).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof InvalidArgument || error.code === undefined) throw error;
    throw new InvalidArgument(`${printable(path)} cannot be read: ${error.message}`);
  });
}

/** The problems as text, one a line: the first ones, and how many more there are. */
export function problemLines({
  problems,
  problemCount,
}: Omit<CheckedLines, 'sha256' | 'lineCount'>): readonly string[] {
  const shown = problems.map(({ line, field, code, message }) => {
    const place = [`line ${line}`, field, code ?? ''].filter((part) => part !== '').join(', ');
    return `${place}: ${message}`;
  });
  const more = problemCount - shown.length;
  return more === 0 ? shown : [...shown, `and ${more} more`];
}

/** Throws if a checked file has problems or no lines. `what` was not done because of that: `nothing was imported from`. */
export function refuseProblems(path: string, checked: CheckedLines, what: string): void {
  if (checked.problemCount > 0) throw new FileProblems(`${what} ${path}:`, problemLines(checked));
  if (checked.lineCount === 0) throw new InvalidArgument(`${printable(path)} has no lines`);
}

/** How often a request is repeated while the service is busy. With the pauses this is about a minute. */
const MAX_REPETITIONS = 20;
const PAUSE_SECONDS = 3;

/** Sends a request that can be repeated. Repeats it while the service is busy, because long work would stop in the middle otherwise. */
export async function patiently<Reply>(say: (text: string) => void, send: () => Promise<Reply>): Promise<Reply> {
  for (let repetition = 1; ; repetition += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof TransferServiceError && error.shouldRetry) || repetition > MAX_REPETITIONS) throw error;
      const seconds = Math.max(PAUSE_SECONDS, error.retryAfterSeconds ?? 0);
      say(`The service is busy (${error.Code}). The request is repeated in ${seconds} s.\n`);
      await sleep(seconds * 1000);
    }
  }
}

/** How often progress is printed, in milliseconds: often enough to see that it moves, and a page for a long import. */
const INTERVAL_MILLISECONDS = 2000;

/** Prints the progress of long work: how much is done, how fast, and how long the rest takes. */
export class Progress {
  readonly #total: number;
  readonly #what: string;
  readonly #say: (text: string) => void;
  readonly #begin = performance.now();
  readonly #first: number;
  #next = performance.now() + INTERVAL_MILLISECONDS;

  /** `what` completes the sentence "5 of 10 …": `lines are stored`. `first` of them were done before. */
  constructor(total: number, what: string, say: (text: string) => void, first = 0) {
    this.#total = total;
    this.#what = what;
    this.#say = say;
    this.#first = first;
  }

  /** Prints a line if the last one is long enough ago. */
  report(done: number): void {
    const now = performance.now();
    if (now < this.#next) return;
    this.#next = now + INTERVAL_MILLISECONDS;
    const rate = (done - this.#first) / ((now - this.#begin) / 1000);
    const counted = `${grouped(done)} of ${grouped(this.#total)} ${this.#what}`;
    if (rate < 1) this.#say(`${counted}.\n`);
    else this.#say(`${counted}, ${grouped(rate)} a second, ${remaining((this.#total - done) / rate)} to go.\n`);
  }
}

/** A whole number with commas: `1,000,000`. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

function remaining(seconds: number): string {
  const rounded = Math.ceil(seconds);
  return rounded < 120 ? `about ${rounded} s` : `about ${Math.ceil(rounded / 60)} min`;
}
