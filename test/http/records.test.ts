import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS, isErrorCode } from '../../contract/errors/catalogue.ts';
import type { AnyReply } from '../../server/calls/call.ts';
import { expectRecord, messageOf } from '../harness/expect-record.ts';
import { fakeGateway, type HttpTestServer, serve, startHttpServer } from '../harness/http-server.ts';
import { bare, isListening, type RawConnection, type RawResponse } from '../harness/raw-connection.ts';
import { CASES, type RawCase } from './cases.ts';

const GOOD = bare('GET', '/api/v0.1/core/transfer/tr_1');
function sendCase(connection: RawConnection, sample: RawCase): void {
  connection.send(sample.send);
  if (sample.ends === true) connection.socket.end();
}

function expectHeaders(response: RawResponse, sample: RawCase): void {
  for (const [name, value] of Object.entries(sample.headers ?? {})) expect(response.headers.get(name)).toBe(value);
}

/** Checks that the connection is closed after the response, or that it serves another request. */
async function expectAfterwards(connection: RawConnection, sample: RawCase, response: RawResponse): Promise<void> {
  if (response.headers.get('connection') === 'close') {
    expect(await connection.rest()).toBe('');
    return;
  }
  expect(sample.closes ?? false).toBe(false);
  connection.send(GOOD);
  expect((await connection.next()).status).toBe(200);
}

let server: HttpTestServer;
beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.server.close());

describe('every faulty request gets the error record', () => {
  it.each([
    ['Content-Length: 3', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', 'Content-Length: 3'],
  ])('also if it has the two headers %s and %s, which the message names', async (...headers) => {
    const connection = await server.connect(
      `${bare('POST', '/api/v0.1/core/transfer', ['Host: localhost', ...headers])}3\r\n{ }\r\n0\r\n\r\n`,
    );
    const response = await connection.next();
    expectRecord(response, 400, 'malformed_request');
    expect(messageOf(response)).toContain('both a Content-Length and a Transfer-Encoding (chunked) header');
    expect(messageOf(response)).toContain('Send only one: with both, two servers can disagree');
  });

  it.each([
    [['Content-Length: 3', 'Content-Length: 3'], 'more than one Content-Length'],
    [['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], "'chunked' once"],
  ])('%j: the message names the repeated header', async (headers, says) => {
    const connection = await server.connect(bare('POST', '/api/v0.1/core/transfer', ['Host: localhost', ...headers]));
    expect(messageOf(await connection.next())).toContain(says);
  });

  it('in many cases, each with a unique name', () => {
    expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length);
    expect(CASES.length).toBeGreaterThanOrEqual(60);
  });

  it.each(CASES)('on a fresh connection: $name', async (sample) => {
    const connection = await server.connect();
    sendCase(connection, sample);
    const response = await connection.next(sample.method);
    expectRecord(response, sample.status, sample.code, sample.method);
    expectHeaders(response, sample);
    if (sample.ends !== true) await expectAfterwards(connection, sample, response);
  });

  it.each(CASES)('as the second request on a connection: $name', async (sample) => {
    const connection = await server.connect(GOOD);
    expect((await connection.next()).status).toBe(200);
    sendCase(connection, sample);
    expectRecord(await connection.next(sample.method), sample.status, sample.code, sample.method);
  });

  it.each(CASES)('pipelined after another request: $name', async (sample) => {
    const connection = await server.connect(Buffer.concat([Buffer.from(GOOD), Buffer.from(sample.send)]));
    if (sample.ends === true) connection.socket.end();
    expect((await connection.next()).status).toBe(200);
    expectRecord(await connection.next(sample.method), sample.status, sample.code, sample.method);
  });
});

describe('while the service closes', () => {
  it('every case on an open connection gets a record, and the connection closes', async () => {
    const { promise, resolve } = Promise.withResolvers<AnyReply>();
    const closing = await serve(fakeGateway({ list_cards: () => promise }), {
      // No timeout may close a connection, even if the cases take a long time.
      settings: { maxDrainMilliseconds: 600_000, drainGraceMilliseconds: 0, keepAliveTimeoutMilliseconds: 600_000 },
    });
    const busy = await closing.connect(bare('GET', '/api/v0.1/core/card'));
    const open = await Promise.all(CASES.map(async (sample) => ({ sample, connection: await closing.connect(GOOD) })));
    for (const { connection } of open) expect((await connection.next()).status).toBe(200);
    const closed = closing.server.close();
    await expect.poll(() => isListening(closing.port)).toBe(false);
    for (const { sample, connection } of open) {
      sendCase(connection, sample);
      const response = await connection.next(sample.method);
      const code = sample.codeWhileClosing ?? 'service_unavailable';
      expect([sample.name, response.headers.get('error-code')]).toEqual([sample.name, code]);
      expectRecord(response, isErrorCode(code) ? ERRORS[code].status : 0, code, sample.method);
      expect(response.headers.get('connection')).toBe('close');
      if (code === 'service_unavailable') expect(response.headers.get('retry-after')).toBe('1');
    }
    resolve({ json: '{"held":true}' });
    expect((await busy.next()).body).toBe('{"held":true}');
    await closed;
  });
});
