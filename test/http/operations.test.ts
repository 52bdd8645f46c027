import { describe, expect, it } from 'vitest';
import { JsonNumber } from '../../contract/reading/json.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type AnyCall, type Gateway, type Handler, OperationFailure } from '../../server/calls/call.ts';
import { expectRecord, messageOf } from '../harness/expect-record.ts';
import {
  DEMO_PROGRAM,
  DEMO_PROGRAM_ID,
  fakeGateway,
  OTHER_PROGRAM,
  OTHER_PROGRAM_ID,
  serve,
} from '../harness/http-server.ts';
import { bare, post } from '../harness/raw-connection.ts';

const BODY = '{"amount":1000,"card_id":"card_1"}';
const TRANSFER = '/api/v0.1/core/transfer';
/** A server that records the calls of create_transfer. */
async function recording(more: Partial<Omit<Gateway, 'handlers'>> = {}) {
  const calls: AnyCall[] = [];
  const handler: Handler = async (call) => {
    calls.push(call);
    return { json: '{"transfer_id":"tr_1"}', moneyMoved: 'yes' };
  };
  const get: Handler = async (call) => {
    calls.push(call);
    return { json: '{}' };
  };
  const gateway = fakeGateway(
    { create_transfer: handler, list_transfers: get, get_transfer: get, list_keys: get },
    more,
  );
  return { calls, ...(await serve(gateway)) };
}

const throwing = (thrown: unknown): Gateway =>
  fakeGateway({ create_transfer: () => Promise.reject(thrown), get_transfer: () => Promise.reject(thrown) });

