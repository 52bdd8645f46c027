import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../contract/operations.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { deleteExpired } from '../../server/background/jobs/retention.ts';
import { noteSessionUses } from '../../server/store/session.ts';
import { openSessionAuthentication } from '../../server/subjects/sessions/authenticate-session.ts';
import { UNLIMITED } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { bare, RawConnection } from '../harness/raw-connection.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';
import { type Answer, makeKey, ownPage, SESSION, signIn, startSessionService } from './session-world.ts';

const server = await useServer();
// Simultaneous requests wait for each other's locks, which takes a long time on a slow machine.
const ledger = useLedger(server.connection, undefined, undefined, UNLIMITED);
const service = await startSessionService(ledger);
// A second process of the service, with its own cache.
const other = await startSessionService(useLedger(server.connection));

type Service = typeof service;

async function newSession(members?: object) {
  const made = await makeKey(ledger, members);
  const session = await signIn(service, made.key);
  const token = session.cookie.split('=')[1] ?? '';
  const as = (through: Service, path = SESSION, method = 'GET', purpose = '1'): Promise<Answer> => {
    const [host = '', site = ''] = ownPage(through.port);
    const cookie = `Cookie: console-${through.port}=${token}`;
    return through.ask(method, path, [host, site, `Console: ${purpose}`, cookie]);
  };
  return { ...made, ...session, token, as };
}

/**
 * A connection with the privileges of the tables' owner. It changes the rows of a session or of its key in the way that the
 * passage of time would.
 */
const owner = await useConnection(server.connection);
const change = (text: string, id: string) => owner.query(text, [id]);
const ageSession = (sessionId: string, column: 'created_at' | 'last_active_at', span: string) =>
  change(
    `update console_session set ${column} = ${column} - interval '${span}' where session_id = $1`,
    fromWireId('ses', sessionId) ?? '',
  );
const countSessions = async (keyId: string): Promise<number> => {
  const text = 'select count(*) as count from console_session where key_id = $1';
  const [row] = await ledger.database.read({ name: 'count_sessions', text, values: [fromWireId('key', keyId)] });
  return Number(row?.count);
};

describe('a session', () => {
  test('has the scopes, card program and names of its key', async () => {
    const { program_id } = JSON.parse((await ledger.call('create_program', { name: 'Shop', currency: 'USD' })).body);
    const { as, key, key_id, sessionId } = await newSession({ program_id, role: 'viewer' });
    const session = await as(service);
    expect(session).toMatchObject({
      status: 200,
      fields: {
        caller: 'program_key',
        all_programs: false,
        program_id,
        program_name: 'Shop',
        key_id,
        key_name: 'Ada',
        role: 'viewer',
        session_id: sessionId,
      },
    });
    const byKey = await service.ask('GET', SESSION, ['Host: localhost', `Authorization: Bearer ${key}`]);
    const none = { session_id: null, created_at: null, idle_ends_at: null, ends_at: null };
    expect(byKey.fields).toEqual({ ...session.fields, ...none });
    expect((await as(service, OPERATIONS.list_transfers.path)).status).toBe(200);
    expect((await as(service, OPERATIONS.list_keys.path)).fields).toMatchObject({ Code: 'forbidden' });
    expect((await as(service, OPERATIONS.create_transfer.path, 'POST')).fields).toMatchObject({ Code: 'forbidden' });
  });

  test('is stored as a hash, and no row or record has its token', async () => {
    const { token, sessionId, as } = await newSession();
    const text = `select (select json_agg(s)::text from console_session s) || (select json_agg(a)::text from audit_entry a) as all`;
    const [row] = await ledger.database.read({ name: 'read_everything', text, values: [] });
    expect(String(row?.all)).not.toContain(token);
    expect(String(row?.all)).not.toContain(Buffer.from(token).toString('hex'));
    expect(String(row?.all)).toContain(sessionId);
    expect(JSON.stringify((await as(service)).fields)).not.toContain(token);
  });

  test('counts toward the rate limit of its key, which allows twenty sessions at once', async () => {
    const { key, key_id } = await makeKey(ledger);
    const sign = () => service.ask('POST', SESSION, [...ownPage(service.port), `Authorization: Bearer ${key}`]);
    const answers = await Promise.all(Array.from({ length: 40 }, sign));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.fields).toMatchObject({ Code: 'rate_limited' });
    expect(answers.every(({ status }) => status === 201 || status === 429)).toBe(true);
    expect(await countSessions(key_id)).toBe(answers.length - refused.length);
  });

  test('is ended when its key has a hundred sessions and it is the oldest one', async () => {
    const { key, key_id, sessionId, as } = await newSession();
    await change(
      `insert into console_session (session_id, token_hash, key_id, created_at, last_active_at)
        select ('ffffffff-ffff-7fff-8fff-' || lpad(to_hex(n), 12, '0'))::uuid, sha256(n::text::bytea), $1,
          clock_timestamp(), clock_timestamp() from generate_series(1, 99) as n`,
      fromWireId('key', key_id) ?? '',
    );
    expect((await as(service)).status).toBe(200);
    await signIn(service, key);
    expect(await countSessions(key_id)).toBe(100);
    expect(sessionId).toMatch(/^ses_[0-9a-f]{32}$/);
    expect((await untilRefused(() => as(service))).fields.Message).toContain('unknown, or it was ended');
    // Revokes the key, because the sessions' ids are in the far future and would come first in every list.
    await ledger.call('revoke_key', {}, { params: { key_id } });
  });
});

