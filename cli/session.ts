import { printableJson } from '../domain/printable-text.ts';
import {
  type Fetch,
  InvalidArgument,
  type Page,
  type PageQuery,
  TransferService,
  type WithResponse,
} from '../sdk/client.ts';
import type { Environment } from './environment.ts';
import { alignedLines, type Column, type Pair, pairsOf, table, yesOrNo } from './output.ts';

/** The parts of the process that a command uses. Tests provide their own. */
export type CommandContext = {
  readonly environment: Environment;
  readonly write: (text: string) => void;
  /** Writes text of any length as it arrives, no faster than it is read. Rejects as `chunks` does. */
  readonly writeAll: (chunks: AsyncIterable<string>) => Promise<void>;
  readonly writeError: (text: string) => void;
  /**
   * Returns a signal that aborts when the user ends the command, with Ctrl-C or SIGTERM. Before this is called, such a signal
   * ends the process at once. So does a second signal.
   */
  readonly untilEnded: () => AbortSignal;
  /** Asks a question that is answered with y or n; undefined if input is not a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined;
  /** Whether standard output and standard error use colors. By default they don't. */
  readonly colors?: { readonly output: boolean; readonly errors: boolean };
  /** Width of the terminal in columns, or undefined if standard output is not a terminal. */
  readonly width?: number | undefined;
  /** Sets the exit code of a command that did not fail. */
  readonly exitWith: (exitCode: number) => void;
};

export type GlobalOptions = {
  readonly url?: string;
  readonly key?: string;
  readonly program?: string;
  readonly json?: boolean;
};

export type PageOptions = {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly all?: boolean | undefined;
};

/** One command while it runs: the service that it calls, and how it prints the result. */
export type Session = CommandContext & {
  readonly service: TransferService;
  readonly url: string;
  readonly command: string;
  /** `--program`, or else the environment's. */
  readonly program: string | undefined;
  readonly json: boolean;
  readonly hasKey: boolean;
  /** Prints a record as JSON, or its fields as `pairs`. */
  readonly show: (record: object, pairs?: readonly Pair[]) => void;
  /** Prints a value as JSON, or the text for it. */
  readonly showText: (value: unknown, text: string) => void;
};

export function urlOf(options: GlobalOptions, environment: Environment): string {
  return options.url ?? environment.url;
}

export function commandOf(environment: Environment): string {
  return environment.command ?? 'transfer-service';
}

/** Opens a session. Throws InvalidArgument if the URL is not valid. */
export function openSession(options: GlobalOptions, context: CommandContext): Session {
  const { environment, write } = context;
  const json = options.json ?? false;
  const program = options.program ?? environment.program;
  const showText = (value: unknown, text: string) => write(json ? `${printableJson(value, 2)}\n` : text);
  const settings = {
    baseUrl: urlOf(options, environment),
    key: options.key ?? environment.key,
    programId: program,
    // Longer than the SDK's default: starting a database takes time.
    timeoutMilliseconds: 30_000,
  };
  const plain = new TransferService(settings);
  const service = json ? plain : new TransferService({ ...settings, fetch: withNames(globalThis.fetch, plain) });
  return {
    ...context,
    service,
    url: service.baseUrl,
    command: commandOf(environment),
    program,
    hasKey: (options.key ?? environment.key) !== undefined,
    json,
    show: (record, pairs = pairsOf(record)) => showText(record, alignedLines(pairs)),
    showText,
  };
}

/** The card program of a command that needs one. Throws InvalidArgument if it was not given. */
export function programOf({ program }: Pick<Session, 'program'>): string {
  if (program !== undefined) return program;
  throw new InvalidArgument('set the card program with --program or TRANSFER_SERVICE_PROGRAM');
}

/** Prints the result of a request that moves money, with its idempotency key and whether it was replayed. */
export function showMoved({ show }: Session, record: WithResponse<object>): void {
  const { idempotencyKey, replayed } = record.response;
  const isShown = 'idempotency_key' in record && record.idempotency_key === idempotencyKey;
  const key: Pair[] = idempotencyKey === undefined || isShown ? [] : [['idempotency_key', idempotencyKey]];
  show(record, [
    ...pairsOf(record),
    ...key,
    ['replayed', replayed ? 'yes: an earlier request did this; this one moved no money' : yesOrNo(false)],
  ]);
}

/** Prints the result of a change, and whether it was replayed. */
export function showChanged({ show }: Session, record: WithResponse<object>, pairs: readonly Pair[] = pairsOf(record)) {
  const replayed: Pair[] = record.response.replayed ? [['replayed', 'yes: this request changed nothing']] : [];
  show(record, [...pairs, ...replayed]);
}

