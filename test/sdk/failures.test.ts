import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { OperationId } from '../../contract/operations.ts';
import {
  ConnectionFailure,
  ERRORS,
  type ErrorType,
  ProcessError,
  RequestError,
  ServerError,
  TransferService,
  TransferServiceError,
  UnexpectedResponse,
} from '../../sdk/client.ts';
import {
  type Canned,
  deadUrl,
  errorResponse,
  failingResponse,
  startCannedService,
  startOwnService,
  TRANSFER,
} from './canned-service.ts';

const BODY = { amount: 1000, card_id: 'card_active' };
const CREATED: Canned = { status: 201, body: TRANSFER };

const service = await startCannedService();
afterEach(() => {
  service.onRequest = () => undefined;
});
afterAll(() => service.close());

function client(options: object = {}): TransferService {
  return new TransferService({ baseUrl: service.url, ...options });
}

async function failureOf<Failure>(
  promise: Promise<unknown>,
  kind: new (...given: never[]) => Failure,
): Promise<Failure> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(kind);
  return error as Failure;
}

describe('error records', () => {
  test('become errors with everything that the service reported', async () => {
    service.play(
      errorResponse(
        { Message: 'Insufficient funds.', Status: 409, Code: 'insufficient_funds', Type: 'Request Error' },
        {
          'money-moved': 'no',
          'should-retry': 'false',
          'transfer-id': 'tr_1',
          'error-field': '/amount',
          'idempotent-replayed': 'true',
        },
      ),
    );
    const error = await failureOf(client().transfers.create(BODY, { idempotencyKey: 'k' }), RequestError);
    expect(error).toMatchObject({
      name: 'RequestError',
      message: 'Insufficient funds.',
      Message: 'Insufficient funds.',
      Status: 409,
      Code: 'insufficient_funds',
      code: 'insufficient_funds',
      Type: 'Request Error',
      requestId: 'req_canned',
      moneyMoved: 'no',
      shouldRetry: false,
      retryAfterSeconds: undefined,
      transferId: 'tr_1',
      field: '/amount',
      replayed: true,
      idempotencyKey: 'k',
      attempts: 1,
    });
    expect(error.headers.get('error-field')).toBe('/amount');
  });

  test.each<[ErrorType, typeof TransferServiceError]>([
    ['Request Error', RequestError],
    ['Server Error', ServerError],
    ['Process Error', ProcessError],
  ])('become errors of their own class: %s', async (Type, kind) => {
    service.play(errorResponse({ Status: 418, Code: 'something_new', Type }));
    const error = await failureOf(client().transfers.list(), kind);
    expect(error).toBeInstanceOf(TransferServiceError);
    expect(error.Code).toBe('something_new');
  });

  test.each(['Customs Error', 'constructor'])('become TransferServiceErrors if the type is %s', async (Type) => {
    service.play(errorResponse({ Status: 400, Code: 'something_new', Type }));
    const error = await failureOf(client().transfers.list(), TransferServiceError);
    expect(error.constructor).toBe(TransferServiceError);
    expect(error.Type).toBe(Type);
  });

  test('without a Money-Moved header, are judged by the error code and the operation', async () => {
    const moneyMovedBy = async (code: string, call: () => Promise<unknown>) => {
      service.play(errorResponse({ Status: 500, Code: code, Type: 'Server Error' }));
      return (await failureOf(call(), TransferServiceError)).moneyMoved;
    };
    const create = () => client().transfers.create(BODY);
    expect(ERRORS.headers_too_large.moneyMoved).toBe('no');
    expect(await moneyMovedBy('headers_too_large', create)).toBe('no');
    expect(await moneyMovedBy('unknown_create_transfer', create)).toBe('unknown');
    expect(await moneyMovedBy('something_new', create)).toBe('unknown');
    expect(await moneyMovedBy('something_new', () => client().transfers.list())).toBe('no');
  });

  test('may have a date in Retry-After', async () => {
    const headers = { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() };
    service.play(errorResponse({ Status: 424, Code: 'service_disabled', Type: 'Process Error' }, headers));
    const error = await failureOf(client().transfers.create(BODY), ProcessError);
    expect(error.retryAfterSeconds).toBeGreaterThan(3_000);
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(3_600);
  });
});

describe('responses that are not from the service', () => {
  test.each<[string, Canned]>([
    ['a page of a proxy', { status: 502, body: '<h1>Bad Gateway</h1>' }],
    ['JSON that is not a record', { status: 500, body: { error: 'oops' } }],
    ['a page with a success status', { status: 200, body: '<h1>Log in</h1>' }],
    ['a redirection, which would turn the POST into a GET', { status: 301, headers: { location: '/elsewhere' } }],
  ])('%s is an UnexpectedResponse and is not retried', async (_, canned) => {
    service.play(canned);
    const error = await failureOf(client().transfers.create(BODY, { idempotencyKey: 'k' }), UnexpectedResponse);
    expect(error).toMatchObject({ moneyMoved: 'unknown', idempotencyKey: 'k', requestId: 'req_canned' });
    expect(error.message).toContain('"k"');
    expect(service.received).toHaveLength(1);
  });

  test('lead to an error with the start of the body', async () => {
    service.play({ status: 502, body: `<h1>Bad Gateway</h1>${'x'.repeat(500)}` });
    const error = await failureOf(client().transfers.list(), UnexpectedResponse);
    expect(error).toMatchObject({ status: 502, moneyMoved: 'no' });
    expect(error.excerpt).toMatch(/^<h1>Bad Gateway<\/h1>x{180}$/);
    expect(error.message).not.toContain('money');
  });
});

