import { type IncomingMessage, request } from 'node:http';
import { keptConnections, NoResponse, sendRaw } from '../../../test/harness/raw-request.ts';
import { pause } from '../../campaign.ts';
import type { Reading } from '../../checkers/events/checker.ts';

/** The events that a reader reads: of one program by position, or of all programs by number. */
export type Source = {
  readonly name: string;
  /** The program's wire id. Undefined means all programs. */
  readonly programId: string | undefined;
  /** Reads only these events: a type, or a group such as `transfer.*`. */
  readonly type?: string;
  /**
   * Whether a failover may leave the services connections to the old primary for a moment. The old primary lacks events that the
   * reader has, so it refuses to continue after them.
   */
  readonly meetsOldPrimaries?: boolean;
};

/** Returns the current addresses of the services. */
export type Addresses = () => readonly string[];

/** Reads until the connection breaks, the response ends or the signal aborts. */
type Read = (reader: Reader, signal: AbortSignal) => Promise<void>;

type Event = { readonly type: string; readonly position: number; readonly number?: number };

/** The pause after an interruption, in milliseconds. */
const BEFORE_REPEAT = 50;

/** The time that a pull waits for an event, in seconds. */
const WAIT = 2;

/** The maximum number of stored violations. */
const ENOUGH = 10;

/** Event texts shared by all readers, to save memory. */
const texts = new Map<string, string>();

export function forgetTexts(): void {
  texts.clear();
}

/** A reader that continues after every interruption, with either service, until it is stopped. */
export class Reader implements Reading {
  readonly name: string;
  readonly source: Source;
  readonly programId: string | undefined;
  readonly wants: Reading['wants'];
  readonly seen: string[] = [];
  /** How many times its reading was interrupted. */
  interruptions = 0;
  /** The last position or number received. */
  place = 0;
  readonly #violations: string[] = [];
  readonly #addresses: Addresses;
  readonly #end = new AbortController();
  readonly #reading: Promise<void>;
  #turn: number;

  /** `turn` decides which service it asks first. */
  constructor(how: keyof typeof WAYS, source: Source, addresses: Addresses, turn: number) {
    this.name = `${source.name} by ${how}`;
    this.source = source;
    this.programId = source.programId;
    const prefix = source.type?.replace('*', '') ?? '';
    this.wants = (type) => type.startsWith(prefix);
    this.#addresses = addresses;
    this.#turn = turn;
    this.#reading = this.#read(WAYS[how]);
  }

  /** Returns new violations: responses that no client should get, and places that do not follow each other. */
  takeViolations(): readonly string[] {
    return this.#violations.splice(0).map((violation) => `${this.name}: ${violation}`);
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#reading;
  }

  /** The address of a service. Alternates between the services. */
  get url(): string {
    this.#turn += 1;
    const urls = this.#addresses();
    return urls[this.#turn % urls.length] ?? '';
  }

  take(event: Event): void {
    const next = (this.programId === undefined ? event.number : event.position) ?? Number.NaN;
    if (this.source.type === undefined ? next !== this.place + 1 : !(next > this.place))
      this.say(`got ${next} after ${this.place}`);
    this.place = next;
    const text = JSON.stringify(event);
    const known = texts.get(text) ?? text;
    texts.set(known, known);
    this.seen.push(known);
  }

  say(violation: string): void {
    if (this.#violations.length < ENOUGH) this.#violations.push(violation);
  }

  /** Records an interruption. It is a violation unless the response is a 5xx or missing (599), or an allowed stale read. */
  async interrupt(status: number, text = ''): Promise<void> {
    if (this.#end.signal.aborted) return;
    this.interruptions += 1;
    const isStale =
      this.source.meetsOldPrimaries === true && status === 400 && text.includes('but the last event has position');
    if (status < 500 && !isStale) this.say(`a ${status}: ${text}`);
    await pause(BEFORE_REPEAT);
  }

  async #read(read: Read): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await read(this, this.#end.signal);
      } catch (error) {
        // A kill breaks connections. Later events show whether any were lost.
        if (!(error instanceof NoResponse)) this.say(String(error));
        await this.interrupt(599);
      }
    }
  }
}