/** Prints a record that was read, with its version for `--if-match`. */
export function showVersioned(
  { show }: Session,
  record: WithResponse<object>,
  pairs: readonly Pair[] = pairsOf(record),
): void {
  const { version } = record.response;
  show(record, [...pairs, ...(version === undefined ? [] : [['etag', version.replaceAll('"', '')] as const])]);
}

/** Reads one page. With `--all`, reads every page and returns the last page, with the items of all pages. */
export async function readPages<Found extends Page<unknown>>(
  { limit, cursor, all }: PageOptions,
  list: (page: PageQuery) => Promise<Found>,
): Promise<Found> {
  const size = limit ?? (all ? 100 : undefined);
  let page = await list({ limit: size, cursor });
  const data: unknown[] = [...page.data];
  while (all && page.next_cursor !== null) {
    page = await list({ limit: size, cursor: page.next_cursor });
    data.push(...page.data);
  }
  return { ...page, data };
}

/** A page as a table, and how to read the next one. `empty` is printed if there is nothing on it. */
export function pageText<Item extends object>(
  columns: readonly Column<Item>[],
  page: Page<Item>,
  { width, empty = 'No results.\n' }: { readonly width?: number | undefined; readonly empty?: string } = {},
): string {
  const next = page.next_cursor === null ? '' : `More results: add --all, or --cursor ${page.next_cursor}\n`;
  return (page.data.length === 0 ? empty : table(columns, page.data, width)) + next;
}

/**
 * The text of an empty list, with commands to run next. A filtered list says only that nothing matches, and how to see
 * more.
 */
export function emptyText(
  { command }: Pick<Session, 'command'>,
  what: string,
  next: readonly (readonly [purpose: string, command: string])[],
): string {
  const lines = next.map(([purpose, text]) => {
    const line = `  ${purpose}: ${command} ${text}`;
    // Not wrapped, so that the command can be copied.
    return line.length <= 80 ? `${line}\n` : `  ${purpose}:\n    ${command} ${text}\n`;
  });
  return `${what}\n${lines.join('')}`;
}

/**
 * Matches the id of a key or a person in the fields that say who did something. It cannot match inside a caller's text, where
 * JSON escapes the quotes.
 */
const DONE_BY =
  /"(actor|author|caller|closed_by|created_by|decided_by|requested_by|resolved_by)":"((?:key|per)_[0-9a-f]{32})"/g;

const PAGE_SIZE = 100;

type Names = ReadonlyMap<string, string>;

/**
 * Calls `fetch`, and replaces the ids of keys and people in responses with their names, because people know each other by
 * name. The end of the id stays, because names are not unique. An id whose name cannot be read is not replaced.
 */
function withNames(fetch: Fetch, service: TransferService): Fetch {
  const readings = new Map<string, Promise<Names>>();
  const namesOf = (kind: string): Promise<Names> => {
    const read = kind === 'per' ? readPeople : readKeys;
    const reading = readings.get(kind) ?? read(service).catch(() => new Map());
    readings.set(kind, reading);
    return reading;
  };
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.ok || !/^application\/json\b/i.test(response.headers.get('content-type') ?? '')) return response;
    const text = await response.text();
    const { status, statusText, headers } = response;
    const kinds = new Set([...text.matchAll(DONE_BY)].map(([, , id = '']) => id.slice(0, 3)));
    if (kinds.size === 0) return new Response(text, { status, statusText, headers });
    const names = new Map<string, string>();
    for (const kind of kinds) for (const [id, name] of await namesOf(kind)) names.set(id, name);
    const named = text.replaceAll(DONE_BY, (whole, field: string, id: string) => {
      const name = names.get(id);
      return name === undefined ? whole : `"${field}":${JSON.stringify(`${name} (…${id.slice(-6)})`)}`;
    });
    return new Response(named, { status, statusText, headers });
  };
}

/** Reads the names of keys that the caller may see: its own, and with the right scope all others. */
async function readKeys(service: TransferService): Promise<Names> {
  const { key_id: ownId, key_name: ownName, scopes } = await service.sessions.current();
  const names = new Map(ownId !== null && ownName !== null ? [[ownId, ownName]] : []);
  if (!mayReadAll(scopes)) return names;
  for await (const { key_id: id, name } of service.keys.listAll({ limit: PAGE_SIZE })) names.set(id, name);
  return names;
}

/** Reads the names of people. People without a name, for example after an erasure, are left out. */
async function readPeople(service: TransferService): Promise<Names> {
  const names = new Map<string, string>();
  if (!mayReadAll((await service.sessions.current()).scopes)) return names;
  for await (const { person_id: id, name } of service.people.listAll({ limit: PAGE_SIZE })) {
    if (name !== null) names.set(id, name);
  }
  return names;
}

/** Whether the caller may list all keys and people. Without the scope, the request would be refused and recorded as an error. */
function mayReadAll(scopes: readonly string[]): boolean {
  return scopes.includes('operator:read') || scopes.includes('operator');
}
