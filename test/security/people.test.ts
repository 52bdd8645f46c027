import { describe, expect, test } from 'vitest';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { ROLES, type Role } from '../../contract/scope.ts';
import type { SignedInPerson } from '../../server/calls/sign-in.ts';
import { endProviderSessions, signInPerson } from '../../server/subjects/sessions/sign-in-person.ts';
import { UNLIMITED } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';
import { ownPage, SESSION, startSessionService } from './session-world.ts';

const server = await useServer();
const ledger = useLedger(server.connection, undefined, undefined, UNLIMITED);
const service = await startSessionService(ledger);

/** A connection that sees the rows of every table. */
const owner = await useConnection(server.connection);

const soon = (): number => performance.now() + 20_000;

const ISSUER = 'https://id.example.com';
const inAll = (role: Role) => ({ role, programId: null });
let subjects = 0;

/** Signs in a new person, as a provider's callback would. */
async function signIn(more: Partial<SignedInPerson> = {}) {
  subjects += 1;
  const person: SignedInPerson = {
    ...{ issuer: ISSUER, subject: `person ${subjects}`, name: 'Ada Okafor', email: 'ada@example.com' },
    ...{
      roles: [inAll('support')],
      programId: null,
      scopes: ROLES.support,
      signedInAt: new Date(),
      providerSession: null,
    },
    ...more,
  };
  const { token, personId } = await signInPerson(ledger.database, soon(), person);
  const ask = (path: string, method = 'GET') =>
    service.ask(method, path, [...ownPage(service.port), `Cookie: console-${service.port}=${token}`]);
  const { person_id: id, session_id: sessionId } = (await ask(SESSION)).fields;
  return { person, personId, token, ask, id: String(id), sessionId: String(sessionId) };
}

const change = async (id: OperationId, personId: string, idempotencyKey: string | null = null) => {
  const { body } = await ledger.call(id, {}, { params: { person_id: personId }, idempotencyKey });
  return JSON.parse(body) as Readonly<Record<string, unknown>>;
};

