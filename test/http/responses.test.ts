import { describe, expect, it } from 'vitest';
import { Refusal } from '../../domain/refusal.ts';
import type { Gateway, Handler } from '../../server/calls/call.ts';
import type { HttpOptions, ResponseEntry } from '../../server/http/server.ts';
import { DEMO_PROGRAM, fakeGateway, nextTaken, serve } from '../harness/http-server.ts';
import { waitFor } from '../harness/process.ts';
import { bare, post } from '../harness/raw-connection.ts';

const BODY = '{"amount":1000,"card_id":"card_1"}';
const TRANSFER = '/api/v0.1/core/transfer';
const EXPORT = `${TRANSFER}/export`;
const EVENTS = '/api/v0.1/core/event';
const BATCH = `${TRANSFER}/batch`;
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Starts a server that records the entries of its responses. */
async function listening(gateway: Gateway = fakeGateway(), options: HttpOptions = {}) {
  const entries: ResponseEntry[] = [];
  const started = await serve(gateway, { onResponse: (entry) => void entries.push(entry), ...options });
  /** Returns the only entry. Closes the connections first, so that no other entry can follow. */
  const only = async (): Promise<ResponseEntry> => {
    await waitFor('the entry', async () => entries.length > 0);
    await started.server.close();
    expect(entries).toHaveLength(1);
    return entries[0] as ResponseEntry;
  };
  return { entries, only, ...started };
}

const replying = (handler: Handler, id: keyof Gateway['handlers'] = 'create_transfer'): Gateway =>
  fakeGateway({ [id]: handler });

/** Returns an export of one line, followed by the result of `next`. */
const exporting = (next: () => Promise<IteratorResult<string, void>>): Gateway =>
  replying(async () => ({ csv: { fileName: 'a.csv', first: 'a\r\n', rest: { next } } }), 'export_transfers');

const nothing: ResponseEntry = {
  requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  method: undefined,
  path: undefined,
  operation: undefined,
  status: 400,
  code: 'malformed_request',
  isStray: false,
  milliseconds: 0,
  programId: undefined,
  keyId: undefined,
  moneyMoved: undefined,
  traceparent: undefined,
};

const create: ResponseEntry = {
  ...nothing,
  method: 'POST',
  path: TRANSFER,
  operation: 'create_transfer',
  status: 201,
  code: undefined,
  milliseconds: expect.any(Number),
  programId: DEMO_PROGRAM,
};

