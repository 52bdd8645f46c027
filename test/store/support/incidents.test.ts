import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exampleOf, exampleReply } from '../../../contract/examples.ts';
import type { OperationId } from '../../../contract/operations.ts';
import type { RequestRecord } from '../../../contract/service/requests.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { deleteExpired } from '../../../server/background/jobs/retention.ts';
import type { AnyCall } from '../../../server/calls/call.ts';
import { databaseTime } from '../../../server/foundation/database-clock.ts';
import { idAt, newId } from '../../../server/foundation/ids.ts';
import { listCases, searchCases } from '../../../server/store/support/case.ts';
import { createCase, type FindRequest } from '../../../server/subjects/support/create-case.ts';
import { OpenIncidents, settleBatch } from '../../../server/subjects/support/follow-incidents.ts';
import { ledgerGateway, startHttpServer } from '../../harness/http-server.ts';
import { UNLIMITED } from '../../harness/ledger.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { useConnection, useLedger, useProxy, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
// The ledger has no time limits, because transactions wait for each other and for a lock that a test holds.
const ledger = useLedger(server.connection, undefined, undefined, UNLIMITED);
const client = await useConnection(server.connection);
const holder = await useConnection(server.connection);
/** A process whose connections to the database can be cut. */
const proxy = await useProxy(server);
const distant = useLedger({ ...server.connection, host: proxy.host });
const never = new AbortController().signal;

/** Runs one round of the job that follows incidents. */
const follow = (incidents = new OpenIncidents()): Promise<void> => incidents.follow(ledger.database, never);

async function call(id: OperationId, members: object = {}, more: Partial<AnyCall> = {}) {
  return JSON.parse((await ledger.call(id, members, more)).body) as Readonly<Record<string, string>>;
}

const newIncident = async (members: object = {}): Promise<string> =>
  (await call('create_incident', { ...JSON.parse(exampleOf('create_incident').body ?? ''), ...members })).incident_id ??
  '';

const endIncident = (incident_id: string) =>
  call('resolve_incident', { text: 'A server was replaced.', outcome: 'retry' }, { params: { incident_id } });

/** Inserts open cases about an error, with ascending ids. */
async function insertCases(
  count: number,
  more: { incident?: string; code?: string; urgency?: string } = {},
): Promise<void> {
  const { incident = null, code = 'unknown_create_transfer', urgency = '2' } = more;
  await client.query(
    `insert into support_case (case_id, program_id, status, severity, urgency, code, type, card_names, message_count,
        created_by, text, created_at, updated_at, incident_id)
      select new_id, '${DEMO_PROGRAM_ID}', 'open', 'normal', ${urgency}, $2, 'Server Error', '{}', 0,
        'sandbox', 'x', now(), now(), $3 from unnest($1::uuid[]) with ordinality as new (new_id, number)`,
    [
      Array.from({ length: count }, (_, at) => idAt(Date.now() + at)),
      code,
      incident === null ? null : fromWireId('inc', incident),
    ],
  );
}

const countsOf = async (incident: string) => {
  const { rows } = await client.query(
    `select (select count(*)::int from support_case where incident_id = $1 and status = 'resolved') as resolved,
      (select count(*)::int from event join support_case on subject_id = 'case_' || replace(case_id::text, '-', '')
        where incident_id = $1 and event.type = 'case.resolved') as events,
      (select count(distinct subject_id)::int from event join support_case on subject_id = 'case_' || replace(case_id::text, '-', '')
        where incident_id = $1 and event.type = 'case.resolved') as subjects`,
    [fromWireId('inc', incident)],
  );
  return rows[0];
};

test('a case about a request that took six seconds waits until its error is stored', async () => {
  const found = { ...Object(exampleReply('inspect_request')), error: null, transfers: [] } as RequestRecord;
  let lookUps = 0;
  const find: FindRequest = async () => {
    lookUps += 1;
    if (lookUps < 3) throw new Refusal('request_not_found', 'There is no such request.');
    return found;
  };
  const body = { request_id: toWireId('req', idAt(databaseTime() - 6000)) };
  const caller = { kind: 'sandbox' } as const;
  const about = {
    operation: 'create_case',
    requestId: newId(),
    caller,
    programId: DEMO_PROGRAM_ID,
    params: {},
  } as const;
  const openCase = (seconds: number) =>
    createCase(find, ledger.service, {
      ...about,
      body,
      query: undefined,
      sent: {},
      idempotencyKey: null,
      deadline: performance.now() + seconds * 1000,
    });
  // The request also does not wait until its deadline.
  await expect(openCase(1)).rejects.toMatchObject({ code: 'request_not_found' });
  expect(lookUps).toBe(1);
  expect(await openCase(240)).toMatchObject({ record: { request_id: found.request_id } });
  expect(lookUps).toBe(3);
});

