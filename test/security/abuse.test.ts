import { describe, expect, it } from 'vitest';
import { expectRecord } from '../harness/expect-record.ts';
import { type HttpTestServer, serve } from '../harness/http-server.ts';
import { bare, type RawResponse } from '../harness/raw-connection.ts';

const TRANSFER = '/api/v0.1/core/transfer';
const BATCH = `${TRANSFER}/batch`;

/** A thousand times the CPU time that these requests take. A quadratic algorithm would take minutes. */
const MAX_CPU_MICROSECONDS = 20_000_000;

function post(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Sends a request that must cost little CPU time, together with another request that must succeed. */
async function askQuickly({ ask }: HttpTestServer, bytes: string): Promise<RawResponse> {
  const began = process.cpuUsage();
  const [response, other] = await Promise.all([ask(bytes), ask(bare('GET', '/health/live'))]);
  expect(other.status).toBe(200);
  expect(process.cpuUsage(began).user).toBeLessThan(MAX_CPU_MICROSECONDS);
  return response;
}

describe('callers that send slowly', () => {
  const settings = {
    headTimeoutMilliseconds: 1_500,
    requestTimeoutMilliseconds: 2_000,
    timeoutCheckIntervalMilliseconds: 20,
  };

  it.each([
    ['a head', `GET ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nX-Padding: `],
    ['a body', `POST ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n{"x":"`],
    ['chunks', `POST ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ])(
    'are disconnected while %s keeps arriving from two hundred of them, and others are served',
    async (what, start) => {
      const { ask, connect } = await serve(undefined, { settings });
      const slow = await Promise.all(Array.from({ length: 200 }, () => connect(start)));
      const drip = setInterval(() => {
        for (const { socket } of slow) if (socket.writable) socket.write(what === 'chunks' ? '1\r\nx\r\n' : 'x');
      }, 50);
      try {
        const other = await ask(post(TRANSFER, '{"amount":1,"card_id":"c"}'));
        expect(other.status).toBe(201);
        for (const connection of slow) expectRecord(await connection.next(), 408, 'request_timeout');
        await Promise.all(slow.map((connection) => connection.rest()));
      } finally {
        clearInterval(drip);
      }
    },
  );
});

describe('a body that is meant to be expensive to read', () => {
  it.each([
    ['brackets', '['.repeat(500_000)],
    ['nested objects', '{"a":'.repeat(100_000)],
    ['nested objects with their closing brackets', `${'{"a":'.repeat(90_000)}1${'}'.repeat(90_000)}`],
    ['quotation marks', '"'.repeat(1_000_000)],
    ['backslashes', `{"a":"${'\\'.repeat(1_000_001)}"}`],
    ['a number of a million digits', `{"transfers":${'9'.repeat(1_000_000)}}`],
    ['blanks', ' '.repeat(1_048_000)],
    ['invalid card numbers', `{"a":"${'4111111111111112 '.repeat(60_000)}"}`],
    ['single digits', `{"a":"${'1 '.repeat(500_000)}"}`],
  ])('is refused for little CPU time: %s', async (_, body) => {
    const server = await serve();
    const response = await askQuickly(server, post(BATCH, body));
    expect([response.status, response.headers.get('error-code')]).toEqual([400, 'create_transfer_batch_schema']);
    expect(response.body.length).toBeLessThan(1_000);
  });

  it.each([
    ['in order', (at: number) => String(at)],
    ['far apart', (at: number) => String((at * 65_537) % 4_294_967_291)],
    ['of one length', (at: number) => `k${String(at * 7_919).padStart(9, '0')}`],
    ['that differ at the end', (at: number) => `${'a'.repeat(3)}${at}`],
  ])('takes little CPU time with as many names as fit, %s', async (_, name) => {
    const server = await serve();
    const names: string[] = [];
    for (let at = 0, bytes = 0; bytes < 1_000_000; at += 1) {
      names.push(`"${name(at)}":0`);
      bytes += names.at(-1)?.length ?? 0;
      bytes += 1;
    }
    const unknown = await askQuickly(server, post(BATCH, `{${names.join(',')}}`));
    expectRecord(unknown, 400, 'create_transfer_batch_schema');
    const ignored = await askQuickly(server, post(BATCH, `{"transfers":[{}],${names.join(',')}}`));
    expect(ignored.status).toBe(200);
    expect(ignored.headers.get('ignored-fields')?.length).toBeLessThan(1_000);
  });

  it('takes little CPU time with names that collide in the hash tables of other languages', async () => {
    const server = await serve();
    // "Aa" and "BB" have the same hash in Java and PHP 5. So all strings of the same length that consist of these two
    // also have the same hash.
    const names = Array.from({ length: 2 ** 14 }, (_, at) =>
      Array.from({ length: 14 }, (__, bit) => ((at >> bit) & 1 ? 'Aa' : 'BB')).join(''),
    );
    const body = `{"transfers":[{}],${names.map((name) => `"${name}":0`).join(',')}}`;
    expect((await askQuickly(server, post(BATCH, body))).status).toBe(200);
  });
});

describe('a head that is meant to be expensive to read', () => {
  it.each([
    ['a thousand parameters', `${TRANSFER}?${Array.from({ length: 1_000 }, (_, at) => `p${at}=`).join('&')}`, 200],
    ['a query of escapes', `${TRANSFER}?a=${'%41'.repeat(2_500)}`, 200],
    ['a query of broken escapes', `${TRANSFER}?a=${'%'.repeat(7_000)}`, 400],
    ['a path of slashes', '/'.repeat(7_500), 404],
    ['a path of dots', `/${'../'.repeat(2_400)}`, 404],
  ])('with %s costs little time', async (_, target, status) => {
    expect((await askQuickly(await serve(), bare('GET', target))).status).toBe(status);
  });

  it.each([
    ['ten thousand headers', Array.from({ length: 10_000 }, (_, at) => `X-${at}: a`), 431],
    ['a thousand short headers', Array.from({ length: 1_000 }, () => 'a: b'), 431],
    ['one header of a megabyte', [`X: ${'a'.repeat(1_000_000)}`], 431],
    ['cookies', Array.from({ length: 95 }, (_, at) => `Cookie: c${at}=${'x'.repeat(60)}`), 200],
  ])('with %s costs little time', async (_, headers, status) => {
    expect((await askQuickly(await serve(), bare('GET', TRANSFER, ['Host: localhost', ...headers]))).status).toBe(
      status,
    );
  });

  it('is refused if a hundred callers send it endlessly, and the service keeps running', async () => {
    const { ask } = await serve();
    const flood = Array.from({ length: 100 }, () =>
      ask(`GET / HTTP/1.1\r\n${'X-Flood: aaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(5_000)}`),
    );
    for (const response of await Promise.all(flood)) expectRecord(response, 431, 'headers_too_large');
    expect((await ask(bare('GET', '/health/live'))).status).toBe(200);
  });
});
