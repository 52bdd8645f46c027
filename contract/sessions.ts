import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { EXAMPLE_LATER, EXAMPLE_TIME } from './samples.ts';
import { literals, moment, nullable, textOrNull } from './schema-parts.ts';
import { KEY_SCOPES, ROLE_NAMES } from './scope.ts';

/** How a request was recognized. */
const CALLERS = ['sandbox', 'program_key', 'operator_key'] as const;

/** Who is calling, and what that caller may do. */
export const CurrentSession = Type.Object({
  mode: literals(['sandbox', 'live'], 'Mode of the service'),
  caller: literals(
    CALLERS,
    'How the request was recognized: as one of this machine to a sandbox without keys, by a key that is bound to a card ' +
      'program, or by one for all of them',
  ),
  all_programs: Type.Boolean({ description: 'Whether the caller can act in every card program' }),
  program_id: textOrNull('The card program of a request without a Program-Id header; null if it has to name one'),
  program_name: textOrNull('Name of that card program'),
  key_id: textOrNull('The key; of a session, the key that it was made from'),
  key_name: textOrNull('Name of the key'),
  key_expires_at: nullable(moment('When the key expires')),
  role: nullable(literals(ROLE_NAMES, 'The role with exactly these scopes')),
  scopes: Type.Array(literals(KEY_SCOPES, 'A scope'), { description: 'What the caller may do' }),
  session_id: textOrNull('The session; null for a request that was sent with a key or without one'),
  created_at: nullable(moment('When the session was made')),
  idle_ends_at: nullable(moment('When the session ends unless it is used')),
  ends_at: nullable(moment('When the session ends, however much it is used')),
});

const CONSOLE = '/api/v0.1/console/session';

/** Operations on sessions of the console. */
export const SESSIONS = [
  operation({
    id: 'get_session',
    method: 'GET',
    path: CONSOLE,
    summary: 'Get who is calling, and what that caller may do',
    reach: 'caller',
    reply: CurrentSession,
    failure: 'The session could not be read',
    example: {
      reply: {
        mode: 'live',
        caller: 'operator_key',
        all_programs: true,
        program_id: null,
        key_id: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
        key_name: 'Support, Ada',
        role: 'support',
        scopes: ['transfers:read', 'cards:read', 'errors:read', 'events:read', 'webhooks:read', 'operator:read'],
        session_id: 'ses_0196f5c2d9a37e04a1b8c5d60f927e31',
        created_at: EXAMPLE_TIME,
        idle_ends_at: EXAMPLE_LATER,
        ends_at: '2026-01-31T21:30:00.000Z',
      },
    },
  }),
] as const;

/** Who is calling, on the wire. */
export type CurrentSession = Static<typeof CurrentSession>;