const WAYS = { pull: readPage, stream: readStream } as const;

function targetOf({ programId }: Source) {
  return programId === undefined
    ? { path: '/api/v0.1/operator/event', headers: {} }
    : { path: '/api/v0.1/core/event', headers: { 'Program-Id': programId } };
}

const agent = keptConnections(Number.POSITIVE_INFINITY);

/** Reads one page with `after` and `wait`. */
async function readPage(reader: Reader, signal: AbortSignal): Promise<void> {
  const { source, place } = reader;
  const { path, headers } = targetOf(source);
  const filter = source.type === undefined ? '' : `&type=${source.type}`;
  const page = { method: 'GET', path: `${path}?after=${place}&limit=100&wait=${WAIT}${filter}`, headers, signal };
  const { status, text, fields } = await sendRaw(reader.url, page, agent);
  if (status !== 200) return reader.interrupt(status, text);
  const { data, position, number } = fields as { data: readonly Event[]; position: number; number?: number };
  for (const event of data) reader.take(event);
  const end = number ?? position;
  if (source.type === undefined ? end !== reader.place : end < reader.place)
    reader.say(`a page ends at ${end}, but its last event is ${reader.place}`);
  reader.place = end;
}

/** Reads a stream of Server-Sent Events, which resumes with Last-Event-ID. */
async function readStream(reader: Reader, signal: AbortSignal): Promise<void> {
  const { path, headers } = targetOf(reader.source);
  const resumed = reader.place === 0 ? {} : { 'Last-Event-ID': String(reader.place) };
  const url = `${reader.url}${path}${reader.place === 0 ? '?after=0' : ''}`;
  const options = { headers: { ...headers, Accept: 'text/event-stream', ...resumed }, agent: false, signal } as const;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const fail = (error: Error): void => reject(new NoResponse(error, undefined));
    request(url, options).once('response', resolve).on('error', fail).end();
  });
  let rest = '';
  for await (const chunk of partsOf(response)) {
    const parts = (rest + chunk).split('\n\n');
    rest = parts.pop() ?? '';
    if (response.statusCode === 200) for (const part of parts) takeMessage(reader, part);
  }
  await reader.interrupt(response.statusCode === 200 ? 599 : (response.statusCode ?? 0), rest);
}

/** Returns the text of a response until it ends or breaks. */
async function* partsOf(response: IncomingMessage): AsyncGenerator<string> {
  try {
    yield* response.setEncoding('utf8') as AsyncIterable<string>;
  } catch (error) {
    throw new NoResponse(error as Error, undefined);
  }
}

function takeMessage(reader: Reader, message: string): void {
  const lines = message.split('\n').filter((line) => !line.startsWith(':'));
  const fieldOf = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const data = fieldOf('data');
  const id = Number(fieldOf('id') ?? reader.place);
  if (data !== undefined) reader.take(JSON.parse(data) as Event);
  if (id !== reader.place) reader.say(`the id is ${id}, but the last event is ${reader.place}`);
}

/** Reads all events page by page, newest first. Returns them oldest first. */
export async function readBackwards(source: Source, url: string): Promise<Reading> {
  const { path, headers } = targetOf(source);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = { method: 'GET', path: `${path}?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`, headers };
    const { status, text, fields } = await sendRaw(url, page);
    if (status !== 200) throw new Error(`a ${status} to a page: ${text}`);
    const { data, next_cursor } = fields as { data: readonly Event[]; next_cursor: string | null };
    seen.push(...data.map((event) => JSON.stringify(event)));
    cursor = next_cursor;
  }
  return { name: `${source.name}, newest first`, programId: source.programId, wants: () => true, seen: seen.reverse() };
}
