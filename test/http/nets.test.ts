import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { catalogueRecord, ERRORS } from '../../contract/errors/catalogue.ts';
import { type AnyCall, CallerGone, type Handler } from '../../server/calls/call.ts';
import type { Router } from '../../server/http/router.ts';
import { createHttpServer, type ResponseEntry } from '../../server/http/server.ts';
import { ErrorRecordResponse } from '../../server/http/wire/record-response.ts';
import { expectRecord, messageOf } from '../harness/expect-record.ts';
import { fakeGateway, serve } from '../harness/http-server.ts';
import { bare, post, RawConnection } from '../harness/raw-connection.ts';

type Serve = (response: ServerResponse) => void;

/** Pages that send forbidden responses. */
const badPages: readonly [name: string, status: number, code: string, serve: Serve][] = [
  [
    'throws',
    500,
    'unknown_request',
    () => {
      throw new Error('secret');
    },
  ],
  [
    'throws null',
    500,
    'unknown_request',
    () => {
      throw null;
    },
  ],
  [
    'throws a string',
    500,
    'unknown_request',
    () => {
      throw 'secret';
    },
  ],
  [
    'sends its own 404',
    404,
    'route_not_found',
    (response) => response.writeHead(404, { 'Content-Type': 'text/html' }).end('<b>secret</b>'),
  ],
  ['sends an empty 400', 400, 'malformed_request', (response) => response.writeHead(400).end()],
  [
    'sends a status outside the catalog',
    400,
    'malformed_request',
    (response) => response.writeHead(418, { 'Content-Type': 'application/json' }).end('{"tea":"secret"}'),
  ],
  [
    'streams an error',
    500,
    'unknown_request',
    (response) => void Readable.from(['sec', 'ret']).pipe(response.writeHead(502)),
  ],
  [
    'has a secret in its reason phrase',
    500,
    'unknown_request',
    (response) => {
      response.writeHead(500, 'secret', {
        'X-Secret': 'secret',
        'Content-Encoding': 'gzip',
        'Transfer-Encoding': 'chunked',
      });
      response.flushHeaders();
      response.write('sec', () => response.end(Buffer.from('ret')));
    },
  ],
  [
    'sends a record of the wrong status',
    409,
    'card_suspected_fraud',
    (response) => {
      response.statusCode = 409;
      response.end(JSON.stringify({ Message: 'x', Status: 409, Code: 'card_suspected_fraud', Type: 'Request Error' }));
    },
  ],
  [
    'sends members in a different order',
    404,
    'route_not_found',
    (response) => {
      response.writeHead(404, ['X-Secret', 'secret']);
      response.end('{"Status":404,"Message":"secret","Code":"route_not_found","Type":"Request Error"}');
    },
  ],
];

/** Returns a function that adds a page that writes its response directly. */
const page = (serve: Serve) => (router: Router) =>
  router.add(['GET'], { pattern: '/page', serve: ({ response }) => serve(response) });