/**
 * Returns the first refusal. The service must refuse requests that are sent more than a second after `since`, and may
 * refuse earlier ones.
 */
async function untilRefused(ask: () => Promise<Answer>, since = performance.now()): Promise<Answer> {
  for (;;) {
    const sentAt = performance.now();
    const answer = await ask();
    if (answer.status === 401) return answer;
    expect(answer.status).toBe(200);
    expect(sentAt - since, 'a session was accepted more than a second after it had ended').toBeLessThan(1000);
  }
}

describe('a session ends within a second, in every process', () => {
  const call = (operation: 'revoke_key' | 'roll_key', key_id: string, members = {}) =>
    ledger.call(operation, members, { params: { key_id } });
  const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();

  test.each<[string, (session: Awaited<ReturnType<typeof newSession>>) => Promise<unknown>, string]>([
    ['its key is revoked', ({ key_id }) => call('revoke_key', key_id), 'its API key was revoked'],
    [
      'its key is rolled, although the key keeps working',
      ({ key_id }) => call('roll_key', key_id),
      'its API key was rolled',
    ],
    [
      'its key expires',
      ({ key_id }) =>
        change(`update api_key set expires_at = now() where key_id = $1`, fromWireId('key', key_id) ?? ''),
      'its API key has expired',
    ],
    ['it is idle', ({ sessionId }) => ageSession(sessionId, 'last_active_at', '15 minutes'), 'for 15 minutes'],
    ['it is twelve hours old', ({ sessionId }) => ageSession(sessionId, 'created_at', '12 hours'), '12 hours old'],
    ['its user signs out', ({ as }) => as(service, SESSION, 'DELETE'), 'unknown, or it was ended'],
    [
      'an operator revokes it',
      ({ sessionId }) => ledger.call('revoke_session', {}, { params: { session_id: sessionId } }),
      'unknown, or it was ended',
    ],
  ])('when %s', async (_, end, reason) => {
    const session = await newSession();
    for (const through of [service, other]) expect((await session.as(through)).status).toBe(200);
    await end(session);
    const endedAt = performance.now();
    const [here, there] = await Promise.all(
      [service, other].map((through) => untilRefused(() => session.as(through), endedAt)),
    );
    for (const answer of [here, there]) {
      expect(answer?.fields).toMatchObject({ Code: 'unauthenticated' });
      expect(answer?.fields.Message).toContain(reason);
      expect(answer?.headers.get('set-cookie')).toContain('Max-Age=0');
    }
    // The session is not in the list, and cannot be ended again.
    const { data } = JSON.parse((await ledger.call('list_sessions', { limit: 100 })).body);
    expect(data.map(({ session_id }: { session_id: string }) => session_id)).not.toContain(session.sessionId);
    const again = ledger.call('revoke_session', {}, { params: { session_id: session.sessionId } });
    await expect(again).rejects.toMatchObject({ code: 'session_not_found' });
  });

  test('even while a page reads a stream, which does not count as activity', async () => {
    const { program_id } = JSON.parse((await ledger.call('create_program', { name: 'Streams', currency: 'USD' })).body);
    const { cookie, sessionId, as } = await newSession({ program_id, role: 'viewer' });
    expect((await as(service)).status).toBe(200);
    await service.uses.write();
    const lines = [...ownPage(service.port).slice(0, 2), 'Console: background', 'Accept: text/event-stream'];
    const stream = await RawConnection.open(service.port);
    stream.send(bare('GET', OPERATIONS.list_events.path, [...lines, `Cookie: ${cookie}`, 'Connection: close']));
    await waitFor('the stream to begin', async () => stream.received.includes('\r\n\r\n'));
    await ledger.call('revoke_session', {}, { params: { session_id: sessionId } });
    // The service ends the stream.
    expect(await stream.rest()).toMatch(/^HTTP\/1\.1 200 /);
    stream.close();
    expect((await untilRefused(() => as(service))).status).toBe(401);
  });

  test('and none can be created with an ended or rolled key', async () => {
    const { key, key_id } = await makeKey(ledger, { all_programs: true, role: 'support', expires_at: hours(1) });
    await call('roll_key', key_id);
    const made = await service.ask('POST', SESSION, [...ownPage(service.port), `Authorization: Bearer ${key}`]);
    expect(made).toMatchObject({ status: 401, fields: { Code: 'unauthenticated' } });
    expect(String(made.fields.Message)).toContain('This API key was rolled');
    // The key still works.
    expect((await service.ask('GET', SESSION, ['Host: localhost', `Authorization: Bearer ${key}`])).status).toBe(200);
    expect(await countSessions(key_id)).toBe(0);
  });

  test('and none can be created with a revoked key that is still in the cache', async () => {
    const { key, key_id } = await makeKey(ledger);
    const sign = () => service.ask('POST', SESSION, [...ownPage(service.port), `Authorization: Bearer ${key}`]);
    expect((await sign()).status).toBe(201);
    await call('revoke_key', key_id);
    expect((await sign()).status).toBe(401);
    expect(await countSessions(key_id)).toBe(1);
  });
});

