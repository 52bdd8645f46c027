import { inOrder, KEY_SCOPES, roleOf } from '../../../contract/scope.ts';
import type { CurrentSession, SessionRecord } from '../../../contract/sessions.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import type { Call, CallContext, Reply, ScopedCaller, Service } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transact } from '../../commit/transaction.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import type { Row } from '../../store/connection/database.ts';
import {
  type CallerNames,
  deleteOldestSessions,
  deleteSession as deleteStatement,
  IDLE_MINUTES,
  insertSession,
  type ListedSession,
  listSessions as listStatement,
  lockKeyOfSession,
  lockSession,
  MAX_HOURS,
  readCallerNames,
  readProgramName,
  toCallerNames,
  toKeyOfSession,
  toListedSession,
} from '../../store/session.ts';
import { auditOf } from '../audit/audit.ts';
import { newToken } from './authenticate-session.ts';

/**
 * create_session: creates a session for the key of the request. Only the cookie of the response contains the token. The key is
 * locked, so that a session cannot begin after the key was revoked or rolled.
 */
export async function createSession(
  mode: CurrentSession['mode'],
  service: Pick<Service, 'database'>,
  call: Call<'create_session'>,
): Promise<Reply<'create_session'>> {
  const { caller } = call;
  if (!('keyId' in caller)) {
    const message = 'A session is created with an API key. Send one as "Authorization: Bearer <key>".';
    throw new Refusal('unauthenticated', message);
  }
  const { keyId } = caller;
  const { token, tokenHash } = newToken();
  const sessionId = await transact<string, 'key'>(
    service.database,
    call.deadline,
    { key: lockKeyOfSession(keyId) },
    ({ key: [row] }) => {
      const key = row === undefined ? undefined : toKeyOfSession(row);
      if (row === undefined || key === undefined || key.revokedAt !== null || row.expired === true)
        throw new Refusal('unauthenticated', 'The API key was revoked or has expired.');
      if (key.replacedBy !== null) {
        const message = `This API key was rolled. Sign in with the key that replaced it, '${toWireId('key', key.replacedBy)}'.`;
        throw new Refusal('unauthenticated', message);
      }
      const now = row.now as Date;
      const session = { sessionId: idAt(now.getTime()), keyId, createdAt: now, lastActiveAt: now };
      const { programId, name: keyName, scopes } = key;
      const shown = toSessionRecord(
        { ...session, ...NO_PERSON, keyName, programId, scopes: inOrder(scopes) },
        undefined,
      );
      const { current: _, last_active_at: __, idle_ends_at: ___, ...details } = shown;
      const writes = [
        deleteOldestSessions(keyId),
        insertSession({ ...session, tokenHash }),
        ...auditOf(call, { programId, subjectId: shown.session_id, details: JSON.stringify(details) }),
      ];
      return { result: session.sessionId, writes };
    },
  );
  const reply = await getSession(mode, service, { ...call, caller: { ...caller, sessionId } });
  return { ...reply, sessionToken: token };
}

const NO_PERSON = { personId: null, personName: null, signedInAt: null } as const;

type Mode = CurrentSession['mode'];

/**
 * get_session: returns the identity of the caller. For a caller without a key, it reads only the name of a program, and returns
 * null for the name if it cannot be read. So the operation works while the database of a sandbox is stopped.
 */
export async function getSession(
  mode: Mode,
  { database }: Pick<Service, 'database'>,
  { caller }: Pick<CallContext, 'caller'>,
): Promise<Reply<'get_session'>> {
  if (!('scopes' in caller)) {
    const [program] = await database.read(readProgramName(DEMO_PROGRAM_ID)).catch(() => []);
    return { record: withoutKey(mode, program) };
  }
  const [row] = await readRows(database, readCallerNames(caller));
  return { record: withScopes(mode, caller, row === undefined ? undefined : toCallerNames(row)) };
}

const NO_SESSION = {
  session_id: null,
  created_at: null,
  idle_ends_at: null,
  ends_at: null,
  signed_in_at: null,
} as const;

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
    person_id: null,
    person_name: null,
    role: 'administrator',
    scopes: [...KEY_SCOPES],
    ...NO_SESSION,
    sandbox_seconds_ahead: program === undefined ? null : Number(program.seconds_ahead),
  };
}

function withScopes(mode: Mode, caller: ScopedCaller, names: CallerNames | undefined): CurrentSession {
  const isBound = 'programId' in caller;
  return {
    mode,
    caller: caller.kind,
    all_programs: !isBound,
    program_id: isBound ? toWireId('prog', caller.programId) : null,
    program_name: names?.programName ?? null,
    key_id: 'keyId' in caller ? toWireId('key', caller.keyId) : null,
    key_name: names?.keyName ?? null,
    key_expires_at: names?.keyExpiresAt?.toISOString() ?? null,
    person_id: 'personId' in caller ? toWireId('per', caller.personId) : null,
    person_name: names?.personName ?? null,
    role: roleOf(caller.scopes),
    scopes: inOrder(caller.scopes),
    ...sessionOf(caller, names),
    sandbox_seconds_ahead: mode === 'sandbox' ? (names?.secondsAhead ?? null) : null,
  };
}

