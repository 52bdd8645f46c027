import { afterEach, describe, expect, it } from 'vitest';
import { expectRecord } from '../harness/expect-record.ts';
import { fakeGateway, startServer, type TestServer } from '../harness/http-server.ts';
import { type RawAnswer, RawConnection } from '../harness/raw-connection.ts';

const TRANSFER = '/api/v0.1/core/transfer';
const BATCH = `${TRANSFER}/batch`;

/** Time of the processor that any of this may take: a thousand times what it does; a quadratic algorithm takes minutes. */
const QUICK_US = 20_000_000;

let started: TestServer | undefined;
const open: RawConnection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) connection.close();
  await started?.server.close();
  started = undefined;
});

async function serve(settings: Parameters<typeof startServer>[1] = {}): Promise<TestServer> {
  started = await startServer(fakeGateway(), settings);
  return started;
}

async function connect(port: number): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  open.push(connection);
  return connection;
}

async function ask(port: number, bytes: string): Promise<RawAnswer> {
  const connection = await connect(port);
  connection.send(bytes);
  return connection.next();
}

function post(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The answer to a request, which must come quickly, and a neighbour's, who must not notice. */
async function askQuickly(port: number, bytes: string): Promise<RawAnswer> {
  const began = process.cpuUsage();
  const [answer, neighbour] = await Promise.all([
    ask(port, bytes),
    ask(port, `GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n`),
  ]);
  expect(neighbour.status).toBe(200);
  expect(process.cpuUsage(began).user).toBeLessThan(QUICK_US);
  return answer;
}

describe('callers who send slowly on purpose', () => {
  const settings = {
    headTimeoutMilliseconds: 1_500,
    requestTimeoutMilliseconds: 2_000,
    timeoutCheckIntervalMilliseconds: 20,
  };

  it.each([
    ['a head', `GET ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nX-Padding: `],
    ['a body', `POST ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n{"x":"`],
    ['chunks', `POST ${TRANSFER} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ])('are cut off although %s keeps coming, two hundred of them, and nobody else waits', async (what, start) => {
    const { port } = await serve({ settings });
    const slow = await Promise.all(Array.from({ length: 200 }, () => connect(port)));
    for (const connection of slow) connection.send(start);
    const drip = setInterval(() => {
      for (const { socket } of slow) if (socket.writable) socket.write(what === 'chunks' ? '1\r\nx\r\n' : 'x');
    }, 50);
    try {
      const neighbour = await ask(port, post(TRANSFER, '{"amount":1,"card_id":"c"}'));
      expect(neighbour.status).toBe(200);
      for (const connection of slow) expectRecord(await connection.next(), 408, 'request_timeout');
      // Not one of them holds its connection any longer.
      await Promise.all(slow.map((connection) => connection.rest()));
    } finally {
      clearInterval(drip);
    }
  });
});

describe('a body made to be slow', () => {
  it.each([
    ['brackets', '['.repeat(500_000)],
    ['nested objects', '{"a":'.repeat(100_000)],
    ['nested objects that end', `${'{"a":'.repeat(90_000)}1${'}'.repeat(90_000)}`],
    ['quotation marks', '"'.repeat(1_000_000)],
    ['backslashes', `{"a":"${'\\'.repeat(1_000_001)}"}`],
    ['a number of a million digits', `{"transfers":${'9'.repeat(1_000_000)}}`],
    ['blanks', ' '.repeat(1_048_000)],
    ['card numbers that are none', `{"a":"${'4111111111111112 '.repeat(60_000)}"}`],
    ['single digits', `{"a":"${'1 '.repeat(500_000)}"}`],
  ])('of %s is refused quickly', async (_, body) => {
    const { port } = await serve();
    const answer = await askQuickly(port, post(BATCH, body));
    expect([answer.status, answer.headers.get('error-code')]).toEqual([400, 'create_transfer_batch_schema']);
    expect(answer.body.length).toBeLessThan(1_000);
  });

  it.each([
    ['in order', (at: number) => String(at)],
    ['far apart', (at: number) => String((at * 65_537) % 4_294_967_291)],
    ['of one length', (at: number) => `k${String(at * 7_919).padStart(9, '0')}`],
    ['that differ at the end', (at: number) => `${'a'.repeat(3)}${at}`],
  ])('of as many names as fit, %s, is read quickly', async (_, name) => {
    const { port } = await serve();
    const names: string[] = [];
    for (let at = 0, bytes = 0; bytes < 1_000_000; at += 1) {
      names.push(`"${name(at)}":0`);
      bytes += names.at(-1)?.length ?? 0;
      bytes += 1;
    }
    const unknown = await askQuickly(port, post(BATCH, `{${names.join(',')}}`));
    expectRecord(unknown, 400, 'create_transfer_batch_schema');
    const ignored = await askQuickly(port, post(BATCH, `{"transfers":[{}],${names.join(',')}}`));
    expect(ignored.status).toBe(200);
    expect(ignored.headers.get('ignored-fields')?.length).toBeLessThan(1_000);
  });

  it('of names that collide in the tables of other languages is read quickly', async () => {
    const { port } = await serve();
    // "Aa" and "BB" have one hash in Java and PHP 5; so have all strings made of them.
    const names = Array.from({ length: 2 ** 14 }, (_, at) =>
      Array.from({ length: 14 }, (__, bit) => ((at >> bit) & 1 ? 'Aa' : 'BB')).join(''),
    );
    const body = `{"transfers":[{}],${names.map((name) => `"${name}":0`).join(',')}}`;
    expect((await askQuickly(port, post(BATCH, body))).status).toBe(200);
  });
});

describe('a head made to be slow', () => {
  const request = (target: string, headers: readonly string[] = []): string =>
    `GET ${target} HTTP/1.1\r\n${['Host: localhost', ...headers].join('\r\n')}\r\n\r\n`;

  it.each([
    ['a thousand parameters', `${TRANSFER}?${Array.from({ length: 1_000 }, (_, at) => `p${at}=`).join('&')}`, 200],
    ['a query of escapes', `${TRANSFER}?a=${'%41'.repeat(2_500)}`, 200],
    ['a query of broken escapes', `${TRANSFER}?a=${'%'.repeat(7_000)}`, 400],
    ['a path of slashes', '/'.repeat(7_500), 404],
    ['a path of dots', `/${'../'.repeat(2_400)}`, 404],
  ])('with %s is answered quickly', async (_, target, status) => {
    const { port } = await serve();
    expect((await askQuickly(port, request(target))).status).toBe(status);
  });

  it.each([
    ['ten thousand headers', Array.from({ length: 10_000 }, (_, at) => `X-${at}: a`), 431],
    ['a thousand short headers', Array.from({ length: 1_000 }, () => 'a: b'), 431],
    ['one header of a megabyte', [`X: ${'a'.repeat(1_000_000)}`], 431],
    ['cookies', Array.from({ length: 95 }, (_, at) => `Cookie: c${at}=${'x'.repeat(60)}`), 200],
  ])('with %s is answered quickly', async (_, headers, status) => {
    const { port } = await serve();
    expect((await askQuickly(port, request(TRANSFER, headers))).status).toBe(status);
  });

  it('of a hundred callers at once, each with headers without end, leaves the service well', async () => {
    const { port } = await serve();
    const flood = Array.from({ length: 100 }, async () => {
      const connection = await connect(port);
      connection.send(`GET / HTTP/1.1\r\n${'X-Flood: aaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(5_000)}`);
      return connection.next();
    });
    for (const answer of await Promise.all(flood)) expectRecord(answer, 431, 'headers_too_large');
    expect((await ask(port, request('/health/live'))).status).toBe(200);
  });
});