describe('the expiry of an idle session', () => {
  const storedUse = async (sessionId: string): Promise<Date> => {
    const { data } = JSON.parse((await ledger.call('list_sessions', { limit: 100 })).body);
    const found = data.find((one: { session_id: string }) => one.session_id === sessionId);
    return new Date(found.last_active_at);
  };

  test('is postponed by activity of its user, but not by background requests of a page', async () => {
    const { as, sessionId } = await newSession();
    await ageSession(sessionId, 'last_active_at', '10 minutes');
    const before = await storedUse(sessionId);
    expect((await as(service, SESSION, 'GET', 'background')).status).toBe(200);
    await service.uses.write();
    expect(await storedUse(sessionId)).toEqual(before);
    expect((await as(service)).status).toBe(200);
    await service.uses.write();
    const after = await storedUse(sessionId);
    expect(after.getTime()).toBeGreaterThanOrEqual(before.getTime() + 600_000);
    // A process that writes late must not set the time back.
    const stale = { sessionId: fromWireId('ses', sessionId) ?? '', age: 300_000 };
    await ledger.database.writeUnguarded(noteSessionUses([stale]));
    expect(await storedUse(sessionId)).toEqual(after);
  });

  test('happens even while a page polls, and a late request does not restore the session', async () => {
    const { as, sessionId } = await newSession();
    await ageSession(sessionId, 'last_active_at', '15 minutes');
    await untilRefused(() => as(service, SESSION, 'GET', 'background'));
    expect((await as(service)).status).toBe(401);
    await service.uses.write();
    expect((await as(service)).status).toBe(401);
  });

  test('follows the real clock, not the sandbox clock', async () => {
    const { as } = await newSession();
    await ledger.call('move_clock', { seconds_ahead: 86_400 });
    try {
      const fresh = openSessionAuthentication(ledger.databases.authentication, {
        noteSession: () => undefined,
        noteKey: () => undefined,
      });
      expect((await as(other)).status).toBe(200);
      await expect(fresh('A'.repeat(43), true)).rejects.toMatchObject({ code: 'unauthenticated' });
    } finally {
      await ledger.call('move_clock', { seconds_ahead: 0 });
    }
  });
});

