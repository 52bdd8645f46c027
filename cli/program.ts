import { Command, CommanderError, type Option } from 'commander';
import { VERSION } from '../installation.mjs';
import type { AddCommands } from './command.ts';
import { addApprovals } from './commands/approvals.ts';
import { addAudit } from './commands/audit.ts';
import { addDays, addTrialBalance } from './commands/books.ts';
import { addCards } from './commands/cards.ts';
import { addCompletion } from './commands/completion.ts';
import { addDoctor } from './commands/doctor.ts';
import { addErrors } from './commands/errors.ts';
import { addEvents } from './commands/events/events.ts';
import { addKeys } from './commands/keys.ts';
import { addMcp } from './commands/mcp.ts';
import { addAccess, addPeople, addSessions } from './commands/people.ts';
import { addConnector, addProcessors } from './commands/processors.ts';
import { addFunding, addPrograms } from './commands/programs.ts';
import { addRunbook } from './commands/runbook.ts';
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
import { usageAdvice } from './usage-advice.ts';

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
     event was not delivered; for doctor: there is a problem; for connector
     check: the adapter breaks a rule
  2  invalid command line
  3  Server Error, Process Error, or a response that is not from the service;
     for trial-balance also: the ledger does not balance; for status also: the
     service is not ready
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