describe('a response has one entry', () => {
  it('for a success, with the key and the trace', async () => {
    const { ask, only } = await listening(replying(async () => ({ json: '{"transfer_id":"tr_1"}' })));
    const { headers } = await ask(post(BODY, ['Authorization: Bearer program', `traceparent: ${TRACE}`]));
    const entry = await only();
    expect(entry).toEqual({ ...create, keyId: 'k2', traceparent: TRACE });
    expect(headers.get('request-id')).toBe(`req_${entry.requestId.replaceAll('-', '')}`);
    expect(entry.milliseconds).toBeGreaterThan(0);
  });

  it('for a refusal', async () => {
    const { ask, only } = await listening();
    await ask(post('{'));
    expect(await only()).toEqual({ ...create, status: 400, code: 'create_transfer_schema', moneyMoved: 'no' });
  });

  it('for a fault', async () => {
    const { ask, only } = await listening(replying(() => Promise.reject(new Error('secret'))));
    await ask(post(BODY));
    expect(await only()).toEqual({ ...create, status: 500, code: 'unknown_create_transfer', moneyMoved: 'unknown' });
  });

  it('for a path with an id, without the id', async () => {
    const { ask, only } = await listening();
    await ask(bare('GET', `${TRANSFER}/tr_1?secret=1`));
    const path = `${TRANSFER}/{transfer_id}`;
    expect(await only()).toEqual({ ...create, method: 'GET', path, operation: 'get_transfer', status: 200 });
  });

  it('for a request that is refused before its route is looked up', async () => {
    const { ask, only } = await listening();
    await ask(bare('GET', `${TRANSFER}/tr_1`, []));
    const path = `${TRANSFER}/{transfer_id}`;
    const refused = { method: 'GET', path, operation: 'get_transfer', status: 400, programId: undefined } as const;
    expect(await only()).toEqual({ ...create, ...refused, code: 'malformed_request', moneyMoved: undefined });
  });

  it.each([
    ['/', '/'],
    ['/health/live', '/health/live'],
    ['/health/ready', '/health/ready'],
    ['/errors/route_not_found', '/errors/:code'],
  ])('for the page %s', async (target, path) => {
    const { ask, only } = await listening();
    await ask(bare('GET', target));
    const code = undefined;
    expect(await only()).toEqual({
      ...nothing,
      method: 'GET',
      path,
      status: 200,
      code,
      milliseconds: expect.any(Number),
    });
  });

  it.each([
    ['/api/v0.1/core/secret', false],
    ['/secret', true],
  ])('for the path %s, which has no route, without naming the path', async (target, isStray) => {
    const { ask, only } = await listening();
    await ask(bare('GET', target));
    const found = { method: 'GET', status: 404, code: 'route_not_found', milliseconds: expect.any(Number) } as const;
    expect(await only()).toEqual({ ...nothing, ...found, isStray });
  });

  it('for bytes that are not HTTP', async () => {
    const { ask, only } = await listening();
    await ask('secret\r\n\r\n');
    expect(await only()).toEqual(nothing);
  });

  it('for CONNECT', async () => {
    const { ask, only } = await listening();
    await ask(bare('CONNECT', 'localhost:80'));
    expect(await only()).toEqual({ ...nothing, status: 405, code: 'method_not_allowed' });
  });

  it('for an error from Node', async () => {
    const { ask, only } = await listening();
    await ask(bare('GET', '/health/live', ['Host: localhost', 'Expect: secret']));
    const refused = { method: 'GET', status: 417, code: 'expectation_failed' } as const;
    expect(await only()).toMatchObject(refused);
  });

  it('for an error that a route wrote directly', async () => {
    const { ask, only } = await listening(undefined, {
      extend: (router) =>
        router.add(['GET'], { pattern: '/page', serve: ({ response }) => response.writeHead(502).end('secret') }),
    });
    await ask(bare('GET', '/page'));
    expect(await only()).toMatchObject({ method: 'GET', path: '/page', status: 500, code: 'unknown_request' });
  });

  it('for a success that a route wrote directly', async () => {
    const { ask, only } = await listening(undefined, {
      extend: (router) => router.add(['GET'], { pattern: '/page', serve: ({ response }) => response.end('text') }),
    });
    await ask(bare('GET', '/page'));
    expect(await only()).toMatchObject({ method: 'GET', path: '/page', status: 200, code: undefined });
  });

  it('for a batch with refused rows, with the code in the error log', async () => {
    const refusedRow = {
      thrown: new Refusal('card_closed', 'The card is closed.'),
      idempotencyKey: null,
      index: 0,
      refused: 1,
    };
    const handler: Handler = async () => ({ json: '{"results":[]}', refusedRow });
    const { ask, only, reports } = await listening(replying(handler, 'create_transfer_batch'));
    const body = `{"transfers":[${BODY}]}`;
    await ask(`POST ${BATCH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    const entry = await only();
    const expected = {
      operation: 'create_transfer_batch',
      status: 200,
      code: 'card_closed',
      moneyMoved: undefined,
    } as const;
    expect(entry).toMatchObject(expected);
    expect(reports.map(({ requestId, code }) => ({ requestId, code }))).toEqual([
      { requestId: entry.requestId, code: entry.code },
    ]);
  });

  it('for an operation that misses its deadline, and none for its late reply', async () => {
    const settings = { operationTimeoutMilliseconds: 20, operationGraceMilliseconds: 10 };
    const late = Promise.withResolvers<{ json: string }>();
    const { ask, only } = await listening(
      replying(() => late.promise),
      { settings },
    );
    await ask(post(BODY));
    late.resolve({ json: '{}' });
    expect(await only()).toMatchObject({ status: 500, code: 'unknown_create_transfer', moneyMoved: 'unknown' });
  });
});

describe('a response that is sent in pieces has one entry', () => {
  it('when an export is complete', async () => {
    const { connect, only } = await listening(exporting(async () => ({ done: true, value: undefined })));
    const connection = await connect(bare('GET', EXPORT));
    await waitFor('the entry', async () => connection.received.includes('\r\n0\r\n\r\n'));
    expect(await only()).toMatchObject({ operation: 'export_transfers', status: 200, code: undefined });
  });

  it('when an export is cut off, with the code in the error log', async () => {
    const { connect, only } = await listening(exporting(() => Promise.reject(new Error('secret'))));
    await (await connect(bare('GET', EXPORT))).rest();
    expect(await only()).toMatchObject({ status: 200, code: 'unknown_export_transfers' });
  });

  it('when the reader of a stream disconnects', async () => {
    const stream = {
      first: 'id: 1\n\n',
      read: async () => '',
      forNews: (_: number, signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve());
          setTimeout(resolve, 10);
        }),
      pulse: () => '',
    };
    const { connect, entries, only } = await listening(replying(async () => ({ stream }), 'list_events'));
    const connection = await connect(bare('GET', EVENTS, ['Host: localhost', 'Accept: text/event-stream']));
    await waitFor('the entry', async () => connection.received.includes('id: 1'));
    expect(entries).toEqual([]);
    connection.close();
    expect(await only()).toMatchObject({ operation: 'list_events', path: EVENTS, status: 200, code: undefined });
  });
});

describe('a request that its caller abandons', () => {
  /** Returns an operation that waits until the test lets it reply. */
  const held = async () => {
    const begun = Promise.withResolvers<void>();
    const reply = Promise.withResolvers<{ json: string }>();
    const handler: Handler = () => {
      begun.resolve();
      return reply.promise;
    };
    const started = await listening(replying(handler));
    const connection = await started.connect(post(BODY));
    await begun.promise;
    const finish = (): void => reply.resolve({ json: '{"transfer_id":"tr_1"}' });
    return { ...started, connection, finish };
  };

  it('has one entry without a status, even if the operation succeeds later', async () => {
    const { connection, entries, only, finish } = await held();
    connection.socket.resetAndDestroy();
    await waitFor('the entry', async () => entries.length > 0);
    finish();
    expect(await only()).toEqual({ ...create, status: undefined });
  });

  it('gets its response as usual if the caller only stops sending', async () => {
    const { connection, only, finish } = await held();
    connection.close();
    finish();
    expect(await only()).toEqual(create);
  });

  it('has one entry without a status if its body is incomplete', async () => {
    const { connect, only } = await listening(undefined, { settings: { lingerMilliseconds: 60_000 } });
    const taken = nextTaken();
    const connection = await connect(`POST ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{`);
    const socket = await taken;
    await waitFor('the head', async () => socket.bytesRead > 0);
    connection.socket.resetAndDestroy();
    expect(await only()).toEqual({ ...create, status: undefined });
  });
});

describe('traceparent', () => {
  const ids = '4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7';
  it.each([
    ['sampled', `traceparent: 00-${ids}-01`, `00-${ids}-01`],
    ['not sampled', `traceparent: 00-${ids}-00`, `00-${ids}-00`],
    ['of a later version', `traceparent: 01-${ids}-03-more`, `00-${ids}-01`],
    ['in capitals', `traceparent: 00-${ids.toUpperCase()}-01`, undefined],
    ['of version ff', `traceparent: ff-${ids}-01`, undefined],
    ['with more fields than version 00 has', `traceparent: 00-${ids}-01-more`, undefined],
    ['without a trace', `traceparent: 00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    ['without a span', `traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`, undefined],
    ['with a card number', 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-4111111111111111-01', undefined],
    ['sent twice', `traceparent: 00-${ids}-01\r\nTraceparent: 00-${ids}-01`, undefined],
    ['empty', 'traceparent:', undefined],
  ])('%s: the entry of a request with %j has %j', async (_name, header, expected) => {
    const { ask, only } = await listening();
    expect((await ask(bare('GET', '/health/live', ['Host: localhost', header]))).status).toBe(200);
    expect((await only()).traceparent).toBe(expected);
  });
});
