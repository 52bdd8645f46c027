import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest';
import { CLIENT_OPERATION_IDS, type ClientOperationId, METHODS } from '../../contract/clients/sdk-methods.ts';
import { exampleOf } from '../../contract/examples.ts';
import { parametersOf } from '../../contract/operation.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { sampleOfParameter } from '../../contract/samples.ts';
import {
  type Amount,
  type CallOptions,
  type CaptureTransferBody,
  type CardLimits,
  type CardLimitsPatch,
  type CardRecord,
  type ChangeSwitchBody,
  type CreateCardBody,
  type CreateKeyBody,
  type CreateTransferBody,
  InvalidArgument,
  type KeyedCallOptions,
  type NewKeyRecord,
  type Operations,
  type Page,
  type PageQuery,
  type ReverseTransferBody,
  type StatementPage,
  type SwitchState,
  type TextChunks,
  type TransferBatchRow,
  TransferService,
  type UpdateCardBody,
  type UpdateTransferBody,
  type VersionedCallOptions,
} from '../../sdk/client.ts';
import { startCannedService, TRANSFER } from './canned-service.ts';

/** A body from untyped code that reads misspelled properties, and so gets undefined. */
const UNSET: object = { amount: undefined, program_id: undefined, expires_at: undefined };

/** Calls an operation's method with the ids and the body of the example in the contract. */
async function callWithExample(operation: ClientOperationId): Promise<void> {
  const [resource = '', method = ''] = METHODS[operation].split('.');
  const { path, body } = OPERATIONS[operation];
  const { body: text = '{}' } = exampleOf(operation);
  const fields: object = JSON.parse(text);
  // For these operations, the argument is the array itself.
  const isArray = operation === 'create_transfer_batch' || operation === 'attach_cases';
  const input = isArray ? Object.values(fields)[0] : fields;
  const methods: object = Reflect.get(client(), resource);
  const ids = parametersOf(path).map(sampleOfParameter);
  const query = exampleOf(operation).path.split('?')[1];
  const required = query === undefined ? [] : [Object.fromEntries(new URLSearchParams(query))];
  await Reflect.apply(Reflect.get(methods, method), methods, [
    ...ids,
    ...(body === undefined ? [] : [input]),
    ...required,
  ]);
}

const service = await startCannedService();
afterAll(() => service.close());

function client(options: object = {}): TransferService {
  return new TransferService({ baseUrl: service.url, ...options });
}

/** Returns every method of the client as `resource.method`, once. */
function methodsOf(transferService: TransferService): string[] {
  const methods = Object.entries(transferService).flatMap(([resource, of]: [string, unknown]) =>
    typeof of === 'object' && of !== null
      ? namesIn(Object.getPrototypeOf(of)).map((method) => `${resource}.${method}`)
      : [],
  );
  return [...new Set(methods)];
}

/** Returns the methods of a prototype and of its parents. */
function namesIn(prototype: object | null): string[] {
  if (prototype === null || prototype === Object.prototype) return [];
  const own = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  return [...own, ...namesIn(Object.getPrototypeOf(prototype))];
}

/** Returns the names in the last request's query. */
function queryNames(): string[] {
  return [...new URL(service.received.at(-1)?.url ?? '', service.url).searchParams.keys()].sort();
}

/** Maps the name at the start of a method's comment to the method. */
function documentedMethods(): Map<string, string> {
  const folder = new URL('../../sdk/generated/', import.meta.url);
  const source = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));
  const comments = source.join('').matchAll(/\/\*\*[\s*]+([a-z_]+)[:.](?:(?!\*\/).)*\*\/\s+(\w+)\(/gs);
  return new Map([...comments].map(([, operation = '', method = '']) => [operation, method]));
}

/** Methods whose operation another method also sends. */
const SHORTHANDS = ['switch.disable', 'switch.enable', 'events.streamWithText'];

