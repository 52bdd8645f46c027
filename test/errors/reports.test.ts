import pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { EVENT_CATALOGUE } from '../../contract/events/catalogue.ts';
import type { RecordedErrors } from '../../contract/events/errors.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import { type RawResponse, sendRaw } from '../harness/raw-request.ts';
import { refusalOf, useOwnService } from '../harness/service.ts';

const service = useOwnService('This file counts the errors of the ledger.');
const opened: pg.Client[] = [];

afterAll(async () => {
  for (const client of opened) await client.end();
});

async function database(): Promise<pg.Client> {
  const [known] = opened;
  if (known !== undefined) return known;
  const { databaseUrl } = await embeddedServerOf(service().directory);
  const client = new pg.Client(databaseUrl);
  client.on('error', () => undefined);
  await client.connect();
  opened.push(client);
  return client;
}

beforeEach(async () => {
  await settled();
  await (await database()).query('truncate error_report');
});

type Event = { readonly programId: string | null; readonly subjectId: string; readonly data: RecordedErrors };

/** Returns the events about errors with a code, oldest first. */
async function eventsOf(code: string): Promise<readonly Event[]> {
  const { rows } = await (await database()).query<{ program_id: string; subject_id: string; payload: string }>(
    `select program_id, subject_id, payload from event where type = 'error.recorded'
      and payload::json -> 'error' ->> 'Code' = $1 order by batch_id, index`,
    [code],
  );
  return rows.map((row) => ({ programId: row.program_id, subjectId: row.subject_id, data: JSON.parse(row.payload) }));
}

/** Sends a request that fails, and returns the response. */
async function provoke(code: string, path = '/api/v0.1/core/transfer', url = service().url): Promise<RawResponse> {
  const response = await sendRaw(url, { method: 'GET', path, headers: { 'Sandbox-Provoke': code } });
  expect(response.headers['error-code']).toBe(code);
  return response;
}

/** Returns how many errors with a code the next event will count. */
async function pending(code: string): Promise<number> {
  const { rows } = await (await database()).query<{ count: string }>(
    'select coalesce(sum(count), 0) as count from error_report where code = $1',
    [code],
  );
  return Number(rows[0]?.count);
}

/** Waits until every error is stored and every due event is written. */
async function settled(): Promise<void> {
  const id = idOf(await provoke('list_transfers_schema'));
  const client = await database();
  await waitFor('the errors to be stored', async () => {
    const { rowCount } = await client.query(
      "select from error where 'req_' || replace(request_id::text, '-', '') = $1",
      [id],
    );
    return rowCount === 1;
  });
}

/** Ends the minute that began with the last event of a code. */
async function endMinute(code: string): Promise<void> {
  const past = "update error_report set reported_at = reported_at - interval '61 seconds' where code = $1";
  await (await database()).query(past, [code]);
}

/**
 * Restarts the minute that began with the last event of a code, so that the minute does not end early on a slow
 * machine.
 */
async function beginMinute(code: string): Promise<void> {
  await (await database()).query('update error_report set reported_at = clock_timestamp() where code = $1', [code]);
}

async function waitForEvents(code: string, count: number): Promise<readonly Event[]> {
  await waitFor(`${count} events of ${code}`, async () => (await eventsOf(code)).length >= count);
  const found = await eventsOf(code);
  expect(found).toHaveLength(count);
  return found;
}

const idOf = (response: RawResponse) => String(response.headers['request-id']);