describe('operators', () => {
  test('see sessions page by page, with their keys, and see which session is their own', async () => {
    const one = await newSession();
    const two = await newSession({ all_programs: true, role: 'support' });
    const listed = await two.as(service, `${OPERATIONS.list_sessions.path}?limit=1`);
    expect(listed.fields.data).toMatchObject([
      { session_id: two.sessionId, key_id: two.key_id, key_name: 'Ada', role: 'support', current: true },
    ]);
    const next = await two.as(service, `${OPERATIONS.list_sessions.path}?limit=1&cursor=${listed.fields.next_cursor}`);
    expect(next.fields.data).toMatchObject([{ session_id: one.sessionId, role: 'administrator', current: false }]);
  });

  test('need keys:write to end a session', async () => {
    const victim = await newSession();
    const path = OPERATIONS.revoke_session.path.replace('{session_id}', victim.sessionId);
    const support = await newSession({ all_programs: true, role: 'support' });
    expect((await support.as(service, path, 'POST')).fields).toMatchObject({ Code: 'forbidden' });
    const administrator = await newSession();
    expect((await administrator.as(service, path, 'POST')).fields).toMatchObject({ session_id: victim.sessionId });
    await untilRefused(() => victim.as(service));
  });

  test('find the start and end of a session in the audit log, under its key', async () => {
    const { as, key_id, sessionId } = await newSession();
    await as(service, SESSION, 'DELETE');
    const { data } = JSON.parse((await ledger.call('list_audit_entries', { limit: 2 })).body);
    expect(data).toMatchObject([
      { action: 'delete_session', actor: key_id, subject_id: sessionId },
      { action: 'create_session', actor: key_id, subject_id: sessionId },
    ]);
  });
});

test('a caller without a session gets an error when signing out', async () => {
  const { key } = await makeKey(ledger);
  const answer = await service.ask('DELETE', SESSION, ['Host: localhost', `Authorization: Bearer ${key}`]);
  expect(answer).toMatchObject({ status: 404, fields: { Code: 'session_not_found' } });
});

test('a job deletes sessions that are too old', async () => {
  const { key_id, sessionId } = await newSession();
  await ageSession(sessionId, 'created_at', '13 hours');
  await waitFor('the row to be gone', async () => {
    await deleteExpired(ledger.database);
    return (await countSessions(key_id)) === 0;
  });
});

test('an unavailable database is a failure of the service and does not end a session', async () => {
  const { as, token } = await newSession();
  expect((await as(service)).status).toBe(200);
  const failing = openSessionAuthentication({ read: () => Promise.reject(new Error('connection lost')) } as never, {
    noteSession: () => undefined,
    noteKey: () => undefined,
  });
  await expect(failing(token, true)).rejects.not.toMatchObject({ code: 'unauthenticated' });
});