describe('operations and methods', () => {
  test.each(CLIENT_OPERATION_IDS)('%s is sent by its method as in the contract', async (operation) => {
    const { method, idempotency, body, status, csv } = OPERATIONS[operation];
    service.play(csv ? { chunks: ['a,b\n'] } : { status, body: {} });
    await callWithExample(operation);
    const example = exampleOf(operation);
    expect(service.received).toHaveLength(1);
    expect(service.received[0]?.method).toBe(method);
    expect(service.received[0]?.url).toBe(example.path);
    const sent = service.received[0]?.body;
    expect(body === undefined ? sent : JSON.parse(sent ?? '')).toEqual(
      example.body === undefined ? '' : JSON.parse(example.body),
    );
    expect(service.received[0]?.headers['idempotency-key'] !== undefined).toBe(idempotency !== 'none');
    expect(service.received[0]?.headers.accept).toContain(csv ? 'text/csv' : 'application/json');
    expect(service.received[0]?.headers['content-type']).toBe(body === undefined ? undefined : 'application/json');
  });

  test('every method sends one operation, reads all pages of one, or streams one', () => {
    const all = methodsOf(client());
    expect(all).toEqual(expect.arrayContaining(SHORTHANDS));
    const methods = all.filter((method) => !/All$|\.stream/.test(method) && !SHORTHANDS.includes(method));
    expect(methods.sort()).toEqual(Object.values(METHODS).sort());
    const streaming = all.filter((method) => method.includes('.stream') && !SHORTHANDS.includes(method));
    expect(streaming).toHaveLength(CLIENT_OPERATION_IDS.filter((id) => OPERATIONS[id].stream !== undefined).length);
    const paging = all.filter((method) => method.endsWith('All'));
    const lists = CLIENT_OPERATION_IDS.filter((id) => 'cursor' in (OPERATIONS[id].query?.properties ?? {})).map(
      (id) => METHODS[id],
    );
    expect(paging.map((method) => method.replace('All', '')).sort()).toEqual(lists.sort());
  });

  test.each(CLIENT_OPERATION_IDS)('the doc comment of the method names %s', (operation) => {
    expect(documentedMethods().get(operation)).toBe(METHODS[operation].split('.')[1]);
  });
});

