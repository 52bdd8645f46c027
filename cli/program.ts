import { Command, CommanderError, type Option } from 'commander';
import { VERSION } from '../installation.mjs';
import type { AddCommands } from './command.ts';
import { addApprovals } from './commands/approvals.ts';
import { addAudit } from './commands/audit.ts';
import { addDays, addTrialBalance } from './commands/books.ts';
import { addCards } from './commands/cards.ts';
import { addCompletion } from './commands/completion.ts';
import { addDoctor, addRunbook } from './commands/doctor.ts';
import { addErrors } from './commands/errors.ts';
import { addEvents } from './commands/events/events.ts';
import { addKeys } from './commands/keys.ts';
import { addMcp } from './commands/mcp.ts';
import { addMoveIn } from './commands/move-in.ts';
import { addAccess, addPeople, addSessions } from './commands/people.ts';
import { addConnector, addProcessors } from './commands/processors.ts';
import { addFunding, addPrograms } from './commands/programs.ts';
import { addSandbox } from './commands/sandbox.ts';
import { addSettlement } from './commands/settlement.ts';
import { addOverview, addStatus } from './commands/status.ts';
import { addCases } from './commands/support/cases.ts';
import { addIncidents } from './commands/support/incidents.ts';
import { addRequests, addSearch } from './commands/support/look-up.ts';
import { addSwitch } from './commands/switch.ts';
import { addTransfers } from './commands/transfers.ts';
import { addWebhooks } from './commands/webhooks/webhooks.ts';
import { EXIT_CODES, reportFailure } from './failure.ts';
import { addHost } from './host/commands.ts';
import { bad, strong, unpainted } from './paint.ts';
import { type CommandContext, commandOf, type GlobalOptions, urlOf } from './session.ts';

const GROUPS: readonly { readonly heading: string; readonly resources: readonly AddCommands[] }[] = [
  { heading: 'Transfers, cards, events and webhooks:', resources: [addTransfers, addCards, addEvents, addWebhooks] },
  {
    heading: 'For operators:',
    resources: [
      addDoctor,
      addStatus,
      addOverview,
      addPrograms,
      addFunding,
      addMoveIn,
      addSwitch,
      addProcessors,
      addDays,
      addSettlement,
      addTrialBalance,
      addKeys,
      addSessions,
      addPeople,
      addApprovals,
      addAccess,
      addAudit,
    ],
  },
  {
    heading: 'Troubleshooting and testing:',
    resources: [
      addSearch,
      addRequests,
      addErrors,
      addCases,
      addIncidents,
      addRunbook,
      addSandbox,
      addConnector,
      addMcp,
      addCompletion,
    ],
  },
  { heading: "On the service's host:", resources: [addHost] },
];

function notes(command: string): string {
  return `
${strong('Environment:')}
  TRANSFER_SERVICE_URL             same as --url
  TRANSFER_SERVICE_KEY             same as --key, but not visible in the
                                   process list
  TRANSFER_SERVICE_PROGRAM         same as --program
  TRANSFER_SERVICE_WEBHOOK_SECRET  same as --secret of events listen
  PORT                             port of the default URL
  NO_COLOR, FORCE_COLOR            turn colors off; keep them when piped

${strong('Exit codes:')}
  0  success
  1  Request Error: correct the request; for webhooks test and resend also: the
     event was not delivered; for doctor and move-in check: there is a problem;
     for connector check: the adapter breaks a rule
  2  invalid command line
  3  Server Error, Process Error, or a response that is not from the service;
     for trial-balance also: the ledger does not balance; for move-in run also:
     the books differ from the file; for status also: the service is not ready
  4  no response, or an incomplete one
  5  the output cannot be written
  6  accepted, but not done: it is waiting for the approval of a second person

${strong('Examples:')}
  ${command} doctor
  ${command} transfers create --card card_active \\
    --amount "10.00 USD"
  ${command} transfers list --card card_active --all --json
  ${command} cards statement card_active --from 2030-01-31
  ${command} events tail
  ${command} events listen --forward-to localhost:3000/hooks
  ${command} webhooks create https://shop.example/webhooks
  ${command} switch disable --reason "maintenance"
  ${command} errors explain insufficient_funds
  ${command} errors inspect req_...`;
}