describe('a valid request', () => {
  it('reaches its handler validated, and the reply is sent unchanged', async () => {
    const { ask, calls } = await recording();
    const response = await ask(
      post('{"amount":1000,"card_id":"card_1","color":"red"}', ['Request-Id: my.id-1', 'Idempotency-Key: k1']),
    );
    expect(response.statusLine).toBe('HTTP/1.1 201 Created');
    expect(response.body).toBe('{"transfer_id":"tr_1"}');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      location: `${TRANSFER}/tr_1`,
      'client-request-id': 'my.id-1',
      'ignored-fields': 'color',
      'money-moved': 'yes',
    });
    expect(response.headers.has('error-code')).toBe(false);
    const [call] = calls;
    expect(call).toMatchObject({
      operation: 'create_transfer',
      caller: { kind: 'sandbox' },
      programId: DEMO_PROGRAM,
      params: {},
      query: undefined,
      body: { amount: { source: '1000', quoted: false }, card_id: 'card_1' },
      sent: { amount: new JsonNumber('1000'), card_id: 'card_1', color: 'red' },
      idempotencyKey: 'k1',
    });
    expect(response.headers.get('request-id')).toBe(`req_${call?.requestId.replaceAll('-', '')}`);
  });

  it.each([
    ['no Content-Type', []],
    ['a form type on JSON', ['Content-Type: application/x-www-form-urlencoded']],
    ['a charset in capitals', ['Content-Type: application/json; charset=UTF-8']],
    ['a quoted charset', ['Content-Type: Application/JSON;charset="utf-8"; x=y']],
    ['the identity encoding', ['Content-Type: application/json', 'Content-Encoding: identity']],
    ['an Upgrade to HTTP/2, which is ignored', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c']],
    ['a local origin', ['Origin: http://127.0.0.1:3000', 'Sec-Fetch-Site: same-origin']],
    ['a key', ['Authorization: bearer  program']],
    ['a hundred headers', Array.from({ length: 98 }, (_, at) => `X-${at}: 1`)],
    ['an empty Program-Id', ['Program-Id:']],
  ])('is accepted with %s', async (_name, headers) => {
    const { ask } = await recording();
    expect((await ask(post(BODY, headers))).status).toBe(201);
  });

  it.each([
    'localhost',
    'LOCALHOST:8080',
    'api.localhost',
    'localhost.',
    '127.0.0.1:1',
    '127.9.9.9',
    '[::1]',
    '[::1]:80',
  ])('is accepted without a key for the host %s', async (host) => {
    const { ask } = await recording();
    expect((await ask(bare('GET', TRANSFER, [`Host: ${host}`]))).status).toBe(200);
  });

  it.each([
    'example.com',
    '127.0.0.1.example.com',
    '127.1',
    '10.0.0.1',
    '0.0.0.0',
    '[::2]',
    'localhost@example.com',
    'example.com/.localhost',
    '',
    '127.0.0.256',
  ])('is refused without a key for the host "%s"', async (host) => {
    const { ask } = await recording();
    expectRecord(await ask(bare('GET', TRANSFER, [`Host: ${host}`])), 403, 'forbidden');
  });

  it('finds its route with a trailing slash, escapes, an absolute path or HEAD', async () => {
    const { ask, calls } = await recording();
    expect((await ask(bare('GET', `${TRANSFER}/tr%5F1%2Fx/?color=red`))).headers.get('ignored-fields')).toBe('color');
    expect((await ask(bare('GET', `http://localhost:9${TRANSFER}?limit=5&cursor=a+b%26`))).status).toBe(200);
    const head = await ask(bare('HEAD', TRANSFER), 'HEAD');
    expect([head.status, head.body, head.headers.get('content-length')]).toEqual([200, '', '2']);
    expect(calls.map(({ params, query }) => ({ ...params, ...query }))).toEqual([
      { transfer_id: 'tr_1/x' },
      { limit: 5, cursor: 'a b&' },
      {},
    ]);
  });

  it.each([
    ['k1', 'k1'],
    ['"k1"', 'k1'],
    ['"k\\"1\\\\"', 'k"1\\'],
    ['k"1', 'k"1'],
  ])('sent with the idempotency key %s has the key %s', async (sent, key) => {
    const { ask, calls } = await recording();
    await ask(post(BODY, [`Idempotency-Key: ${sent}`]));
    expect(calls[0]?.idempotencyKey).toBe(key);
  });

  it('is accepted in pieces, after 100 Continue, in chunks, and on a half-closed connection', async () => {
    const { connect } = await recording();
    const connection = await connect(
      `POST ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`,
    );
    while (!connection.received.includes('100 Continue')) await new Promise((resolve) => setImmediate(resolve));
    connection.send(BODY);
    expect((await connection.next()).status).toBe(201);
    connection.send(`POST ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (const character of BODY) connection.send(`1;x=y\r\n${character}\r\n`);
    connection.send('0\r\nTrailer: x\r\n\r\n');
    expect((await connection.next()).status).toBe(201);
    connection.send(post(BODY));
    connection.socket.end();
    expect((await connection.next()).status).toBe(201);
    expect(await connection.rest()).toBe('');
  });

  it('waits for earlier responses on its connection, and is not executed if one of them closes it', async () => {
    const { connect, calls } = await recording();
    const tooLarge = `POST ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n`;
    const connection = await connect(
      Buffer.concat([post(BODY, ['Idempotency-Key: 1']), post(BODY, ['Idempotency-Key: 2']), Buffer.from(tooLarge)]),
    );
    expect((await connection.next()).status).toBe(201);
    expect((await connection.next()).status).toBe(201);
    expectRecord(await connection.next(), 413, 'payload_too_large');
    connection.send(post(BODY, ['Idempotency-Key: 3']));
    expect(await connection.rest()).toBe('');
    expect(calls.map((call) => call.idempotencyKey)).toEqual(['1', '2']);
  });

  it('may have a body on GET, which is ignored', async () => {
    const { ask } = await recording();
    expect((await ask(`${bare('GET', TRANSFER, ['Host: localhost', 'Content-Length: 3'])}{x}`)).status).toBe(200);
  });
});

describe('the caller', () => {
  it('acts only in its program with a program key', async () => {
    const { ask, calls } = await recording();
    const key = 'Authorization: Bearer program';
    expect((await ask(post(BODY, [key]))).status).toBe(201);
    expect((await ask(post(BODY, [key, `Program-Id: ${DEMO_PROGRAM_ID}`]))).status).toBe(201);
    expectRecord(await ask(post(BODY, [key, `Program-Id: ${OTHER_PROGRAM_ID}`])), 403, 'forbidden');
    expect(calls.map(({ programId }) => programId)).toEqual([DEMO_PROGRAM, DEMO_PROGRAM]);
  });

  it('must name the program with an operator key, if the operation needs one', async () => {
    const { ask, calls } = await recording();
    const key = 'Authorization: Bearer operator';
    const missing = await ask(post(BODY, [key]));
    expectRecord(missing, 400, 'create_transfer_schema');
    expect(messageOf(missing)).toContain("'Program-Id'");
    await ask(post(BODY, [key, `Program-Id: ${OTHER_PROGRAM_ID}`]));
    await ask(bare('GET', '/api/v0.1/operator/key', ['Host: example.com', key]));
    expect(calls.map(({ programId, caller }) => [programId, caller.kind])).toEqual([
      [OTHER_PROGRAM, 'operator_key'],
      ['', 'operator_key'],
    ]);
  });

  it('needs a key in live mode, which has no sandbox routes', async () => {
    const { ask } = await recording({ mode: 'live', keyless: false });
    const response = await ask(post(BODY));
    expectRecord(response, 401, 'unauthenticated');
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="transfer-service"');
    expectRecord(await ask(bare('POST', '/api/v0.1/sandbox/database/stop')), 404, 'route_not_found');
    expect((await ask(bare('GET', '/health/live'))).status).toBe(200);
  });

  it("is checked before the body, and gets the first fault in the contract's order", async () => {
    const { ask } = await recording({ keyless: false });
    const operator = 'Authorization: Bearer operator';
    const xml = 'Content-Type: text/xml';
    const key = 'Idempotency-Key: a b';
    const steps: readonly [string, readonly string[]][] = [
      ['malformed_request', ['Authorization: Bearer nonsense', xml, key, 'Origin: a', 'Origin: b']],
      ['unauthenticated', ['Authorization: Bearer nonsense', 'Program-Id: prog_x', xml, key]],
      ['forbidden', ['Authorization: Bearer program', 'Program-Id: prog_x', xml, key]],
      ['program_not_found', [operator, 'Program-Id: prog_x', xml, key]],
      ['unsupported_media_type', [operator, xml, key]],
      ['invalid_idempotency_key', [operator, key]],
      ['create_transfer_schema', [operator]],
    ];
    for (const [code, headers] of steps) {
      expect((await ask(post('{', headers))).headers.get('error-code')).toBe(code);
    }
    const large = post(' '.repeat(170_000), [operator, key]);
    expect((await ask(large)).headers.get('error-code')).toBe('payload_too_large');
    expect((await ask(post('{', ['Content-Type: text/xml']))).headers.get('error-code')).toBe('unauthenticated');
  });
});

describe('a refusal', () => {
  it('sets headers and a report from its details', async () => {
    const details = { field: '/Füld/\u0001', endsIn: 59_500, replayed: true, saw: { balance: 5 } };
    const { ask, reports } = await serve(
      throwing(new Refusal('service_disabled', 'The service is disabled: test.', details)),
    );
    const response = await ask(post(BODY, ['Idempotency-Key: k1', 'Request-Id: 4111111111111112']));
    expectRecord(response, 424, 'service_disabled');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'money-moved': 'no',
      'should-retry': 'false',
      'error-field': '/F%C3%BCld/%01',
      'idempotent-replayed': 'true',
    });
    expect(response.headers.get('retry-after')).toBe('60');
    expect(response.headers.has('client-request-id')).toBe(false);
    expect(reports).toHaveLength(1);
    expect(reports[0]).toMatchObject({
      operation: 'create_transfer',
      code: 'service_disabled',
      status: 424,
      type: 'Process Error',
      message: messageOf(response),
      method: 'POST',
      path: TRANSFER,
      programId: DEMO_PROGRAM,
      caller: 'sandbox',
      moneyMoved: 'no',
      saw: { balance: 5 },
      field: '/Füld/\u0001',
      idempotencyKey: 'k1',
      fields: { card_id: 'card_1' },
      cause: undefined,
    });
  });

  it('reports that no money moved in a dry run, even after a bug', async () => {
    const failing = fakeGateway({ explain_transfer: () => Promise.reject(new Error('a bug')) });
    const { ask } = await serve(failing);
    const response = await ask(post(BODY).toString().replace(`POST ${TRANSFER}`, `POST ${TRANSFER}/explain`));
    expectRecord(response, 500, 'unknown_explain_transfer');
    expect([response.headers.get('money-moved'), response.headers.get('should-retry')]).toEqual(['no', 'true']);
  });

  it('has no Money-Moved if the operation moves no money', async () => {
    const { ask } = await serve(throwing(new Refusal('transfer_not_found', 'There is no such transfer.')));
    expect((await ask(bare('GET', `${TRANSFER}/tr_1`))).headers.has('money-moved')).toBe(false);
    const head = await ask(bare('HEAD', `${TRANSFER}/tr_1`), 'HEAD');
    expectRecord(head, 404, 'transfer_not_found', 'HEAD');
  });

  it('names ignored fields, without possible card numbers', async () => {
    const { ask } = await serve(throwing(new Refusal('card_not_found', 'There is no such card.')));
    const response = await ask(post('{"amount":1,"card_id":"c","4111 1111 1111 1111":1,"é,\\n":2}'));
    expect(response.headers.get('ignored-fields')).toBe('%E2%80%A6, %C3%A9%2C%0A');
  });
});

describe('a failure', () => {
  const circular: Record<string, unknown> = {};
  Object.assign(circular, { self: circular });

  it.each([
    ['an error', new Error('connect ECONNREFUSED secret')],
    ['null', null],
    ['undefined', undefined],
    ['a string', 'secret'],
    ['a circular object', circular],
    ['an error that cannot be read', Object.create(null)],
  ])('is unknown and may have moved money if %s is thrown', async (_name, thrown) => {
    const { ask, reports } = await serve(throwing(thrown));
    const response = await ask(post(BODY));
    expectRecord(response, 500, 'unknown_create_transfer');
    expect(messageOf(response)).toMatch(/^The transfer could not be created/);
    expect(response.headers.get('money-moved')).toBe('unknown');
    expect(response.headers.get('should-retry')).toBe('false');
    expect((await ask(post(BODY, ['Idempotency-Key: k']))).headers.get('should-retry')).toBe('true');
    expectRecord(await ask(bare('GET', `${TRANSFER}/tr_1`)), 500, 'unknown_get_transfer');
    expect(reports.map(({ moneyMoved }) => moneyMoved)).toEqual(['unknown', 'unknown', undefined]);
    expect(reports.every(({ cause }) => cause !== undefined)).toBe(true);
  });

  it('is also caught if it is thrown synchronously, or if the handler returns no reply', async () => {
    const bad: unknown[] = [{}, { json: 5 }, undefined, { record: { self: circular } }];
    for (const reply of bad) {
      const { ask } = await serve(fakeGateway({ create_transfer: (() => reply) as never }));
      expectRecord(await ask(post(BODY)), 500, 'unknown_create_transfer');
    }
  });

  it('reports whether it moved money', async () => {
    const failure = new OperationFailure('not settled', { moneyMoved: 'unknown', transferId: 'tr_77' });
    const { ask } = await serve(throwing(failure));
    const response = await ask(post(BODY));
    expectRecord(response, 500, 'unknown_create_transfer');
    expect(response.headers.get('transfer-id')).toBe('tr_77');
    expect(messageOf(response)).toContain('could not be confirmed');
    expect(messageOf(response)).toContain(`GET ${TRANSFER}/tr_77`);
    const certain = await serve(throwing(new OperationFailure('rolled back', { moneyMoved: 'no' })));
    const second = await certain.ask(post(BODY));
    expect(second.headers.get('money-moved')).toBe('no');
    expect(second.headers.get('should-retry')).toBe('true');
  });

  it('for a change without money, reports that the outcome is unknown and whether to repeat the request', async () => {
    const fail: Handler = () => Promise.reject(new OperationFailure('not settled', { moneyMoved: 'unknown' }));
    const { ask } = await serve(fakeGateway({ create_card: fail, delete_webhook: fail, get_card: fail }));
    const create = (key: readonly string[]) => ask(post('{}', key).toString().replace(TRANSFER, '/api/v0.1/core/card'));
    const found: (readonly unknown[])[] = [];
    for (const response of [
      await create([]),
      await create(['Idempotency-Key: k']),
      await ask(bare('DELETE', '/api/v0.1/core/webhook/wh_1')),
      await ask(bare('GET', '/api/v0.1/core/card/c')),
    ])
      found.push([response.headers.get('should-retry'), response.headers.get('money-moved'), messageOf(response)]);
    const unknown = 'could not be created, or the outcome could not be confirmed.';
    expect(found).toEqual([
      ['false', undefined, expect.stringContaining(`The card ${unknown} Find out whether it took effect`)],
      ['true', undefined, expect.stringContaining(`The card ${unknown} Send exactly the same request again`)],
      [
        'true',
        undefined,
        expect.stringContaining('could not be confirmed. Send exactly the same request again: repeating'),
      ],
      ['true', undefined, expect.stringMatching(/^The card could not be read\. /)],
    ]);
  });

  it('is a 503 with Retry-After if it is due to load', async () => {
    const { ask } = await serve(throwing(new OperationFailure('queue', { busy: true, moneyMoved: 'no' })));
    const response = await ask(post(BODY));
    expectRecord(response, 503, 'service_unavailable');
    expect(messageOf(response)).toContain('The service is overloaded and did not process this request.');
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('money-moved')).toBe('no');
  });

  it('is a 503 with advice if the failure includes some', async () => {
    const failure = new OperationFailure('It took too long.', {
      busy: true,
      moneyMoved: 'no',
      advice: 'Run it on the host.',
    });
    const { ask } = await serve(throwing(failure));
    const response = await ask(post(BODY));
    expectRecord(response, 503, 'service_unavailable');
    expect(messageOf(response)).toMatch(/^It took too long\. Run it on the host\./);
  });

  it('is reported at the timeout if the operation never ends', async () => {
    const settings = { operationTimeoutMilliseconds: 20, operationGraceMilliseconds: 10 };
    const { ask } = await serve(fakeGateway({ create_transfer: () => new Promise(() => undefined) }), { settings });
    const response = await ask(post(BODY, ['Idempotency-Key: k']));
    expectRecord(response, 500, 'unknown_create_transfer');
    expect(response.headers.get('money-moved')).toBe('unknown');
    expect(messageOf(response)).toContain('Send exactly the same request again with the same Idempotency-Key');
  });

  it('does not change the response if it is a failure of the error log', async () => {
    const onError = (): never => {
      throw new Error('The log is full.');
    };
    const { ask } = await serve(throwing(new Error('secret')), { onError, onResponse: onError });
    expectRecord(await ask(post(BODY)), 500, 'unknown_create_transfer');
  });
});
