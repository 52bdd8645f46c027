import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { TransferService } from '../../../sdk/client.ts';
import { keptConnections, NoResponse, sendRaw } from '../../../test/harness/raw-request.ts';
import { pause } from '../../campaign.ts';
import type { Reading } from './judge.ts';

/** The events that a reader reads: of one program by position, or of all programs by number. */
export type Source = {
  readonly name: string;
  /** The program's id on the wire; undefined for all programs. */
  readonly programId: string | undefined;
  /** Reads only these events: a type, or a group such as `transfer.*`. */
  readonly type?: string;
};

/** A reader that continues after every failure, with either service, until it is stopped. */
export type Reader = Reading & {
  readonly source: Source;
  /** Returns the problems since the last call: responses that no client should get, and violations of the reading rules. */
  readonly takeProblems: () => readonly string[];
  /** Returns how often its reading was interrupted. */
  readonly interruptions: () => number;
  readonly stop: () => Promise<void>;
};

/** Returns the current addresses of the services. */
export type Addresses = () => readonly string[];

const PATHS = { program: '/api/v0.1/core/event', all: '/api/v0.1/operator/event' } as const;

/** The pause after a refusal, in milliseconds. */
const BEFORE_REPEAT = 50;

/** The time that a pull waits for an event, in seconds. */
const WAIT = 2;

type Wire = { readonly type: string; readonly position: number; readonly number?: number };

/** Event texts shared by all readers, to save memory. */
const texts = new Map<string, string>();

export function forgetTexts(): void {
  texts.clear();
}

class Notes {
  readonly source: Source;
  readonly seen: string[] = [];
  readonly problems: string[] = [];
  isOver = false;
  interruptions = 0;
  /** The last position or number received. */
  place = 0;
  #turn: number;
  readonly #addresses: Addresses;

  constructor(source: Source, addresses: Addresses, turn: number) {
    this.source = source;
    this.#addresses = addresses;
    this.#turn = turn;
  }

  /** Alternates between the services. */
  get url(): string {
    this.#turn += 1;
    const urls = this.#addresses();
    return urls[this.#turn % urls.length] ?? '';
  }

  get path(): string {
    return this.source.programId === undefined ? PATHS.all : PATHS.program;
  }

  get headers(): Readonly<Record<string, string>> {
    const { programId } = this.source;
    return programId === undefined ? {} : { 'Program-Id': programId };
  }

  placeOf({ position, number }: Wire): number {
    return this.source.programId === undefined ? (number ?? Number.NaN) : position;
  }

  take(event: Wire): void {
    const next = this.placeOf(event);
    if (this.source.type === undefined ? next !== this.place + 1 : next <= this.place)
      this.say(`got ${next} after ${this.place}`);
    this.place = next;
    const text = JSON.stringify(event);
    const known = texts.get(text) ?? text;
    texts.set(known, known);
    this.seen.push(known);
  }

  say(problem: string): void {
    if (this.problems.length < 10) this.problems.push(problem);
  }

  /** Records an interruption. Reports a problem unless the response is a 5xx or missing (599). */
  async interrupt(status: number, text: string): Promise<void> {
    this.interruptions += 1;
    if (status < 500) this.say(`a ${status}: ${text}`);
    await pause(BEFORE_REPEAT);
  }

  reader(how: string, stop: () => Promise<void>): Reader {
    const { source, seen, problems } = this;
    const prefix = source.type?.replace('*', '');
    return {
      name: `${source.name} by ${how}`,
      source,
      seen,
      takeProblems: () => problems.splice(0),
      wants: (type) => prefix === undefined || type.startsWith(prefix),
      interruptions: () => this.interruptions,
      stop,
    };
  }
}

/** Reads pages with `after` and `wait`, one after the other. */
export function readByPull(source: Source, addresses: Addresses, turn: number): Reader {
  const notes = new Notes(source, addresses, turn);
  const agent = keptConnections(2);
  const filter = source.type === undefined ? '' : `&type=${source.type}`;
  const readPage = async (): Promise<void> => {
    const path = `${notes.path}?after=${notes.place}&limit=100&wait=${WAIT}${filter}`;
    const { status, text, fields } = await sendRaw(notes.url, { method: 'GET', path, headers: notes.headers }, agent);
    if (status !== 200) return notes.interrupt(status, text);
    const { data, position, number } = fields as { data: readonly Wire[]; position: number; number?: number };
    for (const event of data) notes.take(event);
    const end = number ?? position;
    if (source.type === undefined ? end !== notes.place : end < notes.place)
      notes.say(`a page ends at ${end}, but its last event is ${notes.place}`);
    notes.place = end;
  };
  const run = async (): Promise<void> => {
    while (!notes.isOver) {
      await readPage().catch(async (error) => {
        if (!(error instanceof NoResponse)) throw error;
        await notes.interrupt(599, '');
      });
    }
  };
  const running = run();
  return notes.reader('pull', async () => {
    notes.isOver = true;
    await running;
    agent.destroy();
  });
}

/** Reads a stream of Server-Sent Events and resumes it with Last-Event-ID. */
export function readByStream(source: Source, addresses: Addresses, turn: number): Reader {
  const notes = new Notes(source, addresses, turn);
  let sent: ClientRequest | undefined;
  const readStream = async (response: IncomingMessage): Promise<void> => {
    let rest = '';
    let body = '';
    for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
      if (response.statusCode !== 200) body += chunk;
      const parts = (rest + chunk).split('\n\n');
      rest = parts.pop() ?? '';
      if (response.statusCode === 200) for (const part of parts) takeMessage(notes, part);
    }
    await notes.interrupt(response.statusCode === 200 ? 599 : (response.statusCode ?? 0), body);
  };
  const connect = async (): Promise<void> => {
    const resumed = notes.place === 0 ? {} : { 'Last-Event-ID': String(notes.place) };
    const headers = { ...notes.headers, Accept: 'text/event-stream', ...resumed };
    const query = notes.place === 0 ? '?after=0' : '';
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent = request(`${notes.url}${notes.path}${query}`, { headers, agent: false });
      sent.once('response', resolve).on('error', reject).end();
    });
    await readStream(response);
  };
  const run = async (): Promise<void> => {
    // A connection breaks because of a kill. Later events show whether any were lost.
    while (!notes.isOver) await connect().catch(() => notes.interrupt(599, ''));
  };
  const running = run();
  return notes.reader('stream', async () => {
    notes.isOver = true;
    sent?.destroy();
    await running;
  });
}

