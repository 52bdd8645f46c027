import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUE, isErrorCode } from '../../domain/errors.ts';
import { bare, CASES, type RawCase } from './cases.ts';
import { fakeGateway, startServer, type TestServer } from './fake-gateway.ts';
import { type RawAnswer, RawConnection } from './raw-connection.ts';

const GOOD = bare('GET', '/api/v0.1/core/transfer/tr_1');
const INTERNAL = /\bat .*:\d+|node:|FST_|HPE_|ERR_|ECONN|secret|Error:|undefined|\[object/;

/** What every error answer must be, whatever brought it about. */
function expectRecord(answer: RawAnswer, status: number, code: string, method = 'GET'): void {
  expect(answer.headers.get('error-code')).toBe(code);
  expect(answer.statusLine).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z][A-Za-z' -]+$`));
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('link')).toBe(`</errors/${code}>; rel="describedby"`);
  expect(answer.headers.get('should-retry')).toMatch(/^(true|false)$/);
  for (const value of answer.headers.values()) expect(value).not.toMatch(/411111/);
  if (method === 'HEAD') {
    expect(answer.body).toBe('');
    return;
  }
  expect(Number(answer.headers.get('content-length'))).toBe(Buffer.byteLength(answer.body));
  const record: unknown = JSON.parse(answer.body);
  expect(Object.keys(Object(record))).toEqual(['Message', 'Status', 'Code', 'Type']);
  if (!isErrorCode(code)) throw new Error(`${code} is not in the catalogue`);
  expect(record).toMatchObject({ Status: status, Code: code, Type: CATALOGUE[code].type });
  expect(answer.body).not.toMatch(INTERNAL);
  expect(answer.body).not.toMatch(/[0-9]{8}(?![0-9a-f]*\.)/);
  const says = /contact support \(support@example\.com\) and quote the request id req_[0-9a-f]{32}/;
  if (CATALOGUE[code].type === 'Request Error') expect(answer.body).not.toMatch(/contact support/);
  else expect(answer.body).toMatch(says);
}

function sendCase(connection: RawConnection, sample: RawCase): void {
  connection.send(sample.send);
  if (sample.ends === true) connection.socket.end();
}

function expectHeaders(answer: RawAnswer, sample: RawCase): void {
  for (const [name, value] of Object.entries(sample.headers ?? {})) expect(answer.headers.get(name)).toBe(value);
}

/** The connection is closed after the answer, or takes another request. */
async function expectAfterwards(connection: RawConnection, sample: RawCase, answer: RawAnswer): Promise<void> {
  if (answer.headers.get('connection') === 'close') {
    expect(await connection.rest()).toBe('');
    return;
  }
  expect(sample.closes ?? false).toBe(false);
  connection.send(GOOD);
  expect((await connection.next()).status).toBe(200);
}

let fresh: TestServer;

beforeAll(async () => {
  fresh = await startServer(fakeGateway());
});

afterAll(async () => {
  await fresh.server.close();
});

describe('every fault of a request is answered with the error record', () => {
  it('has enough cases, each with a name of its own', () => {
    expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length);
    expect(CASES.length).toBeGreaterThanOrEqual(60);
  });

  it.each(CASES)('on a fresh connection: $name', async (sample) => {
    const connection = await RawConnection.open(fresh.port);
    sendCase(connection, sample);
    const answer = await connection.next(sample.method);
    expectRecord(answer, sample.status, sample.code, sample.method);
    expectHeaders(answer, sample);
    if (sample.ends !== true) await expectAfterwards(connection, sample, answer);
    connection.close();
  });

  it.each(CASES)('as the second request on a connection: $name', async (sample) => {
    const connection = await RawConnection.open(fresh.port);
    connection.send(GOOD);
    expect((await connection.next()).status).toBe(200);
    sendCase(connection, sample);
    expectRecord(await connection.next(sample.method), sample.status, sample.code, sample.method);
    connection.close();
  });

  it.each(CASES)('pipelined behind another request: $name', async (sample) => {
    const connection = await RawConnection.open(fresh.port);
    connection.send(Buffer.concat([Buffer.from(GOOD), Buffer.from(sample.send)]));
    if (sample.ends === true) connection.socket.end();
    expect((await connection.next()).status).toBe(200);
    expectRecord(await connection.next(sample.method), sample.status, sample.code, sample.method);
    connection.close();
  });
});

describe('while the service closes', () => {
  it('answers every case on an open connection with a record, and closes the connection', async () => {
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const handler = async () => {
      await held;
      return { status: 200 as const, body: '{"held":true}' };
    };
    const closing = await startServer(fakeGateway({ list_cards: handler }), { settings: { drainMost_ms: 60_000 } });
    const busy = await RawConnection.open(closing.port);
    busy.send(bare('GET', '/api/v0.1/core/card'));
    const open = await Promise.all(
      CASES.map(async (sample) => ({ sample, connection: await RawConnection.open(closing.port) })),
    );
    for (const { connection } of open) {
      connection.send(GOOD);
      expect((await connection.next()).status).toBe(200);
    }
    const closed = closing.server.close();
    for (const { sample, connection } of open) {
      sendCase(connection, sample);
      const answer = await connection.next(sample.method);
      const code = sample.codeWhileClosing ?? 'service_unavailable';
      expectRecord(answer, isErrorCode(code) ? CATALOGUE[code].status : 0, code, sample.method);
      expect(answer.headers.get('connection')).toBe('close');
      if (code === 'service_unavailable') expect(answer.headers.get('retry-after')).toBe('1');
      connection.close();
    }
    letGo();
    expect((await busy.next()).body).toBe('{"held":true}');
    await closed;
    busy.close();
  });
});
