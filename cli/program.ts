import { readFileSync } from 'node:fs';
import { Command, CommanderError, type Option } from 'commander';
import { addAudit } from './commands/audit.ts';
import { addCards } from './commands/cards.ts';
import { addErrors } from './commands/errors.ts';
import { addFunding } from './commands/funding.ts';
import { addKeys } from './commands/keys.ts';
import { addPrograms } from './commands/programs.ts';
import { addSandbox } from './commands/sandbox.ts';
import { addSwitch } from './commands/switch.ts';
import { addTransfers } from './commands/transfers.ts';
import { addTrialBalance } from './commands/trial-balance.ts';
import { EXIT_CODES, reportFailure } from './failure.ts';
import { addHost } from './host.ts';
import { type AddCommands, type GlobalOptions, type Surroundings, urlOf } from './session.ts';

/** The nouns under their heading in the help, in this order. */
const GROUPS: readonly { readonly heading: string; readonly nouns: readonly AddCommands[] }[] = [
  { heading: 'Cards and money:', nouns: [addTransfers, addCards] },
  { heading: 'For operators:', nouns: [addPrograms, addFunding, addSwitch, addTrialBalance, addKeys, addAudit] },
  { heading: 'For finding out:', nouns: [addErrors, addSandbox] },
  { heading: 'On the host of the service:', nouns: [addHost] },
];

const NOTES = `
Environment:
  TRANSFER_SERVICE_URL      as --url
  TRANSFER_SERVICE_KEY      as --key, and not seen by others on the machine
  TRANSFER_SERVICE_PROGRAM  as --program
  PORT                      the port of the default URL

Exit codes:
  0  done
  1  Request Error: correct the request
  2  the command was not typed right
  3  Server Error, Process Error, or an answer that is not the service's;
     from trial-balance also: the books do not balance
  4  no answer, or not all of it
  5  the output cannot be written

Examples:
  transfer-service transfers create --card card_active --amount 1000
  transfer-service transfers list --card card_active --all --json
  transfer-service cards statement card_active --from 2030-01-01T00:00:00Z
  transfer-service switch disable --reason "maintenance"
  transfer-service errors explain insufficient_funds
  transfer-service errors inspect req_...`;

/** The whole command line, ready to parse. */
export function buildProgram(surroundings: Surroundings): Command {
  const program: Command = new Command('transfer-service')
    .description('Move money to, from and between cards, and learn why when it does not move.')
    .usage('<noun> <verb> [options]')
    .option('--url <url>', `where the service is (default: ${surroundings.environment.url})`)
    .option('--key <key>', 'the API key; a sandbox on this machine needs none')
    .option('--program <program_id>', 'the card program to act in')
    .option('--json', 'print JSON, as the service sent it')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'show how a command is used')
    .addHelpText('after', NOTES)
    .hook('preAction', (_, command) => refuseEmptyOptions(command))
    .exitOverride()
    .configureOutput({ writeOut: surroundings.write, writeErr: surroundings.writeError })
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: termOf,
      commandDescription: (command) => sentence(command.description()),
      // Where a command explains a global option in its own words, once is enough.
      visibleGlobalOptions: (command): Option[] => globalOptionsFor(command, program),
    });
  for (const { heading, nouns } of GROUPS) {
    program.commandsGroup(heading);
    for (const add of nouns) add(program, surroundings);
  }
  tidyHelp(program);
  return program;
}

/** `--help` stands with every command, so that none needs a `help` beside it; and a verb has to come before options. */
function tidyHelp(command: Command): void {
  command.helpCommand(false);
  for (const inner of command.commands) {
    if (inner.commands.length > 0) inner.usage('<verb> [options]');
    tidyHelp(inner);
  }
}

/** A verb in a list, by all its names and with its arguments: that it has options goes without saying. */
function termOf(command: Command): string {
  const names = [command.name(), ...command.aliases()].join('|');
  return [names, ...command.registeredArguments.map((argument) => `<${argument.name()}>`)].join(' ');
}

/** A description begins small in a list of commands; above its own help it is a sentence. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

function globalOptionsFor(command: Command, program: Command): Option[] {
  if (command === program) return [];
  const own = command.options.map(({ long }) => long);
  return program.options.filter(({ long }) => long !== '--version' && !own.includes(long));
}

/**
 * An option that was given without a value is refused. It comes from a shell variable that is not set, and without
 * it a command may be about more than was meant: all programs, all cards, the whole service.
 */
function refuseEmptyOptions(command: Command): void {
  for (let level: Command | null = command; level !== null; level = level.parent) {
    for (const option of level.options) {
      if (level.getOptionValue(option.attributeName()) !== '') continue;
      command.error(`error: option '${option.flags}' is empty; give a value, or leave the option out`);
    }
  }
}

/** Runs one command line and gives the exit code; everything it prints goes through `surroundings`. */
export async function run(
  commandLine: readonly string[],
  surroundings: Omit<Surroundings, 'endWith'>,
): Promise<number> {
  let exitCode: number = EXIT_CODES.done;
  const endWith = (code: number) => {
    exitCode = code;
  };
  const program = buildProgram({ ...surroundings, endWith });
  try {
    await program.parseAsync(commandLine, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return isAskedFor(error) ? EXIT_CODES.done : EXIT_CODES.usage;
    const options = program.opts<GlobalOptions>();
    const url = urlOf(options, surroundings.environment).replace(/\/+$/, '');
    const report = reportFailure(error, url, options.json ?? false);
    surroundings.writeError(report.text);
    return report.exitCode;
  }
}

/** Help and version that were asked for are no faults; help instead of a missing verb is. */
function isAskedFor(error: CommanderError): boolean {
  return error.code === 'commander.helpDisplayed' || error.code === 'commander.version';
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
