import { describe, expect, expectTypeOf, test } from 'vitest';
import type { AmountAsSent } from '../domain/ledger/money.ts';
import type { CardRecord } from './cards.ts';
import { exampleOf, exampleReply } from './examples.ts';
import { operation, parametersOf } from './operation.ts';
import {
  type BodyOf,
  OPERATION_IDS,
  OPERATIONS,
  type ParamsOf,
  precedenceOf,
  type QueryOf,
  type ReplyOf,
  SECTIONS,
} from './operations.ts';
import { OPERATOR_SCOPES, PROGRAM_SCOPES } from './scope.ts';

describe('an operation', () => {
  test('gets defaults, and a parameter for each name in its path', () => {
    const minimal = operation({
      id: 'get_thing',
      method: 'GET',
      path: '/thing/{thing_id}/part/{part_id}',
      summary: 'Get a thing',
      reach: 'sandbox',
      reply: OPERATIONS.get_card.reply,
      failure: 'The thing could not be read',
    });
    expect(minimal).toMatchObject({
      status: 200,
      scope: 'operator',
      movesMoney: false,
      idempotency: 'none',
      audit: 'none',
      csv: false,
      repeatable: false,
      errors: [],
    });
    expect(minimal.params.required).toEqual(['thing_id', 'part_id']);
    expect(minimal.params.properties.part_id).toMatchObject({ type: 'string', minLength: 1, maxLength: 255 });
    expectTypeOf(minimal.query).toEqualTypeOf<undefined>();
    expectTypeOf(minimal.id).toEqualTypeOf<'get_thing'>();
  });

  test('has the types of its schemas', () => {
    expectTypeOf<ParamsOf<'capture_transfer'>>().toEqualTypeOf<{ transfer_id: string }>();
    expectTypeOf<keyof ParamsOf<'list_cards'>>().toEqualTypeOf<never>();
    expectTypeOf<BodyOf<'create_transfer'>['amount']>().toEqualTypeOf<AmountAsSent>();
    expectTypeOf<BodyOf<'capture_transfer'>>().toEqualTypeOf<{ amount?: AmountAsSent }>();
    expectTypeOf<BodyOf<'get_card'>>().toEqualTypeOf<undefined>();
    expectTypeOf<QueryOf<'list_holds'>>().toEqualTypeOf<{ limit?: number; cursor?: string }>();
    expectTypeOf<QueryOf<'create_card'>>().toEqualTypeOf<undefined>();
    expectTypeOf<ReplyOf<'list_cards'>>().toEqualTypeOf<{ data: CardRecord[]; next_cursor: string | null }>();
    expectTypeOf<ReplyOf<'export_postings'>['direction']>().toEqualTypeOf<'in' | 'out'>();
  });

  test.each(OPERATION_IDS)('%s is consistent', (id) => {
    const { id: own, method, path, params, query, body, reply, location, status, reach, scope } = OPERATIONS[id];
    expect(own).toBe(id);
    expect(Object.keys(params.properties)).toEqual(parametersOf(path));
    // Requests are read from the query or from the body, never from both.
    expect(query === undefined || body === undefined).toBe(true);
    expect(method === 'GET' ? body : query).toBeUndefined();
    expect(status === 201 || location === undefined).toBe(true);
    const fields = Object.keys(Reflect.get(reply, 'properties'));
    expect(fields).toEqual(expect.arrayContaining([...parametersOf(location ?? '')]));
    if (reach === 'caller' || reach === 'connector') expect(scope).toBeNull();
    else expect(reach === 'program' ? PROGRAM_SCOPES : OPERATOR_SCOPES).toContain(scope);
    expect(new Set(precedenceOf(id)).size).toBe(precedenceOf(id).length);
  });
});

test('ids and routes are unique, and every operation is in one section', () => {
  const routes = OPERATION_IDS.map((id) => `${OPERATIONS[id].method} ${OPERATIONS[id].path}`);
  expect(new Set(routes).size).toBe(routes.length);
  expect(new Set(OPERATION_IDS).size).toBe(OPERATION_IDS.length);
  expect(SECTIONS.flatMap(({ operations }) => operations)).toEqual(OPERATION_IDS);
});

test('examples show the fields of the definition', () => {
  expect(exampleOf('capture_transfer')).toEqual({
    method: 'POST',
    path: '/api/v0.1/core/transfer/tr_0196f5c2d9a17b40a5d2c08e6f1b3a97/capture',
    headers: { 'Idempotency-Key': 'example-capture-transfer' },
    body: '{"amount": 600}',
  });
  expect(exampleReply('list_errors')).toMatchObject({ data: [{ code: 'insufficient_funds' }], next_cursor: null });
});
