import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import type { Service } from '../../calls/service.ts';
import { listSessions as listStatement, toListedSession } from '../../store/session.ts';
import { toSessionRecord } from './record.ts';

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