describe('retries', () => {
  test('repeat a request with Should-Retry, with the same idempotency key', async () => {
    service.play(failingResponse(), failingResponse(), CREATED);
    const transfer = await client().transfers.create(BODY);
    expect(transfer.response.attempts).toBe(3);
    expect(new Set(service.received.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(new Set(service.received.map(({ body }) => body)).size).toBe(1);
  });

  test.each<Canned>(['cut before the response', 'cut within the response'])(
    'repeat a request that was %s',
    async (canned) => {
      service.play(canned, CREATED);
      const transfer = await client().transfers.create(BODY);
      expect(transfer).toMatchObject({ transfer_id: TRANSFER.transfer_id });
      expect(service.received).toHaveLength(2);
    },
  );

  test.each<[string, (service: TransferService) => Promise<object>]>([
    ['capture', ({ transfers }) => transfers.capture('tr_1', { amount: 600 })],
    ['cancel', ({ transfers }) => transfers.cancel('tr_1')],
    ['reverse', ({ transfers }) => transfers.reverse('tr_1')],
  ])('repeat %s with the same key, with or without a response', async (_, call) => {
    service.play('cut before the response', failingResponse(), CREATED);
    expect(await call(client())).toMatchObject({ response: { attempts: 3 } });
    const keys = service.received.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0], keys[0]]);
    expect(new Set(service.received.map(({ body }) => body)).size).toBe(1);
  });

  test('repeat move_clock', async () => {
    service.play('cut before the response', { status: 200, body: { now: 'x', seconds_ahead: 60 } });
    await client().sandbox.moveClock({ seconds_ahead: 60 });
    expect(service.received).toHaveLength(2);
  });

  test('stop after maxRetries', async () => {
    service.play(failingResponse());
    const error = await failureOf(client({ maxRetries: 1 }).transfers.create(BODY), ServerError);
    expect(error.attempts).toBe(2);
    await failureOf(client({ maxRetries: 0 }).transfers.create(BODY), ServerError);
    expect(service.received).toHaveLength(3);
  });

  test('after a response, require Should-Retry', async () => {
    service.play(errorResponse({ Status: 500, Code: 'unknown_create_transfer', Type: 'Server Error' }));
    await failureOf(client().transfers.create(BODY), ServerError);
    expect(service.received).toHaveLength(1);
  });

  test.each<[OperationId, (service: TransferService) => Promise<object>]>([
    ['create_card', ({ cards }) => cards.create()],
    ['create_program', ({ programs }) => programs.create({ name: 'Gifts', currency: 'USD' })],
    ['create_key', ({ keys }) => keys.create({ name: 'shop', scopes: ['cards:read'], all_programs: true })],
    ['roll_key', ({ keys }) => keys.roll('key_1')],
    ['revoke_key', ({ keys }) => keys.revoke('key_1')],
    ['change_switch', (client) => client.switch.change({ disabled: true, reason: 'test' })],
    ['move_clock', ({ sandbox }) => sandbox.moveClock({ seconds_ahead: 1 })],
  ])('repeat %s with the generated key', async (_, call) => {
    service.play('cut before the response', failingResponse(), { status: 200, body: {} });
    await call(client());
    const keys = service.received.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(3);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(keys).size).toBe(1);
  });

  test('do not repeat a request that is not safe to repeat', async () => {
    service.play(failingResponse());
    await failureOf(client().cards.update('card_1', { status: 'active' }), ServerError);
    expect(service.received).toHaveLength(1);
    service.play('cut before the response');
    await failureOf(client().sandbox.stopDatabase(), ConnectionFailure);
    expect(service.received).toHaveLength(1);
    service.play('cut before the response');
    await failureOf(client().transfers.update('tr_1', { metadata: {} }), ConnectionFailure);
    await failureOf(client().programs.update('prog_1', { name: 'Gifts' }), ConnectionFailure);
    expect(service.received).toHaveLength(2);
  });

  test('wait for Retry-After', async () => {
    service.play(failingResponse({ 'retry-after': '1' }), CREATED);
    const began = performance.now();
    await client().transfers.create(BODY);
    expect(performance.now() - began).toBeGreaterThan(990);
  });

  test('stop if Retry-After is too long', async () => {
    service.play(failingResponse({ 'retry-after': '3600' }));
    const error = await failureOf(client().transfers.create(BODY), ServerError);
    expect(error).toMatchObject({ attempts: 1, retryAfterSeconds: 3600, shouldRetry: true });
  });
});