describe('a response without an error record', () => {
  it.each(badPages)('is replaced by the record if a page %s', async (_name, status, code, write) => {
    const { ask } = await serve(undefined, { extend: page(write) });
    const response = await ask(bare('GET', '/page'));
    if (code === 'card_suspected_fraud') {
      expect(response.body).toBe('{"Message":"x","Status":409,"Code":"card_suspected_fraud","Type":"Request Error"}');
      expect(response.headers.get('error-code')).toBe(code);
      return;
    }
    expectRecord(response, status, code);
    expect(response.headers.has('x-secret') || response.headers.has('transfer-encoding')).toBe(false);
    expect(response.statusLine).not.toContain('secret');
  });

  it('is unchanged if it is a success, except for the added standard headers', async () => {
    const extend = page((response) =>
      response.writeHead(200, { 'Content-Type': 'text/html', 'Content-Length': 12 }).end('<p>hello</p>'),
    );
    const response = await (await serve(undefined, { extend })).ask(bare('GET', '/page'));
    expect([response.status, response.body]).toEqual([200, '<p>hello</p>']);
    expect(response.headers.get('request-id')).toMatch(/^req_/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('is replaced when Node refuses requests above the maximum per connection', async () => {
    const { connect } = await serve(undefined, { settings: { maxRequestsPerConnection: 1 } });
    const connection = await connect(bare('GET', '/health/live').repeat(2));
    expect((await connection.next()).status).toBe(200);
    expect(
      await connection.next().then(
        ({ status }) => status,
        () => 'closed',
      ),
    ).toSatisfy((status) => status === 503 || status === 'closed');
  });

  it('is also replaced on a plain Node server', async () => {
    const server = createServer({ ServerResponse: ErrorRecordResponse }, (_request, response) => response.end('fine'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
    const address = server.address();
    const connection = await RawConnection.open(typeof address === 'object' ? (address?.port ?? 0) : 0);
    connection.send('GET / HTTP/1.1\r\n\r\n');
    const response = await connection.next();
    expect(Object.keys(JSON.parse(response.body))).toEqual(['Message', 'Status', 'Code', 'Type']);
    expect(response.headers.get('error-code')).toBe('unknown_request');
  });
});

describe('a timeout', () => {
  it('ends a request whose head does not arrive', async () => {
    const { ask } = await serve(undefined, {
      settings: { headTimeoutMilliseconds: 100, requestTimeoutMilliseconds: 200, timeoutCheckIntervalMilliseconds: 20 },
    });
    expectRecord(await ask('GET / HT'), 408, 'request_timeout');
  });

  it('closes a connection without a request, and reports no error', async () => {
    const settings = {
      headTimeoutMilliseconds: 100,
      requestTimeoutMilliseconds: 200,
      timeoutCheckIntervalMilliseconds: 20,
    };
    const entries: ResponseEntry[] = [];
    const { ask, connect, reports } = await serve(undefined, { settings, onResponse: (entry) => entries.push(entry) });
    const idle = await connect();
    expect(await idle.rest()).toBe('');
    expectRecord(await ask('G'), 408, 'request_timeout');
    expect([reports.length, entries.map(({ code }) => code)]).toEqual([1, ['request_timeout']]);
  });

  it("ends a request whose body does not arrive, and is reported with the request's operation", async () => {
    // This is enough time for the head, which arrives completely.
    const settings = {
      headTimeoutMilliseconds: 1_500,
      requestTimeoutMilliseconds: 1_500,
      timeoutCheckIntervalMilliseconds: 20,
    };
    const { ask, reports } = await serve(undefined, { settings });
    const response = await ask(
      'POST /api/v0.1/core/transfer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{',
    );
    expectRecord(response, 408, 'request_timeout');
    expect(response.headers.get('money-moved')).toBe('no');
    expect(reports.map(({ operation }) => operation)).toEqual(['create_transfer']);
  });

  it('does not affect health checks, and neither does the limit on requests in flight', async () => {
    const waiting = fakeGateway({ list_cards: () => new Promise(() => undefined) });
    const { ask, connect } = await serve(waiting, { settings: { maxRequestsInFlight: 1, maxDrainMilliseconds: 0 } });
    await connect(bare('GET', '/api/v0.1/core/card'));
    while ((await ask(bare('GET', '/health/live'))).status !== 200)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const response = await ask(post('{}'));
    expectRecord(response, 503, 'service_unavailable');
    expect(response.headers.get('money-moved')).toBe('no');
  });
});

describe('a caller that disconnects', () => {
  it.each(['/api/v0.1/core/card', '/api/v0.1/core/transfer/export'])(
    'is visible to the operation on %s, and is not reported as an error',
    async (path) => {
      const begun = Promise.withResolvers<AnyCall>();
      const stopped = Promise.withResolvers<never>();
      const handler: Handler = (call) => {
        begun.resolve(call);
        const rest = { next: () => stopped.promise };
        return path.endsWith('export') ? Promise.resolve({ csv: { fileName: 'x', first: '', rest } }) : stopped.promise;
      };
      const { ask, connect, reports } = await serve(fakeGateway({ list_cards: handler, export_transfers: handler }));
      const caller = await connect(bare('GET', path));
      const call = await begun.promise;
      expect(call.isGone?.(true)).toBe(false);
      caller.socket.resetAndDestroy();
      await expect.poll(() => call.isGone?.(false)).toBe(true);
      stopped.reject(new CallerGone('gone'));
      await ask(bare('GET', '/health/live'));
      expect(reports).toEqual([]);
    },
  );

  it('may have only half-closed the connection, and then gets the reason', async () => {
    const begun = Promise.withResolvers<AnyCall>();
    const stopped = Promise.withResolvers<never>();
    const handler: Handler = (call) => {
      begun.resolve(call);
      return stopped.promise;
    };
    const { connect } = await serve(fakeGateway({ list_cards: handler }));
    const caller = await connect(bare('GET', '/api/v0.1/core/card'));
    const call = await begun.promise;
    caller.socket.end();
    await expect.poll(() => call.isGone?.(true)).toBe(true);
    expect(call.isGone?.(false)).toBe(false);
    stopped.reject(new CallerGone('gone'));
    expectRecord(await caller.next(), 503, 'service_unavailable');
  });

  it('counts as disconnected if its response is too late', async () => {
    const begun = Promise.withResolvers<AnyCall>();
    const handler: Handler = (call) => {
      begun.resolve(call);
      return new Promise(() => undefined);
    };
    const settings = { operationTimeoutMilliseconds: 10, operationGraceMilliseconds: 10, maxDrainMilliseconds: 0 };
    const { ask } = await serve(fakeGateway({ list_cards: handler }), { settings });
    expectRecord(await ask(bare('GET', '/api/v0.1/core/card')), 500, 'unknown_list_cards');
    expect((await begun.promise).isGone?.(false)).toBe(true);
  });
});

describe('excessive load', () => {
  it('is shed when the event loop lags', async () => {
    const { ask } = await serve(undefined, { settings: { overloadDelayMilliseconds: 1e-9 } });
    let response = await ask(bare('GET', '/api/v0.1/core/card'));
    while (response.status === 200) response = await ask(bare('GET', '/api/v0.1/core/card'));
    expectRecord(response, 503, 'service_unavailable');
    expect((await ask(bare('GET', '/health/live'))).status).toBe(200);
  });

  it('is refused early for a body that is far too large, and the refusal arrives', async () => {
    const { connect } = await serve();
    const connection = await connect(
      'POST /api/v0.1/core/transfer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n',
    );
    connection.send(Buffer.alloc(8_000_000, ' '));
    const response = await connection.next();
    expectRecord(response, 413, 'payload_too_large');
    expect(response.headers.get('connection')).toBe('close');
  });

  it('is refused for endless chunks, and the refusal arrives', async () => {
    const { connect } = await serve(undefined, { settings: { maxDiscardedBytes: 100_000 } });
    const connection = await connect(
      'POST /api/v0.1/core/transfer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    connection.send('400\r\n'.concat(' '.repeat(1024), '\r\n').repeat(1000));
    expectRecord(await connection.next(), 413, 'payload_too_large');
  });
});

describe('closing', () => {
  it('cuts off unfinished requests with a response', async () => {
    const gateway = fakeGateway({ create_transfer: () => new Promise(() => undefined) });
    const { server, port, ask, connect } = await serve(gateway, {
      settings: { maxDrainMilliseconds: 30, drainGraceMilliseconds: 1 },
    });
    const [inHandler, inBody, inHead, idle] = await Promise.all([1, 2, 3, 4].map(() => connect()));
    if (!inHandler || !inBody || !inHead || !idle) throw new Error('There are four connections.');
    for (const connection of [inHandler, inBody, inHead, idle]) {
      connection.send(bare('GET', '/health/live'));
      await connection.next();
    }
    inBody.send('POST /api/v0.1/core/transfer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{');
    inHead.send('GET /api/v0.1/core/tra');
    inHandler.send(post('{"amount":1,"card_id":"c"}'));
    // By the time a fourth request gets its response, the server has read all three.
    await ask(bare('GET', '/health/live'));
    const closed = server.close();
    expectRecord(await inHandler.next(), 500, 'unknown_create_transfer');
    expectRecord(await inBody.next(), 503, 'service_unavailable');
    expectRecord(await inHead.next(), 503, 'service_unavailable');
    expect(await idle.rest()).toBe('');
    for (const connection of [inHandler, inBody, inHead]) expect(await connection.rest()).toBe('');
    await closed;
    await server.close();
    await expect(RawConnection.open(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('closing a connection', () => {
  it('does not execute a request pipelined after the last response', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const keys: (string | null)[] = [];
    const create: Handler = async ({ idempotencyKey }) => {
      keys.push(idempotencyKey);
      await held;
      return { json: '{}' };
    };
    const { server, connect } = await serve(fakeGateway({ create_transfer: create }), {
      settings: { maxDrainMilliseconds: 600_000 },
    });
    const transfer = (key: string): Buffer => post('{"amount":1,"card_id":"c"}', [`Idempotency-Key: ${key}`]);
    const connection = await connect(Buffer.concat([transfer('first'), transfer('second')]));
    while (keys.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const closed = server.close();
    release();
    const response = await connection.next();
    expect([response.status, response.headers.get('connection')]).toEqual([201, 'close']);
    expect(await connection.rest()).toBe('');
    await closed;
    expect(keys).toEqual(['first']);
  });
});

describe('listening', () => {
  it('uses one port for several addresses, even without IPv6', async () => {
    const server = createHttpServer(fakeGateway());
    onTestFinished(() => server.close());
    await server.listen({ port: 0, hosts: ['127.0.0.1', '::1', '2001:db8::1'] });
    expect(new Set(server.addresses.map(({ port }) => port)).size).toBe(1);
    for (const { address, port } of server.addresses) {
      const connection = await RawConnection.open(port, address);
      connection.send(bare('GET', '/api/v0.1/core/transfer'));
      expect((await connection.next()).status).toBe(200);
      connection.close();
    }
  });

  it('rejects with EADDRINUSE if the port is in use', async () => {
    const { port } = await serve();
    const second = createHttpServer(fakeGateway());
    await expect(second.listen({ port })).rejects.toMatchObject({ code: 'EADDRINUSE', port });
    await second.close();
  });
});

describe('pages', () => {
  it('show the catalog as data', async () => {
    const { ask } = await serve();
    const list: { data: { code: string }[] } = JSON.parse((await ask(bare('GET', '/errors'))).body);
    expect(list.data.map(({ code }) => code)).toEqual(Object.keys(ERRORS));
    const record = catalogueRecord('insufficient_funds');
    for (const path of [
      '/errors/insufficient_funds',
      '/errors/insufficient_funds.json',
      '/errors/insufficient_funds/',
    ]) {
      expect(JSON.parse((await ask(bare('GET', path))).body)).toEqual(record);
    }
    expect((await ask(bare('HEAD', '/errors'), 'HEAD')).status).toBe(200);
    expectRecord(await ask(bare('GET', '/errors/nothing')), 404, 'route_not_found');
    expectRecord(await ask(bare('POST', '/errors')), 405, 'method_not_allowed');
  });

  it('show the service, its version, liveness and readiness', async () => {
    const { ask } = await serve(undefined, { version: '9.9.9' });
    expect(JSON.parse((await ask(bare('GET', '/'))).body)).toMatchObject({
      service: 'transfer-service',
      version: '9.9.9',
    });
    expect((await ask(bare('GET', '/health/live'))).body).toBe('{"status":"live"}');
    expect((await ask(bare('GET', '/health/ready'))).body).toBe('{"status":"ready"}');
    const down = await serve(fakeGateway({}, { ready: async () => 'database_silent' }));
    const response = await down.ask(bare('GET', '/health/ready'));
    expectRecord(response, 503, 'service_unavailable');
    expect(messageOf(response)).toContain('database');
  });
});
