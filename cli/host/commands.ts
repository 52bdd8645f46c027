import { Option } from 'commander';
import type { AddCommands } from '../command.ts';
import { wrap } from '../output.ts';
import { runOnServiceNode, SetupProblem } from '../service-node.mjs';
import { type CommandContext, commandOf } from '../session.ts';
import { START_SETTINGS } from './start-settings.ts';

/** The width of the longest name, plus two spaces. */
const NAME_WIDTH = Math.max(...START_SETTINGS.map(({ name }) => name.length)) + 2;

const startNotes = (command: string): string => `
Without settings this is a sandbox with its own PostgreSQL, demo cards and no
key, for programs on this machine. Ctrl-C or SIGTERM stops it.

Settings are environment variables:
${START_SETTINGS.map(({ name, purpose }) => wrap(purpose, `  ${name.padEnd(NAME_WIDTH)}`, ' '.repeat(NAME_WIDTH + 2))).join('')}
For real money, MODE=live needs an operator key (operator-key create) and
SUPPORT_CONTACT.

"${command} config" prints all of them, and a
running service describes them at /guides/configuration.

Exit codes:
  0    stopped by a signal
  1    it could not start; the last lines say why`;

/**
 * Adds the commands for the service's host. They use its database and settings, so they run on the same host, in a
 * separate process, and need no key.
 */
export const addHost: AddCommands = (program, context) => {
  const run = (...task: string[]): Promise<void> => runAdministration(context, ...task);
  program
    .command('start')
    .description('start the service, with its data in ./data')
    .addHelpText('after', startNotes(commandOf(context.environment)))
    .action(() => runServer(context));
  program
    .command('migrate')
    .description('migrate the database schema; creates an embedded database')
    .action(() => run('migrate'));
  program
    .command('config')
    .description("print the service's settings, without secrets")
    .action(() => run('config'));
  program
    .command('verify-books')
    .description('compare every balance with the sum of its postings')
    .action(() => run('verify-books'));
  program
    .command('verify-metadata')
    .description('list metadata names that Node may have changed before version 0.2.0')
    .action(() => run('verify-metadata'));
  program
    .command('distribute')
    .description('distribute the ledger over a Citus cluster, from its coordinator; the service must be stopped')
    .addOption(new Option('--move <node>', 'move the tables to another node, as host:port; the service continues'))
    .addOption(new Option('--undo', 'gather the tables on the coordinator again').conflicts('move'))
    .action(({ move, undo }: { move?: string; undo?: boolean }) =>
      run('distribute', undo === true ? 'undo' : (move ?? '')),
    );
  const backup = program
    .command('backup')
    .description('copy the embedded ledger into BACKUP_DIR now, while the service runs')
    .action(() => run('backup'));
  backup
    .command('list')
    .description('list the copies, and the times that you can restore')
    .action(() => run('backup-list'));
  program
    .command('restore')
    .description('restore the embedded ledger from a backup into DATA_DIR, which must not have a ledger')
    .requiredOption('--to <time>', 'a time such as 2030-01-31T12:00:00Z, or latest')
    .option('--from <directory>', 'the directory of the backup (default: BACKUP_DIR)')
    .option(
      '--timeline <number>',
      'the timeline to follow, after an earlier restore (default: the timeline of the last service)',
    )
    .action(({ to, from, timeline }: { to: string; from?: string; timeline?: string }) =>
      run('restore', to, from ?? '', timeline ?? ''),
    );
  program
    .command('operator-key')
    .description('the first operator key of a live service')
    .command('create')
    .description('create an operator key in an existing ledger; the key is shown once')
    .requiredOption('--name <name>', 'what the key is for')
    .action(({ name }: { name: string }) => run('operator-key', name));
  program
    .command('approval-policy')
    .description('the rules for approvals, when no one can approve their change')
    .command('remove')
    .description('remove all rules for approvals; prints them, so that you can set them again')
    .action(() => run('approval-policy-remove'));
};

export function runAdministration(context: CommandContext, ...task: string[]): Promise<void> {
  return runServer(context, task);
}

/** Runs the service, or a task, in a separate process. The command ends with the exit code of that process. */
async function runServer({ environment, exitWith, writeError }: CommandContext, task?: readonly string[]) {
  try {
    exitWith(await runOnServiceNode({ isRunByNpm: environment.isRunByNpm, ...(task && { task }) }));
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    writeError(`${error.message}\n`);
    exitWith(error.exitCode);
  }
}