describe('error.recorded', () => {
  const CODE = 'unknown_list_transfers';

  test('reports the first error at once, with the record of its response', async () => {
    const response = await provoke(CODE);
    const [event] = await waitForEvents(CODE, 1);
    const logged = await service().client.errors.get(idOf(response));
    expect(JSON.stringify(event?.data.error)).toBe(response.text);
    expect(event?.data).toEqual({
      error: JSON.parse(response.text),
      request_id: idOf(response),
      count: 1,
      since: logged.created_at,
    });
    expect(event?.subjectId).toBe(idOf(response));
    expect(`prog_${event?.programId?.replaceAll('-', '')}`).toBe(DEMO_PROGRAM);
    expect(Object.keys(event?.data ?? {})).toEqual(Object.keys(EVENT_CATALOGUE['error.recorded'].data.properties));
  });

  test('counts further errors, and reports them when the minute is over, even without another error', async () => {
    const code = 'unknown_list_cards';
    const path = '/api/v0.1/core/card';
    await provoke(code, path);
    await waitForEvents(code, 1);
    const responses: RawResponse[] = [];
    for (let count = 0; count < 5; count += 1) {
      await beginMinute(code);
      responses.push(await provoke(code, path));
    }
    await waitFor('the errors to be counted', async () => {
      await beginMinute(code);
      return (await pending(code)) === 5;
    });
    expect(await eventsOf(code)).toHaveLength(1);
    await endMinute(code);
    const [, event] = await waitForEvents(code, 2);
    const ids = responses.map(idOf);
    const first = await service().client.errors.get(ids[0] ?? '');
    expect(event?.data).toEqual({
      error: JSON.parse(responses.at(-1)?.text ?? ''),
      request_id: ids.at(-1),
      count: 5,
      since: first.created_at,
    });
    expect(await pending(code)).toBe(0);
  });

  test('reports each code and program separately', async () => {
    const { program_id } = await service().client.programs.create({ name: 'Other', currency: 'USD' });
    const codes = ['unknown_list_errors', 'unknown_get_switch'] as const;
    await provoke(codes[0], '/api/v0.1/core/error');
    await provoke(codes[1], '/api/v0.1/operator/switch');
    const inOther = await sendRaw(service().url, {
      method: 'GET',
      path: '/api/v0.1/core/error',
      headers: { 'Sandbox-Provoke': codes[0], 'Program-Id': program_id },
    });
    const events = await waitForEvents(codes[0], 2);
    expect(new Set(events.map(({ programId }) => `prog_${programId?.replaceAll('-', '')}`))).toEqual(
      new Set([DEMO_PROGRAM, program_id]),
    );
    expect(events.map(({ subjectId }) => subjectId)).toContain(idOf(inOther));
    // Errors without a card program are for operators.
    expect((await waitForEvents(codes[1], 1))[0]?.programId).toBe(null);
  });

  test('does not report Request Errors', async () => {
    await provoke('card_not_found', '/api/v0.1/core/card/card_missing');
    await settled();
    expect(await pending('card_not_found')).toBe(0);
    const { rows } = await (await database()).query("select code from error_report where type = 'Request Error'");
    expect(rows).toEqual([]);
    expect(await eventsOf('card_not_found')).toEqual([]);
  });

  test('reports a Process Error', async () => {
    const { client } = service();
    await client.switch.change({ disabled: true, reason: 'test' });
    const refused = await refusalOf(client.transfers.create({ amount: 1, card_id: 'card_active' }));
    await client.switch.change({ disabled: false });
    const [event] = await waitForEvents('service_disabled', 1);
    const { Message, Status, Code, Type } = refused;
    expect(event?.data.error).toEqual({ Message, Status, Code, Type });
    expect(event?.subjectId).toBe(refused.requestId);
  });

  test('reports each error that was spooled during a database outage only once', async () => {
    const { client } = service();
    const code = 'unknown_create_transfer';
    await client.sandbox.stopDatabase();
    opened.splice(0);
    const ids: string[] = [];
    for (let count = 0; count < 7; count += 1) {
      ids.push((await refusalOf(client.transfers.create({ amount: 1, card_id: 'card_active' }))).requestId);
    }
    await client.sandbox.startDatabase();
    const total = async () => (await eventsOf(code)).reduce((sum, { data }) => sum + data.count, await pending(code));
    await waitFor('the errors to be counted', async () => (await total()) === 7);
    await endMinute(code);
    await waitFor('the events to be written', async () => (await pending(code)) === 0);
    const events = await eventsOf(code);
    expect(events.reduce((sum, { data }) => sum + data.count, 0)).toBe(7);
    expect(events.at(-1)?.data.request_id).toBe(ids.at(-1));
  });
});