describe('ending an incident', () => {
  test('resolves 500 cases in transactions of 100 with one event each, even if the process stops between two of them', async () => {
    const incident = await newIncident();
    await insertCases(500, { incident });
    await endIncident(incident);
    const inner = fromWireId('inc', incident) ?? '';
    // Two batches succeed. The third one's backend ends before its COMMIT.
    await settleBatch(ledger.database, inner);
    await settleBatch(ledger.database, inner);
    expect(await countsOf(incident)).toEqual({ resolved: 200, events: 200, subjects: 200 });
    await holder.query('begin');
    await holder.query(
      "select from support_case where incident_id = $1 and status = 'open' order by case_id limit 1 for update",
      [inner],
    );
    const third = settleBatch(ledger.database, inner).then(
      () => 'done',
      () => 'failed',
    );
    const { rows } = await untilWaiting();
    await client.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await holder.query('rollback');
    await third;
    // Another process continues. A case that its caller has reopened in the meantime stays open.
    const [first] = (
      await client.query('select case_id from support_case where incident_id = $1 order by case_id limit 1', [inner])
    ).rows;
    const case_id = toWireId('case', String(first?.case_id));
    await call('reply_to_case', { text: 'Not for me.' }, { params: { case_id } });
    await Promise.all([follow(), follow()]);
    expect(await countsOf(incident)).toEqual({ resolved: 499, events: 500, subjects: 500 });
    expect(await call('inspect_incident', {}, { params: { incident_id: incident } })).toMatchObject({
      case_count: 500,
      unresolved_case_count: 1,
    });
  });

  /** Waits until another connection is waiting for a row. */
  async function untilWaiting() {
    for (;;) {
      const found = await client.query<{ pid: number }>(
        "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%support_case%' and pid <> pg_backend_pid() and datname = current_database()",
      );
      if (found.rows.length > 0) return found;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  test('refuses later changes', async () => {
    const incident = await newIncident();
    await endIncident(incident);
    const params = { incident_id: incident };
    await expect(endIncident(incident)).rejects.toMatchObject({ code: 'invalid_incident_status' });
    await expect(call('update_incident', { title: 'x' }, { params })).rejects.toMatchObject({
      code: 'invalid_incident_status',
    });
    await insertCases(1);
    await expect(call('attach_cases', { case_ids: [`case_${'1'.repeat(32)}`] }, { params })).rejects.toMatchObject({
      code: 'invalid_incident_status',
    });
  });
});

test('cases are proposed by code and time, attached, and not proposed again', async () => {
  const code = 'unknown_list_cards';
  await insertCases(1, { code: 'unknown_get_card' });
  const incident = await newIncident({ codes: [code], started_at: '2020-01-01T00:00:00Z' });
  await insertCases(3, { code });
  const params = { incident_id: incident };
  const { proposed_case_ids: proposed } = (await call('inspect_incident', {}, { params })) as unknown as {
    proposed_case_ids: string[];
  };
  expect(proposed).toHaveLength(3);
  expect(await call('attach_cases', { case_ids: proposed.slice(1) }, { params })).toMatchObject({
    case_count: 2,
    unresolved_case_count: 2,
    uncovered_case_ids: [],
  });
  expect(await call('inspect_incident', {}, { params })).toMatchObject({ proposed_case_ids: proposed.slice(0, 1) });
  const { rows: others } = await client.query<{ id: string }>(
    `select 'case_' || replace(case_id::text, '-', '') as id from support_case
      where code = 'unknown_get_card' and incident_id is null`,
  );
  const uncovered = others[0]?.id ?? '';
  expect(await call('attach_cases', { case_ids: [proposed[0], uncovered] }, { params })).toMatchObject({
    case_count: 4,
    uncovered_case_ids: [uncovered],
  });
  const missing = { case_ids: [proposed[0], `case_${'1'.repeat(32)}`] };
  await expect(call('attach_cases', missing, { params })).rejects.toMatchObject({
    code: 'case_not_found',
    details: { field: '/case_ids/1' },
  });
});

test('keys see an incident that concerns them, without its internal text, and with its events', async () => {
  const { program_id } = await call('create_program', { name: randomUUID(), currency: 'USD' });
  const own = await newIncident({ scope: 'program', program_id, internal_text: 'secret disk' });
  const all = await newIncident({ internal_text: 'secret disk' });
  const read = async (programId: string) => {
    const caller = { kind: 'program_key', keyId: randomUUID(), scopes: [], programId } as const;
    return (await ledger.call('list_incidents', {}, { caller, query: { limit: 100 } } as object)).body;
  };
  const inner = fromWireId('prog', program_id ?? '') ?? '';
  expect(await read(inner)).toContain(own);
  expect(await read(inner)).toContain(all);
  const ofOther = await read(DEMO_PROGRAM_ID);
  expect(ofOther).not.toContain(own);
  expect(ofOther).toContain(all);
  expect(`${await read(inner)}${ofOther}`).not.toContain('secret disk');
  const { rows } = await client.query(
    "select program_id, payload from event where subject_id = $1 and type = 'incident.opened'",
    [own],
  );
  expect(rows).toMatchObject([{ program_id: inner }]);
  const { rows: wide } = await client.query('select program_id, payload from event where subject_id = $1', [all]);
  expect(wide).toHaveLength(2);
  expect(JSON.stringify([rows, wide])).not.toContain('secret disk');
});

describe('the headers of errors', () => {
  const incidents = new OpenIncidents(Number.POSITIVE_INFINITY);
  let http: Awaited<ReturnType<typeof startHttpServer>>;
  beforeAll(async () => {
    http = await startHttpServer(ledgerGateway(ledger, { findSupport: incidents.find }));
  });
  afterAll(() => http.server.close());

  const provoke = (code: string) =>
    sendRaw(`http://127.0.0.1:${http.port}`, {
      path: '/api/v0.1/core/transfer',
      headers: { 'Sandbox-Provoke': code },
      body: { amount: 1, card_id: 'card_active' },
    });

  test('name a case and the incident that covers the error, from memory', async () => {
    expect((await provoke('unknown_create_transfer')).headers).not.toHaveProperty('support-case');
    await follow(incidents);
    const before = await provoke('service_disabled');
    expect(before.headers).toMatchObject({ 'support-case': '/api/v0.1/core/case' });
    expect(before.headers).not.toHaveProperty('incident');
    const incident = await newIncident({ codes: ['service_disabled'] });
    await follow(incidents);
    expect((await provoke('service_disabled')).headers).toMatchObject({ incident });
    expect(Object.keys((await provoke('service_disabled')).fields)).toEqual(['Message', 'Status', 'Code', 'Type']);
    expect((await provoke('insufficient_funds')).headers).not.toHaveProperty('support-case');
    await endIncident(incident);
    await follow(incidents);
    expect((await provoke('service_disabled')).headers).not.toHaveProperty('incident');
  });

  test('are absent while the database cannot be read', async () => {
    await incidents.follow(distant.database, never);
    expect((await provoke('unknown_create_transfer')).headers).toHaveProperty('support-case');
    await proxy.listen(false);
    proxy.cutAll();
    await expect(incidents.follow(distant.database, never)).rejects.toThrow();
    expect((await provoke('unknown_create_transfer')).headers).not.toHaveProperty('support-case');
    await proxy.listen(true);
    await expect
      .poll(() =>
        incidents.follow(distant.database, never).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect((await provoke('unknown_create_transfer')).headers).toHaveProperty('support-case');
  });
});

test("cases close 30 days after their resolution, and lose their texts after the error log's retention", async () => {
  await insertCases(2, { code: 'unknown_get_card' });
  const of = "where code = 'unknown_get_card'";
  await client.query(
    `update support_case set status = 'resolved', outcome = 'nothing', resolved_at = now() - interval '31 days' ${of}`,
  );
  await deleteExpired(ledger.database, undefined, undefined, 7);
  const closed = await client.query(`select status, text from support_case ${of}`);
  expect(closed.rows.every(({ status, text }) => status === 'closed' && text === 'x')).toBe(true);
  await client.query(`update support_case set closed_at = now() - interval '8 days' ${of}`);
  await deleteExpired(ledger.database, undefined, undefined, 7);
  const { rows } = await client.query(`select code, text, has_texts from support_case ${of}`);
  expect(rows.every(({ code, text, has_texts }) => code !== null && text === null && has_texts === false)).toBe(true);
});

test('the queue of 10,000 open cases and the cases of a request are read by index', async () => {
  await insertCases(10_000, { urgency: '(number % 40)::smallint' });
  await client.query('analyze support_case');
  const filter = { programId: null, status: 'open', code: null, incidentId: null } as const;
  const [some] = (await client.query('select case_id from support_case where urgency = 20 order by case_id limit 1'))
    .rows;
  for (const after of [null, String(some?.case_id)]) {
    const { text, values } = searchCases(filter, after, 21);
    const { rows } = await client.query(`explain (format json) ${text}`, [...values]);
    const plan = JSON.stringify(rows);
    expect(plan).toContain('support_case_queue');
    expect(plan).not.toMatch(/"Node Type":"(?:Sort|Seq Scan|Bitmap Heap Scan)"/);
  }
  const ofRequest = { programId: DEMO_PROGRAM_ID, status: null, requestId: randomUUID() };
  const { text, values } = listCases(ofRequest, null, 21);
  const { rows } = await client.query(`explain (format json) ${text}`, [...values]);
  expect(JSON.stringify(rows)).toContain('support_case_request');
});