export function buildProgram(context: CommandContext): Command {
  const program: Command = new Command(commandOf(context.environment))
    .description('Move money to, from and between cards, and find out why a transfer failed.')
    .usage('<resource> <command> [options]')
    .option('--url <url>', `base URL of the service (default: ${context.environment.url})`)
    .option('--key <key>', 'API key; not required for a sandbox on this machine')
    .option('--program <program_id>', 'card program to act in')
    .option('--json', 'print JSON')
    .version(VERSION, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .addHelpText('after', notes(commandOf(context.environment)))
    .hook('preAction', (_, command) => refuseEmptyOptions(command))
    .exitOverride()
    .configureOutput({
      writeOut: context.write,
      writeErr: context.writeError,
      // Help always has colors: the writer removes color codes where they are not wanted.
      getOutHasColors: () => true,
      getErrHasColors: () => true,
      // Removes Commander's suggestion of a command, because usageAdvice makes its own.
      outputError: (text, write) =>
        write(text.replace(/^error:/, bad('error:')).replace(/^(.*unknown command.*\n)\(Did you mean .*\)\n/, '$1')),
    })
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: strong,
      subcommandTerm: termOf,
      commandDescription: (command) => sentence(command.description()),
      // An option that the command describes itself is not listed twice.
      visibleGlobalOptions: (command): Option[] => globalOptionsFor(command, program),
    });
  for (const { heading, resources } of GROUPS) {
    program.commandsGroup(heading);
    for (const add of resources) add(program, context);
  }
  tidyHelp(program);
  return program;
}

/** Every command has `--help`, so there is no `help` command. */
function tidyHelp(command: Command): void {
  command.helpCommand(false);
  for (const inner of command.commands) {
    if (inner.commands.length > 0) inner.usage('<command> [options]');
    tidyHelp(inner);
  }
}

function termOf(command: Command): string {
  const names = [command.name(), ...command.aliases()].join('|');
  return [names, ...command.registeredArguments.map((argument) => `<${argument.name()}>`)].join(' ');
}

/** A description as a sentence, for the command's own help. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

function globalOptionsFor(command: Command, program: Command): Option[] {
  if (command === program) return [];
  const own = command.options.map(({ long }) => long);
  return program.options.filter(({ long }) => long !== '--version' && !own.includes(long));
}

/**
 * Rejects an option with an empty value. It comes from a shell variable that is not set, and a command without the option
 * could apply to more than intended: all programs, all cards, the whole service.
 */
function refuseEmptyOptions(command: Command): void {
  for (let level: Command | null = command; level !== null; level = level.parent) {
    for (const option of level.options) {
      if (level.getOptionValue(option.attributeName()) !== '') continue;
      command.error(`error: option '${option.flags}' is empty; give a value or omit the option`);
    }
  }
}

export async function run(commandLine: readonly string[], given: Omit<CommandContext, 'exitWith'>): Promise<number> {
  let exitCode: number = EXIT_CODES.done;
  const exitWith = (code: number) => {
    exitCode = code;
  };
  const context = { ...paintedFor(given), exitWith };
  // The version is printed without building a hundred commands first.
  if (commandLine.length === 1 && commandLine[0] === '--version') {
    context.write(`${VERSION}\n`);
    return exitCode;
  }
  const program = buildProgram(context);
  try {
    // Accepts `help transfers` too, because people type it.
    const [first, ...rest] = commandLine;
    await program.parseAsync(first === 'help' ? [...rest, '--help'] : commandLine, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (isHelpOrVersion(error)) return EXIT_CODES.done;
      context.writeError(usageAdvice(program, commandLine, error.code));
      return EXIT_CODES.usage;
    }
    const options = program.opts<GlobalOptions>();
    const report = await reportFailure(error, {
      url: urlOf(options, context.environment).replace(/\/+$/, ''),
      json: options.json ?? false,
      command: commandOf(context.environment),
      width: context.width,
    });
    context.writeError(report.text);
    return report.exitCode;
  }
}

/** Removes color codes from output unless it goes to a terminal with colors. */
function paintedFor<Context extends Omit<CommandContext, 'exitWith'>>(context: Context): Context {
  const { write, writeError, colors = { output: false, errors: false } } = context;
  return {
    ...context,
    write: colors.output ? write : (text: string) => write(unpainted(text)),
    writeError: colors.errors ? writeError : (text: string) => writeError(unpainted(text)),
  };
}

/** Whether help or the version was requested. Help that is shown for a missing command is an error. */
function isHelpOrVersion(error: CommanderError): boolean {
  return error.code === 'commander.helpDisplayed' || error.code === 'commander.version';
}

