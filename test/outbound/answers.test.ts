import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Behaviour, listen, OK, perRequest, replying } from './endpoint.ts';
import { countConnections, openTestSender, outcomeOf, sendTo } from './sender.ts';

const ALLOWED = ['127.0.0.1'];

/** Returns the answer to one request from an endpoint with this behavior. */
async function answerOf(behave: Behaviour, limits = {}) {
  const endpoint = await listen(behave);
  const sender = openTestSender({ allowedNetworks: ALLOWED, limits });
  return { endpoint, sender, answer: await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`) };
}

const withBody = (body: string | Buffer, headers = '') => [
  `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
  body,
];

test('a request is a POST with the given headers, without the headers that HTTP sets', async () => {
  const endpoint = await listen((socket, received) => received.endsWith(':1}') && socket.write(OK));
  const sender = openTestSender({ allowedNetworks: ALLOWED });
  const headers = {
    'X-Tenant': 'a',
    'User-Agent': 'Transfer-Service/1',
    HOST: 'other.test',
    'Content-Length': '1',
    'transfer-encoding': 'chunked',
    Connection: 'upgrade',
    Upgrade: 'websocket',
    Expect: '100-continue',
    TE: 'trailers',
  };
  const answer = await sender.send({
    method: 'POST',
    url: `http://127.0.0.1:${endpoint.port}/a?b=%20`,
    headers,
    body: '{"ü":1}',
  });
  expect(outcomeOf(answer)).toBe(200);
  expect(Buffer.from(endpoint.received(), 'latin1').toString()).toBe(
    [
      'POST /a?b=%20 HTTP/1.1',
      'x-tenant: a',
      'user-agent: Transfer-Service/1',
      `host: 127.0.0.1:${endpoint.port}`,
      'content-length: 8',
      'Connection: keep-alive',
      '',
      '{"ü":1}',
    ].join('\r\n'),
  );
});

test('a GET has no body and no length', async () => {
  const endpoint = await listen((socket, received) => received.endsWith('\r\n\r\n') && socket.write(OK));
  const sender = openTestSender({ allowedNetworks: ALLOWED, limits: { maxIdleConnections: 0 } });
  const url = `http://127.0.0.1:${endpoint.port}/health`;
  expect(outcomeOf(await sender.send({ method: 'GET', url, headers: { Accept: '*/*' }, body: '' }))).toBe(200);
  const host = `host: 127.0.0.1:${endpoint.port}`;
  expect(endpoint.received()).toBe(`GET /health HTTP/1.1\r\naccept: */*\r\n${host}\r\nConnection: close\r\n\r\n`);
});

test.each(['x-a: b\r\nx-c: d', 'a\nb', '\0'])('a header with the value %j is never sent', async (value) => {
  const endpoint = await listen(replying(OK));
  const sender = openTestSender({ allowedNetworks: ALLOWED });
  const url = `http://127.0.0.1:${endpoint.port}/`;
  const answer = await sender.send({ method: 'POST', url, headers: { 'x-a': value }, body: '' });
  expect(answer).toMatchObject({
    error: 'url_refused',
    message: expect.stringMatching(/^The request cannot be sent: /),
  });
  expect(endpoint.received()).toBe('');
});

describe('an answer', () => {
  test.each([200, 201, 204, 299, 300, 304, 400, 404, 410, 429, 500, 503, 599, 999])(
    'is returned if it has the status %i',
    async (status) => {
      const { answer } = await answerOf(replying(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`));
      expect(answer).toMatchObject({ status, error: null, address: '127.0.0.1', bodyStart: '', retryAfter: null });
      expect(answer.milliseconds).toBeGreaterThanOrEqual(0);
    },
  );

  test.each([301, 302, 303, 307, 308])('is not followed if it is a redirect with status %i', async (status) => {
    const other = await listen(replying(OK));
    const connections = countConnections();
    const location = `http://127.0.0.1:${other.port}/`;
    const { answer } = await answerOf(
      replying(
        `HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\nRefresh: 0;url=${location}\r\nContent-Length: 0\r\n\r\n`,
      ),
    );
    expect(outcomeOf(answer)).toBe(status);
    expect([connections(), other.connections()]).toEqual([1, 0]);
  });

  test('contains Retry-After as the endpoint wrote it', async () => {
    const { answer } = await answerOf(replying('HTTP/1.1 503 Busy\r\nRetry-After:  120 \r\nContent-Length: 0\r\n\r\n'));
    expect(answer).toMatchObject({ status: 503, retryAfter: '120' });
  });

  test.each([
    ['from HTTP/1.0 and ends with its connection', ['HTTP/1.0 200 OK\r\n\r\n', 'ended']],
    ['without a length and ends with its connection', ['HTTP/1.1 200 OK\r\n\r\n', 'ended']],
  ])('is complete if it is %s', async (_, [head = '', body = '']) => {
    const { answer } = await answerOf(
      perRequest((socket) => {
        socket.write(head);
        socket.end(body);
      }),
    );
    expect(answer).toMatchObject({ status: 200, bodyStart: 'ended' });
  });

  test('is read if it has chunks and a trailer', async () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const { answer } = await answerOf(replying(head, '3\r\nabc\r\n', '2;x=y\r\nde\r\n', '0\r\nX-Trailer: 1\r\n\r\n'));
    expect(answer).toMatchObject({ status: 200, bodyStart: 'abcde' });
  });

  test('may follow a thousand responses with status 100, 102 or 103', async () => {
    const early = ['100 Continue', '102 Processing', '103 Early Hints\r\nLink: </a>'];
    const lines = Array.from({ length: 1000 }, (_, index) => `HTTP/1.1 ${early[index % 3]}\r\n\r\n`);
    const { answer } = await answerOf(replying(lines.join(''), ...withBody('done')));
    expect(answer).toMatchObject({ status: 200, bodyStart: 'done' });
  });

  test('with status 101 changes the protocol, so its connection is closed', async () => {
    const { answer, endpoint } = await answerOf(
      replying('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', 'anything'),
    );
    expect(outcomeOf(answer)).toBe(101);
    await expect.poll(endpoint.open).toBe(0);
  });

  test.each<[string, Buffer | string, string]>([
    ['text', 'ok €', 'ok €'],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0xff, 0xfe, 0x62]), 'a\uFFFD\uFFFDb'],
    ['NUL, which PostgreSQL does not store', 'a\0b', 'a\uFFFDb'],
    ['the limit', 'x'.repeat(1024), 'x'.repeat(1024)],
    ['more', 'x'.repeat(1025), 'x'.repeat(1024)],
    ['a character that crosses the limit', `${'x'.repeat(1022)}€€`, 'x'.repeat(1022)],
    ['a long character that crosses the limit', `${'x'.repeat(1021)}😀`, 'x'.repeat(1021)],
    ['replacement characters, which take more bytes', Buffer.alloc(1024, 0xff), '\uFFFD'.repeat(341)],
    ['NUL only', Buffer.alloc(2000), '\uFFFD'.repeat(341)],
  ])('is stored as text of at most 1 KB: %s', async (_, body, kept) => {
    const { answer } = await answerOf(replying(...withBody(body)));
    expect(answer).toMatchObject({ status: 200, bodyStart: kept });
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(1024);
  });
});

