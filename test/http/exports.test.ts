import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Refusal } from '../../domain/refusal.ts';
import type { Handler } from '../../server/calls/call.ts';
import type { HttpOptions } from '../../server/http/server.ts';
import { expectRecord, messageOf } from '../harness/expect-record.ts';
import { fakeGateway, type HttpTestServer, nextTaken, serve as startServer } from '../harness/http-server.ts';
import { waitFor } from '../harness/process.ts';
import { bare } from '../harness/raw-connection.ts';

const EXPORT = '/api/v0.1/core/transfer/export';
const GET = bare('GET', EXPORT);
const LIVE = bare('GET', '/health/live');
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** An export whose pieces come from the test. `asked` counts the pieces that the service has requested. */
type Source = { readonly handler: Handler; asked: number; returned: boolean };

/** Returns an export with a first line, followed by the pieces that `next` returns. Undefined ends the export. */
function sourceOf(next: (index: number) => string | undefined | Promise<string | undefined>): Source {
  const source: Source = {
    asked: 0,
    returned: false,
    handler: async () => ({ csv: { fileName: 'lines.csv', first: 'a,b\r\n', rest } }),
  };
  const rest: AsyncIterator<string, void, undefined> = {
    next: async () => {
      source.asked += 1;
      const value = await next(source.asked - 1);
      return value === undefined ? { done: true, value: undefined } : { done: false, value };
    },
    return: async () => {
      source.returned = true;
      return { done: true, value: undefined };
    },
  };
  return source;
}

const pieces = (...texts: readonly string[]) => sourceOf((index) => texts[index]);

const breaking = (...texts: readonly string[]) =>
  sourceOf((index) => {
    if (index < texts.length) return texts[index];
    throw new Error('secret: the store broke');
  });

const serve = ({ handler }: { readonly handler: Handler }, settings: HttpOptions['settings'] = {}) =>
  startServer(fakeGateway({ export_transfers: handler }), { settings });

/** Reads all bytes until the server ends the connection. */
async function everything(started: HttpTestServer, bytes: string): Promise<string> {
  return (await started.connect(bytes)).rest();
}

type Received = { readonly head: string; readonly text: string; readonly isWhole: boolean; readonly after: string };

