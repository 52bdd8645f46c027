import { type Command, InvalidArgumentError } from 'commander';
import { KEY_SCOPES, type KeyRecord, type KeyScope, type NewKeyRecord, type WithResponse } from '../../sdk/client.ts';
import { type Column, given, type Pair, pairsOf } from '../output.ts';
import {
  type AddCommands,
  addKeyOption,
  addPageOptions,
  type KeyOption,
  keyOption,
  openSession,
  type PageOptions,
  replayPairs,
  type Session,
  type Surroundings,
  showList,
} from '../session.ts';

type CreateOptions = KeyOption & {
  readonly name: string;
  readonly scopes: KeyScope[];
  readonly allPrograms?: true;
  readonly expiresAt?: string;
};

type RollOptions = KeyOption & { readonly previousUntil?: string; readonly expiresAt?: string };

/** What stands in place of the program of a key that is bound to none. */
const ALL_PROGRAMS = 'all card programs';

const SHOWN_ONCE = 'Keep the key: it is not shown again.\n';

const COLUMNS: readonly Column<KeyRecord>[] = [
  { heading: 'key_id', show: (key) => key.key_id },
  { heading: 'name', show: (key) => key.name },
  { heading: 'shown_as', show: (key) => key.shown_as },
  { heading: 'program_id', show: (key) => key.program_id ?? ALL_PROGRAMS },
  { heading: 'scopes', show: (key) => key.scopes.join(',') },
  { heading: 'last_used_at', show: (key) => key.last_used_at },
  { heading: 'expires_at', show: (key) => key.expires_at },
  { heading: 'revoked_at', show: (key) => key.revoked_at },
];

const SCOPES = `
Scopes: ${KEY_SCOPES.slice(0, 4).join(', ')},
${KEY_SCOPES.slice(4).join(', ')}.
A key gets the scopes that are named, and no others. The scope operator needs
--all-programs. TRANSFER_SERVICE_PROGRAM does not count here.`;

/** Adds `keys create | list | roll | revoke`. */
export const addKeys: AddCommands = (program, surroundings) => {
  const keys = program.command('keys').description('API keys');
  keys
    .command('create')
    .description('create an API key; its secret is shown once')
    .requiredOption('--name <text>', 'what the key is for')
    .requiredOption('--scopes <scopes>', 'what it may do, separated by commas', readScopes)
    .option('--program <program_id>', 'the card program it is bound to')
    .option('--all-programs', 'bound to none: it can act in every card program')
    .option('--expires-at <time>', 'when it stops working, such as 2030-01-31T12:00:00Z')
    .addHelpText('after', SCOPES)
    .addOption(keyOption())
    .action(async (options: CreateOptions, command: Command) => {
      const session = openSession(command, surroundings);
      // Never the environment's: whom a key stands for is what is typed.
      const { typedProgram } = session;
      if ((typedProgram === undefined) === (options.allPrograms === undefined)) {
        return command.error('error: give either --program <program_id> or --all-programs');
      }
      const body = given({
        name: options.name,
        scopes: options.scopes,
        program_id: typedProgram,
        all_programs: options.allPrograms,
        expires_at: options.expiresAt,
      });
      const key = await session.service.keys.create(body, { idempotencyKey: options.idempotencyKey });
      showNewKey(session, surroundings, key);
    });
  addPageOptions(keys.command('list').description('list API keys, newest first')).action(
    async (options: PageOptions, command: Command) => {
      const session = openSession(command, surroundings);
      await showList(session, COLUMNS, options, (page) => session.service.keys.list(page));
    },
  );
  keys
    .command('roll')
    .description('create a new API key in the place of one that works on for a while')
    .argument('<key_id>', 'the id of the old one, key_...')
    .option('--previous-until <time>', 'until when the old one works (default: 24 hours on)')
    .option('--expires-at <time>', 'when the new one stops working')
    .addOption(keyOption())
    .action(async (keyId: string, options: RollOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const body = given({ previous_until: options.previousUntil, expires_at: options.expiresAt });
      const key = await session.service.keys.roll(keyId, body, { idempotencyKey: options.idempotencyKey });
      showNewKey(session, surroundings, key);
    });
  addKeyOption(keys.command('revoke'))
    .description('make an API key stop working, for good')
    .argument('<key_id>', 'its id, key_...')
    .action(async (keyId: string, { idempotencyKey }: KeyOption, command: Command) => {
      const session = openSession(command, surroundings);
      const key = await session.service.keys.revoke(keyId, { idempotencyKey });
      session.showRecord(key, keyPairs(key));
    });
};

function showNewKey(session: Session, { writeError }: Surroundings, key: WithResponse<NewKeyRecord>): void {
  session.showRecord(key, keyPairs(key));
  if (!session.json && key.key !== null) writeError(SHOWN_ONCE);
}

/** The members of a key, its scopes in one line. */
function keyPairs(key: WithResponse<KeyRecord>): Pair[] {
  return [
    ...pairsOf({ ...key, program_id: key.program_id ?? ALL_PROGRAMS, scopes: key.scopes.join(', ') }),
    ...replayPairs(key),
  ];
}

function readScopes(text: string): KeyScope[] {
  return text.split(',').map((name) => {
    const scope = KEY_SCOPES.find((known) => known === name.trim());
    if (scope === undefined) throw new InvalidArgumentError(`The scopes are ${KEY_SCOPES.join(', ')}.`);
    return scope;
  });
}
