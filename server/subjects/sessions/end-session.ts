import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, Reply } from '../../calls/call.ts';
import type { Service } from '../../calls/service.ts';
import { transact } from '../../commit/transaction.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import type { Row } from '../../store/connection/database.ts';
import { deleteSession as deleteStatement, lockSession, toListedSession } from '../../store/session.ts';
import { auditOf } from '../audit/audit.ts';
import { toSessionRecord } from './read-sessions.ts';

/** delete_session: ends the session of the request, and removes its cookie. */
export async function deleteSession(
  service: Pick<Service, 'database'>,
  call: Call<'delete_session'>,
): Promise<Reply<'delete_session'>> {
  const { caller } = call;
  const sessionId = 'keyId' in caller ? caller.sessionId : undefined;
  if (sessionId === undefined) {
    const message = 'This request has no session: it was not sent with the cookie of one.';
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

/** revoke_session: ends any session. Every process refuses it within a second. */
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
  return new Refusal('session_not_found', `There is no session with the id '${sentId}' that has not ended.`);
}

/** The record of a session that ends now, and the statements that end it. */
function endOf(call: Call<'delete_session' | 'revoke_session'>, row: Row) {
  const session = toListedSession(row);
  const { current: _, idle_ends_at: __, ends_at: ___, ...known } = toSessionRecord(session, undefined);
  const shown = { ...known, ended_at: (row.now as Date).toISOString() };
  const { programId, sessionId } = session;
  const details = JSON.stringify(shown);
  const writes = [deleteStatement(sessionId), ...auditOf(call, { programId, subjectId: shown.session_id, details })];
  return { shown, writes };
}