test.each([
  ['all of it', 1024, 1024],
  ['nothing of a longer answer', 1025, undefined],
  ['nothing of a cut answer', 20_000, undefined],
])('the bytes of an answer are returned completely or not at all: %s', async (_, sent, given) => {
  const { answer } = await answerOf(replying(...withBody(Buffer.alloc(sent, 0xff))));
  expect('body' in answer && answer.body?.length).toBe(given);
});

describe('a sender reads at most 16 KB', () => {
  /** Writes for as long as the client reads. */
  const endless = (head: string, part: string) =>
    perRequest((socket: Socket) => {
      socket.write(head);
      const more = (): void => {
        while (!socket.destroyed && socket.write(part));
        socket.once('drain', more);
      };
      more();
    });

  test.each([
    ['without a length', 'HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(1000)],
    ['of a great length', 'HTTP/1.1 200 OK\r\nContent-Length: 9007199254740991\r\n\r\n', 'x'.repeat(1000)],
    ['in endless chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', `3e8\r\n${'x'.repeat(1000)}\r\n`],
    ['in tiny chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
  ])('of an answer %s, counts the answer, and closes the connection', async (_, head, part) => {
    const { answer, endpoint } = await answerOf(endless(head, part));
    expect(answer).toMatchObject({ status: 200, bodyStart: 'x'.repeat(1024) });
    await expect.poll(endpoint.open).toBe(0);
  });

  test.each([
    ['one huge header', (size: number) => `X-A: ${'x'.repeat(size)}\r\n`],
    ['many headers', (size: number) => 'X-A: b\r\n'.repeat(size / 4)],
    ['a huge reason', (size: number) => `X-A: ${'b '.repeat(size / 2)}\r\n`],
  ])('of a head, and treats an answer with %s as invalid HTTP', async (_, headers) => {
    const { answer, endpoint } = await answerOf(replying('HTTP/1.1 200 OK\r\n', headers(20_000), '\r\n'));
    expect(answer).toMatchObject({
      error: 'connection_lost',
      message: 'The response is not valid HTTP: HPE_HEADER_OVERFLOW.',
      address: '127.0.0.1',
    });
    await expect.poll(endpoint.open).toBe(0);
  });

  test('of headers that do not end, and closes the connection', async () => {
    const { answer } = await answerOf(endless('HTTP/1.1 200 OK\r\n', 'X-A: b\r\n'));
    expect(outcomeOf(answer)).toBe('connection_lost');
  });

  test('but reads endless 1xx statuses until the timeout', async () => {
    const { answer } = await answerOf(endless('', 'HTTP/1.1 102 Processing\r\n\r\n'), {
      answerTimeoutMilliseconds: 200,
    });
    expect(outcomeOf(answer)).toBe('answer_timeout');
  });
});

describe('an answer that does not arrive times out', () => {
  const silences: readonly (readonly [string, Behaviour])[] = [
    ['nothing is received', () => undefined],
    ['the status line is not complete', replying('HTTP/1.1 2')],
    ['the headers do not end', replying('HTTP/1.1 200 OK\r\nX-A: b\r\n')],
    ['the body does not begin', replying('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n')],
    ['the body does not end', replying('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n', 'ab')],
    ['a chunk does not end', replying('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '5\r\nab')],
    ['the last chunk is missing', replying('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '2\r\nab\r\n')],
    ['only 100 is received', replying('HTTP/1.1 100 Continue\r\n\r\n')],
  ];

  test.each(silences)('when %s', async (_, behave) => {
    const { answer, endpoint } = await answerOf(behave, { answerTimeoutMilliseconds: 200 });
    expect(answer).toMatchObject({
      error: 'answer_timeout',
      message: 'There was no complete response within 0.2 seconds.',
    });
    // The timer and the clock count whole milliseconds, so the result can be almost two milliseconds early.
    expect(answer.milliseconds).toBeGreaterThanOrEqual(198);
    await expect.poll(endpoint.open).toBe(0);
  });

  test.each([
    ['headers', 'HTTP/1.1 200 OK\r\nX-A: '],
    ['a body', 'HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n'],
  ])('even if %s arrive byte by byte', async (_, head) => {
    const drip = perRequest((socket) => {
      socket.write(head);
      const timer = setInterval(() => socket.write('x'), 20);
      socket.once('close', () => clearInterval(timer));
    });
    const { answer, endpoint } = await answerOf(drip, { answerTimeoutMilliseconds: 300 });
    expect(outcomeOf(answer)).toBe('answer_timeout');
    await expect.poll(endpoint.open).toBe(0);
  });
});

describe('a lost connection does not count as an answer', () => {
  const heads: readonly (readonly [string, string])[] = [
    ['after the request', ''],
    ['in the status line', 'HTTP/1.1 2'],
    ['in the headers', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['after the headers', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n'],
    ['in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab'],
    ['in a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab'],
    ['before the last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n'],
    ['after 100', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ];

  test.each(heads)('when the connection is reset %s', async (_, head) => {
    const reset = perRequest((socket) => {
      if (head === '') socket.resetAndDestroy();
      else socket.write(head, () => setImmediate(() => socket.resetAndDestroy()));
    });
    const { answer } = await answerOf(reset);
    expect(answer).toMatchObject({ error: 'connection_lost', message: expect.stringMatching(/: [A-Z_]+\.$/) });
  });

  test.each(heads)('when the connection is ended %s', async (_, head) => {
    const { answer } = await answerOf(perRequest((socket) => socket.end(head)));
    expect(answer).toMatchObject({ error: 'connection_lost', message: expect.stringMatching(/: [A-Z_]+\.$/) });
  });

  test('when the connection is reset while the request is sent', async () => {
    const endpoint = await listen((socket) => socket.resetAndDestroy());
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    const url = `http://127.0.0.1:${endpoint.port}/`;
    const answer = await sender.send({ method: 'POST', url, headers: {}, body: 'x'.repeat(50_000_000) });
    expect(outcomeOf(answer)).toBe('connection_lost');
  });

  test.each(['SSH-2.0-OpenSSH_9.9\r\n', '+OK redis\r\n', '\0\x01\x02', '<html>', '\r\n\r\nx'])(
    'when %j arrives, which is not HTTP',
    async (text) => {
      const { answer, endpoint } = await answerOf(perRequest((socket) => socket.end(text)));
      expect(outcomeOf(answer)).toBe('connection_lost');
      expect(JSON.stringify(answer)).not.toContain('SSH');
      await expect.poll(endpoint.open).toBe(0);
    },
  );

  test.each([
    ['two lengths', 'Content-Length: 1\r\nContent-Length: 2\r\n'],
    ['a length and chunks', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'],
    ['a length that is not a number', 'Content-Length: 1x\r\n'],
  ])('when the answer has %s', async (_, headers) => {
    const { answer } = await answerOf(replying(`HTTP/1.1 200 OK\r\n${headers}\r\n`, '0\r\n\r\n'));
    expect(answer).toMatchObject({ error: 'connection_lost', message: expect.stringMatching(/not valid HTTP/) });
  });
});

test('an endpoint where nothing listens is reported', async () => {
  // Only root may listen on port 1, so nothing does.
  expect(await sendTo(openTestSender({ allowedNetworks: ALLOWED }), 'http://127.0.0.1:1/')).toMatchObject({
    error: 'connection_refused',
    message: 'No connection could be established: ECONNREFUSED.',
    address: '127.0.0.1',
  });
});