function sessionOf(caller: ScopedCaller, names: CallerNames | undefined) {
  const { sessionId } = caller;
  const { sessionCreatedAt, lastActiveAt } = names ?? {};
  if (sessionId === undefined || !sessionCreatedAt || !lastActiveAt) return NO_SESSION;
  return {
    session_id: toWireId('ses', sessionId),
    created_at: sessionCreatedAt.toISOString(),
    ...endsOf(sessionCreatedAt, lastActiveAt),
    signed_in_at: 'personId' in caller ? new Date(caller.signedInAt).toISOString() : null,
  };
}

export async function listSessions(service: Service, call: Call<'list_sessions'>): Promise<Reply<'list_sessions'>> {
  const own = 'scopes' in call.caller ? call.caller.sessionId : undefined;
  const record = await readPage(service, call, {
    prefix: 'ses',
    statement: listStatement,
    read: toListedSession,
    idOf: (session) => session.sessionId,
    show: (session) => toSessionRecord(session, own),
  });
  return { record };
}

function endsOf(createdAt: Date, lastActiveAt: Date) {
  const endsAt = createdAt.getTime() + MAX_HOURS * 3_600_000;
  const idleEndsAt = Math.min(endsAt, lastActiveAt.getTime() + IDLE_MINUTES * 60_000);
  return { idle_ends_at: new Date(idleEndsAt).toISOString(), ends_at: new Date(endsAt).toISOString() };
}

/** Returns a session as defined by the contract. `own` is the inner UUID of the caller's session. */
function toSessionRecord(session: ListedSession, own: string | undefined): SessionRecord {
  const { sessionId, keyId, keyName, personId, personName, programId, scopes, createdAt, lastActiveAt } = session;
  return {
    session_id: toWireId('ses', sessionId),
    key_id: keyId === null ? null : toWireId('key', keyId),
    key_name: keyName,
    person_id: personId === null ? null : toWireId('per', personId),
    person_name: personName,
    signed_in_at: session.signedInAt?.toISOString() ?? null,
    program_id: programId === null ? null : toWireId('prog', programId),
    role: roleOf(scopes),
    created_at: createdAt.toISOString(),
    last_active_at: lastActiveAt.toISOString(),
    ...endsOf(createdAt, lastActiveAt),
    current: sessionId === own,
  };
}

/** delete_session: ends the session of the request, and removes its cookie. */
export async function deleteSession(
  service: Pick<Service, 'database'>,
  call: Call<'delete_session'>,
): Promise<Reply<'delete_session'>> {
  const { caller } = call;
  const sessionId = 'scopes' in caller ? caller.sessionId : undefined;
  if (sessionId === undefined) {
    const message = 'This request has no session: it was sent without a session cookie.';
    throw new Refusal('session_not_found', message);
  }
  const record = await transact(service.database, call.deadline, { session: lockSession(sessionId) }, ({ session }) => {
    const [row] = session;
    if (row === undefined) throw new Refusal('session_not_found', 'The session has ended.');
    const { shown, writes } = endOf(call, row);
    return { result: shown, writes };
  });
  return { record, sessionToken: null };
}

/** revoke_session: ends any session. Every process refuses the session within a second. */
export async function revokeSession(
  service: Pick<Service, 'database'>,
  call: Call<'revoke_session'>,
): Promise<Reply<'revoke_session'>> {
  const { session_id: sentId } = call.params;
  const sessionId = fromWireId('ses', sentId);
  if (sessionId === undefined) throw sessionMissing(sentId);
  return transactUnderKey(service, call, {
    load: { session: lockSession(sessionId) },
    decide: ({ session: [row] }) => {
      if (row === undefined) throw sessionMissing(sentId);
      const { shown, writes } = endOf(call, row);
      return { record: shown, subjectId: sessionId, writes };
    },
  });
}

function sessionMissing(sentId: string): Refusal {
  return new Refusal('session_not_found', `There is no open session with the id '${sentId}'.`);
}

function endOf(call: Call<'delete_session' | 'revoke_session'>, row: Row) {
  const session = toListedSession(row);
  const { current: _, idle_ends_at: __, ends_at: ___, ...known } = toSessionRecord(session, undefined);
  // The person's name is omitted, because the audit log keeps the record forever, and an idempotency key stores it too.
  const shown = { ...known, person_name: null, ended_at: (row.now as Date).toISOString() };
  const { programId, sessionId } = session;
  const details = JSON.stringify(shown);
  const writes = [deleteStatement(sessionId), ...auditOf(call, { programId, subjectId: shown.session_id, details })];
  return { shown, writes };
}
