import { inOrder } from '../../../contract/scope.ts';
import type { CurrentSession } from '../../../contract/sessions.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, Reply } from '../../calls/call.ts';
import type { Service } from '../../calls/service.ts';
import { transact } from '../../commit/transaction.ts';
import { idAt } from '../../foundation/ids.ts';
import { deleteOldestSessions, insertSession, lockKeyOfSession, toKeyOfSession } from '../../store/session.ts';
import { auditOf } from '../audit/audit.ts';
import { newToken } from './authenticate-session.ts';
import { getSession } from './get-session.ts';
import { toSessionRecord } from './read-sessions.ts';

/**
 * create_session: a session for the key of the request. Only the cookie of the response contains its token. The key is
 * locked, so that no session begins after the key was revoked or rolled.
 */
export async function createSession(
  mode: CurrentSession['mode'],
  service: Pick<Service, 'database'>,
  call: Call<'create_session'>,
): Promise<Reply<'create_session'>> {
  const { caller } = call;
  if (!('keyId' in caller)) {
    const message = 'A session is made from an API key. Send one as "Authorization: Bearer <key>".';
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
        const message = `This API key was rolled. Sign in with the one that replaced it, '${toWireId('key', key.replacedBy)}'.`;
        throw new Refusal('unauthenticated', message);
      }
      const now = row.now as Date;
      const session = { sessionId: idAt(now.getTime()), keyId, createdAt: now, lastActiveAt: now };
      const { programId, name: keyName, scopes } = key;
      const shown = toSessionRecord({ ...session, keyName, programId, scopes: inOrder(scopes) }, undefined);
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
