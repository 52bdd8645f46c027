import { type Command, Option } from 'commander';
import {
  ERROR_TYPES,
  type ErrorCounts,
  type ErrorType,
  type FoundErrors,
  type InspectedErrorRecord,
  type LoggedErrorRecord,
  type OperatorErrorRecord,
} from '../../sdk/client.ts';
import { alignedLines, type Column, pairsOf, printable, table } from '../output.ts';
import {
  addPageOptions,
  addTimeOptions,
  openSession,
  type PageOptions,
  pageText,
  readPages,
  type Surroundings,
  showList,
} from '../session.ts';

type FilterOptions = PageOptions & {
  readonly code?: string;
  readonly type?: ErrorType;
  readonly operation?: string;
  readonly card?: string;
  readonly from?: string;
  readonly to?: string;
};

type CountOptions = {
  readonly interval?: 'hour' | 'day';
  readonly from?: string;
  readonly to?: string;
  readonly code?: string;
  readonly program?: string;
};

const COLUMNS: readonly Column<LoggedErrorRecord>[] = [
  { heading: 'request_id', show: (error) => error.request_id },
  { heading: 'created_at', show: (error) => error.created_at },
  { heading: 'operation', show: (error) => error.operation },
  { heading: 'status', show: (error) => String(error.status), right: true },
  { heading: 'code', show: (error) => error.code },
  { heading: 'card_id', show: (error) => error.card_id },
  { heading: 'money_moved', show: (error) => error.money_moved },
];

const SEARCH_COLUMNS: readonly Column<OperatorErrorRecord>[] = [
  ...COLUMNS,
  { heading: 'program_id', show: (error) => error.program_id },
];

const LOG_NOTE = `
The request id is in the Request-Id header of every answer, and in the message
of an error that only support can resolve.`;

/** Adds `errors show | list | inspect | search | count`: what the service has answered, by its error log. */
export function addErrorLog(errors: Command, surroundings: Surroundings): void {
  errors
    .command('show')
    .description('show an error of the card program, by its request id')
    .argument('<request_id>', 'of the answer, req_...')
    .addHelpText('after', LOG_NOTE)
    .action(async (requestId: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      session.showRecord(await session.service.errors.get(requestId));
    });
  addFilters(errors.command('list').description('list errors of the card program, newest first')).action(
    async (options: FilterOptions, command: Command) => {
      const session = openSession(command, surroundings);
      await showList(session, COLUMNS, options, (page) =>
        session.service.errors.list({ ...page, ...filtersOf(options) }),
      );
    },
  );
  addOperatorCommands(errors, surroundings);
}

function addOperatorCommands(errors: Command, surroundings: Surroundings): void {
  errors
    .command('inspect')
    .description('show any error with its checks and causes; for operators')
    .argument('<request_id>', 'of the answer, req_...')
    .addHelpText('after', LOG_NOTE)
    .action(async (requestId: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      const error = await session.service.errors.inspect(requestId);
      session.showText(error, describe(error));
    });
  addFilters(errors.command('search').description('list errors of all card programs, newest first; for operators'))
    .option('--program <program_id>', 'only those of this card program')
    .action(async (options: FilterOptions, command: Command) => {
      const session = openSession(command, surroundings);
      // Only a program that is typed narrows the search: an operator must not miss the rest by a forgotten variable.
      const filters = { ...filtersOf(options), program_id: session.typedProgram };
      const found = await readPages<FoundErrors>(options, (page) =>
        session.service.errors.search({ ...page, ...filters }),
      );
      session.showText(found, pageText(SEARCH_COLUMNS, found));
      const { dropped } = found;
      if (dropped > 0) surroundings.writeError(`${dropped} more errors of this time could not be recorded.\n`);
    });
  errors
    .command('count')
    .description('count errors by code and hour or day; for operators')
    .addOption(new Option('--interval <interval>', 'hour if left out').choices(['hour', 'day']))
    .option('--from <time>', 'such as 2030-01-31T12:00:00Z; 24 hours or 30 days ago if left out')
    .option('--to <time>', 'now if left out')
    .option('--code <code>', 'only this code')
    .option('--program <program_id>', 'only this card program')
    .action(async (options: CountOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const { interval, from, to, code } = options;
      const counts = await session.service.errors.count({ interval, from, to, code, program_id: session.typedProgram });
      session.showText(counts, describeCounts(counts));
    });
}

function addFilters(command: Command): Command {
  return addTimeOptions(addPageOptions(command), 'those')
    .option('--code <code>', 'only those with this code')
    .addOption(new Option('--type <type>', 'only those of this type').choices(ERROR_TYPES))
    .option('--operation <operation>', 'only those of this operation, such as create_transfer')
    .option('--card <card_id>', 'only those about this card');
}

function filtersOf({ code, type, operation, card, from, to }: FilterOptions) {
  return { code, type, operation, card_id: card, created_from: from, created_to: to };
}

function describe({ causes, ...rest }: InspectedErrorRecord): string {
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
  const columns: readonly Column<ErrorCounts['data'][number]>[] = [
    { heading: 'start', show: (counted) => counted.start },
    { heading: 'code', show: (counted) => counted.code },
    { heading: 'type', show: (counted) => counted.type },
    { heading: 'count', show: (counted) => String(counted.count), right: true },
  ];
  const counted = data.length === 0 ? 'There are none.\n' : table(columns, data);
  return dropped === 0 ? counted : `${counted}${dropped} more errors of this time could not be recorded.\n`;
}
