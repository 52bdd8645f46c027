import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embeddedServerOf, waitFor } from '../../harness/process.ts';
import { useOwnService } from '../../harness/service.ts';
import { EVENTS, get, OPERATOR_EVENTS, openStream, page, readAll, type WireEvent } from './event-reader.ts';

const service = useOwnService("It deletes the ledger's events.");
const url = () => service().url;

let database: pg.Client;
let all: readonly WireEvent[] = [];

beforeAll(async () => {
  database = new pg.Client((await embeddedServerOf(service().directory)).databaseUrl);
  await database.connect();
  const { client } = service();
  for (let count = 0; count < 10; count += 1) await client.transfers.create({ amount: 5, card_id: 'card_active' });
  await waitFor('the events', async () => {
    all = await readAll(url());
    return all.filter(({ type }) => type === 'transfer.completed').length >= 10;
  });
});
afterAll(() => database?.end());

/** Deletes the events up to a number, as the retention job does: it stores the number, then drops partitions. */
async function deleteUpTo(number: number): Promise<void> {
  await database.query('begin');
  await database.query('update event_deletion set up_to_number = $1', [number]);
  await database.query(
    `delete from event using event_position as place
      where place.batch_id = event.batch_id and place.number + place.count - 1 <= $1 and not is_shared`,
    [number],
  );
  await database.query('commit');
}

/** Returns the last deleted event, and all events that are still stored. */
function around(index: number) {
  return { last: all[index] as WireEvent, stored: all.slice(index + 1) };
}

const INDEX = 6;

describe('after events have been deleted', () => {
  let oldest: number;
  beforeAll(async () => {
    const { data } = await page(url(), { after: 0, limit: 100 }, {}, OPERATOR_EVENTS);
    const { last, stored } = around(INDEX);
    await deleteUpTo(data.find(({ event_id: id }) => id === last.event_id)?.number ?? 0);
    oldest = stored[0]?.position ?? 0;
  });

  test.each([0, 3])('refuses to read after position %i, and names the position to continue from', async (after) => {
    const { status, fields, headers } = await get(url(), EVENTS, { after });
    expect(status).toBe(410);
    expect(fields).toEqual({
      Message:
        `The events after position ${after} are no longer stored. ` +
        `The oldest stored event has position ${oldest}: to continue with it, send after=${oldest - 1}.`,
      Status: 410,
      Code: 'events_expired',
      Type: 'Request Error',
    });
    expect([headers['error-field'], headers['should-retry']]).toEqual(['/after', 'false']);
  });

  test.each([
    ['a filter', { type: 'transfer.*' }],
    ['a wait', { wait: 25 }],
    ['a cursor', { cursor: '2' }],
  ])('refuses a read with %s', async (_, query) => {
    expect((await get(url(), EVENTS, { after: 0, ...query })).fields.Code).toBe('events_expired');
  });

  test('responds to a stream request with a 410 instead of opening the stream', async () => {
    const headers = { Accept: 'text/event-stream', 'Last-Event-ID': '2' };
    const { status, fields } = await get(url(), EVENTS, {}, headers);
    expect([status, fields.Code]).toEqual([410, 'events_expired']);
  });

  test('returns all stored events from the position that the message names', async () => {
    expect((await page(url(), { after: oldest - 1, limit: 100 })).data).toEqual(around(INDEX).stored);
    const stream = await openStream(url(), { after: oldest - 1 });
    await expect.poll(() => stream.events()).toEqual(around(INDEX).stored);
  });

  test('ends a list that is newest first with the oldest stored event', async () => {
    const read: WireEvent[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const next: Awaited<ReturnType<typeof page>> = await page(url(), {
        limit: 2,
        ...(cursor === '' ? {} : { cursor }),
      });
      read.push(...next.data);
      cursor = next.next_cursor;
    }
    expect(read.toReversed()).toEqual(around(INDEX).stored);
  });

  test('tells operators the number to continue with', async () => {
    const { status, fields } = await get(url(), OPERATOR_EVENTS, { after: 1 });
    expect(status).toBe(410);
    expect(fields.Message).toMatch(
      /^The events after number 1 are no longer stored\. The oldest stored event has number \d+: to continue with it, send after=\d+\.$/,
    );
    const after = /after=(\d+)/.exec(String(fields.Message))?.[1];
    expect((await page(url(), { after, limit: 100 }, {}, OPERATOR_EVENTS)).data[0]).toMatchObject(
      around(INDEX).stored[0] ?? {},
    );
  });

  test('does not find a deleted event', async () => {
    const { event_id: id } = around(INDEX).last;
    expect((await get(url(), `${EVENTS}/${id}`)).fields.Code).toBe('event_not_found');
    expect((await get(url(), `${OPERATOR_EVENTS}/${id}`)).fields.Code).toBe('event_not_found');
  });
});

test('refuses readers that missed events, even after all events have been deleted, but serves readers that missed none', async () => {
  const { position: head = 0 } = await page(url(), { limit: 1 });
  await deleteUpTo(1_000_000_000);
  await database.query('delete from event_position');
  for (const query of [{ after: 0 }, { after: head - 1 }, { after: 0, wait: 25 }]) {
    const { fields } = await get(url(), EVENTS, query);
    expect(fields.Code).toBe('events_expired');
    expect(fields.Message).toContain(`send after=${head}.`);
  }
  expect(await page(url(), { after: head })).toEqual({ data: [], next_cursor: null, position: head });
  expect(await page(url())).toEqual({ data: [], next_cursor: null, position: head });
});
