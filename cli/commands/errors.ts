import type { Command } from 'commander';
import type { CatalogueRecord } from '../../contract/errors/catalogue.ts';
import { printable } from '../../domain/printable-text.ts';
import {
  type CountErrorsQuery,
  ERROR_TYPES,
  ERRORS,
  type ErrorCode,
  type ErrorCounts,
  type FoundErrors,
  type InspectedErrorRecord,
  InvalidArgument,
  type ListErrorsQuery,
  type LoggedErrorRecord,
  type OperatorErrorRecord,
} from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, type OptionsFor, PAGE_OPTIONS, TIME_OPTIONS } from '../command.ts';
import { nextAfter } from '../failure.ts';
import { alignedLines, type Column, money, pairsOf, table, wrap, yesOrNo } from '../output.ts';
import { type CommandContext, type PageOptions, pageText, readPages } from '../session.ts';
import { plainTime, readEarlier } from '../times.ts';
import { addTailErrors } from './tail-errors.ts';

const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

const COLUMNS = [
  'request_id',
  'created_at',
  'operation',
  'status',
  'code',
  'card_id',
  'money_moved',
] as const satisfies readonly Column<LoggedErrorRecord>[];

const SEARCH_COLUMNS: readonly Column<OperatorErrorRecord>[] = [...COLUMNS, 'program_id'];

const LOG_NOTES = `
The request id is in the Request-Id header of every response, and in the message
of every error that only support can resolve.`;

const LABEL_WIDTH = 14;

// Loaded on demand: the contract takes longer to load than the rest of the command line.
const load = () => import('../../contract/errors/catalogue.ts');

const NOTES = `
To look up a request id, use errors inspect as an operator, or errors show with
a key of the card program. requests inspect and requests show also find
successful requests. Without a request id, use list, search or tail.`;

type Filters = Omit<ListErrorsQuery, 'limit' | 'cursor'>;

const FILTER_OPTIONS: OptionsFor<Filters> = {
  ...TIME_OPTIONS,
  code: { flag: '--code <code>', help: 'filter by error code' },
  type: { flag: '--type <type>', help: 'filter by type', choices: ERROR_TYPES },
  operation: { flag: '--operation <operation>', help: 'filter by operation, such as create_transfer' },
  card_id: { flag: '--card <card_id>', help: 'filter by card; errors of invalid request bodies have no card' },
};

export const addErrors: AddCommands = (program, context) => {
  const errors = program.command('errors').description('the error log and the error codes').addHelpText('after', NOTES);
  addCommand(errors, context, {
    name: 'show <request_id>',
    argument: 'request id of the response, req_...',
    description: 'show an error of the card program',
    notes: LOG_NOTES,
    run: async ({ service, show }, _, requestId) => show(await service.errors.get(requestId)),
  });
  addList<LoggedErrorRecord, Filters>(errors, context, {
    name: 'list',
    description: 'list errors of the card program, newest first',
    options: FILTER_OPTIONS,
    columns: COLUMNS,
    list: (service, query) => service.errors.list(query),
    empty: {
      text: 'No errors.',
      next: [
        ['see new ones as they are recorded', 'errors tail'],
        ['in all card programs, for operators', 'errors search'],
      ],
      filtered: [
        ['all errors', 'errors list'],
        ['in all card programs, for operators', 'errors search'],
      ],
    },
  });
  addTailErrors(errors, context);
  addOperatorCommands(errors, context);
  addCatalogue(errors, context);
};

