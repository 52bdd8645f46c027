import { readdirSync, readFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../contract/errors/catalogue.ts';
import { type ErrorCode, OPERATION_IDS, OPERATIONS, precedenceOf } from '../../contract/operations.ts';
import { TransferService } from '../../sdk/client.ts';
import { programKey, withSecret } from '../harness/keys.ts';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import { refusalOf, useService } from '../harness/service.ts';
import { linesOf, lookUp, printFigure, spoolOf, worst } from './log-reader.ts';

const DEMO_PROGRAM = 'prog_019000000000700080000000000000de';
const TRANSFER = OPERATIONS.create_transfer.path;

const service = useService();

type Sent = { readonly requestId: string; readonly status: number; readonly code: string };

async function send(path: string, init: RequestInit = {}): Promise<Sent> {
  const response = await fetch(`${service().url}${path}`, init);
  await response.text();
  return {
    requestId: response.headers.get('request-id') ?? '',
    status: response.status,
    code: response.headers.get('error-code') ?? '',
  };
}

/** Sends any bytes, and reads the response until the service closes the connection. */
function sendBytes(bytes: string): Promise<Sent> {
  const { hostname, port } = new URL(service().url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connectSocket(Number(port), hostname, () => socket.write(bytes, 'latin1'));
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      const header = (name: string): string => new RegExp(`^${name}: (.*)\r$`, 'im').exec(text)?.[1] ?? '';
      resolve({ requestId: header('request-id'), status: Number(text.slice(9, 12)), code: header('error-code') });
    });
  });
}

function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

function patch(body: unknown): RequestInit {
  return { ...post(body), method: 'PATCH' };
}

/** Waits until the errors of earlier responses are stored. */
async function settle(): Promise<void> {
  const { requestId } = await send('/api/settled');
  await lookUp(service().client, requestId);
}

describe('the error log finds every error within a second of its response', () => {
  test('for each code of an operation', async () => {
    const provoked: (readonly [code: string, sent: Promise<Sent>])[] = [];
    const delays: number[] = [];
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      const id = OPERATION_IDS.find((operation) => precedenceOf(operation).includes(code));
      if (id === undefined) continue;
      const { method, path, idempotency } = OPERATIONS[id];
      const url = path.replaceAll(/\{[a-z_]+\}/g, 'x');
      const key = idempotency === 'required' ? { 'Idempotency-Key': code } : undefined;
      const headers = { 'Sandbox-Provoke': code, ...key };
      provoked.push([code, send(url, method === 'GET' ? { headers } : { ...post({}, headers), method })]);
      if (provoked.length % 8 !== 0) continue;
      const sent = await Promise.all(provoked.slice(-8).map(([, one]) => one));
      const found = await Promise.all(sent.map(({ requestId }) => lookUp(service().client, requestId)));
      delays.push(...found.map(({ afterMilliseconds }) => afterMilliseconds));
    }
    for (const [code, sent] of provoked) {
      const { requestId, status } = await sent;
      const { error } = await lookUp(service().client, requestId);
      expect(error).toMatchObject({ request_id: requestId, code, status, type: ERRORS[code as ErrorCode].type });
    }
    expect(provoked.length).toBeGreaterThan(60);
    printFigure('errors of an operation, the slowest found after', worst(delays), 'ms');
  });

  test.each<[string, () => Promise<Sent>]>([
    ['route_not_found', () => send('/api/v0.1/core/nowhere')],
    ['route_not_found', () => send('/behind/a/proxy/api/v9/core/transfer', { method: 'POST' })],
    ['method_not_allowed', () => send(TRANSFER, { method: 'DELETE' })],
    ['malformed_request', () => send(`${TRANSFER}/%zz`)],
    ['malformed_request', () => sendBytes('nonsense\r\n\r\n')],
    ['malformed_request', () => sendBytes('\x16\x03\x01\x02\x00\x01\x00')],
    ['headers_too_large', () => sendBytes(`GET / HTTP/1.1\r\nHost: localhost\r\nA: ${'x'.repeat(17_000)}\r\n\r\n`)],
    [
      'expectation_failed',
      () => sendBytes('GET / HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\nConnection: close\r\n\r\n'),
    ],
    ['unauthenticated', () => send(TRANSFER, { headers: { authorization: 'Bearer nonsense' } })],
    ['forbidden', () => send(TRANSFER, { headers: { origin: 'https://example.com' } })],
    ['unsupported_media_type', () => send(TRANSFER, post('<x/>', { 'content-type': 'text/xml' }))],
    ['payload_too_large', () => send(TRANSFER, post({ x: 'x'.repeat(170_000) }))],
    ['create_transfer_schema', () => send(TRANSFER, post({ amount: 1 }))],
    ['invalid_amount', () => send(TRANSFER, post({ amount: 8.5, card_id: 'card_active' }))],
    ['card_not_found', () => send('/api/v0.1/core/card/card_nowhere')],
    ['card_closed', () => send(TRANSFER, post({ amount: 1, card_id: 'card_closed' }))],
    ['amount_too_small', () => send(TRANSFER, post({ amount: 99, card_id: 'card_limited' }))],
    ['amount_too_large', () => send(TRANSFER, post({ amount: 10_001, card_id: 'card_limited' }))],
    ['limit_exceeded', () => send(TRANSFER, post({ amount: 1, card_id: 'card_full' }))],
    ['transfer_not_found', () => send(`${TRANSFER}/tr_missing/capture`, post({}))],
    ['reversal_not_found', () => send('/api/v0.1/core/reversal/rev_missing')],
    ['invalid_card_status', () => send('/api/v0.1/core/card/card_closed', patch({ status: 'active' }))],
    ['card_not_empty', () => send('/api/v0.1/core/card/card_inactive', patch({ status: 'closed' }))],
  ])('for the real cause of %s', async (code, provoke) => {
    const sent = await provoke();
    const { error, afterMilliseconds } = await lookUp(service().client, sent.requestId);
    expect(error).toMatchObject({ code, request_id: sent.requestId, status: sent.status });
    expect(sent.code).toBe(code);
    printFigure(code, afterMilliseconds, 'ms until found');
  });
});

