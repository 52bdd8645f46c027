import type { SessionRecord } from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, KEY_OPTION, type KeyOption } from '../command.ts';
import { pairsOf } from '../output.ts';
import { showChanged } from '../session.ts';

/** Adds `sessions current | list | revoke`. Signing in and out is for browsers, which keep the cookie of a session. */
export const addSessions: AddCommands = (program, context) => {
  const sessions = program.command('sessions').description('sessions of the console, and which key you use');
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
    description: 'list the sessions of the console that have not ended',
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
    description: 'end a session of the console',
    options: KEY_OPTION,
    run: async (session, { idempotencyKey }, sessionId) => {
      const ended = await session.service.sessions.revoke(sessionId, { idempotencyKey });
      showChanged(session, ended, pairsOf(ended));
    },
  });
};