function addOperatorCommands(errors: Command, context: CommandContext): void {
  addCommand(errors, context, {
    name: 'inspect <request_id>',
    argument: 'request id of the response, req_...',
    description: 'show any error with its checks and causes; for operators',
    notes: LOG_NOTES,
    run: async ({ service, showText }, _, requestId) => {
      const error = await service.errors.inspect(requestId);
      const { ERRORS: definitions } = await load();
      const known = ERROR_CODES.find((code) => code === error.code);
      showText(error, `${known === undefined ? '' : summaryOf(definitions[known], error.causes)}${describe(error)}`);
    },
  });
  // --program filters only if it is typed: an operator must not miss errors because of an environment variable.
  const program_id = { flag: '--program <program_id>', help: 'filter by card program' };
  addCommand<Filters & PageOptions & { readonly program_id?: string }>(errors, context, {
    name: 'search',
    description: 'list errors of all card programs, newest first; for operators',
    options: { ...PAGE_OPTIONS, ...FILTER_OPTIONS, program_id },
    run: async ({ service, showText, writeError, width }, { limit, cursor, all, ...filters }) => {
      const found = await readPages<FoundErrors>({ limit, cursor, all }, (page) =>
        service.errors.search({ ...filters, ...page }),
      );
      showText(found, pageText(SEARCH_COLUMNS, found, { width, empty: 'No errors.\n' }));
      writeError(droppedText(found.dropped));
    },
  });
  addCommand<CountErrorsQuery>(errors, context, {
    name: 'count',
    description: 'count errors by code and hour or day; for operators',
    options: {
      interval: {
        flag: '--interval <interval>',
        help: 'length of the intervals (default: hour)',
        choices: ['hour', 'day'],
      },
      from: {
        flag: '--from <time>',
        help: 'first interval, in UTC: 2030-01-31, "2030-01-31 12:00", or 6h for six hours ago (default: 24h, or 30d)',
        read: readEarlier,
      },
      to: { flag: '--to <time>', help: 'end of the last interval (default: now)', read: readEarlier },
      code: { flag: '--code <code>', help: 'filter by error code' },
      program_id,
    },
    run: async ({ service, showText }, query) => {
      const counts = await service.errors.count(query);
      showText(counts, describeCounts(counts));
    },
  });
}

function addCatalogue(errors: Command, context: CommandContext): void {
  addCommand(errors, context, {
    name: 'codes',
    description: 'list the error codes, without a request to the service',
    run: async ({ showText }) => {
      const catalogue = await load();
      const rows = catalogue.ERROR_CODES.map(catalogue.catalogueRecord);
      showText({ data: rows }, table(['code', 'status', 'type'], rows));
    },
  });
  addCommand(errors, context, {
    name: 'explain <code>',
    argument: 'error code, such as insufficient_funds',
    description: 'explain an error code, without a request to the service',
    run: async ({ showText, url, command }, _, code) => {
      const known = ERROR_CODES.find((one) => one === code);
      if (known === undefined) throw new InvalidArgument(`unknown error code '${code}'${await suggestion(code)}`);
      const entry = (await load()).catalogueRecord(known);
      showText(entry, explain(entry, url, command));
    },
  });
}

function summaryOf(
  { meaning, resolution }: { readonly meaning: string; readonly resolution: string },
  causes: InspectedErrorRecord['causes'],
): string {
  return `${wrap(meaning, '', '')}${innermostCause(causes)}${wrap(resolution, 'What to do: ', '  ')}\n`;
}

/** Returns the innermost cause with its message, to print above the stacks. */
function innermostCause(causes: InspectedErrorRecord['causes']): string {
  const cause = causes.at(-1);
  if (cause === undefined) return '';
  const text = cause.message === 'provoked' ? 'the header Sandbox-Provoke' : cause.message;
  return wrap(printable(text), 'Cause: ', '  ');
}

function describe({ causes, ...error }: InspectedErrorRecord): string {
  const rest = { ...error, checks: shownChecks(error) };
  const chain = causes.map(({ name, message, stack }, index) => {
    const lines = [
      `${index === 0 ? 'thrown' : 'caused by'}: ${name}: ${message}`,
      ...stack.map((frame) => `  ${frame}`),
    ];
    return lines.map((line) => `${printable(line)}\n`).join('');
  });
  return [alignedLines(pairsOf(rest)), ...chain].join('');
}

function describeCounts({ data, dropped }: ErrorCounts): string {
  const counts = data.length === 0 ? 'No errors in this period.\n' : table(['start', 'code', 'type', 'count'], data);
  return counts + droppedText(dropped);
}

function droppedText(dropped: number): string {
  return dropped === 0 ? '' : `${dropped} more errors in this period could not be recorded.\n`;
}

