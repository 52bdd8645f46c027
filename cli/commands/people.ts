import type { AccessRecord, PersonRecord, SessionRecord } from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, KEY_OPTION, type KeyOption, type OptionsFor } from '../command.ts';
import { pairsOf } from '../output.ts';
import { showChanged } from '../session.ts';
import { EXPORT_NOTES, OUTPUT_OPTION, type OutputOption, showExport } from './export.ts';
import { SCOPE_OPTION, type ScopeFilter } from './keys.ts';

const PERSON_ID = 'person id, per_...';

const CHANGES = {
  block: 'end the sessions of a person, and refuse their next sign-in',
  unblock: 'let a blocked person sign in again',
  erase: 'block a person, and erase their name and email',
} as const;

/** Adds `people list | get | block | unblock | erase`. */
export const addPeople: AddCommands = (program, context) => {
  const people = program.command('people').description('people who have signed in to the console');
  addList<PersonRecord>(people, context, {
    name: 'list',
    description: 'list the people who have signed in',
    columns: [
      'person_id',
      'name',
      'email',
      { heading: 'roles', show: ({ roles }) => roles.join(',') },
      'last_seen_at',
      'blocked_at',
    ],
    list: (service, query) => service.people.list(query),
    empty: { text: 'No people: no one has signed in with an OpenID provider.' },
  });
  addCommand(people, context, {
    name: 'get <person_id>',
    argument: PERSON_ID,
    description: 'show a person',
    run: async ({ service, show }, _, personId) => {
      const person = await service.people.get(personId);
      show(person, pairsOf({ ...person, roles: person.roles.join(', ') }));
    },
  });
  for (const [name, description] of Object.entries(CHANGES)) {
    addCommand<KeyOption>(people, context, {
      name: `${name} <person_id>`,
      argument: PERSON_ID,
      description,
      options: KEY_OPTION,
      run: async (session, { idempotencyKey }, personId) => {
        const person = await session.service.people[name as keyof typeof CHANGES](personId, { idempotencyKey });
        showChanged(session, person, pairsOf({ ...person, roles: person.roles.join(', ') }));
      },
    });
  }
};

type Filters = ScopeFilter & { readonly moves_money?: boolean };

const FILTER_OPTIONS: OptionsFor<Filters> = {
  ...SCOPE_OPTION,
  moves_money: { flag: '--moves-money', help: 'only keys and people that can move money' },
};

/** Adds `access list | export`. */
export const addAccess: AddCommands = (program, context) => {
  const access = program.command('access').description('who can move money, create keys, and so on');
  addList<AccessRecord, Filters>(access, context, {
    name: 'list',
    description: 'list what keys and people can do, newest first',
    options: FILTER_OPTIONS,
    columns: [
      'holder_id',
      'name',
      { heading: 'program_id', show: ({ program_id }) => program_id ?? 'all card programs' },
      { heading: 'roles', show: ({ roles }) => roles.join(',') || '-' },
      { heading: 'can', show: ({ abilities }) => abilities.join(',') },
      'last_used_at',
      'expires_at',
    ],
    list: (service, query) => service.access.list(query),
    empty: { text: 'No keys and no people.' },
  });
  addCommand<Filters & OutputOption>(access, context, {
    name: 'export',
    description: 'export what keys and people can do, as CSV',
    options: { ...FILTER_OPTIONS, ...OUTPUT_OPTION },
    notes: EXPORT_NOTES,
    run: (session, { output, ...filters }) => showExport(session, output, () => session.service.access.export(filters)),
  });
};

/** Adds `sessions current | list | revoke`. Signing in and out is for browsers, which keep the session cookie. */
export const addSessions: AddCommands = (program, context) => {
  const sessions = program.command('sessions').description('console sessions, and which key you use');
  addCommand(sessions, context, {
    name: 'current',
    description: 'show which key the command uses, and what it may do',
    run: async ({ service, show }) => {
      const current = await service.sessions.current();
      show(current, pairsOf({ ...current, scopes: current.scopes.join(', ') }));
    },
  });
  addList<SessionRecord>(sessions, context, {
    name: 'list',
    description: 'list the open console sessions',
    columns: [
      'session_id',
      { heading: 'name', show: (one) => one.person_name ?? one.key_name ?? '-' },
      { heading: 'signed_in_with', show: (one) => one.person_id ?? one.key_id ?? '-' },
      'role',
      'created_at',
      'last_active_at',
      'ends_at',
    ],
    list: (service, query) => service.sessions.list(query),
    empty: { text: 'No sessions: no one is signed in to the console.' },
  });
  addCommand<KeyOption>(sessions, context, {
    name: 'revoke <session_id>',
    argument: 'session id, ses_...',
    description: 'end a console session',
    options: KEY_OPTION,
    run: async (session, { idempotencyKey }, sessionId) => {
      const ended = await session.service.sessions.revoke(sessionId, { idempotencyKey });
      showChanged(session, ended, pairsOf(ended));
    },
  });
};
