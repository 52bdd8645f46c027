import type { Command } from 'commander';
import { printable } from '../../domain/printable-text.ts';
import { ATTEMPT_STATUSES } from '../../domain/processors/attempt.ts';
import { BOOK_AGAINST, BREAK_KINDS } from '../../domain/processors/break.ts';
import {
  type BreakRecord,
  type CloseBreakBody,
  type ConnectorRecord,
  InvalidArgument,
  type ListBreaksQuery,
  type OperatorAttemptRecord,
  type ProcessorAttemptRecord,
  type ResolveAttemptBody,
  type SearchAttemptsQuery,
} from '../../sdk/client.ts';
import { readSecret } from '../../sdk/webhook-signature.ts';
import { type AddCommands, addCommand, addList, type OptionsFor, readWholeNumber } from '../command.ts';
import type { RuleResult } from '../connector/rules.ts';
import { EXIT_CODES } from '../failure.ts';
import { type Column, money, moneyColumn, pairsOf, table, wrap } from '../output.ts';
import { bad, good } from '../paint.ts';
import { type CommandContext, showChanged } from '../session.ts';
import { readEarlier } from '../times.ts';
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
  { heading: 'proposed', show: ({ proposed_attempt_ids: ids }) => (ids.length === 0 ? null : ids.join(', ')) },
];

const CONNECTOR_OPTION = { flag: '--connector <connector_id>', help: 'filter by connector' } as const;
const PROGRAM_OPTION = { flag: '--program <program_id>', help: 'filter by card program' } as const;

export const addProcessors: AddCommands = (program, context) => {
  addAttempts(program, context);
  addCommand(program, context, {
    name: 'connectors',
    description: 'show the connectors to processors, their pending work, and why they are disabled',
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
      unsettled_at: {
        flag: '--unsettled-at <time>',
        help: 'approved attempts that no settlement file had at this time, such as 2030-01-31 or 0h; with --program',
        read: readEarlier,
      },
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

const BREAK_ID = 'break id, brk_...';

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
      settlement_file_id: { flag: '--file <file_id>', help: 'filter by settlement file' },
    },
    columns: BREAK_COLUMNS,
    list: (service, query) => service.breaks.list(query),
    empty: { text: 'No breaks.' },
  });
  addCommand(breaks, context, {
    name: 'show <break_id>',
    argument: BREAK_ID,
    description: 'show a break, with the ways to book its difference; for operators',
    run: async ({ service, show }, _, breakId) => {
      const found = await service.breaks.get(breakId);
      show(found, pairsOf(found));
    },
  });
  addCommand<CloseBreakBody>(breaks, context, {
    name: 'close <break_id>',
    argument: BREAK_ID,
    description: 'close a break, and book its difference or settle its orders; for operators',
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
      attempt_ids: {
        flag: '--attempts <attempt_ids>',
        help: 'for a missing_in_ledger break: the orders that its line settles, separated by commas',
        read: (text) => text.split(','),
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

/** Says whether a connector is disabled: `in part` if only one card program or one type of transfer is disabled. */
function disabledText({ disabled_by: by }: ConnectorRecord): string {
  if (by.length === 0) return 'no';
  return by.some(({ program_id: programId, type }) => programId === null && type === null) ? 'yes' : 'in part';
}

type CheckOptions = { readonly secretVariable: string; readonly token?: string };

const CHECK_OPTIONS: OptionsFor<CheckOptions> = {
  secretVariable: {
    flag: '--secret-variable <name>',
    help: 'environment variable with the secret of the adapter, whsec_...',
    required: true,
  },
  token: {
    flag: '--token <token>',
    help: 'processor_token of a card whose orders are approved (default: sim_approve)',
  },
};

const CHECK_NOTES = `
Sends about twenty orders of 1.15 USD, and some that the adapter has to refuse.
The processor executes them: use its test environment. Exits with 1 if the
adapter breaks a rule.`;

export const addConnector: AddCommands = (program, context) => {
  const connector = program.command('connector').description('check the adapter of a processor');
  addCommand<CheckOptions>(connector, context, {
    name: 'check <url>',
    argument: 'base URL of the adapter',
    description: 'check an adapter against every rule of the adapter contract',
    options: CHECK_OPTIONS,
    notes: CHECK_NOTES,
    run: async (session, { secretVariable, token = 'sim_approve' }, url) => {
      const { environment, json, write, showText, exitWith } = session;
      if (!/^https?:\/\/[^/?#]/.test(url) || !URL.canParse(url) || /[?#]/.test(url))
        throw new InvalidArgument(
          `the argument must be a URL such as http://127.0.0.1:4000, but it is '${printable(url)}'`,
        );
      const secret = environment.variable?.(secretVariable);
      if (secret === undefined)
        throw new InvalidArgument(`there is no environment variable ${printable(secretVariable)}`);
      // An invalid secret is reported now, not with the first rule.
      await readSecret(secret);
      // Loaded on demand: no other command needs it.
      const { checkAdapter } = await import('../connector/rules.ts');
      const results: RuleResult[] = [];
      for await (const result of checkAdapter({ url, secret, token })) {
        results.push(result);
        if (!json) write(resultText(result, session.width));
      }
      const count = (outcome: RuleResult['outcome']) => results.filter((result) => result.outcome === outcome).length;
      const [passed, failed, notApplicable] = [count('passed'), count('failed'), count('not_applicable')];
      const others = notApplicable === 0 ? '' : `, ${notApplicable} not applicable`;
      const summary = `\n${passed} of ${passed + failed} rules passed, ${failed} failed${others}\n`;
      showText({ passed, failed, not_applicable: notApplicable, rules: results }, summary);
      if (failed > 0) exitWith(EXIT_CODES.requestError);
    },
  });
};

/** The width of the outcome before the name of a rule. */
const INDENT = ' '.repeat('failed  '.length);
const LABEL_WIDTH = 'Expected: '.length;

function resultText({ rule, outcome, expected, detail, why }: RuleResult, width = 80): string {
  const lines = (label: string, text: string): string => {
    const first = `${INDENT}${label.padEnd(LABEL_WIDTH)}`;
    return wrap(printable(text), first, ' '.repeat(first.length), width);
  };
  if (outcome === 'passed') return `${good('ok'.padEnd(INDENT.length))}${rule}\n`;
  if (outcome === 'not_applicable') return `${'-'.padEnd(INDENT.length)}${rule}\n${lines('Because:', detail ?? '')}`;
  const head = `${bad('failed'.padEnd(INDENT.length))}${rule}\n`;
  return `${head}${lines('Expected:', expected)}${lines('Actual:', detail ?? '')}${lines('Why:', why)}`;
}