test('shows the trace of a request wherever its error can be read', async () => {
  const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const { client } = service();
  const { requestId } = await send('/api/v0.1/core/card/card_traced', { headers: { traceparent: trace } });
  expect((await lookUp(client, requestId)).error.traceparent).toBe(trace);
  expect((await client.errors.get(requestId)).traceparent).toBe(trace);
  // Filters by a card, because each look-up that finds nothing stores a newer error.
  const card = { card_id: 'card_traced' };
  for (const { data } of [await client.errors.list(card), await client.errors.search(card)]) {
    expect(data.find((error) => error.request_id === requestId)?.traceparent).toBe(trace);
  }
  const untraced = await send('/api/v0.1/core/card/card_traced', { headers: { traceparent: 'nonsense' } });
  expect((await lookUp(client, untraced.requestId)).error.traceparent).toBeNull();
});

test('records the first 200 characters of an unknown path', async () => {
  const path = `/api/nowhere/${'x'.repeat(5_000)}`;
  const { error } = await lookUp(service().client, (await send(path)).requestId);
  expect(error.path).toBe(path.slice(0, 200));
});

test('records a refusal with everything known about the request', async () => {
  const body = {
    amount: 700,
    card_id: 'card_empty',
    type: 'unload',
    description: 'for lunch',
    metadata: { b: '1', a: '2' },
  };
  const refused = await refusalOf(service().client.transfers.create(body as never, { idempotencyKey: 'order-17' }));
  const { error } = await lookUp(service().client, refused.requestId);
  expect(error).toEqual({
    request_id: refused.requestId,
    created_at: expect.stringMatching(/^20\d\d-/),
    operation: 'create_transfer',
    code: 'insufficient_funds',
    status: 409,
    type: 'Request Error',
    message: refused.Message,
    field: '/amount',
    method: 'POST',
    path: TRANSFER,
    card_id: 'card_empty',
    transfer_id: null,
    idempotency_key: 'order-17',
    key_id: null,
    money_moved: 'no',
    request: { ...body, amount: '700' },
    program_id: DEMO_PROGRAM,
    caller: 'sandbox',
    checks: { account: 'card', available: '0', amount: '700' },
    causes: [],
    traceparent: null,
  });
  expect(Math.abs(Date.parse(error.created_at) - Date.now())).toBeLessThan(60_000);
});

