import { type AddCommands, addCommand } from '../command.ts';
import { pairsOf } from '../output.ts';

/** Adds `sessions current`. Signing in and out is for browsers, which keep the cookie of a session. */
export const addSessions: AddCommands = (program, context) => {
  const sessions = program.command('sessions').description('sessions of the console, and who is calling');
  addCommand(sessions, context, {
    name: 'current',
    description: 'show which key the command uses, and what it may do',
    run: async ({ service, show }) => {
      const current = await service.sessions.current();
      show(current, pairsOf({ ...current, scopes: current.scopes.join(', ') }));
    },
  });
};