function takeMessage(notes: Notes, part: string): void {
  const lines = part.split('\n').filter((line) => !line.startsWith(':'));
  const fieldOf = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const data = fieldOf('data');
  const id = Number(fieldOf('id') ?? notes.place);
  if (data !== undefined) notes.take(JSON.parse(data) as Wire);
  if (id !== notes.place) notes.say(`the id is ${id}, but the last event is ${notes.place}`);
}

/** The base URL of the SDK's client. Each request replaces it with the URL of a running service. */
const ANYWHERE = 'http://127.0.0.1:1';

export function readBySdk(source: Source, addresses: Addresses, turn: number): Reader {
  const notes = new Notes(source, addresses, turn);
  const controller = new AbortController();
  const { programId } = source;
  const client = new TransferService({
    baseUrl: ANYWHERE,
    programId,
    maxRetries: 100,
    fetch: (url, init) => fetch(url.replace(ANYWHERE, notes.url), init),
  });
  const options = {
    after: 0,
    signal: controller.signal,
    onRetry: () => {
      notes.interruptions += 1;
    },
  };
  const run = async (): Promise<void> => {
    try {
      const events: AsyncIterable<Wire> =
        programId === undefined ? client.events.streamAllPrograms(options) : client.events.stream(options);
      for await (const event of events) notes.take(event);
    } catch (error) {
      notes.say(`the SDK's stream ended: ${String(error)}`);
    }
  };
  const running = run();
  return notes.reader("the SDK's stream", async () => {
    controller.abort();
    await running;
  });
}

/** Reads all events page by page, newest first. Returns them oldest first. */
export async function readBackwards({ programId }: Source, url: string): Promise<readonly string[]> {
  const path = programId === undefined ? PATHS.all : PATHS.program;
  const headers: Record<string, string> = programId === undefined ? {} : { 'Program-Id': programId };
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const { status, text, fields } = await sendRaw(url, { method: 'GET', path: `${path}?limit=100${cursor}`, headers });
    if (status !== 200) throw new Error(`a ${status} to a page: ${text}`);
    const { data, next_cursor } = fields as { data: readonly Wire[]; next_cursor: string | null };
    seen.push(...data.map((event) => JSON.stringify(event)));
    if (next_cursor === null) return seen.reverse();
    cursor = `&cursor=${next_cursor}`;
  }
}
