import type { Command } from 'commander';
import type { KeyRecord } from '../sdk/client.ts';
import type { Column } from './output.ts';
import { type AddCommands, addPageOptions, openSession, type PageOptions, showList } from './session.ts';

type CreateOptions = { readonly name: string; readonly expiresAt?: string };

const COLUMNS: readonly Column<KeyRecord>[] = [
  { heading: 'key_id', show: (key) => key.key_id },
  { heading: 'name', show: (key) => key.name },
  { heading: 'shown_as', show: (key) => key.shown_as },
  { heading: 'program_id', show: (key) => key.program_id ?? 'operator' },
  { heading: 'expires_at', show: (key) => key.expires_at },
  { heading: 'revoked_at', show: (key) => key.revoked_at },
];

/** Adds `keys create | list | revoke`. */
export const addKeys: AddCommands = (program, surroundings) => {
  const keys = program.command('keys').description('API keys');
  keys
    .command('create')
    .description('create an API key; its secret is shown once')
    .requiredOption('--name <text>', 'what the key is for')
    .option('--program <program_id>', "the card program it is bound to; if left out, an operator's key")
    .option('--expires-at <time>', 'when it stops working, such as 2030-01-31T12:00:00Z')
    .action(async (options: CreateOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const key = await session.service.keys.create({
        name: options.name,
        // Never the environment's: whom a key stands for is what is typed.
        program_id: session.typedProgram,
        expires_at: options.expiresAt,
      });
      session.showRecord(key);
      if (!session.json) surroundings.writeError('Keep the key: it is not shown again.\n');
    });
  addPageOptions(keys.command('list').description('list API keys, newest first')).action(
    async (options: PageOptions, command: Command) => {
      const session = openSession(command, surroundings);
      await showList(session, COLUMNS, options, (page) => session.service.keys.list(page));
    },
  );
  keys
    .command('revoke')
    .description('make an API key stop working, for good')
    .argument('<key_id>', 'its id, key_...')
    .action(async (keyId: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      session.showRecord(await session.service.keys.revoke(keyId));
    });
};
