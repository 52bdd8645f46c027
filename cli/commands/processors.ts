import type { Command } from 'commander';
import { printable } from '../../domain/printable-text.ts';
import { ATTEMPT_STATUSES } from '../../domain/processors/attempt.ts';
import { BOOK_AGAINST, BREAK_KINDS } from '../../domain/processors/break.ts';
import type {
  BreakRecord,
  CloseBreakBody,
  ConnectorRecord,
  ListBreaksQuery,
  OperatorAttemptRecord,
  ProcessorAttemptRecord,
  ResolveAttemptBody,
  SearchAttemptsQuery,
} from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, readWholeNumber } from '../command.ts';
import { type Column, money, moneyColumn, pairsOf, table } from '../output.ts';
import { type CommandContext, showChanged } from '../session.ts';
import { SETTING_COLUMNS } from './switch.ts';

const COLUMNS: readonly Column<ProcessorAttemptRecord>[] = [
  'attempt_id',
  'kind',
  moneyColumn('amount'),
  'status',
  'tries',
  'unknown_since',
  'next_at',
  'code',
];

const QUEUE_COLUMNS: readonly Column<OperatorAttemptRecord>[] = [
  'attempt_id',
  'created_at',
  'connector_id',
  'kind',
  moneyColumn('amount'),
  'status',
  'next_at',
  'program_id',
  'detail',
];

const CONNECTOR_COLUMNS: readonly Column<ConnectorRecord>[] = [
  'connector_id',
  'kind',
  'state',
  'since',
  { heading: 'disabled', show: disabledText },
  'in_flight',
  { heading: 'waiting', show: ({ open }) => countsOf(open) },
  'oldest_unknown_since',
  'reason',
];

const BREAK_COLUMNS: readonly Column<BreakRecord>[] = [
  'break_id',
  'created_at',
  'kind',
  'connector_id',
  { heading: 'amount', show: amountOf, right: true },
  'expected',
  'found',
  'transfer_id',
  { heading: 'bookings', show: bookingsOf },
];

const CONNECTOR_OPTION = { flag: '--connector <connector_id>', help: 'filter by connector' } as const;
const PROGRAM_OPTION = { flag: '--program <program_id>', help: 'filter by card program' } as const;

export const addProcessors: AddCommands = (program, context) => {
  addAttempts(program, context);
  addCommand(program, context, {
    name: 'connectors',
    description: 'show the connectors to processors, their pending work, and why they are disabled; for operators',
    run: async ({ service, showText, width }) => {
      const found = await service.connectors.list();
      showText(found, connectorsText(found.data, width));
    },
  });
  addBreaks(program, context);
};

function addAttempts(program: Command, context: CommandContext): void {
  const attempts = program.command('attempts').description('processor attempts and unknown outcomes');
  addCommand(attempts, context, {
    name: 'list <transfer_id>',
    argument: 'transfer id, tr_...',
    description: "show the processor's answers about a transfer, and when the service asks again",
    run: async ({ service, showText, width }, _, transferId) => {
      const found = await service.transfers.attempts(transferId);
      const none = 'No attempts: no processor is involved in this transfer.\n';
      showText(found, found.data.length === 0 ? none : table(COLUMNS, found.data, width));
    },
  });
  addList<OperatorAttemptRecord, Omit<SearchAttemptsQuery, 'limit' | 'cursor'>>(attempts, context, {
    name: 'queue',
    description: 'list the unfinished attempts of all card programs, oldest first; for operators',
    options: {
      status: {
        flag: '--status <status>',
        help: 'filter by status; open if omitted',
        choices: ['open', ...ATTEMPT_STATUSES],
      },
      connector_id: CONNECTOR_OPTION,
      program_id: PROGRAM_OPTION,
    },
    columns: QUEUE_COLUMNS,
    list: (service, query) => service.attempts.search(query),
    empty: { text: 'No attempts.' },
  });
  addCommand<ResolveAttemptBody>(attempts, context, {
    name: 'resolve <attempt_id>',
    argument: 'attempt id, pat_...',
    description: 'resolve an attempt with an unknown outcome, once you know what the processor did; for operators',
    notes: `
Ask the processor first. The outcome executed completes the transfer.
not_executed fails the transfer and gives the money back.`,
    options: {
      outcome: {
        flag: '--outcome <outcome>',
        help: 'what the processor did',
        choices: ['executed', 'not_executed'],
        required: true,
      },
      note: { flag: '--note <text>', help: 'how you know this; for the audit log', required: true },
    },
    run: async (session, body, attemptId) => {
      const resolved = await session.service.attempts.resolve(attemptId, body);
      showChanged(session, resolved, pairsOf(resolved));
    },
  });
}

