import { roleOf } from '../../../contract/scope.ts';
import type { SessionRecord } from '../../../contract/sessions.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { IDLE_MINUTES, type ListedSession, MAX_HOURS } from '../../store/session.ts';

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
