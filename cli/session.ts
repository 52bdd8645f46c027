import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Page, TransferService, type WithResponse } from '../sdk/client.ts';
import type { Environment } from './environment.ts';
import { alignedLines, type Column, type Pair, pairsOf, table, yesOrNo } from './output.ts';

/** What the commands find around them: taken from the process by main.ts, from elsewhere by tests. */
export type Surroundings = {
  readonly environment: Environment;
  readonly write: (text: string) => void;
  /** Writes a text of any length as it comes, no faster than it is read. Rejects as `chunks` does. */
  readonly writeAll: (chunks: AsyncIterable<string>) => Promise<void>;
  readonly writeError: (text: string) => void;
  /** Says what the process shall end with when the command itself did not fail. */
  readonly endWith: (exitCode: number) => void;
};

/** Adds a noun and its verbs to the command line. */
export type AddCommands = (program: Command, surroundings: Surroundings) => void;

/** The options that every command has. */
export type GlobalOptions = {
  readonly url?: string;
  readonly key?: string;
  readonly program?: string;
  readonly json?: boolean;
};

/** The options of a list. */
export type PageOptions = { readonly limit?: number; readonly cursor?: string; readonly all?: boolean };

/** Which page a list is asked for. */
export type PageAsked = { readonly limit: number | undefined; readonly cursor: string | undefined };

/** One command while it runs: whom it talks to and how it shows what comes back. */
export type Session = {
  readonly service: TransferService;
  /** `--program` as typed, for commands in which it is not just a setting; the environment does not count. */
  readonly typedProgram: string | undefined;
  /** `--program`, or else the environment's. */
  readonly program: string | undefined;
  readonly json: boolean;
  /** Shows a record as the service sent it, or for people with `pairs` (by default: all its members). */
  readonly showRecord: (record: object, pairs?: readonly Pair[]) => void;
  /** Shows what fits no record: a value for machines, and the same as text for people. */
  readonly showText: (value: unknown, text: string) => void;
};

/** Where the service is, by the options and the environment. */
export function urlOf(options: GlobalOptions, environment: Environment): string {
  return options.url ?? environment.url;
}

/** Opens a session for a command. Throws InvalidArgument when the URL is none. */
export function openSession(command: Command, { environment, write }: Surroundings): Session {
  const options = command.optsWithGlobals<GlobalOptions>();
  const json = options.json ?? false;
  const program = options.program ?? environment.program;
  const showText = (value: unknown, text: string) => write(json ? `${JSON.stringify(value, null, 2)}\n` : text);
  return {
    service: new TransferService({
      baseUrl: urlOf(options, environment),
      key: options.key ?? environment.key,
      programId: program,
      // A person waits longer than a program, and starting a database takes its time.
      timeoutMilliseconds: 30_000,
    }),
    typedProgram: options.program,
    program,
    json,
    showRecord: (record, pairs = pairsOf(record)) => showText(record, alignedLines(pairs)),
    showText,
  };
}

/** What a person wants to know of a request that moved money, beside its record. */
export function moneyPairs(record: WithResponse<object>): Pair[] {
  const { idempotencyKey, replayed } = record.response;
  const key: Pair[] = idempotencyKey === undefined ? [] : [['idempotency_key', idempotencyKey]];
  return [...pairsOf(record), ...key, ['replayed', replayed ? 'yes: this request moved nothing' : yesOrNo(false)]];
}

/** What a person wants to know of a replay, beside its record: that nothing was done again. */
export function replayPairs({ response }: WithResponse<object>): Pair[] {
  return response.replayed ? [['replayed', 'yes: this request changed nothing']] : [];
}

/** The option of commands whose requests can be sent again safely. */
export type KeyOption = { readonly idempotencyKey?: string };

/** `--idempotency-key`, for the chain of a command's options. */
export function keyOption(): Option {
  return new Option('--idempotency-key <key>', 'generated if omitted');
}

/** Adds `--idempotency-key`. */
export function addKeyOption(command: Command): Command {
  return command.addOption(keyOption());
}

/** Adds `--limit`, `--cursor` and `--all`. */
export function addPageOptions(command: Command): Command {
  return command
    .option('--limit <number>', 'how many at most, 1 to 100 (default: 20)', readWholeNumber)
    .option('--cursor <cursor>', 'where to go on, as the page before said')
    .addOption(new Option('--all', 'every page, to the last').conflicts('cursor'));
}

/** Reads one page, or all of them joined: the last one with the items of all. */
export async function readPages<Found extends Page<unknown>>(
  options: PageOptions,
  list: (page: PageAsked) => Promise<Found>,
): Promise<Found> {
  const limit = options.limit ?? (options.all ? 100 : undefined);
  let page = await list({ limit, cursor: options.cursor });
  const data: unknown[] = [...page.data];
  while (options.all && page.next_cursor !== null) {
    page = await list({ limit, cursor: page.next_cursor });
    data.push(...page.data);
  }
  return { ...page, data };
}

/** A page as a table, and how to go on. */
export function pageText<Item>(columns: readonly Column<Item>[], page: Page<Item>): string {
  const rest = page.next_cursor === null ? '' : `There is more: add --all, or --cursor ${page.next_cursor}\n`;
  return (page.data.length === 0 ? 'There are none.\n' : table(columns, page.data)) + rest;
}

/** Adds `--from` and `--to`: from when on, and until before when. */
export function addTimeOptions(command: Command, items: string): Command {
  return command
    .option('--from <time>', `only ${items} from this time on, such as 2030-01-31T12:00:00Z`)
    .option('--to <time>', `only ${items} before this time`);
}

/** Shows one page, or all of them joined, as a table. */
export async function showList<Item>(
  session: Session,
  columns: readonly Column<Item>[],
  options: PageOptions,
  list: (page: PageAsked) => Promise<Page<Item>>,
): Promise<void> {
  const page = await readPages(options, list);
  session.showText(page, pageText(columns, page));
}

/** Reads an option that is a whole number. */
export function readWholeNumber(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