function addBreaks(program: Command, context: CommandContext): void {
  const breaks = program.command('breaks').description('contradictions between processors and the books');
  addList<BreakRecord, Omit<ListBreaksQuery, 'limit' | 'cursor'>>(breaks, context, {
    name: 'list',
    description: 'list the open breaks, oldest first, or the closed ones, newest first; for operators',
    options: {
      status: { flag: '--status <status>', help: 'filter by status; open if omitted', choices: ['open', 'closed'] },
      kind: {
        flag: '--kind <kind>',
        help: 'filter by kind',
        choices: BREAK_KINDS,
      },
      connector_id: CONNECTOR_OPTION,
      program_id: PROGRAM_OPTION,
    },
    columns: BREAK_COLUMNS,
    list: (service, query) => service.breaks.list(query),
    empty: { text: 'No breaks.' },
  });
  addCommand<CloseBreakBody>(breaks, context, {
    name: 'close <break_id>',
    argument: 'break id, brk_...',
    description: 'close a break, and book its difference; for operators',
    options: {
      note: { flag: '--note <text>', help: 'what you found and did', required: true },
      book_against: {
        flag: '--against <account>',
        help: 'the account that bears the difference: funding, clearing (if the processor has undone the order) or loss',
        choices: BOOK_AGAINST,
      },
      amount: {
        flag: '--amount <amount>',
        help: 'the amount in `bookings` of the break, in minor units; with --against',
        read: readWholeNumber,
      },
    },
    run: async (session, body, breakId) => {
      const closed = await session.service.breaks.close(breakId, body);
      showChanged(session, closed, pairsOf(closed));
    },
  });
}

/** The ways to book the difference of a break: `10.00 USD: funding, clearing, loss`, or the chosen one. */
function bookingsOf({ bookings, booked_against: against, currency }: BreakRecord): string | null {
  const [first] = bookings;
  if (first === undefined) return against === null ? null : `booked against ${against}`;
  return `${money(first.amount, currency ?? '')}: ${bookings.map(({ book_against: one }) => one).join(', ')}`;
}

/** The amount of a break, which is not always known. */
function amountOf({ amount, currency }: BreakRecord): string | null {
  return amount === null || currency === null ? null : money(amount, currency);
}

/** The attempts that wait, by status: `3 ready, 5 unknown`. */
function countsOf(open: ConnectorRecord['open']): string {
  const counts = Object.entries(open).filter(([, count]) => count > 0);
  return counts.length === 0 ? 'nothing' : counts.map(([status, count]) => `${count} ${printable(status)}`).join(', ');
}

/** The connectors, and below them the settings of the switch that disable some, as `switch show` has them. */
function connectorsText(connectors: readonly ConnectorRecord[], width: number | undefined): string {
  if (connectors.length === 0) return 'No connectors.\n';
  const settings = connectors.flatMap(({ disabled_by: by }) => by);
  const disabled = settings.length === 0 ? '' : `\nDisabled by the switch:\n${table(SETTING_COLUMNS, settings, width)}`;
  return `${table(CONNECTOR_COLUMNS, connectors, width)}${disabled}`;
}

/** `in part` if only one card program or one type of transfer is disabled. */
function disabledText({ disabled_by: by }: ConnectorRecord): string {
  if (by.length === 0) return 'no';
  return by.some(({ program_id: programId, type }) => programId === null && type === null) ? 'yes' : 'in part';
}