test('records a refused capture with its transfer, amount and checks', async () => {
  const { client } = service();
  const body = { amount: 500, card_id: 'card_active', capture: 'manual' } as const;
  const { transfer_id } = await client.transfers.create(body);
  const tooMuch = await refusalOf(client.transfers.capture(transfer_id, { amount: 501 }, { idempotencyKey: 'room-7' }));
  expect((await lookUp(client, tooMuch.requestId)).error).toMatchObject({
    operation: 'capture_transfer',
    code: 'amount_too_large',
    field: '/amount',
    method: 'POST',
    path: OPERATIONS.capture_transfer.path,
    idempotency_key: 'room-7',
    money_moved: 'no',
    transfer_id,
    request: { transfer_id, amount: '501' },
    checks: { held: '500', amount: '501' },
    causes: [],
  });
  await client.transfers.cancel(transfer_id);
  const tooLate = await refusalOf(client.transfers.capture(transfer_id));
  expect((await lookUp(client, tooLate.requestId)).error).toMatchObject({
    code: 'invalid_transfer_status',
    status: 409,
    checks: { status: 'canceled', command: 'capture' },
  });
});

test('records an ambiguous failure with the transfer that may exist and the thrown error', async () => {
  const headers = { 'Sandbox-Provoke': 'unknown_create_transfer; money_moved=unknown' };
  const response = await fetch(`${service().url}${TRANSFER}`, post({ amount: 1, card_id: 'card_active' }, headers));
  const { error } = await lookUp(service().client, response.headers.get('request-id') ?? '');
  expect(error).toMatchObject({
    code: 'unknown_create_transfer',
    status: 500,
    type: 'Server Error',
    money_moved: 'unknown',
    transfer_id: response.headers.get('transfer-id'),
    causes: [{ name: 'OperationFailure', message: 'provoked' }],
  });
  expect(error.causes[0]?.stack[0]).toMatch(/^at provoke /);
});

describe('card programs', () => {
  test('find only their own errors', async () => {
    const { client, url } = service();
    const { program_id } = await client.programs.create({ name: 'Gifts', currency: 'USD' });
    const { key } = await withSecret(client.keys.create(programKey('shop', program_id)));
    const own = new TransferService({ baseUrl: url, key, maxRetries: 0, timeoutMilliseconds: 120_000 });
    const mine = await refusalOf(own.cards.get('card_active'));
    const theirs = await refusalOf(client.cards.get('card_nowhere'));
    const withoutProgram = await send('/api/nowhere');
    for (const { requestId } of [mine, theirs, withoutProgram]) await lookUp(client, requestId);

    const shown = await own.errors.get(mine.requestId);
    expect(shown).toMatchObject({ request_id: mine.requestId, code: 'card_not_found', operation: 'get_card' });
    expect(Object.keys(shown)).not.toContain('causes');
    expect(Object.keys(shown)).not.toContain('checks');
    expect(Object.keys(shown)).not.toContain('caller');

    const never = 'req_01a1fb99f33475829e5a6cdb072c0ea9';
    const missing = await refusalOf(own.errors.get(never));
    for (const { requestId } of [theirs, withoutProgram]) {
      const refused = await refusalOf(own.errors.get(requestId));
      expect([refused.Status, refused.Code, refused.Type]).toEqual([missing.Status, missing.Code, missing.Type]);
      expect(refused.Message).toBe(missing.Message.replace(never, requestId));
    }
    await settle();
    const { data } = await own.errors.list();
    expect(data.map(({ code }) => code)).toEqual([
      'error_not_found',
      'error_not_found',
      'error_not_found',
      'card_not_found',
    ]);
    expect((await refusalOf(client.errors.get(mine.requestId))).Code).toBe('error_not_found');
    expect((await client.errors.get(mine.requestId, { programId: program_id })).request_id).toBe(mine.requestId);
    const found = await client.errors.search({ program_id });
    expect(found.data.map(({ caller }) => caller)).toContain('program_key');

    const calls = [() => own.errors.inspect(mine.requestId), () => own.errors.search(), () => own.errors.count()];
    for (const call of calls) {
      expect((await refusalOf(call())).Code).toBe('forbidden');
    }
  });

  test('have their errors counted together for operators', async () => {
    await settle();
    const counts = await service().client.errors.count();
    const { data, dropped } = await service().client.errors.search({ code: 'route_not_found', limit: 100 });
    expect(counts.data.find(({ code }) => code === 'route_not_found')).toMatchObject({ type: 'Request Error' });
    const sum = counts.data
      .filter(({ code }) => code === 'route_not_found')
      .reduce((total, { count }) => total + count, 0);
    expect(sum).toBe(data.length);
    expect([counts.dropped, dropped]).toEqual([0, 0]);
  });
});