describe('a person who signed in', () => {
  test('acts with the scopes of their roles, and is named as caller, creator of sessions and actor', async () => {
    const signedInAt = new Date('2026-01-31T09:30:00.000Z');
    const { ask, id, sessionId } = await signIn({ signedInAt });
    expect(id).toMatch(/^per_[0-9a-f]{12}8[0-9a-f]{19}$/);
    expect((await ask(SESSION)).fields).toMatchObject({
      caller: 'operator_person',
      person_name: 'Ada Okafor',
      role: 'support',
      key_id: null,
      signed_in_at: signedInAt.toISOString(),
    });
    expect((await ask(OPERATIONS.list_people.path)).status).toBe(200);
    const refused = await ask(OPERATIONS.change_switch.path, 'POST');
    expect(refused).toMatchObject({ status: 403, fields: { Code: 'forbidden' } });
    expect(refused.fields.Message).toContain("needs the scope 'switch:write'");
    const sessions = (await ask(OPERATIONS.list_sessions.path)).fields.data as readonly object[];
    expect(sessions).toContainEqual(expect.objectContaining({ session_id: sessionId, person_id: id, key_id: null }));
    const { data } = (await ask(`${OPERATIONS.list_audit_entries.path}?action=sign_in&actor=${id}`)).fields;
    expect(data).toMatchObject([{ actor: id, subject_id: sessionId, details: { roles: ['support'] } }]);
    await ask(SESSION, 'DELETE');
    await waitFor('the end of the session', async () => (await ask(SESSION)).status === 401);
  });

  test('acts only in their card program if their role is for one', async () => {
    const { program_id } = JSON.parse((await ledger.call('create_program', { name: 'Shop', currency: 'USD' })).body);
    const programId = String(program_id).replace(/^prog_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    const { ask } = await signIn({ programId, scopes: ROLES.viewer, roles: [{ role: 'viewer', programId }] });
    expect((await ask(SESSION)).fields).toMatchObject({ caller: 'program_person', program_id, program_name: 'Shop' });
    expect((await ask(OPERATIONS.list_transfers.path)).status).toBe(200);
    expect((await ask(OPERATIONS.list_people.path)).status).toBe(403);
  });

  test('keeps their id, and has the roles of the last sign-in', async () => {
    const first = await signIn();
    const later = await signIn({
      ...first.person,
      roles: [inAll('treasurer')],
      scopes: ROLES.treasurer,
      name: 'Ada O.',
    });
    expect(later.id).toBe(first.id);
    expect(await change('get_person', first.id)).toMatchObject({ roles: ['treasurer'], name: 'Ada O.' });
    // A session keeps the permissions that it began with, for at most 12 hours.
    expect((await first.ask(SESSION)).fields.role).toBe('support');
  });

  test('is created once, however many sign-ins run at the same time', async () => {
    const { person, personId } = await signIn();
    const again = await Promise.all(Array.from({ length: 5 }, () => signInPerson(ledger.database, soon(), person)));
    expect(new Set(again.map((one) => one.personId))).toEqual(new Set([personId]));
  });
});

describe('a person whose sign-in is older than five minutes', () => {
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  const administrator = { roles: [inAll('administrator')], scopes: ROLES.administrator };
  const roll = OPERATIONS.roll_key.path.replace('{key_id}', 'key_missing');

  test('must sign in again for operations that need a fresh sign-in, and for no others', async () => {
    const stale = await signIn({ ...administrator, signedInAt: minutesAgo(6) });
    const fresher = OPERATION_IDS.filter((id) => OPERATIONS[id].freshSignIn);
    expect(fresher).toEqual(['create_key', 'roll_key', 'approve_change', 'reject_change', 'change_approval_policy']);
    for (const id of fresher) {
      const refused = await stale.ask(OPERATIONS[id].path.replace(/\{.*\}/, 'missing'), OPERATIONS[id].method);
      expect(refused, id).toMatchObject({ status: 403, fields: { Code: 'sign_in_again' } });
    }
    expect((await stale.ask(OPERATIONS.list_keys.path)).status).toBe(200);
    const fresh = await signIn({ ...administrator, signedInAt: minutesAgo(4) });
    expect((await fresh.ask(roll, 'POST')).fields).toMatchObject({ Code: 'key_not_found' });
    const { key } = JSON.parse(
      (await ledger.call('create_key', { name: 'a', role: 'administrator', all_programs: true })).body,
    );
    const byKey = await service.ask('POST', roll, ['Host: localhost', `Authorization: Bearer ${key}`]);
    expect(byKey.fields).toMatchObject({ Code: 'key_not_found' });
  });

  test('gets the error about a missing permission first', async () => {
    const { ask } = await signIn({ signedInAt: minutesAgo(6) });
    expect((await ask(roll, 'POST')).fields).toMatchObject({ Code: 'forbidden' });
  });
});

describe('a blocked person', () => {
  test('is refused within a second, and cannot sign in until unblocked', async () => {
    const { ask, id, person } = await signIn();
    expect(await change('block_person', id)).toMatchObject({ person_id: id, blocked_at: expect.any(String) });
    await waitFor('the end of the session', async () => (await ask(SESSION)).status === 401);
    await expect(signInPerson(ledger.database, soon(), person)).rejects.toMatchObject({ code: 'person_blocked' });
    expect(await change('unblock_person', id)).toMatchObject({ blocked_at: null });
    await expect(signInPerson(ledger.database, soon(), person)).resolves.toBeDefined();
    // Unblocking does not restore the session.
    expect((await ask(SESSION)).status).toBe(401);
  });
});

describe('an erased person', () => {
  test('is blocked, and has no name or email in any table', async () => {
    const { id, person, ask } = await signIn({ name: 'Zebulon Quist', email: 'zebulon@example.com' });
    expect((await ask(SESSION, 'DELETE')).status).toBe(200);
    const params = { session_id: (await signIn(person)).sessionId };
    await ledger.call('revoke_session', {}, { params, idempotencyKey: 'revoke' });
    const block = () => ledger.call('block_person', {}, { params: { person_id: id }, idempotencyKey: 'block' });
    expect((await block()).body).toContain('Zebulon');
    const erase = () => change('erase_person', id, 'erase');
    const erased = { name: null, email: null, erased_at: expect.any(String), blocked_at: expect.any(String) };
    const first = await erase();
    expect(first).toMatchObject({ person_id: id, ...erased });
    expect(await erase()).toEqual(first);
    const { rows } = await owner.query('select tablename from pg_tables where schemaname = current_schema()');
    const holding: string[] = [];
    for (const { tablename } of rows) {
      const found = await owner.query(`select from ${tablename} as one where one::text ~* 'zebulon'`);
      if (found.rowCount !== 0) holding.push(tablename);
    }
    expect(holding).toEqual([]);
    // Repeating the key returns the person's current record.
    expect(JSON.parse((await block()).body)).toMatchObject({ person_id: id, ...erased });
    await expect(signInPerson(ledger.database, soon(), person)).rejects.toMatchObject({ code: 'person_blocked' });
  });

  test('is restored by the next sign-in, which stores the name again', async () => {
    const { id, person } = await signIn();
    await change('erase_person', id);
    expect(await change('unblock_person', id)).toMatchObject({ name: null, erased_at: expect.any(String) });
    await signInPerson(ledger.database, soon(), person);
    expect(await change('get_person', id)).toMatchObject({ name: person.name, erased_at: null, blocked_at: null });
  });
});

describe('a back-channel logout', () => {
  test('ends the sessions of its person, or one session of the provider, and no others', async () => {
    const laptop = await signIn({ providerSession: 'sid 1' });
    const phone = await signIn({ ...laptop.person, providerSession: 'sid 2' });
    const other = await signIn({ providerSession: 'sid 1', issuer: 'https://other.example.com' });
    const end = (named: object) => endProviderSessions(ledger.database, soon(), { issuer: ISSUER, ...named });
    expect(await end({ providerSession: 'sid 1' })).toBe(1);
    await waitFor('the end of one session', async () => (await laptop.ask(SESSION)).status === 401);
    expect((await phone.ask(SESSION)).status).toBe(200);
    expect(await end({ subject: laptop.person.subject })).toBe(1);
    await waitFor('the end of the other session', async () => (await phone.ask(SESSION)).status === 401);
    expect((await other.ask(SESSION)).status).toBe(200);
    expect(await end({ subject: 'nobody' })).toBe(0);
  });
});
