import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { EXAMPLE_LATER, EXAMPLE_TIME } from './samples.ts';
import { literals, moment, nullable, PageQuery, pageOf, textOrNull } from './schema-parts.ts';
import { KEY_SCOPES, ROLE_NAMES } from './scope.ts';

/** How a caller can be identified. */
const CALLERS = ['sandbox', 'program_key', 'operator_key', 'program_person', 'operator_person'] as const;

/** The caller and its permissions. */
export const CurrentSession = Type.Object({
  mode: literals(['sandbox', 'live'], 'Mode of the service'),
  caller: literals(
    CALLERS,
    'How the caller was identified: as a process on the machine of a sandbox without keys, by a key that is bound to a ' +
      'card program, by a key for all of them, or as a person with roles in a card program or in all of them',
  ),
  all_programs: Type.Boolean({ description: 'Whether the caller can act in every card program' }),
  program_id: textOrNull('The card program of a request without a Program-Id header; null if it has to name one'),
  program_name: textOrNull('Name of that card program; null if there is none'),
  key_id: textOrNull('The key; for a session, the key that created it. null for a request without a key'),
  key_name: textOrNull('Name of the key; null for a request without a key'),
  key_expires_at: nullable(moment('When the key expires; null if it does not, or there is no key')),
  person_id: textOrNull('The person who signed in; null for a key or a request without one'),
  person_name: textOrNull('Name of the person; null if there is none, or if the provider sent none'),
  role: nullable(literals(ROLE_NAMES, 'The role with exactly these scopes; null if none has them')),
  scopes: Type.Array(literals(KEY_SCOPES, 'A scope'), { description: 'What the caller may do' }),
  session_id: textOrNull('The session; null for a request that was sent with a key or without one'),
  created_at: nullable(moment('When the session was created; null without a session')),
  idle_ends_at: nullable(moment('When the session ends unless it is used; null without a session')),
  ends_at: nullable(moment('When the session ends even if it is used; null without a session')),
  signed_in_at: nullable(moment('When the person last proved their identity to the provider; null without a person')),
  sandbox_seconds_ahead: nullable(
    Type.Integer({
      minimum: 0,
      description: 'How far move_clock has moved the sandbox clock ahead; null in live mode, or if not known',
    }),
  ),
});

export const SessionRecord = Type.Object({
  session_id: Type.String({ description: 'ses_ and 32 hex digits' }),
  key_id: textOrNull('The key that created it; null for the session of a person'),
  key_name: textOrNull('Name of the key; null for the session of a person'),
  person_id: textOrNull('The person who signed in; null for the session of a key'),
  person_name: textOrNull(
    'Name of the person; null if there is none, if the provider sent none, and once the session has ended',
  ),
  signed_in_at: nullable(moment('When the person last proved their identity to the provider; null without a person')),
  program_id: textOrNull('The card program that the key or the person is bound to; null if it is all of them'),
  role: nullable(literals(ROLE_NAMES, 'The role with exactly these scopes; null if none has them')),
  created_at: moment('When it was created, in actual time even if the sandbox clock was moved'),
  last_active_at: moment('When its user was last active, accurate to some seconds'),
  idle_ends_at: moment('When it ends unless it is used'),
  ends_at: moment('When it ends even if it is used'),
  current: Type.Boolean({ description: 'Whether it is the session of this request' }),
});

export const EndedSession = Type.Object({
  ...Type.Omit(SessionRecord, ['idle_ends_at', 'ends_at', 'current']).properties,
  ended_at: moment('When it was ended'),
});

const CONSOLE = '/api/v0.1/console/session';

const CURRENT = {
  mode: 'live',
  caller: 'operator_key',
  all_programs: true,
  program_id: null,
  key_id: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
  key_name: 'Support, Ada',
  person_id: null,
  person_name: null,
  role: 'support',
  scopes: ['transfers:read', 'cards:read', 'errors:read', 'events:read', 'webhooks:read', 'operator:read'],
  session_id: 'ses_0196f5c2d9a37e04a1b8c5d60f927e31',
  created_at: EXAMPLE_TIME,
  idle_ends_at: EXAMPLE_LATER,
  ends_at: '2026-01-31T21:30:00.000Z',
  signed_in_at: null,
  sandbox_seconds_ahead: null,
} as const;
const OPERATOR = '/api/v0.1/operator/session';
const ADA = {
  person_id: null,
  person_name: null,
  signed_in_at: null,
  key_name: 'Support, Ada',
  role: 'support',
} as const;

/** The operations that create a session and set its cookie. */
export const SIGN_INS: readonly string[] = ['create_session', 'sign_in_as'];

export const SESSIONS = [
  operation({
    id: 'create_session',
    method: 'POST',
    path: CONSOLE,
    summary: 'Create a session with the API key of the request; the response sets its cookie',
    reach: 'caller',
    reply: CurrentSession,
    status: 201,
    audit: 'always',
    failure: 'The session could not be created',
    example: { reply: CURRENT },
  }),
  operation({
    id: 'get_session',
    method: 'GET',
    path: CONSOLE,
    summary: 'Get who is calling, and what that caller may do',
    reach: 'caller',
    reply: CurrentSession,
    failure: 'The session could not be read',
    example: { reply: CURRENT },
  }),
  operation({
    id: 'delete_session',
    method: 'DELETE',
    path: CONSOLE,
    summary: 'Sign out: end the session of the request',
    reach: 'caller',
    reply: EndedSession,
    audit: 'always',
    errors: ['session_not_found'],
    failure: 'The session could not be ended',
    example: { reply: ADA },
  }),
  operation({
    id: 'list_sessions',
    method: 'GET',
    path: OPERATOR,
    summary: 'List the open console sessions, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: PageQuery,
    reply: pageOf(SessionRecord),
    failure: 'The sessions could not be listed',
    example: { reply: ADA },
  }),
  operation({
    id: 'revoke_session',
    method: 'POST',
    path: `${OPERATOR}/{session_id}/revoke`,
    summary: 'End a console session',
    reach: 'operator',
    scope: 'keys:write',
    reply: EndedSession,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'session_not_found'],
    failure: 'The session could not be ended',
    example: { reply: ADA },
  }),
] as const;

export type CurrentSession = Static<typeof CurrentSession>;
export type SessionRecord = Static<typeof SessionRecord>;
export type EndedSession = Static<typeof EndedSession>;