describe('requests', () => {
  test.each<[Amount, string]>([
    [1000, '1000'],
    [999_999_999_999n, '999999999999'],
    [9_007_199_254_740_993n, '9007199254740993'],
    ['1000', '"1000"'],
    [85.5, '85.5'],
  ])('send the amount %s as %s, never rounded', async (amount, text) => {
    service.play({ status: 201, body: TRANSFER });
    await client().transfers.create({ amount, card_id: 'card_active', description: undefined, metadata: { a: 'ü"' } });
    expect(service.received[0]?.body).toBe(`{"amount":${text},"card_id":"card_active","metadata":{"a":"ü\\""}}`);
  });

  test('change the switch with disable, enable and change', async () => {
    service.play({ status: 200, body: {} });
    await client().switch.disable({ reason: 'OPS-311', program_id: 'prog_1', type: 'load' }, { idempotencyKey: 'k' });
    await client().switch.enable({ program_id: 'prog_1', type: 'load' });
    await client().switch.enable();
    await client().switch.change({ disabled: true, reason: 'OPS-312' });
    expect(service.received.map(({ body }) => body)).toEqual([
      '{"reason":"OPS-311","program_id":"prog_1","type":"load","disabled":true}',
      '{"program_id":"prog_1","type":"load","disabled":false}',
      '{"disabled":false}',
      '{"disabled":true,"reason":"OPS-312"}',
    ]);
    expect(service.received[0]?.headers['idempotency-key']).toBe('k');
  });

  test('have the API key, the program of the client or the call, the idempotency key and the request id', async () => {
    service.play({ status: 201, body: TRANSFER });
    const body = { amount: 1, card_id: 'card_active' };
    await client({ key: 'secret', programId: 'prog_1' }).transfers.create(body);
    await client({ key: 'secret', programId: 'prog_1' }).transfers.create(body, {
      programId: 'prog_2',
      idempotencyKey: 'order-17',
      requestId: 'mine',
    });
    expect(service.received[0]?.headers).toMatchObject({ authorization: 'Bearer secret', 'program-id': 'prog_1' });
    expect(service.received[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
    expect(service.received[1]?.headers).toMatchObject({
      'program-id': 'prog_2',
      'idempotency-key': 'order-17',
      'request-id': 'mine',
    });
  });

  test('have no Program-Id outside a program, and no Authorization without a key', async () => {
    service.play({ status: 200, body: {} });
    await client({ programId: 'prog_1' }).trialBalance.get();
    expect(service.received[0]?.headers).not.toHaveProperty('program-id');
    expect(service.received[0]?.headers).not.toHaveProperty('authorization');
  });

  test('omit missing amounts, and contain limits in full', async () => {
    service.play({ status: 200, body: {} });
    await client().transfers.capture('tr_1');
    await client().transfers.reverse('tr_1', { amount: 9_007_199_254_740_993n });
    await client().transfers.cancel('tr_1');
    await client().cards.update('card_1', { limits: { in: { daily_count: 5 }, maximum_balance: 200_000 } });
    await client().programs.update('prog_1', { name: undefined, card_limits: {} });
    expect(service.received.map(({ body }) => body)).toEqual([
      '{}',
      '{"amount":9007199254740993}',
      '',
      '{"limits":{"in":{"daily_count":5},"maximum_balance":200000}}',
      '{"card_limits":{}}',
    ]);
  });

  test('have every filter of list_transfers and export_transfers', async () => {
    const filters = {
      card_id: 'card_active',
      type: 'load',
      status: 'pending',
      reference: 'r',
      idempotency_key: 'k',
      metadata_name: 'order',
      metadata_value: '17',
      created_from: '2030-01-01T00:00:00Z',
      created_to: '2030-02-01T00:00:00Z',
      minimum_amount: 1,
      maximum_amount: 999_999_999_999,
    } as const;
    service.play({ status: 200, body: { data: [], next_cursor: null } });
    await client().transfers.list({ ...filters, limit: 5, cursor: 'c2' });
    expect(queryNames()).toEqual(Object.keys(OPERATIONS.list_transfers.query?.properties ?? {}).sort());
    service.play({ chunks: ['transfer_id\n'] });
    await client().transfers.export({ ...filters, raw: true });
    expect(queryNames()).toEqual(Object.keys(OPERATIONS.export_transfers.query?.properties ?? {}).sort());
  });

  test('escape ids and filters, and keep the path of the base URL', async () => {
    service.play({ status: 200, body: { data: [], next_cursor: null } });
    const behindProxy = new TransferService({ baseUrl: `${service.url}/money/` });
    await behindProxy.cards.get('a/b?c');
    await behindProxy.transfers.list({ idempotency_key: 'a&b', limit: 5, reference: undefined });
    expect(service.received.map(({ url }) => url)).toEqual([
      '/money/api/v0.1/core/card/a%2Fb%3Fc',
      '/money/api/v0.1/core/transfer?idempotency_key=a%26b&limit=5',
    ]);
  });

  test.each<[string, (service: TransferService) => Promise<object>]>([
    ['an empty id, which would select the list', ({ transfers }) => transfers.get('')],
    ['an id of dots, which would select a different path', ({ cards }) => cards.get('..')],
    [
      'a number that JSON does not have',
      ({ transfers }) => transfers.create({ amount: Number.NaN, card_id: 'card_active' }),
    ],
    ['an undefined amount, which would capture the full hold', ({ transfers }) => transfers.capture('tr_1', UNSET)],
    ['an undefined amount, which would reverse the full transfer', ({ transfers }) => transfers.reverse('tr_1', UNSET)],
    [
      'an undefined program, which would disable the whole service',
      (client) => client.switch.change({ disabled: true, reason: 'x', ...UNSET }),
    ],
    [
      'an undefined program, which would enable the whole service',
      (client) => client.switch.enable({ program_id: undefined } as object),
    ],
    [
      'an undefined expiry, which would create a key that never expires',
      ({ keys }) => keys.create({ name: 'x', scopes: ['cards:read'], all_programs: true, ...UNSET }),
    ],
    ['a line break in a header', ({ transfers }) => transfers.list({}, { requestId: 'a\nb' })],
  ])('are rejected before they are sent with %s', async (_, call) => {
    service.play({ status: 200, body: {} });
    await expect(call(client())).rejects.toThrow(InvalidArgument);
    expect(service.received).toEqual([]);
  });

  test('are rejected with an API key that is invalid in a header, and the error does not show the key', async () => {
    const refusal = await client({ key: 'secret\n' })
      .transfers.list()
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(InvalidArgument);
    expect(String(refusal)).not.toContain('secret');
  });

  test.each(['localhost:8080', 'ftp://localhost', 'http://user:pass@localhost', 'http://localhost/?a'])(
    'are rejected for the base URL %s',
    (baseUrl) => {
      expect(() => new TransferService({ baseUrl })).toThrow(InvalidArgument);
    },
  );
});

describe('responses', () => {
  test('a record is unchanged, with response details that are not enumerable', async () => {
    service.play({ status: 201, body: TRANSFER, headers: { 'idempotent-replayed': 'true' } });
    const transfer = await client().transfers.create({ amount: 1000, card_id: 'card_active' });
    expect(JSON.stringify(transfer)).toBe(JSON.stringify(TRANSFER));
    expect(Object.keys(transfer)).not.toContain('response');
    expect(transfer.response).toMatchObject({ status: 201, requestId: 'req_canned', replayed: true, attempts: 1 });
    expect(transfer.response.idempotencyKey).toBe(service.received[0]?.headers['idempotency-key']);
    expect(transfer.response.headers.get('content-type')).toBe('application/json');
  });

  test('listAll reads every page with the same filters', async () => {
    const page = (id: string, next: string | null) => ({
      status: 200,
      body: { data: [{ ...TRANSFER, transfer_id: id }], next_cursor: next },
    });
    service.play(page('tr_3', 'c2'), page('tr_2', 'c3'), page('tr_1', null));
    const ids: string[] = [];
    for await (const transfer of client().transfers.listAll({ card_id: 'card_active' })) ids.push(transfer.transfer_id);
    expect(ids).toEqual(['tr_3', 'tr_2', 'tr_1']);
    expect(service.received.map(({ url }) => url.split('?')[1])).toEqual([
      'card_id=card_active',
      'card_id=card_active&cursor=c2',
      'card_id=card_active&cursor=c3',
    ]);
  });

  test('reversalsAll and postingsAll read every page', async () => {
    service.play(
      { status: 200, body: { data: [1], next_cursor: 'c2' } },
      { status: 200, body: { data: [2], next_cursor: null } },
    );
    const found: unknown[] = [];
    for await (const reversal of client().transfers.reversalsAll('tr_1', { limit: 1 })) found.push(reversal);
    service.play(
      { status: 200, body: { data: [3], next_cursor: 'c2' } },
      { status: 200, body: { data: [4], next_cursor: null } },
    );
    for await (const posting of client().cards.postingsAll('card_1', { created_to: '2030-01-31T12:00:00Z' })) {
      found.push(posting);
    }
    expect(found).toEqual([1, 2, 3, 4]);
    expect(service.received.map(({ url }) => url)).toEqual([
      '/api/v0.1/core/card/card_1/posting?created_to=2030-01-31T12%3A00%3A00Z',
      '/api/v0.1/core/card/card_1/posting?created_to=2030-01-31T12%3A00%3A00Z&cursor=c2',
    ]);
  });

  describe('the secret of a new webhook', () => {
    const created_at = '2026-01-31T09:30:00.000Z';
    const WEBHOOK = { webhook_id: 'wh_1', secret: 'whsec_first', secret_omitted: null, created_at };
    const replay = {
      status: 201,
      body: { ...WEBHOOK, secret: null, secret_omitted: 'It is in the first response only.' },
      headers: { 'idempotent-replayed': 'true' },
    };
    const body = { url: 'https://shop.example/hooks' };

    test('is rolled if the response with the secret was lost, and the old secret stops signing', async () => {
      const rolled = { status: 200, body: { ...WEBHOOK, secret: 'whsec_second' } };
      service.play('cut before the response', replay, rolled);
      const webhook = await client().webhooks.create(body);
      expectTypeOf(webhook.secret).toEqualTypeOf<string>();
      expect(webhook.secret).toBe('whsec_second');
      expect(service.received.map(({ url, body }) => [url, body]).slice(1)).toEqual([
        ['/api/v0.1/core/webhook', JSON.stringify(body)],
        ['/api/v0.1/core/webhook/wh_1/roll-secret', JSON.stringify({ previous_until: created_at })],
      ]);
    });

    test('stays null with a key of the caller, which may have created the webhook long ago', async () => {
      service.play(replay);
      const webhook = await client().webhooks.create(body, { idempotencyKey: 'mine' });
      expectTypeOf(webhook.secret).toEqualTypeOf<string | null>();
      expect(webhook.secret).toBeNull();
      expect(service.received).toHaveLength(1);
    });
  });

  test('a loop that ends early reads no more pages', async () => {
    service.play({ status: 200, body: { data: [TRANSFER], next_cursor: 'c2' } });
    for await (const card of client().cards.listAll()) {
      expect(card.card_id).toBe('card_active');
      break;
    }
    expect(service.received).toHaveLength(1);
  });
});

test('the types match the contract', () => {
  expectTypeOf<CreateTransferBody['amount']>().toEqualTypeOf<number | bigint | string>();
  expectTypeOf<CreateTransferBody['card_id']>().toEqualTypeOf<string>();
  expectTypeOf<CreateTransferBody['type']>().toEqualTypeOf<'load' | 'unload' | 'card_to_card' | undefined>();
  expectTypeOf<CreateTransferBody['capture']>().toEqualTypeOf<'automatic' | 'manual' | undefined>();
  expectTypeOf<ReverseTransferBody['amount']>().toEqualTypeOf<Amount | undefined>();
  expectTypeOf<UpdateCardBody['limits']>().toEqualTypeOf<CardLimitsPatch | null | undefined>();
  expectTypeOf<UpdateCardBody['expires_on']>().toEqualTypeOf<string | null | undefined>();
  expectTypeOf<CreateCardBody['limits']>().toEqualTypeOf<CardLimits | undefined>();
  expectTypeOf<StatementPage['opening_balance']>().toEqualTypeOf<number>();
  // A replay does not contain the secret.
  expectTypeOf<NewKeyRecord['key']>().toEqualTypeOf<string | null>();
  expectTypeOf<SwitchState['data'][number]['disabled']>().toEqualTypeOf<boolean>();
});

test('requests that do not match the contract do not compile', () => {
  type Body = CreateTransferBody;
  expectTypeOf<{ amount: 1; card_id: string }>().toExtend<Body>();
  expectTypeOf<{ amount: 1 }>().not.toExtend<Body>();
  expectTypeOf<{ card_id: string }>().not.toExtend<Body>();
  expectTypeOf<{ amount: true; card_id: string }>().not.toExtend<Body>();
  expectTypeOf<{ amount: 1; card_id: string; type: 'deposit' }>().not.toExtend<Body>();
  expectTypeOf<keyof UpdateTransferBody>().toEqualTypeOf<'metadata'>();
  expectTypeOf<{ amount: 1; card_id: string }>().not.toExtend<TransferBatchRow>();
  expectTypeOf<{ status: 'closed' }>().not.toExtend<CreateCardBody>();
  expectTypeOf<keyof PageQuery>().toEqualTypeOf<'limit' | 'cursor'>();
  expectTypeOf<{ name: 'x'; scopes: ['everything'] }>().not.toExtend<CreateKeyBody>();
  // Without the amount or the program, these requests would do more than intended.
  expectTypeOf<{ amount: undefined }>().not.toExtend<CaptureTransferBody>();
  expectTypeOf<{ amount: undefined }>().not.toExtend<ReverseTransferBody>();
  expectTypeOf<{ disabled: true; program_id: undefined }>().not.toExtend<ChangeSwitchBody>();
  expectTypeOf<{ disabled: true; reason: undefined }>().toExtend<ChangeSwitchBody>();
  // Only operations with an idempotency key have this option.
  expectTypeOf<Operations['create_card']['call']['options']>().toEqualTypeOf<KeyedCallOptions | undefined>();
  expectTypeOf<Operations['get_card']['call']['options']>().toEqualTypeOf<CallOptions | undefined>();
  // Only operations that compare versions have this option.
  expectTypeOf<Operations['update_card']['call']['options']>().toEqualTypeOf<VersionedCallOptions | undefined>();
});

test('send infers params, query, body and reply from the operation', () => {
  expectTypeOf<Operations['create_card']['call']['body']>().toEqualTypeOf<CreateCardBody>();
  expectTypeOf<Operations['get_card']['call']['params']>().toEqualTypeOf<{ readonly card_id: string }>();
  expectTypeOf<Operations['list_holds']['call']['query']>().toEqualTypeOf<PageQuery | undefined>();
  expectTypeOf<Operations['list_cards']['reply']>().toEqualTypeOf<Page<CardRecord>>();
  expectTypeOf<Operations['export_transfers']['reply']>().toEqualTypeOf<TextChunks>();
});
