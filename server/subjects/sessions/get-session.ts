import { inOrder, KEY_SCOPES, roleOf } from '../../../contract/scope.ts';
import type { CurrentSession } from '../../../contract/sessions.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import type { CallContext, Caller, Reply } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Service } from '../../calls/service.ts';
import type { Row } from '../../store/connection/database.ts';
import { type CallerNames, readCallerNames, readProgramName, toCallerNames } from '../../store/session.ts';
import { endsOf } from './read-sessions.ts';

type Mode = CurrentSession['mode'];

/**
 * get_session: who is calling. Without a key it reads only the name of a program, and returns null for that if it cannot be
 * read: so it also works while the database of a sandbox is stopped.
 */
export async function getSession(
  mode: Mode,
  { database }: Pick<Service, 'database'>,
  { caller }: Pick<CallContext, 'caller'>,
): Promise<Reply<'get_session'>> {
  if (!('keyId' in caller)) {
    const [program] = await database.read(readProgramName(DEMO_PROGRAM_ID)).catch(() => []);
    return { record: withoutKey(mode, program) };
  }
  const [row] = await readRows(database, readCallerNames(caller.keyId, caller.sessionId ?? null));
  return { record: withKey(mode, caller, row === undefined ? undefined : toCallerNames(row)) };
}

const NO_SESSION = { session_id: null, created_at: null, idle_ends_at: null, ends_at: null } as const;

function withoutKey(mode: Mode, program: Row | undefined): CurrentSession {
  return {
    mode,
    caller: 'sandbox',
    all_programs: true,
    program_id: toWireId('prog', DEMO_PROGRAM_ID),
    program_name: program === undefined ? null : String(program.program_name),
    key_id: null,
    key_name: null,
    key_expires_at: null,
    role: 'administrator',
    scopes: [...KEY_SCOPES],
    ...NO_SESSION,
    sandbox_seconds_ahead: program === undefined ? null : Number(program.seconds_ahead),
  };
}

type KeyCaller = Extract<Caller, { readonly keyId: string }>;

function withKey(mode: Mode, caller: KeyCaller, names: CallerNames | undefined): CurrentSession {
  const isBound = caller.kind === 'program_key';
  return {
    mode,
    caller: caller.kind,
    all_programs: !isBound,
    program_id: isBound ? toWireId('prog', caller.programId) : null,
    program_name: names?.programName ?? null,
    key_id: toWireId('key', caller.keyId),
    key_name: names?.keyName ?? null,
    key_expires_at: names?.keyExpiresAt?.toISOString() ?? null,
    role: roleOf(caller.scopes),
    scopes: inOrder(caller.scopes),
    ...sessionOf(caller, names),
    sandbox_seconds_ahead: mode === 'sandbox' ? (names?.secondsAhead ?? null) : null,
  };
}

function sessionOf({ sessionId }: KeyCaller, names: CallerNames | undefined) {
  const { sessionCreatedAt, lastActiveAt } = names ?? {};
  if (sessionId === undefined || !sessionCreatedAt || !lastActiveAt) return NO_SESSION;
  return {
    session_id: toWireId('ses', sessionId),
    created_at: sessionCreatedAt.toISOString(),
    ...endsOf(sessionCreatedAt, lastActiveAt),
  };
}
