import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { AddCommands } from './session.ts';

const ADMINISTRATION = fileURLToPath(new URL('../server/administration.ts', import.meta.url));

/**
 * Commands for the host of the service: they work on its database with its settings, so they run where it runs, in a
 * process of their own, and need no key.
 */
export const addHost: AddCommands = (program, { endWith }) => {
  const run = (...task: string[]): void => endWith(administer(...task));
  program
    .command('migrate')
    .description('bring the database schema up to date; creates an embedded ledger')
    .action(() => run('migrate'));
  program
    .command('config')
    .description('print the settings of the running service, without secrets')
    .action(() => run('config'));
  program
    .command('verify-books')
    .description('compare every balance with all its postings')
    .action(() => run('verify-books'));
  program
    .command('operator-key')
    .description('the first key of a live service')
    .command('create')
    .description('create an operator key in an existing ledger; it is shown once')
    .requiredOption('--name <name>', 'what the key is for')
    .action(({ name }: { name: string }) => run('operator-key', name));
};

/** Runs a task of server/administration.ts in a process of its own, and gives its exit code. */
export function administer(...task: string[]): number {
  return spawnSync(process.execPath, [ADMINISTRATION, ...task], { stdio: 'inherit' }).status ?? 1;
}