/** A key whose public part is a long number, which is masked like a card number in every path. */
const KEY_OF_DIGITS = `ts_1234567812345678_${'ab1c'.repeat(18)}`;

describe('tables, spools and logs', () => {
  const NUMBERS = ['4111111111111111', '5500 0000 0000 0004', '3782-822463-10005', '6011.0009.9013.9424'];
  /** Patterns that find each number in the database, in a log or in a file, however its digits are grouped. */
  const traces = NUMBERS.map((number) => new RegExp([...number.replaceAll(/[^0-9]/g, '')].join('[^0-9a-z]{0,3}')));

  test('contain no card numbers or keys from any part of a request', async () => {
    const { client } = service();
    const { key } = await withSecret(client.keys.create(programKey('shop', DEMO_PROGRAM)));
    const wrongKey = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    await plant(key, wrongKey);
    await settle();
    await client.sandbox.stopDatabase();
    await plant(key, wrongKey);
    // Errors are spooled in order, so all earlier errors are spooled too.
    const { requestId } = await send('/api/planted');
    const last = requestId.slice('req_'.length);
    await waitFor('the spool to be written', async () =>
      linesOf(spoolOf(service().directory)).some((line) => line.replaceAll('-', '').includes(last)),
    );
    const spool = readAll(`${service().directory}/error-spool`);
    expect(spool).toContain('[redacted]');
    expectClean('the spool', spool, key);
    await client.sandbox.startDatabase();
    await settle();

    const { databaseUrl } = await embeddedServerOf(service().directory);
    const database = new pg.Client(databaseUrl);
    await database.connect();
    const { rows } = await database.query('select * from error');
    await database.end();
    const table = JSON.stringify(rows);
    expect(table).toContain('[redacted]');
    expectClean('the table', table, key);
    expectClean('the log', service().output(), key);
  });

  async function plant(key: string, wrongKey: string): Promise<void> {
    const planted: Promise<Sent>[] = [];
    for (const number of NUMBERS) {
      const member = { amount: 1, card_id: 'card_closed' };
      planted.push(
        send(TRANSFER, post({ ...member, description: `pan ${number}`, metadata: { [number]: 'x', pan: number } })),
        send(TRANSFER, post({ ...member, card_id: number })),
        send(
          TRANSFER,
          post({ ...member, reference: `${number},${number}` }, { 'idempotency-key': number.replaceAll(' ', '-') }),
        ),
        send(TRANSFER, post({ ...member, type: number })),
        send(TRANSFER, post({ ...member, amount: number })),
        send(TRANSFER, post({ ...member, [number]: 1, Amount: number })),
        send(`/api/v0.1/core/card/${encodeURIComponent(number)}`),
        send(`/api/nowhere/${encodeURIComponent(number)}?pan=${encodeURIComponent(number)}`),
        send(`/api/v0.1/core/transfer?status=${encodeURIComponent(number)}`),
        send(`/errors/${encodeURIComponent(number)}`),
      );
    }
    for (const secret of [key, wrongKey, KEY_OF_DIGITS]) {
      planted.push(
        send(TRANSFER, { ...post({ amount: 1 }), headers: { authorization: `Bearer ${wrongKey}` } }),
        send(TRANSFER, post({ amount: 1 }, { authorization: `Bearer ${key}` })),
        send(TRANSFER, post({ amount: 1, card_id: secret, description: `Authorization: Bearer ${secret}` })),
        send(`/api/nowhere/${secret}`),
        send(`/api/v0.1/core/card/${secret}`),
      );
    }
    for (const { status } of await Promise.all(planted)) expect(status).toBeGreaterThanOrEqual(400);
  }

  function expectClean(where: string, text: string, key: string): void {
    for (const trace of traces) expect([where, trace.exec(text)?.[0]]).toEqual([where, undefined]);
    const secret = key.split('_')[2] ?? '';
    expect([where, text.indexOf(KEY_OF_DIGITS.slice(-60))]).toEqual([where, -1]);
    expect(secret).toHaveLength(72);
    const at = text.indexOf(secret.slice(0, 60));
    expect([where, at === -1 ? '' : text.slice(Math.max(0, at - 100), at + 20)]).toEqual([where, '']);
  }

  function readAll(path: string): string {
    const entries = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return entries.map((entry) => readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8')).join('\n');
  }
});
