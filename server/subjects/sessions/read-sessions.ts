import { roleOf } from '../../../contract/scope.ts';
import type { SessionRecord } from '../../../contract/sessions.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import type { Service } from '../../calls/service.ts';
import {
  IDLE_MINUTES,
  type ListedSession,
  listSessions as listStatement,
  MAX_HOURS,
  toListedSession,
} from '../../store/session.ts';

/** list_sessions: a page of the sessions that have not ended, newest first. */
export async function listSessions(service: Service, call: Call<'list_sessions'>): Promise<Reply<'list_sessions'>> {
  const own = 'keyId' in call.caller ? call.caller.sessionId : undefined;
  const record = await readPage(service, call, {
    prefix: 'ses',
    statement: listStatement,
    read: toListedSession,
    idOf: (session) => session.sessionId,
    show: (session) => toSessionRecord(session, own),
  });
  return { record };
}

/** When a session ends by itself, as the contract shows it. */
export function endsOf(createdAt: Date, lastActiveAt: Date) {
  const endsAt = createdAt.getTime() + MAX_HOURS * 3_600_000;
  const idleEndsAt = Math.min(endsAt, lastActiveAt.getTime() + IDLE_MINUTES * 60_000);
  return { idle_ends_at: new Date(idleEndsAt).toISOString(), ends_at: new Date(endsAt).toISOString() };
}

/** A session as the contract shows it; `own` is the inner UUID of the caller's session. */
export function toSessionRecord(session: ListedSession, own: string | undefined): SessionRecord {
  const { sessionId, keyId, keyName, programId, scopes, createdAt, lastActiveAt } = session;
  return {
    session_id: toWireId('ses', sessionId),
    key_id: toWireId('key', keyId),
    key_name: keyName,
    program_id: programId === null ? null : toWireId('prog', programId),
    role: roleOf(scopes),
    created_at: createdAt.toISOString(),
    last_active_at: lastActiveAt.toISOString(),
    ...endsOf(createdAt, lastActiveAt),
    current: sessionId === own,
  };
}
