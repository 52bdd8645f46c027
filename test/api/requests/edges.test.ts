import { describe, expect, test } from 'vitest';
import { type Operation, parametersOf } from '../../../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId, precedenceOf } from '../../../contract/operations.ts';
import type { SchemaShape } from '../../../contract/schema-parts.ts';
import { partsOf, toRaw } from '../../fixtures/operations.ts';
import { callerOf, thingsOf } from '../../fixtures/service-things.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { useOwnService } from '../../harness/service.ts';

// Values at the edge of what the contract allows.

const running = useOwnService('It moves the clock ten years ahead.');
const client = () => running().client;
const things = () => thingsOf(client());

const CARD = '/api/v0.1/core/card';

/** The integers in a schema: the path of each, its least and its greatest value. */
function integersIn(
  shape: SchemaShape,
  path: readonly string[] = [],
): readonly (readonly [readonly string[], number[]])[] {
  if (shape.anyOf !== undefined) return shape.anyOf.flatMap((one) => integersIn(one, path));
  if (shape.type === 'integer') {
    return [[path, [shape.minimum ?? Number.MIN_SAFE_INTEGER, shape.maximum ?? Number.MAX_SAFE_INTEGER]]];
  }
  return Object.entries(shape.properties ?? {}).flatMap(([name, field]) => integersIn(field, [...path, name]));
}

/** A body with the value at the path: its other fields stay. */
function withValue(body: object, [name = '', ...rest]: readonly string[], value: number): object {
  const inner: unknown = Reflect.get(body, name);
  return { ...body, [name]: rest.length === 0 ? value : withValue(Object(inner ?? {}), rest, value) };
}

const tableOf = (id: OperationId): Operation => OPERATIONS[id];
/** All but the one that has to be signed; its integers are an amount and at most 2,678,400. */
const CALLED = OPERATION_IDS.filter((id) => id !== 'receive_notice');
const OF_QUERIES = CALLED.flatMap((id) => integersIn(tableOf(id).query ?? {}).map((one) => [id, ...one] as const));
const OF_BODIES = CALLED.flatMap((id) => integersIn(tableOf(id).body ?? {}).map((one) => [id, ...one] as const));

describe('every integer at the edges of its schema gets a documented response', () => {
  test.each(OF_QUERIES)('%s: %s in the query', async (id, [name = ''], values) => {
    const parts = await partsOf(id, things());
    for (const value of values) {
      const query = new URLSearchParams(parts.query);
      query.set(name, String(value));
      // A wait needs a position.
      if (name === 'wait') query.set('after', '0');
      await expectDocumented(id, { ...parts, query: query.toString() });
    }
  });

  test.each(OF_BODIES)('%s: %j in the body', async (id, path, values) => {
    for (const value of values) {
      const parts = await partsOf(id, things());
      await expectDocumented(id, { ...parts, body: withValue(parts.body ?? {}, path, value) });
    }
    await client().sandbox.moveClock({ seconds_ahead: 0 });
  });

  test('so does a cursor of events, and the id that a stream begins after', async () => {
    const last = String(Number.MAX_SAFE_INTEGER);
    for (const id of ['list_events', 'search_events'] as const) {
      for (const query of [`cursor=${last}`, `cursor=${last}&after=0`]) {
        await expectDocumented(id, { params: {}, query, body: undefined });
      }
      const { path } = tableOf(id);
      const headers = { Accept: 'text/event-stream', 'Last-Event-ID': last };
      const { fields } = await sendRaw(running().url, { method: 'GET', path, headers });
      expect(fields).toMatchObject({ Status: 400, Code: `${id}_schema` });
    }
  });
});

/** Sends a request; the response is a success, or an error of the operation other than a fault. */
async function expectDocumented(id: OperationId, parts: Parameters<typeof toRaw>[1]): Promise<void> {
  const raw = toRaw(id, parts);
  const headers = { ...raw.headers, ...(await callerOf(id, client())) };
  const { status, text, fields } = await sendRaw(running().url, { ...raw, headers });
  expect(status, text).toBeLessThan(500);
  if (status >= 300) expect(precedenceOf(id)).toContain(fields.Code);
}

describe('an id of the caller that becomes a path', () => {
  test.each(['.', '..'])('is not %j, which URLs drop', async (cardId) => {
    const { fields, headers } = await sendRaw(running().url, { path: CARD, body: { card_id: cardId } });
    expect(fields).toMatchObject({ Status: 400, Code: 'create_card_schema' });
    expect(fields.Message).toContain(`'card_id' is '${cardId}', but it must be: Your id for the card`);
    expect(headers['error-field']).toBe('/card_id');
  });

  test.each(['...', '.a', '..a', 'a.', '%2e', '%2E%2e', '/', '../..', './', 'a/../b', '\\', '?', '#', ';', '~', '+'])(
    'is read at its Location if it is %j',
    async (cardId) => {
      const { status, headers } = await sendRaw(running().url, { path: CARD, body: { card_id: cardId } });
      expect(status).toBe(201);
      // As a browser, or a client with a URL of the platform, resolves it.
      const { pathname } = new URL(String(headers.location), running().url);
      const { fields } = await sendRaw(running().url, { method: 'GET', path: pathname });
      expect(fields.card_id).toBe(cardId);
      expect(await client().cards.get(cardId)).toMatchObject({ card_id: cardId });
    },
  );

  test('is in no other field: every other parameter of a path is made by the service, or by its settings', () => {
    const given = new Set(OPERATION_IDS.flatMap((id) => parametersOf(tableOf(id).path)));
    const sent = CALLED.flatMap((id) => {
      const { method, location, body } = tableOf(id);
      const [created] = parametersOf(location ?? '');
      return method === 'POST' && created !== undefined && created in (body?.properties ?? {}) ? [created] : [];
    });
    expect(given).toContain('card_id');
    expect([...new Set(sent)]).toEqual(['card_id']);
  });
});