/** Reads a chunked response as a client does. The response is complete if it ends with an empty chunk. */
function readChunked(received: string): Received {
  const start = received.indexOf('\r\n\r\n') + 4;
  const head = received.slice(0, start);
  let text = '';
  for (let at = start; ; ) {
    const end = received.indexOf('\r\n', at);
    const size = Number.parseInt(received.slice(at, end === -1 ? undefined : end), 16);
    if (end === -1 || received.length < end + 2 + size + 2) return { head, text, isWhole: false, after: '' };
    if (size === 0) return { head, text, isWhole: true, after: received.slice(end + 4) };
    text += received.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}

describe('a complete export', () => {
  it('is sent in chunks with its headers, and ends with the last chunk', async () => {
    const started = await serve(pieces('1,2\r\n', '', '3,4\r\n'));
    const closing = bare('GET', EXPORT, ['Host: localhost', 'Connection: close', 'Request-Id: mine']);
    const { head, text, isWhole, after } = readChunked(await everything(started, closing));
    expect({ text, isWhole, after }).toEqual({ text: 'a,b\r\n1,2\r\n3,4\r\n', isWhole: true, after: '' });
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    const lines = head.toLowerCase().split('\r\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'content-type: text/csv; charset=utf-8; header=present',
        'content-disposition: attachment; filename="lines.csv"',
        'transfer-encoding: chunked',
        'cache-control: no-store',
        'x-content-type-options: nosniff',
        'client-request-id: mine',
      ]),
    );
    expect(head).toMatch(/\r\nRequest-Id: req_[0-9a-f]{32}\r\n/);
    expect(head).not.toMatch(/content-length/i);
    expect(started.reports).toEqual([]);
  });

  it('leaves the connection open for the next request, even a pipelined one', async () => {
    const started = await serve(pieces('1,2\r\n'));
    const received = await everything(
      started,
      `${GET}${bare('GET', '/health/live', ['Host: a', 'Connection: close'])}`,
    );
    const { text, isWhole, after } = readChunked(received);
    expect({ text, isWhole }).toEqual({ text: 'a,b\r\n1,2\r\n', isWhole: true });
    expect(after).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it('reaches a caller that has half-closed the connection', async () => {
    const started = await serve(pieces('1,2\r\n'));
    const connection = await started.connect(GET);
    connection.socket.end();
    expect(readChunked(await connection.rest())).toMatchObject({ text: 'a,b\r\n1,2\r\n', isWhole: true });
  });

  it('is followed by the response to a malformed request that was sent after it', async () => {
    const started = await serve(pieces('1,2\r\n'));
    const { isWhole, after } = readChunked(await everything(started, `${GET}nonsense\r\n\r\n`));
    expect(isWhole).toBe(true);
    expect(after).toMatch(/^HTTP\/1\.1 400 /);
    expect(after).toContain('"Code":"malformed_request"');
  });

  it('returns only headers for HEAD, reads nothing more and keeps the connection', async () => {
    const source = pieces('1,2\r\n');
    const connection = await (await serve(source)).connect(bare('HEAD', EXPORT));
    const head = await connection.next('HEAD');
    expect(head.status).toBe(200);
    expect(head.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    connection.send(LIVE);
    expect((await connection.next()).status).toBe(200);
    expect({ rest: connection.received, asked: source.asked }).toEqual({ rest: '', asked: 0 });
  });
});

describe('an export that is refused', () => {
  it('returns an ordinary error record if its first row cannot be read', async () => {
    const started = await serve({ handler: () => Promise.reject(new Error('secret')) });
    const connection = await started.connect(GET);
    const response = await connection.next();
    expectRecord(response, 500, 'unknown_export_transfers');
    connection.send(LIVE);
    expect((await connection.next()).status).toBe(200);
  });

  it.each(['GET', 'HEAD'])(
    'returns an error record over HTTP/1.0, where the caller could not detect a truncated export: %s',
    async (method) => {
      const source = pieces('1,2\r\n');
      const connection = await (await serve(source)).connect(bare(method, EXPORT).replace('HTTP/1.1', 'HTTP/1.0'));
      const response = await connection.next(method);
      expectRecord(response, 400, 'export_transfers_schema', method);
      if (method === 'GET') expect(messageOf(response)).toMatch(/HTTP\/1\.1/);
      expect(source.asked).toBe(0);
    },
  );
});

describe('an export that fails midway', () => {
  it('is cut off without the last chunk, and its error is logged under its request id', async () => {
    // The connection must end immediately, without waiting for the linger time.
    const started = await serve(breaking('1,2\r\n', '3,4\r\n'), {
      lingerMilliseconds: 60_000,
      maxDrainMilliseconds: 100,
    });
    const received = await everything(started, `${GET}${LIVE}`);
    const { head, text, isWhole } = readChunked(received);
    expect(isWhole).toBe(false);
    expect(received).not.toContain(LAST_CHUNK);
    expect(text).toBe('a,b\r\n1,2\r\n3,4\r\n');
    expect(started.reports).toHaveLength(1);
    const [report] = started.reports;
    expect(report).toMatchObject({ code: 'unknown_export_transfers', status: 500, operation: 'export_transfers' });
    expect(String(report?.cause)).toContain('the store broke');
    expect(head.toLowerCase()).toContain(`request-id: req_${report?.requestId.replaceAll('-', '')}`);
    expect(received).not.toContain('secret');
  });

  it('sends nothing more on the connection', async () => {
    const received = await everything(await serve(breaking('1,2\r\n')), `${GET}nonsense\r\n\r\n`);
    expect(readChunked(received).isWhole).toBe(false);
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  it('is cut off when its key is revoked, before the next piece', async () => {
    const keys = { isValid: true };
    const plain = fakeGateway();
    // The key is revoked while the service loads the second piece.
    const source = sourceOf((index) => {
      if (index === 1) keys.isValid = false;
      return index < 3 ? `${index}\r\n` : undefined;
    });
    const started = await startServer(
      fakeGateway(
        { export_transfers: source.handler },
        {
          authenticate: async (key, deadline) => {
            if (!keys.isValid) throw new Refusal('unauthenticated', 'The API key was revoked.');
            return plain.authenticate(key, deadline);
          },
        },
      ),
    );
    const received = await everything(started, bare('GET', EXPORT, ['Host: a', 'Authorization: Bearer program']));
    expect(readChunked(received)).toMatchObject({ text: 'a,b\r\n0\r\n', isWhole: false });
    expect(started.reports).toMatchObject([{ code: 'unauthenticated', operation: 'export_transfers' }]);
    expect(source.returned).toBe(true);
  });

  it('is cut off when a piece is not read in time', async () => {
    const hanging = sourceOf((index) => (index === 0 ? '1,2\r\n' : new Promise(() => undefined)));
    const started = await serve(hanging, { operationTimeoutMilliseconds: 50, operationGraceMilliseconds: 10 });
    expect(readChunked(await everything(started, GET))).toMatchObject({ text: 'a,b\r\n1,2\r\n', isWhole: false });
    expect(started.reports).toMatchObject([{ code: 'unknown_export_transfers' }]);
    expect(hanging.returned).toBe(true);
  });

  it('is cut off when its caller stops reading', async () => {
    const started = await serve(
      sourceOf(() => 'x'.repeat(1_000_000)),
      { readTimeoutMilliseconds: 50 },
    );
    const connection = await started.connect(GET);
    connection.socket.pause();
    await waitFor('the report', async () => started.reports.length > 0);
    expect(String(started.reports[0]?.cause)).toContain('did not read the export for 50 ms');
    connection.socket.resume();
    expect(readChunked(await connection.rest()).isWhole).toBe(false);
  });
});

describe('a caller of an export', () => {
  it('gets every byte if it reads slowly, while the service buffers at most one piece', async () => {
    const piece = `${'x'.repeat(99_998)}\r\n`;
    let pieces = Number.POSITIVE_INFINITY;
    const source = sourceOf((index) => (index < pieces ? piece : undefined));
    const { port } = await serve(source);
    const taken = nextTaken();
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.pause().write(GET);
    const answering = await taken;
    const left = () => (answering.bytesWritten - answering.writableLength) / piece.length;
    // Waits until the count stops changing, because the kernel's buffers are then full.
    for (let asked = -1, still = 0; still < 20; still += 1) {
      if (asked !== source.asked || answering.writableLength === 0) still = 0;
      ({ asked } = source);
      // One piece may have been written only partially, with its framing.
      expect(asked).toBeLessThanOrEqual(left() + 1);
      expect(answering.writableLength).toBeLessThan(2 * piece.length);
      await delay(10);
    }
    pieces = source.asked + 10;
    let bytes = 0;
    let end = '';
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      end = `${end}${chunk.toString('latin1')}`.slice(-LAST_CHUNK.length);
    });
    socket.resume();
    await waitFor('the end', async () => end === LAST_CHUNK);
    expect(bytes).toBeGreaterThan(pieces * piece.length);
    expect(source.asked).toBe(pieces + 1);
  });

  it('causes no refusals for other callers if it does not read', async () => {
    const source = sourceOf(() => 'x'.repeat(1_000_000));
    const started = await serve(source, { lateAfterMilliseconds: 50, maxLateRequests: 1 });
    const readers = await Promise.all([1, 2, 3].map(() => started.connect(GET)));
    for (const { socket } of readers) socket.pause();
    for (let asked = -1; asked !== source.asked || asked < readers.length; ) {
      asked = source.asked;
      await delay(300);
    }
    expect(await (await started.connect(bare('GET', '/'))).next()).toMatchObject({ status: 200 });
  });

  it('causes no error if it disconnects', async () => {
    const source = sourceOf(async () => {
      await delay(1);
      return 'x'.repeat(10_000);
    });
    const started = await serve(source);
    const connection = await started.connect(GET);
    await waitFor('a start', async () => connection.received.length > 20_000);
    connection.close();
    await waitFor('the end of the export', async () => source.returned);
    const { asked } = source;
    await delay(50);
    expect({ asked: source.asked, reports: started.reports }).toEqual({ asked, reports: [] });
  });
});

describe('while the service closes', () => {
  it('completes an export that ends in time', async () => {
    const source = sourceOf(async (index) => {
      await delay(20);
      return index < 10 ? '1,2\r\n' : undefined;
    });
    const started = await serve(source);
    const connection = await started.connect(GET);
    await waitFor('a start', async () => connection.received.includes('1,2'));
    await started.server.close();
    expect(readChunked(await connection.rest())).toMatchObject({ isWhole: true, after: '' });
    expect(started.reports).toEqual([]);
  });

  it.each([
    ['is read', 10],
    ['waits for its reader', 1_000_000],
  ])('cuts off and reports an endless export that %s', async (_state, size) => {
    const source = sourceOf(async () => {
      await delay(5);
      return 'x'.repeat(size);
    });
    const started = await serve(source, { maxDrainMilliseconds: 200, readTimeoutMilliseconds: 600_000 });
    const connection = await started.connect(GET);
    if (size > 10) connection.socket.pause();
    await waitFor('a start', async () => source.asked > 3);
    // The read timeout is too long to end the export, so the close must have ended it.
    await started.server.close();
    connection.socket.resume();
    expect(readChunked(await connection.rest()).isWhole).toBe(false);
    expect(started.reports).toMatchObject([{ code: 'unknown_export_transfers' }]);
    expect(String(started.reports[0]?.cause)).toContain('The service closed');
  });
});