/** Commands by words that people type instead of their names. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['balance', 'cards get <card_id>'],
  ['duplicates', 'cards duplicates <card_id>'],
  ['freeze', 'cards update <card_id> --status inactive'],
  ['block', 'cards update <card_id> --status inactive'],
  ['funding', 'programs get <program_id>'],
  ['health', 'status'],
  ['holds', 'cards holds <card_id>'],
  ['import', 'move-in check <file>'],
  ['limits', 'cards limits <card_id>'],
  ['logs', 'errors tail'],
  ['migration', 'move-in check <file>'],
  ['move', 'move-in check <file>'],
  ['payment', 'transfers create'],
  ['payments', 'transfers list'],
  ['refund', 'transfers reverse <transfer_id>'],
  ['reset', 'sandbox reset'],
  ['statement', 'cards statement <card_id>'],
  ['suspend', 'cards update <card_id> --status inactive'],
  ['version', '--version'],
  ['whoami', 'sessions current'],
]);

/** Commands of other resources, by the words that people type instead. */
const MEANT_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ...['list', 'ls', 'all', 'get', 'show', 'view'].flatMap((verb): [string, string][] => [
    [`deposits ${verb}`, 'movements --kind deposit'],
    [`withdrawals ${verb}`, 'movements --kind withdrawal'],
  ]),
  ...['import', 'migrate', 'move', 'move-in'].flatMap((verb): [string, string][] => [
    [`cards ${verb}`, 'move-in check <file>'],
    [`programs ${verb}`, 'move-in check <file>'],
  ]),
  ['cards events', 'events list --subject <card_id>'],
  ['cards transfers', 'transfers list --card <card_id>'],
  ['programs deposit', 'deposits create --program <program_id> --amount <amount>'],
  ['programs withdraw', 'withdrawals create --program <program_id> --amount <amount>'],
]);

/** Names of commands that any resource can have, by the words that people type instead. */
const MEANT_VERB: ReadonlyMap<string, readonly string[]> = new Map([
  ['show', ['get', 'show', 'current']],
  ['view', ['get', 'show']],
  ['get', ['show', 'inspect']],
  ['ls', ['list']],
  ['all', ['list']],
  ['new', ['create']],
  ['add', ['create']],
  ['edit', ['update']],
  ['set', ['update']],
  ['freeze', ['update']],
  ['block', ['update']],
  ['suspend', ['update']],
  ['remove', ['delete', 'revoke']],
  ['delete', ['revoke']],
  ['refund', ['reverse']],
  ['void', ['cancel']],
  ['import', ['run']],
  ['follow', ['tail']],
  ['watch', ['tail']],
]);

/** What to type after a command line that is not valid. */
export function usageAdvice(program: Command, commandLine: readonly string[], code: string): string {
  const { command, unknown } = deepest(program, commandLine);
  const path = pathOf(command);
  const lines: string[] = [];
  if (code === 'commander.unknownCommand' && unknown !== undefined) {
    const names = command.commands.map((one) => one.name());
    const meant =
      command === program ? MEANT.get(unknown) : MEANT_VERB.get(unknown)?.find((name) => names.includes(name));
    const suggestion = meant ?? similar(unknown, names);
    const elsewhere = MEANT_ELSEWHERE.get(`${command.name()} ${unknown}`);
    if (suggestion !== undefined) lines.push(`Did you mean: ${path} ${suggestion}`);
    else if (elsewhere !== undefined) lines.push(`Did you mean: ${program.name()} ${elsewhere}`);
    else {
      const begin = command === program ? 'The commands are' : `The commands of ${command.name()} are`;
      lines.push(...wrapped(`${begin} ${names.join(', ')}.`));
    }
  }
  // Commander has already printed the help.
  if (code !== 'commander.help') lines.push(`Help: ${path} --help`);
  return lines.map((line) => `${line}\n`).join('');
}

function similar(word: string, names: readonly string[]): string | undefined {
  const near = names
    .map((name) => ({ name, distance: name.startsWith(word) ? 1 : distanceOf(word.toLowerCase(), name) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .toSorted((one, other) => one.distance - other.distance);
  return near[0]?.name;
}

/** The edit distance (Damerau-Levenshtein) of two words. */
function distanceOf(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let at = 1; at <= one.length; at += 1) {
    const [above = [], before = []] = [rows[at - 1], rows[at - 2]];
    const row = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const same = one[at - 1] === other[to - 1] ? 0 : 1;
      const isSwapped = at > 1 && to > 1 && one[at - 1] === other[to - 2] && one[at - 2] === other[to - 1];
      const swapped = isSwapped ? (before[to - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min((above[to] ?? 0) + 1, (row[to - 1] ?? 0) + 1, (above[to - 1] ?? 0) + same, swapped));
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}

/** Finds the command that the words name, and the first word after it that is unknown. */
function deepest(program: Command, words: readonly string[]): { command: Command; unknown: string | undefined } {
  let command = program;
  for (const [at, word] of words.entries()) {
    const before = words[at - 1] ?? '';
    const options = [...program.options, ...command.options];
    if (word.startsWith('-') || options.some(({ long, required }) => required && long === before)) continue;
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) return { command, unknown: word };
    command = next;
  }
  return { command, unknown: undefined };
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function wrapped(text: string): readonly string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length > 80) lines.push(`  ${word}`);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
