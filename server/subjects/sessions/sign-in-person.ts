import { ROLES } from '../../../contract/scope.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { accessText } from '../../../domain/people/access.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { SANDBOX_PEOPLE } from '../../../domain/sandbox.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import type { EndedByProvider, SignedInPerson } from '../../calls/sign-in.ts';
import { transact } from '../../commit/transaction.ts';
import { idAt, personIdAt } from '../../foundation/ids.ts';
import type { Database } from '../../store/connection/database.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import { lockNames } from '../../store/locks.ts';
import { findPerson, insertPerson, type Person, READ_REAL_TIME, toPerson, updatePerson } from '../../store/person.ts';
import {
  deleteOldestSessions,
  deleteSession,
  insertPersonSession,
  lockProviderSessions,
  toListedSession,
} from '../../store/session.ts';
import { auditOther } from '../audit/audit.ts';
import { newToken } from './authenticate-session.ts';
import { getSession } from './manage-sessions.ts';

export type SignedIn = { readonly personId: string; readonly sessionId: string; readonly token: string };

/**
 * Creates a session for a person. At the first sign-in, also creates the person. Only the cookie of the response contains the
 * token.
 *
 * @throws {Refusal} person_blocked
 */
export async function signInPerson(database: Database, deadline: number, signIn: SignedInPerson): Promise<SignedIn> {
  const { issuer, subject, name, email, programId, scopes, signedInAt, providerSession } = signIn;
  const roles = signIn.roles.map(accessText);
  const { token, tokenHash } = newToken();
  const load = {
    lockName: lockNames([{ programId: NO_PROGRAM, kind: 'person', name: `${issuer} ${subject}` }]),
    person: findPerson(issuer, subject),
    clock: READ_REAL_TIME,
  };
  return transact<SignedIn, keyof typeof load>(database, deadline, load, ({ person: [row], clock }) => {
    const now = clock[0]?.now as Date;
    const known = row === undefined ? undefined : toPerson(row);
    if (known !== undefined && known.blockedAt !== null) {
      const message = `You were blocked from this service on ${known.blockedAt.toISOString()}. Ask one of its operators.`;
      throw new Refusal('person_blocked', message, { saw: { person_id: toWireId('per', known.personId) } });
    }
    const person: Person = {
      ...(known ?? { personId: personIdAt(now.getTime()), firstSeenAt: now, blockedAt: null }),
      // If an erased person was unblocked, this stores the name again.
      ...{ issuer, subject, name, email, roles, lastSeenAt: now, erasedAt: null },
    };
    const { personId } = person;
    const session = { sessionId: idAt(now.getTime()), personId, createdAt: now, lastActiveAt: now };
    const actor = toWireId('per', personId);
    const details = JSON.stringify({ issuer, roles, scopes });
    const writes = [
      known === undefined ? insertPerson(person) : updatePerson(person),
      deleteOldestSessions(personId),
      insertPersonSession({ ...session, tokenHash, programId, scopes, providerSession, signedInAt }),
      auditOther('sign_in', { actor, programId, subjectId: toWireId('ses', session.sessionId), details }),
    ];
    return { result: { personId, sessionId: session.sessionId, token }, writes };
  });
}

/**
 * Ends the sessions that began with a session of the identity provider. A back-channel logout names the person, the provider's
 * session, or both. Returns how many sessions ended. Every process refuses them within a second.
 */
export function endProviderSessions(database: Database, deadline: number, named: EndedByProvider): Promise<number> {
  const { issuer, subject = null, providerSession = null } = named;
  const load = { sessions: lockProviderSessions({ issuer, subject, providerSession }) };
  return transact<number, 'sessions'>(database, deadline, load, ({ sessions }) => ({
    result: sessions.length,
    writes: sessions.map((row) => deleteSession(toListedSession(row).sessionId)),
    readsOnly: sessions.length === 0,
  }));
}

/**
 * sign_in_as: signs in as one of the four people of a sandbox, so that roles and approvals can be tried without an identity
 * provider.
 */
export async function signInAs(service: Service, call: Call<'sign_in_as'>): Promise<Reply<'sign_in_as'>> {
  const { name, email, role } = SANDBOX_PEOPLE[call.body.person];
  const [scopes, signedInAt] = [ROLES[role], new Date()];
  const { personId, sessionId, token } = await signInPerson(service.database, call.deadline, {
    ...{
      issuer: 'sandbox',
      subject: call.body.person,
      name,
      email,
      roles: [{ role, programId: null }],
      programId: null,
    },
    ...{ scopes, signedInAt, providerSession: null },
  });
  const own = { personId, sessionId, scopes, signedInAt: signedInAt.getTime() };
  const caller = { kind: 'operator_person', ...own } as const;
  return { ...(await getSession('sandbox', service, { caller })), sessionToken: token };
}
