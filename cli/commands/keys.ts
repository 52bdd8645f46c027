import { InvalidArgumentError } from 'commander';
import {
  type CreateKeyBody,
  InvalidArgument,
  KEY_SCOPES,
  type KeyRecord,
  type KeyScope,
  type NewKeyRecord,
  ROLES,
  type RollKeyBody,
  type WithResponse,
} from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, KEY_OPTION, type KeyOption, type OptionsFor } from '../command.ts';
import { type Pair, pairsOf } from '../output.ts';
import { type Session, showChanged } from '../session.ts';
import { readLater } from '../times.ts';

type CreateOptions = CreateKeyBody & KeyOption;

const ALL_PROGRAMS = 'all card programs';

const KEY_ID = 'key id, key_...';

export type ScopeFilter = { readonly scope?: KeyScope };

export const SCOPE_OPTION: OptionsFor<ScopeFilter> = {
  scope: { flag: '--scope <scope>', help: 'only holders of this scope', choices: KEY_SCOPES },
};

const SCOPE_NOTES = `
Roles: ${ROLES.join(', ')}.
Scopes: ${KEY_SCOPES.slice(0, 4).join(', ')},
${KEY_SCOPES.slice(4, 9).join(', ')},
${KEY_SCOPES.slice(9, 11).join(', ')}.
With --all-programs also: ${KEY_SCOPES.slice(11, 14).join(', ')},
${KEY_SCOPES.slice(14, 17).join(', ')},
${KEY_SCOPES.slice(17).join(', ')}. The command ignores
TRANSFER_SERVICE_PROGRAM.`;

export const addKeys: AddCommands = (program, context) => {
  const keys = program.command('keys').description('API keys');
  addCommand<CreateOptions>(keys, context, {
    name: 'create',
    description: 'create an API key; its secret is shown once',
    options: {
      name: { flag: '--name <text>', help: 'what the key is for', required: true },
      scopes: {
        flag: '--scopes <scopes>',
        help: 'what the key can do, separated by commas',
        read: readScopes,
      },
      role: { flag: '--role <role>', help: 'instead of --scopes: the scopes of this role', choices: ROLES },
      program_id: { flag: '--program <program_id>', help: 'card program that the key is bound to' },
      all_programs: { flag: '--all-programs', help: 'not bound: the key can act in every card program' },
      expires_at: {
        flag: '--expires-at <time>',
        help: 'when the key expires: 2030-01-31, or 90d from now',
        read: readLater,
      },
      person_id: { flag: '--person <person_id>', help: 'person that the key belongs to' },
      ...KEY_OPTION,
    },
    notes: SCOPE_NOTES,
    run: async (session, { idempotencyKey, ...body }) => {
      if ((body.scopes === undefined) === (body.role === undefined)) {
        throw new InvalidArgument('give either --role <role> or --scopes <scopes>');
      }
      if ((body.program_id === undefined) === (body.all_programs === undefined)) {
        throw new InvalidArgument('give either --program <program_id> or --all-programs');
      }
      showNewKey(session, await session.service.keys.create(body, { idempotencyKey }));
    },
  });
  addList<KeyRecord, ScopeFilter>(keys, context, {
    name: 'list',
    description: 'list API keys, newest first',
    options: SCOPE_OPTION,
    columns: [
      'key_id',
      'name',
      'shown_as',
      { heading: 'program_id', show: (key) => key.program_id ?? ALL_PROGRAMS },
      { heading: 'role', show: (key) => key.role ?? '-' },
      { heading: 'scopes', show: (key) => key.scopes.join(',') },
      'last_used_at',
      'expires_at',
      'revoked_at',
    ],
    list: (service, query) => service.keys.list(query),
    empty: {
      text: 'No API keys.',
      next: [['create one', 'keys create --name <text> --role support --all-programs']],
    },
  });
  addCommand<RollKeyBody & KeyOption>(keys, context, {
    name: 'roll <key_id>',
    argument: KEY_ID,
    description: 'replace an API key; the old key keeps working for a time',
    options: {
      previous_until: {
        flag: '--previous-until <time>',
        help: 'when the old key stops working: a time, or 2h from now (default: 24h)',
        read: readLater,
      },
      expires_at: { flag: '--expires-at <time>', help: 'when the new key expires', read: readLater },
      ...KEY_OPTION,
    },
    run: async (session, { idempotencyKey, ...body }, keyId) =>
      showNewKey(session, await session.service.keys.roll(keyId, body, { idempotencyKey })),
  });
  addCommand<KeyOption>(keys, context, {
    name: 'revoke <key_id>',
    argument: KEY_ID,
    description: 'revoke an API key permanently',
    options: KEY_OPTION,
    run: async (session, { idempotencyKey }, keyId) => {
      const key = await session.service.keys.revoke(keyId, { idempotencyKey });
      showChanged(session, key, keyPairs(key));
    },
  });
};

function showNewKey(session: Session, key: WithResponse<NewKeyRecord>): void {
  showChanged(session, key, keyPairs(key));
  if (!session.json && key.key !== null) session.writeError('Store the key now: it is not shown again.\n');
}

/** The fields of a key, with its scopes in one line. */
function keyPairs(key: KeyRecord): Pair[] {
  return pairsOf({ ...key, program_id: key.program_id ?? ALL_PROGRAMS, scopes: key.scopes.join(', ') });
}

function readScopes(text: string): KeyScope[] {
  return text.split(',').map((name) => {
    const scope = KEY_SCOPES.find((known) => known === name.trim());
    if (scope === undefined) throw new InvalidArgumentError(`The scopes are ${KEY_SCOPES.join(', ')}.`);
    return scope;
  });
}