function explain(entry: CatalogueRecord, url: string, command: string): string {
  const labelled = (label: string, text: string) =>
    wrap(text, `${label}${label === '' ? ' ' : ':'}`.padEnd(LABEL_WIDTH), ' '.repeat(LABEL_WIDTH));
  return [
    `${entry.code}: status ${entry.status}, ${entry.type}\n\n`,
    wrap(entry.meaning, '', ''),
    '\n',
    ...entry.causes.map((cause, index) => labelled(index === 0 ? 'Causes' : '', cause)),
    labelled('Resolution', entry.resolution),
    entry.resolver === 'support' ? forOperators(entry.code, command) : '',
    labelled('Resolved by', entry.resolver),
    labelled('Money moved', entry.money_moved),
    labelled('Retryable', yesOrNo(entry.retry)),
    labelled('Example', entry.reproduce),
    labelled('Since', `version ${entry.since}`),
    '\nFor support\n\n',
    wrap(entry.support.next, 'Next step: ', '  '),
    wrap(entry.support.tell, 'Tell the customer: ', '  '),
    `\nSee ${url}/errors/${entry.code}\n`,
  ].join('');
}

/** Returns the next step for operators. They resolve such errors, so “contact support” is not enough. */
function forOperators(code: string, command: string): string {
  const indent = ' '.repeat(LABEL_WIDTH);
  const [purpose, next] = nextAfter(code) ?? ['See what caused it:', 'errors inspect <request_id>'];
  // The command is on a separate line, so that it can be copied.
  return `${wrap(purpose, 'Operators:'.padEnd(LABEL_WIDTH), indent)}${indent}  ${command} ${next}\n`;
}

/** Suggests the codes that the search of the service finds for these words, such as `frozen` or `not enough money`. */
async function suggestion(words: string): Promise<string> {
  const { searchErrors } = await import('../../contract/search/error-search.ts');
  const hits = searchErrors(words);
  const alone = hits.filter(({ family }) => family === undefined);
  const near = (alone.length > 0 ? alone : hits).map(({ code }) => code);
  return near.length === 0
    ? '; list them with: transfer-service errors codes'
    : `; did you mean ${near.slice(0, 3).join(', ')}?`;
}

/** An amount with its currency in a message, such as `1,250.00 USD`. */
const MONEY_IN_TEXT = /(?<![\d.,])\d[\d,]*(?:\.\d+)? ([A-Z]{3})\b/g;

const QUOTED = /'[^']*'/g;

/** Values that are amounts in minor units: of the request, the account or a limit. */
const AMOUNT_NAMES = /(^|_)(amount|balance)$|^(available|held|incoming|captured|reversed)$/;

/** Milliseconds since 1970, which services of earlier versions show. */
const MILLISECONDS = /^\d{13}$/;

const TIME_NAMES = /^(now|until)$|_(at|for)$/;

const USED_OF_LIMIT = /^(\d+) of (\d+) used$/;

type Checked = {
  readonly message?: string;
  readonly request?: Readonly<Record<string, unknown>> | null;
  readonly checks?: Readonly<Record<string, unknown>> | null;
};

/** Returns the values of a failed check as people read them: times in words, and amounts as money if the currency is known. */
export function shownChecks(error: Checked): Readonly<Record<string, unknown>> | null {
  const { checks } = error;
  if (checks === null || checks === undefined) return null;
  const currency = currencyOf(error);
  return Object.fromEntries(
    Object.entries(checks).map(([name, value]) => [name, shownValue(name, value, currency)] as const),
  );
}

function shownValue(name: string, value: unknown, currency: string | undefined): unknown {
  if (TIME_NAMES.test(name) && MILLISECONDS.test(String(value)))
    return plainTime(new Date(Number(value)).toISOString());
  if (currency === undefined || !AMOUNT_NAMES.test(name)) return value;
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const text = String(value);
  const [, used, limit] = USED_OF_LIMIT.exec(text) ?? [];
  if (used !== undefined && limit !== undefined) {
    return `${money(used, currency)} of ${money(limit, currency)} used`;
  }
  return /^-?\d+$/.test(text) ? money(text, currency) : value;
}

/** Returns the currency in the message, or else the request's. Quoted names are ignored, because they come from callers. */
function currencyOf({ message = '', request }: Checked): string | undefined {
  const named = new Set([...message.replaceAll(QUOTED, '').matchAll(MONEY_IN_TEXT)].map(([, currency]) => currency));
  if (named.size > 0) return named.size === 1 ? [...named][0] : undefined;
  return typeof request?.currency === 'string' ? request.currency : undefined;
}
