import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { CaseRecord } from '../../../contract/support/cases.ts';
import type { TransferService } from '../../../sdk/client.ts';
import { operatorKey, programKey, withSecret } from '../../harness/keys.ts';
import { embeddedServerOf, waitFor } from '../../harness/process.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { refusalOf, useService } from '../../harness/service.ts';
import { newCard } from '../arrange.ts';

const running = useService();
const client = () => running().client;
let opened: pg.Client | undefined;
afterAll(() => opened?.end());

const SCRIPT = '<script>alert(1)</script>';
const SECRET = `ts_${'0'.repeat(16)}_${'a'.repeat(64)}`;

async function database(): Promise<pg.Client> {
  if (opened === undefined) {
    opened = new pg.Client((await embeddedServerOf(running().directory)).databaseUrl);
    await opened.connect();
  }
  return opened;
}

/** Causes an error with this code and returns its request id. The error is stored a moment later. */
async function provoke(code: string, more = ''): Promise<string> {
  const body = { amount: 1, card_id: await newCard(client()) };
  const headers = { 'Sandbox-Provoke': `${code}${more}` };
  const response = await sendRaw(client().baseUrl, { path: '/api/v0.1/core/transfer', headers, body });
  expect(response.fields.Code).toBe(code);
  return String(response.headers['request-id']);
}

/** Causes an error and waits until it is stored. Only one test covers the time before the error is stored. */
async function provoked(code: string): Promise<string> {
  const requestId = await provoke(code);
  await waitFor('the error to be stored', async () => (await errorOf(requestId)) !== undefined);
  return requestId;
}

const errorOf = (requestId: string) =>
  client()
    .requests.get(requestId)
    .catch(() => undefined);

const openCase = (body: Parameters<TransferService['cases']['create']>[0] = { text: 'Where is it?' }) =>
  client().cases.create(body);