describe('no response', () => {
  test('leaves it unknown whether money moved if the request was sent, and names the key in the message', async () => {
    service.play('cut before the response');
    const error = await failureOf(client({ maxRetries: 1 }).transfers.create(BODY), ConnectionFailure);
    expect(error).toMatchObject({ reason: 'lost', moneyMoved: 'unknown', attempts: 2, baseUrl: service.url });
    expect(error.message).toContain('unknown whether money moved');
    expect(error.message).toContain(error.idempotencyKey);
    expect(error.cause).toBeInstanceOf(Error);
  });

  test('also leaves it unknown without a key, and the message gives advice', async () => {
    service.play('cut before the response');
    const close = client().cards.update('card_1', { status: 'closed', balance_to: 'funding' });
    const error = await failureOf(close, ConnectionFailure);
    expect(error).toMatchObject({ moneyMoved: 'unknown', attempts: 1, idempotencyKey: undefined });
    expect(error.message).toMatch(
      /unknown whether money moved\. Check the result before you send the request again\.$/,
    );
    const rows = [{ ...BODY, idempotency_key: 'row-1' }];
    const batch = await failureOf(client({ maxRetries: 0 }).transfers.createBatch(rows), ConnectionFailure);
    expect(batch.message).toMatch(/Send the same request again: it moves money at most once\.$/);
  });

  test('means that no money moved if nothing listens, and the message gives the reason', async () => {
    const options = { baseUrl: await deadUrl(), maxRetries: 0 };
    const error = await failureOf(client(options).transfers.create(BODY), ConnectionFailure);
    expect(error).toMatchObject({ reason: 'unreachable', moneyMoved: 'no' });
    expect(error.message).toContain('ECONNREFUSED');
    expect(error.message).toContain('No money moved.');
  });

  test('leads to a message that does not mention money if the call was a read', async () => {
    service.play('cut before the response');
    const error = await failureOf(client({ maxRetries: 0 }).transfers.list(), ConnectionFailure);
    expect(error.moneyMoved).toBe('no');
    expect(error.message).not.toContain('money');
  });

  test('within the timeout leaves it unknown whether money moved', async () => {
    const { url: baseUrl } = await startOwnService('no response');
    const impatient = client({ baseUrl, timeoutMilliseconds: 50, maxRetries: 1 });
    const error = await failureOf(impatient.transfers.create(BODY), ConnectionFailure);
    expect(error).toMatchObject({ reason: 'timeout', moneyMoved: 'unknown', attempts: 2 });
    expect(error.message).toContain('within 50 ms');
  });

  test('is not retried after an abort, and leaves it unknown whether money moved', async () => {
    service.play('no response');
    const controller = new AbortController();
    service.onRequest = () => controller.abort('enough');
    const error = await failureOf(client().transfers.create(BODY, { signal: controller.signal }), ConnectionFailure);
    expect(error).toMatchObject({ reason: 'aborted', moneyMoved: 'unknown', attempts: 1, cause: 'enough' });
    expect(service.received).toHaveLength(1);
  });

  test('means that nothing was sent if the signal was already aborted', async () => {
    service.play(CREATED);
    const error = await failureOf(client().transfers.create(BODY, { signal: AbortSignal.abort() }), ConnectionFailure);
    expect(error).toMatchObject({ reason: 'aborted', moneyMoved: 'no' });
    expect(service.received).toEqual([]);
  });

  test('is followed by a wait for the retry, which ends when the call is aborted', async () => {
    service.play(failingResponse({ 'retry-after': '30' }));
    const controller = new AbortController();
    service.onRequest = () => setTimeout(() => controller.abort(), 50);
    await failureOf(client().transfers.create(BODY, { signal: controller.signal }), ConnectionFailure);
    expect(service.received).toHaveLength(1);
  });
});

describe('after a try without a response, whether money moved', () => {
  test('stays unknown if a later response is only about the later request', async () => {
    service.play('cut before the response', failingResponse({ 'should-retry': 'false' }));
    const error = await failureOf(client().transfers.create(BODY), ServerError);
    expect(error.headers.get('money-moved')).toBe('no');
    expect(error.moneyMoved).toBe('unknown');
  });

  test('is certain after a 409, which is the response for the key', async () => {
    const refusal = { Status: 409, Code: 'insufficient_funds', Type: 'Request Error' };
    service.play('cut before the response', errorResponse(refusal, { 'money-moved': 'no' }));
    const error = await failureOf(client().transfers.create(BODY), RequestError);
    expect(error.moneyMoved).toBe('no');
  });

  test('is certain if every try had a response', async () => {
    service.play(failingResponse(), failingResponse({ 'should-retry': 'false' }));
    const error = await failureOf(client().transfers.create(BODY), ServerError);
    expect(error.moneyMoved).toBe('no');
  });
});
