import { Type } from 'typebox';
import { SANDBOX_PEOPLE } from '../../domain/sandbox.ts';
import { operation } from '../operation.ts';
import { literals, moment } from '../schema-parts.ts';
import { CurrentSession } from '../sessions.ts';

export const MoveClockBody = Type.Object({
  seconds_ahead: Type.Integer({
    minimum: 0,
    maximum: 315_360_000,
    description:
      'How far the sandbox clock is ahead of the actual time: 0 to ten years. The clock can be moved back; ' +
      'records created in the meantime keep their times',
  }),
});

export const ClockRecord = Type.Object({
  now: moment('Current time of the sandbox'),
  seconds_ahead: Type.Integer({ description: 'Seconds ahead of the actual time' }),
});

export const DatabaseState = Type.Object({
  state: literals(['running', 'starting', 'stopped', 'failed'], 'Status of the database server'),
});

export const SignInAsBody = Type.Object({
  person: literals(
    Object.keys(SANDBOX_PEOPLE) as (keyof typeof SANDBOX_PEOPLE)[],
    'One of the four people of every sandbox, each with the role of this name',
  ),
});

const PATH = '/api/v0.1/sandbox';

export const SANDBOX = [
  operation({
    id: 'move_clock',
    method: 'POST',
    path: `${PATH}/clock`,
    summary: "Move the sandbox's clock, so that holds expire, limits reset and scheduled transfers become due",
    reach: 'sandbox',
    body: MoveClockBody,
    reply: ClockRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists'],
    failure: 'The clock could not be moved',
    example: { reply: { now: '2026-02-01T09:30:00.000Z' } },
  }),
  operation({
    id: 'stop_database',
    method: 'POST',
    path: `${PATH}/database/stop`,
    summary: "Stop the sandbox's database server, to see the error responses of the service",
    reach: 'sandbox',
    reply: DatabaseState,
    failure: 'The database could not be stopped',
    example: { reply: { state: 'stopped' } },
  }),
  operation({
    id: 'start_database',
    method: 'POST',
    path: `${PATH}/database/start`,
    summary: "Start the sandbox's database server",
    reach: 'sandbox',
    reply: DatabaseState,
    repeatable: true,
    failure: 'The database could not be started',
  }),
  operation({
    id: 'sign_in_as',
    method: 'POST',
    path: `${PATH}/sign-in`,
    summary: 'Sign in to the console as one of four people, to try roles without an OpenID provider; sets the cookie',
    reach: 'sandbox',
    body: SignInAsBody,
    reply: CurrentSession,
    status: 201,
    errors: ['person_blocked'],
    failure: 'The session could not be created',
    example: { body: { person: 'operator' }, reply: { caller: 'operator_person', role: 'operator' } },
  }),
] as const;