describe('a case about an error', () => {
  test('opens with only the id, right after the response, and keeps the known facts', async () => {
    const request_id = await provoke('unknown_create_transfer', '; money_moved=unknown');
    const made = await openCase({ request_id });
    expect(made).toMatchObject({
      request_id,
      status: 'open',
      severity: 'normal',
      operation: 'create_transfer',
      code: 'unknown_create_transfer',
      type: 'Server Error',
      money_moved: 'unknown',
    });
    const found = await client().cases.get(made.case_id);
    expect(found.snapshot).toMatchObject({ error: { request_id, code: 'unknown_create_transfer' }, transfer: null });
    expect(found.snapshot?.summary).toContain('money may have moved');
    expect(found.snapshot?.summary).not.toContain('contact support');
    expect(found.snapshot?.error).not.toHaveProperty('checks');
    const inspected = await client().cases.inspect(made.case_id);
    expect(inspected.snapshot?.error).toHaveProperty('causes');
  });

  test('is returned with status 200 when opened again, but is followed by a new case once it is resolved', async () => {
    const request_id = await provoked('unknown_create_transfer');
    const path = '/api/v0.1/core/case';
    const send = (more: object = {}) => sendRaw(client().baseUrl, { path, body: { request_id, ...more } });
    const [first, second] = await Promise.all([send(), send()]);
    expect([first.status, second.status].sort()).toEqual([200, 201]);
    expect(second.fields.case_id).toBe(first.fields.case_id);
    const headers = { 'Idempotency-Key': randomUUID() };
    const keyed = await sendRaw(client().baseUrl, { path, headers, body: { request_id } });
    const again = await sendRaw(client().baseUrl, { path, headers, body: { request_id } });
    expect([keyed.status, again.status, again.text]).toEqual([200, 200, keyed.text]);
    expect(again.headers).toMatchObject({ 'idempotent-replayed': 'true' });
    await client().cases.resolve(String(first.fields.case_id), { text: 'Done.', outcome: 'retry' });
    const third = await send();
    expect(third.status).toBe(201);
    expect(third.fields.case_id).not.toBe(first.fields.case_id);
  });

  test('can be opened with the error that the client throws', async () => {
    const [{ program_id } = { program_id: '' }] = (await client().cases.list({ limit: 1 })).data;
    const error = await refusalOf(client().transfers.create({ amount: 1, card_id: 'card_empty', type: 'unload' }));
    const opened = await error.openCase('The customer is waiting.');
    expect(opened).toMatchObject({ request_id: error.requestId, code: 'insufficient_funds', program_id });
    expect((await client().cases.get(opened.case_id)).text).toBe('The customer is waiting.');
    expect((await error.openCase()).case_id).toBe(opened.case_id);
    expect((await error.openCase()).response.status).toBe(200);
  });

  test('shows a key only the facts that the key could read itself', async () => {
    const made = await openCase({ transfer_id: (await loaded()).transfer_id });
    const { program_id } = made;
    const { key } = await withSecret(
      client().keys.create({ ...programKey('cases', program_id), scopes: ['cases:read'] }),
    );
    const response = await sendRaw(client().baseUrl, {
      method: 'GET',
      path: `/api/v0.1/core/case/${made.case_id}`,
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(response.fields.snapshot).toMatchObject({ transfer: null, error: null });
    expect((await client().cases.get(made.case_id)).snapshot?.transfer).toMatchObject({
      transfer_id: made.transfer_id,
    });
  });

  test('requires a request, a transfer or some text, and refuses a request together with a transfer', async () => {
    expect(await refusalOf(client().cases.create({}))).toMatchObject({ code: 'create_case_schema', field: '/text' });
    const both = { request_id: `req_${'1'.repeat(32)}`, transfer_id: `tr_${'1'.repeat(32)}` };
    expect(await refusalOf(client().cases.create(both))).toMatchObject({ field: '/transfer_id' });
    const none = await refusalOf(client().cases.create({ request_id: both.request_id }));
    expect(none).toMatchObject({ code: 'request_not_found', status: 404 });
    const unknown = await refusalOf(client().cases.create({ transfer_id: both.transfer_id }));
    expect(unknown).toMatchObject({ code: 'transfer_not_found', status: 404 });
  });
});

async function loaded() {
  return client().transfers.create({ amount: 1000, card_id: await newCard(client()) });
}

describe('a conversation', () => {
  test('alternates between both sides until the case is resolved, reopened and closed', async () => {
    const { case_id } = await openCase();
    const answered = await client().cases.answer(case_id, { text: 'We look.' });
    expect(answered).toMatchObject({ status: 'waiting', message_count: 1, last_message: { from: 'support' } });
    expect(answered.first_response_at).not.toBeNull();
    expect(await client().cases.reply(case_id, { text: 'Thanks.' })).toMatchObject({
      status: 'open',
      message_count: 2,
    });
    const resolved = await client().cases.resolve(case_id, { text: 'Sent again.', outcome: 'retry' });
    expect(resolved).toMatchObject({ status: 'resolved', outcome: 'retry' });
    expect((await client().cases.get(case_id)).resolution).toBe('Sent again.');
    const twice = await refusalOf(client().cases.resolve(case_id, { text: 'x', outcome: 'retry' }));
    expect(twice).toMatchObject({ code: 'invalid_case_status', status: 409 });
    const reopened = await client().cases.reply(case_id, { text: 'Not yet.' });
    expect(reopened).toMatchObject({ status: 'open', outcome: null, resolved_at: null });
    expect(await client().cases.close(case_id)).toMatchObject({ status: 'closed' });
    const { cases } = client();
    for (const send of [() => cases.reply(case_id, { text: 'x' }), () => cases.close(case_id)]) {
      expect(await refusalOf(send())).toMatchObject({ code: 'invalid_case_status' });
    }
    const { messages } = await client().cases.get(case_id);
    expect(messages.map(({ from, text, author }) => [from, text, author])).toEqual([
      ['support', 'We look.', 'sandbox'],
      ['caller', 'Thanks.', 'sandbox'],
      ['caller', 'Not yet.', 'sandbox'],
    ]);
  });

  test("shows the name of the support person's key, and is recorded in the audit log", async () => {
    const { case_id } = await openCase();
    const { key } = await withSecret(client().keys.create({ ...operatorKey('Anna'), scopes: ['operator:cases'] }));
    const headers = { Authorization: `Bearer ${key}` };
    const path = `/api/v0.1/operator/case/${case_id}/reply`;
    const response = await sendRaw(client().baseUrl, { path, headers, body: { text: 'Hello.' } });
    expect(response.status).toBe(200);
    expect((await client().cases.get(case_id)).messages).toMatchObject([{ author: 'Anna' }]);
    const { data } = await client().audit.list({ action: 'answer_case', limit: 1 });
    expect(data).toMatchObject([{ subject_id: case_id }]);
    expect(JSON.stringify(data)).not.toContain('Hello');
  });

  test('adds a message from another system only once', async () => {
    const { case_id } = await openCase();
    const message = { text: 'From the desk.', external_author: 'Bo', external_id: '17' };
    await client().cases.reply(case_id, message);
    const again = await client().cases.reply(case_id, message);
    expect(again).toMatchObject({ message_count: 1, last_message: { external_id: '17' } });
    const other = await refusalOf(client().cases.reply(case_id, { ...message, text: 'Other.' }));
    expect(other).toMatchObject({ code: 'duplicate_external_id', field: '/external_id' });
  });

  test('has at most 200 messages', async () => {
    const { case_id } = await openCase();
    await (await database()).query('update support_case set message_count = 199 where case_id = $1', [
      case_id.slice('case_'.length),
    ]);
    expect(await client().cases.reply(case_id, { text: 'x' })).toMatchObject({ message_count: 200 });
    const over = await refusalOf(client().cases.answer(case_id, { text: 'x' }));
    expect(over).toMatchObject({ code: 'case_message_limit', status: 409 });
    expect(await client().cases.resolve(case_id, { text: 'x', outcome: 'nothing' })).toMatchObject({
      status: 'resolved',
    });
  });

  test('can be completed by one person in a sandbox', async () => {
    const { case_id } = await openCase();
    expect(await client().sandbox.answerCase(case_id, {})).toMatchObject({ status: 'waiting' });
    const done = await client().sandbox.answerCase(case_id, { outcome: 'corrected_data' });
    expect(done).toMatchObject({ status: 'resolved', outcome: 'corrected_data' });
  });

  test('stores what people write only in the case, and unchanged except that secrets are removed', async () => {
    const text = `${SCRIPT} ${SECRET} private-${randomUUID()}`;
    const { case_id } = await openCase({ text, contact: text });
    await client().cases.reply(case_id, { text, external_author: text.slice(0, 190) });
    await client().cases.resolve(case_id, { text, outcome: 'nothing' });
    const found = await client().cases.get(case_id);
    expect(found.text).toContain(SCRIPT);
    expect(JSON.stringify(found)).not.toContain(SECRET);
    const [, mark = ''] = /(private-.*)/.exec(text) ?? [];
    const { rows } = await (await database()).query<{ found: string }>(
      `select 'event' as found from event where payload like $1 union all
        select 'idempotency' from idempotency where body like $1 union all
        select 'audit' from audit_entry where details like $1 union all
        select 'error' from error where request::text like $1`,
      [`%${mark}%`],
    );
    expect(rows).toEqual([]);
  });
});

test('filters the list of cases by the request that they are about', async () => {
  const request_id = await provoked('unknown_create_transfer');
  const first = await openCase({ request_id });
  await client().cases.close(first.case_id);
  const second = await openCase({ request_id });
  const idsOf = async (query: Parameters<TransferService['cases']['list']>[0]) =>
    (await client().cases.list(query)).data.map(({ case_id }) => case_id);
  expect(await idsOf({ request_id })).toEqual([second.case_id, first.case_id]);
  expect(await idsOf({ request_id, status: 'closed' })).toEqual([first.case_id]);
  expect(await idsOf({ request_id, cursor: second.case_id })).toEqual([first.case_id]);
  expect(await idsOf({ request_id: `req_${'1'.repeat(32)}` })).toEqual([]);
  const refused = await refusalOf(client().cases.list({ request_id: 'req_1' }));
  expect(refused).toMatchObject({ code: 'list_cases_schema', field: '/request_id' });
});

describe('the queue', () => {
  test('sorts by the kind of error, then severity, then age, most urgent first', async () => {
    const request = await openCase({ request_id: await provoked('insufficient_funds'), severity: 'critical' });
    const process = await openCase({ request_id: await provoked('service_disabled'), severity: 'low' });
    const server = await openCase({ request_id: await provoked('unknown_create_transfer'), severity: 'low' });
    const severe = await openCase({ request_id: await provoked('unknown_create_transfer'), severity: 'high' });
    const later = await openCase({ request_id: await provoked('unknown_create_transfer'), severity: 'high' });
    const expected = [severe, later, server, process, request].map(({ case_id }) => case_id);
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await client().cases.search(cursor === '' ? { limit: 3 } : { limit: 3, cursor });
      expect(page.data.every(({ summary }) => summary !== null)).toBe(true);
      ids.push(...page.data.map(({ case_id }) => case_id));
      cursor = page.next_cursor;
    }
    expect(ids.filter((id) => expected.includes(id))).toEqual(expected);
    expect(new Set(ids).size).toBe(ids.length);
    const ofCode = await client().cases.search({ code: 'service_disabled' });
    expect(ofCode.data.map(({ case_id }) => case_id)).toContain(process.case_id);
    expect(ofCode.data.every(({ code }) => code === 'service_disabled')).toBe(true);
    const similar = await client().cases.inspect(server.case_id);
    expect(similar.similar.map(({ case_id }) => case_id)).toEqual(
      expect.arrayContaining([severe.case_id, later.case_id]),
    );
  });

  test('refuses a cursor that names no case', async () => {
    const cursor = `case_${'1'.repeat(32)}`;
    expect(await refusalOf(client().cases.search({ cursor }))).toMatchObject({ code: 'search_cases_schema' });
  });
});

test('stores a case id from the Case-Id header in the audit log, but no other value of the header', async () => {
  const { transfer_id, program_id } = await loaded();
  const { case_id } = await openCase({ transfer_id });
  const { key } = await withSecret(
    client().keys.create({ ...operatorKey('Anna'), scopes: ['operator', 'transfers:write'] }),
  );
  const request_id = await provoked('unknown_create_transfer');
  // Opening a case stores the error of its request before it responds.
  await openCase({ request_id });
  const send = (method: string, path: string, caseId: string, body?: object) =>
    sendRaw(client().baseUrl, {
      method,
      path,
      headers: {
        Authorization: `Bearer ${key}`,
        'Program-Id': program_id,
        'Case-Id': caseId,
        'Idempotency-Key': randomUUID(),
      },
      ...(body !== undefined && { body }),
    });
  const reverse = `/api/v0.1/core/transfer/${transfer_id}/reverse`;
  expect((await send('POST', reverse, case_id, { amount: 1 })).status).toBe(201);
  expect((await send('POST', reverse, '4111111111111111', { amount: 1 })).status).toBe(201);
  expect((await send('GET', `/api/v0.1/operator/error/${request_id}`, case_id)).status).toBe(200);
  const detailsOf = async (action: string) =>
    (await client().audit.list({ action, limit: 2 })).data.map(({ details }) => details);
  const [none, reversed] = await detailsOf('reverse_transfer');
  expect(reversed).toMatchObject({ case_id, transfer_id });
  expect(none).toMatchObject({ transfer_id });
  expect(none).not.toHaveProperty('case_id');
  expect((await detailsOf('inspect_error'))[0]).toMatchObject({ case_id });
});

test('sends an event after each change of a case, with its record but without anything that people wrote', async () => {
  const { case_id } = await openCase({ text: 'mark-of-this-test' });
  await client().cases.answer(case_id, { text: 'mark-of-this-test' });
  await client().cases.resolve(case_id, { text: 'mark-of-this-test', outcome: 'retry' });
  const events = async () => (await client().events.list({ after: 0, limit: 100, subject_id: case_id })).data;
  await waitFor('three events', async () => (await events()).length === 3);
  const found = await events();
  expect(found.map(({ type }) => type)).toEqual(['case.opened', 'case.replied', 'case.resolved']);
  expect(JSON.stringify(found)).not.toContain('mark-of-this-test');
  for (const { data } of found) expect(Object.keys(data).sort()).toEqual(Object.keys(CaseRecord.properties).sort());
});

test("erases what people wrote in a card holder's cases, and keeps the codes", async () => {
  const { transfer_id, card_id } = await loaded();
  const about = await openCase({ transfer_id, text: 'personal', contact: 'personal' });
  await client().cases.reply(about.case_id, { text: 'personal', external_author: 'personal' });
  await client().cases.resolve(about.case_id, { text: 'personal', outcome: 'nothing' });
  const other = await openCase({ text: 'personal' });
  await client().cards.update(card_id, { status: 'closed', balance_to: 'funding' });
  await client().cards.erase(card_id);
  const erased = await client().cases.get(about.case_id);
  expect(erased).toMatchObject({ transfer_id, text: null, contact: null, resolution: null, snapshot: null });
  expect(erased.messages).toMatchObject([{ text: null, author: null, external_author: null }]);
  expect(JSON.stringify(erased)).not.toContain('personal');
  expect((await client().cases.get(other.case_id)).text).toBe('personal');
  // A case opened after the erasure has no snapshot, because the snapshot could contain erased text.
  const later = await openCase({ transfer_id, text: 'later' });
  expect(await client().cases.get(later.case_id)).toMatchObject({ snapshot: null, text: 'later' });
});
