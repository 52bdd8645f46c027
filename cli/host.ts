import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { AddCommands } from './command.ts';

const ADMINISTRATION = fileURLToPath(new URL('../server/administration.ts', import.meta.url));

/**
 * Adds the commands for the host of the service. They use its database and settings, so they run on the same host, in a
 * separate process, and need no key.
 */
export const addHost: AddCommands = (program, { exitWith }) => {
  const run = (...task: string[]): void => exitWith(runAdministration(...task));
  program
    .command('migrate')
    .description('migrate the database schema; creates an embedded database')
    .action(() => run('migrate'));
  program
    .command('config')
    .description('print the settings of the service, without secrets')
    .action(() => run('config'));
  program
    .command('verify-books')
    .description('compare every balance with the sum of its postings')
    .action(() => run('verify-books'));
  const backup = program
    .command('backup')
    .description('take a copy of the embedded ledger into BACKUP_DIR now, beside the service')
    .action(() => run('backup'));
  backup
    .command('list')
    .description('list the copies, and the times that can be restored')
    .action(() => run('backup-list'));
  program
    .command('restore')
    .description('restore the embedded ledger of a backup into DATA_DIR, which must not have one')
    .requiredOption('--to <time>', 'a time such as 2030-01-31T12:00:00Z, or latest')
    .option('--from <directory>', 'the directory of the backup (default: BACKUP_DIR)')
    .option(
      '--timeline <number>',
      'the timeline to follow, after an earlier restore (default: that of the last service)',
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
};

/** Runs a task of server/administration.ts in a separate process and returns its exit code. */
export function runAdministration(...task: string[]): number {
  return spawnSync(process.execPath, [ADMINISTRATION, ...task], { stdio: 'inherit' }).status ?? 1;
}
