import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Answer, Order } from '../../../domain/processors/order.ts';
import { createAuthority } from '../../../test/outbound/certificates.ts';
import { type Behaviour, type Endpoint, listen, perRequest, replying } from '../../../test/outbound/endpoint.ts';
import { startNameServer } from '../../../test/outbound/name-server.ts';
import type { ConnectorSettings } from '../../foundation/connector-settings.ts';
import { verifyNotice } from '../../foundation/signature.ts';
import type { SendLimits } from '../outbound/sender.ts';
import { CONNECTOR_LIMITS, type Connector, openHttpConnector } from './http-connector.ts';

const SECRETS = [0, 1].map(() => `whsec_${randomBytes(32).toString('base64')}`);
const TOKEN = 'tok_secret_of_the_card';

const ORDER: Order = {
  attemptId: 'pat_0196f5c2d9a67c44bd7083a1e95f24c6',
  programId: 'prog_019000000000700080000000000000de',
  transferId: 'tr_0196f5c2d9a17b40a5d2c08e6f1b3a97',
  kind: 'push',
  amount: 1000n,
  currency: 'USD',
  processorToken: TOKEN,
  notAfter: Date.parse('2026-01-31T09:30:00.000Z'),
  isRepeat: false,
  sandboxBehavior: null,
};

const APPROVED = {
  attempt_id: ORDER.attemptId,
  status: 'approved',
  amount: 1000,
  currency: 'USD',
  processor_reference: 'ref-1',
  code: null,
  retry_after_seconds: null,
};

const NOTHING = { processorReference: null, code: null, retryAfterSeconds: null };
const APPROVAL = { ...NOTHING, outcome: 'approved', processorReference: 'ref-1', detail: null };
const unknown = (detail: unknown) => ({ ...NOTHING, outcome: 'unknown', detail });
const notSent = (detail: unknown) => ({ ...NOTHING, outcome: 'not_sent', detail });

/** Time limits that no machine reaches, and no name servers. Tests override them. */
const LIMITS = {
  connectTimeoutMilliseconds: 120_000,
  answerTimeoutMilliseconds: 120_000,
  otherFamilyMilliseconds: 120_000,
  nameServers: ['127.0.0.1:1'],
  hostsFile: '/nonexistent/hosts',
};

type Setup = Partial<ConnectorSettings> & { readonly limits?: Partial<SendLimits> };

function open(url: string, { limits, ...settings }: Setup = {}): Connector {
  const connector = openHttpConnector(
    {
      connectorId: 'test',
      mode: 'sandbox',
      url,
      allowedNetworks: [],
      ca: null,
      secrets: SECRETS,
      traits: {
        hasInquiry: true,
        canResend: false,
        keyMemorySeconds: null,
        settleDelaySeconds: 0,
        notFoundFinalSeconds: 0,
        reversal: 'none',
        readySeconds: 60,
        whenDown: 'refuse',
        maxInFlight: 16,
        settledWithinHours: 48,
      },
      ...settings,
    },
    { limits: { ...CONNECTOR_LIMITS, ...LIMITS, ...limits } },
  );
  onTestFinished(() => connector.close());
  return connector;
}

const http = (status: string, body: string | Buffer, headers = ''): readonly (string | Buffer)[] => [
  `HTTP/1.1 ${status}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
  body,
];
const answering = (body: object): Behaviour => replying(...http('200 OK', JSON.stringify(body)));

async function adapter(behave: Behaviour, setup: Setup = {}) {
  const endpoint = await listen(behave);
  return { endpoint, connector: open(`http://127.0.0.1:${endpoint.port}/v1`, setup) };
}

/** Returns the result of a request to an adapter with this behavior. Checks that the result contains no secret. */
async function answerOf(behave: Behaviour, setup: Setup = {}): Promise<{ answer: Answer; endpoint: Endpoint }> {
  const { endpoint, connector } = await adapter(behave, setup);
  const answer = await connector.send(ORDER);
  expectNoSecret(answer);
  return { answer, endpoint };
}

function expectNoSecret(answer: Answer): void {
  const text = JSON.stringify(answer);
  for (const secret of [TOKEN, ...SECRETS]) expect(text).not.toContain(secret);
  expect(answer.detail?.length ?? 0).toBeLessThanOrEqual(300);
}

/** Verifies a signature of version v2. The signed text begins with the method and the path. */
function verified(headers: Readonly<Record<string, string>>, text: string, secrets: readonly string[]) {
  const { 'webhook-signature': signatures = '' } = headers;
  expect(signatures).toMatch(/^v2,\S+( v2,\S+)*$/);
  const asNotice = { ...headers, 'webhook-signature': signatures.replaceAll('v2,', 'v1,') };
  return verifyNotice(asNotice, text, secrets, Date.now());
}

describe('a request', () => {
  test.each([
    ['send', 'approved'],
    ['inquire', 'not_found'],
    ['reverse', 'reversed'],
  ] as const)(
    'to %s is a signed POST of the order, and the status in the answer is the outcome: %s',
    async (request, status) => {
      const { endpoint, connector } = await adapter(answering({ ...APPROVED, status }));
      expect(await connector[request](ORDER)).toEqual({ ...APPROVAL, outcome: status });
      const [head = '', body = ''] = endpoint.received().split('\r\n\r\n');
      const [line, ...lines] = head.split('\r\n');
      expect(line).toBe(`POST /v1/${request} HTTP/1.1`);
      const headers = Object.fromEntries(lines.map((each) => each.split(': ', 2)));
      expect(headers).toMatchObject({ 'content-type': 'application/json', Connection: 'close' });
      expect(headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/);
      for (const secret of SECRETS) {
        expect(verified(headers, `POST /${request}.${body}`, [secret])).toEqual({ id: headers['webhook-id'] });
      }
      expect(JSON.parse(body)).toEqual({
        attempt_id: ORDER.attemptId,
        program_id: ORDER.programId,
        transfer_id: ORDER.transferId,
        kind: 'push',
        amount: 1000,
        currency: 'USD',
        processor_token: TOKEN,
        not_after: '2026-01-31T09:30:00.000Z',
        repeat: false,
        sandbox_behavior: null,
      });
    },
  );

  test('contains the other fields of an order, with a new message id and on another connection each time', async () => {
    const { endpoint, connector } = await adapter(answering({ ...APPROVED, status: 'pending' }));
    const other = { notAfter: null, isRepeat: true, sandboxBehavior: 'decline=51', kind: 'pull' } as const;
    for (const order of [ORDER, { ...ORDER, ...other }]) expect((await connector.send(order)).outcome).toBe('pending');
    const says = { kind: 'pull', not_after: null, repeat: true, sandbox_behavior: 'decline=51' };
    const [, last = ''] = /(\{[^{}]*\})$/.exec(endpoint.received()) ?? [];
    expect(JSON.parse(last)).toMatchObject(says);
    expect(new Set(endpoint.received().match(/webhook-id: \S+/g)).size).toBe(2);
    expect(endpoint.connections()).toBe(2);
  });

  test('is not sent if its order cannot be written', async () => {
    const { endpoint, connector } = await adapter(answering(APPROVED));
    for (const wrong of [{ amount: 2n ** 53n }, { notAfter: Number.NaN }]) {
      const answer = await connector.send({ ...ORDER, ...wrong });
      expect(answer).toEqual(notSent('The order has a value that cannot be written.'));
    }
    expect(endpoint.connections()).toBe(0);
  });
});

describe('reports that nothing was sent', () => {
  test('if the connection is refused', async () => {
    const { endpoint, connector } = await adapter(() => undefined);
    await endpoint.close();
    const answer = await connector.send(ORDER);
    expect(answer).toEqual(notSent('No connection could be established: ECONNREFUSED.'));
  });

  test('if the name is not found, or the name server does not answer', async () => {
    const { nameServers } = await startNameServer(() => undefined);
    expect(await open('https://adapter.test', { limits: { nameServers } }).send(ORDER)).toEqual(
      notSent('The name of the host could not be resolved: ENOTFOUND.'),
    );
    expect((await open('https://adapter.test').send(ORDER)).outcome).toBe('not_sent');
  });

  test('if TLS fails, or is cut off', async () => {
    for (const behave of [(socket: Socket) => socket.write('no TLS'), (socket: Socket) => socket.destroy()]) {
      const endpoint = await listen(behave);
      const answer = await open(`https://127.0.0.1:${endpoint.port}`).send(ORDER);
      expect(answer).toEqual(notSent(expect.stringMatching(/^TLS failed: /)));
    }
  });

  test('if the certificate is not trusted, until its authority is configured', async () => {
    const authority = createAuthority();
    onTestFinished(() => authority.remove());
    let received = '';
    const server = createServer(authority.issue('IP:127.0.0.1'), (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        received += chunk.toString();
        if (received.endsWith('}')) socket.end(http('200 OK', JSON.stringify(APPROVED)).join(''));
      });
    });
    onTestFinished(() => void server.close());
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const answer = await open(url).send(ORDER);
    expect(answer).toEqual(notSent(expect.stringMatching(/^TLS failed: /)));
    expect(received).toBe('');
    expect(await open(url, { ca: authority.ca }).send(ORDER)).toEqual(APPROVAL);
  });

  test('if no connection is established in time', async () => {
    // The adapter never answers the TLS handshake, which is part of connecting.
    const endpoint = await listen(() => undefined);
    const limits = { connectTimeoutMilliseconds: 50 };
    const answer = await open(`https://127.0.0.1:${endpoint.port}`, { limits }).send(ORDER);
    expect(answer).toEqual(notSent('No connection was established within 0.05 seconds.'));
  });

  test.each([
    ['live', [], ['10.0.0.7']],
    ['live', [], ['127.0.0.1']],
    ['live', ['10.0.0.0/8'], ['10.0.0.7', '192.168.0.1']],
    ['live', ['10.0.0.0/8'], ['169.254.169.254']],
    ['sandbox', [], ['10.0.0.7']],
    ['sandbox', [], ['127.0.0.1', '10.0.0.7']],
  ] as const)('in %s mode with the networks %j if the name has the addresses %j', async (mode, allowed, addresses) => {
    const { nameServers } = await startNameServer(() => addresses);
    const connector = open('https://adapter.test', { mode, allowedNetworks: allowed, limits: { nameServers } });
    const detail = 'The host has an address that is neither public nor named in allowed_networks.';
    expect(await connector.send(ORDER)).toEqual(notSent(detail));
  });

  test('if the address is loopback and the service is live, unless allowed_networks names the address', async () => {
    const endpoint = await listen(answering(APPROVED));
    const url = `http://127.0.0.1:${endpoint.port}`;
    expect((await open(url, { mode: 'live' }).send(ORDER)).outcome).toBe('not_sent');
    expect(endpoint.connections()).toBe(0);
    const named = open(url, { mode: 'live', allowedNetworks: ['127.0.0.1'] });
    expect(await named.send({ ...ORDER, sandboxBehavior: 'decline=51' })).toEqual(APPROVAL);
    expect(endpoint.received()).toContain('"sandbox_behavior":null');
  });

  test('if the connector is closed before it is connected', async () => {
    const connector = open('https://adapter.test');
    connector.close();
    expect(await connector.send(ORDER)).toEqual(notSent('The service stopped in the meantime.'));
  });
});

describe('reports that the outcome is unknown', () => {
  test.each([
    ['before the answer', ''],
    ['within the head of the answer', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['within the body of the answer', http('200 OK', JSON.stringify(APPROVED)).join('').slice(0, -10)],
  ])('if the connection is cut off %s', async (_, sent) => {
    const { answer } = await answerOf(perRequest((socket) => socket.end(sent)));
    expect(answer).toEqual(unknown(expect.stringMatching(/^The connection was lost|^The response is not valid HTTP/)));
  });

  test('if the connection is reset while the request is read', async () => {
    const { answer } = await answerOf((socket) => socket.resetAndDestroy());
    expect(answer).toEqual(unknown(expect.stringMatching(/^The connection was lost/)));
  });

  test('if the body of an answer without a length is cut off', async () => {
    const half = JSON.stringify(APPROVED).slice(0, -10);
    const { answer } = await answerOf(perRequest((socket) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${half}`)));
    expect(answer).toEqual(unknown(expect.stringMatching(/^The answer is not valid JSON at line 1, column \d+\.$/)));
  });

  test('if the adapter does not answer in time', async () => {
    // On a slow machine, the time limit may pass before the request is written. Then nothing is sent, and the test tries a longer
    // limit.
    for (let milliseconds = 100; ; milliseconds *= 2) {
      const limits = { answerTimeoutMilliseconds: milliseconds };
      const { answer, endpoint } = await answerOf(() => undefined, { limits });
      if (endpoint.received() === '') continue;
      expect(answer).toEqual(unknown(`There was no complete response within ${milliseconds / 1000} seconds.`));
      return;
    }
  });

  test('if the connector is closed before the answer', async () => {
    let close = (): void => undefined;
    const { connector } = await adapter(perRequest(() => close()));
    close = () => connector.close();
    expect(await connector.send(ORDER)).toEqual(unknown('The service stopped in the meantime.'));
  });

  test('if the adapter does not accept the signature, for example because it verifies an earlier version', async () => {
    const { answer } = await answerOf(perRequest((socket) => socket.end(http('401 No', '{}').join(''))));
    expect(answer).toEqual(
      unknown(
        'The connector answered with the status 401 instead of 200: its secret is different, or it does not verify signatures of the version v2.',
      ),
    );
  });

  test.each(['201 Created', '202 Accepted', '400 Bad', '404 No', '409 No', '500 Broken', '503 No'])(
    'if the status is %s, with any body',
    async (status) => {
      const { answer } = await answerOf(
        perRequest((socket) => socket.end(http(status, JSON.stringify(APPROVED)).join(''))),
      );
      expect(answer).toEqual(unknown(`The connector answered with the status ${status.slice(0, 3)} instead of 200.`));
    },
  );

  test.each([301, 302, 303, 307, 308])('if the answer is a redirect with %i, which is not followed', async (status) => {
    const other = await listen(answering(APPROVED));
    const location = `Location: http://127.0.0.1:${other.port}/v1/send\r\n`;
    const { answer } = await answerOf(replying(...http(`${status} Elsewhere`, '', location)));
    expect(answer).toEqual(unknown(`The connector answered with the status ${status} instead of 200.`));
    expect(other.connections()).toBe(0);
  });

  test.each([
    ['is empty', '', 'The answer is empty.'],
    ['is text', `approved ${TOKEN}`, 'The answer is not valid JSON at line 1, column 1.'],
    ['repeats a field', `{"${TOKEN}":1,"${TOKEN}":2}`, /^The answer is not valid JSON at line 1, column \d+\.$/],
    ['is not UTF-8', Buffer.from([0x7b, 0xff]), 'The answer is not valid JSON.'],
    ['is followed by more', `${JSON.stringify(APPROVED)}{}`, /^The answer is not valid JSON/],
    ['is a list', '[]', 'The answer is not a JSON object.'],
  ])('if the body %s', async (_, body, detail) => {
    const { answer } = await answerOf(replying(...http('200 OK', body)));
    expect(answer).toEqual(unknown(typeof detail === 'string' ? detail : expect.stringMatching(detail)));
  });

  test.each([
    ['amount', { amount: 1001 }, 'The answer has the amount 1001 instead of 1000.'],
    ['currency', { currency: 'EUR' }, 'The answer has the currency EUR instead of USD.'],
    ['attempt', { attempt_id: `pat_${'0'.repeat(32)}` }, 'The answer is about another attempt: attempt_id differs.'],
    ['kind of status', { status: TOKEN }, "In the answer, 'status' is missing or does not follow the contract."],
  ])('if the answer has the wrong %s', async (_, changes, detail) => {
    const { answer } = await answerOf(answering({ ...APPROVED, ...changes }));
    expect(answer).toEqual(unknown(detail));
  });

  test('if the answer is longer than 64 KiB, but not if it is exactly 64 KiB', async () => {
    const padded = (bytes: number): string => JSON.stringify(APPROVED).padEnd(bytes, ' ');
    const { answer: whole } = await answerOf(replying(...http('200 OK', padded(65_536))));
    expect(whole).toEqual(APPROVAL);
    for (const bytes of [65_537, 10_000_000]) {
      const { answer } = await answerOf(replying(...http('200 OK', padded(bytes))));
      expect(answer).toEqual(unknown('The answer is longer than 65536 bytes.'));
    }
  });
});

test('accepts a slow answer', async () => {
  const parts =
    http('200 OK', JSON.stringify(APPROVED))
      .join('')
      .match(/.{1,40}/gs) ?? [];
  const { answer } = await answerOf(
    perRequest((socket) => {
      const next = (): void => {
        const part = parts.shift();
        if (part !== undefined) socket.write(part, () => setImmediate(next));
      };
      next();
    }),
  );
  expect(answer).toEqual(APPROVAL);
});

describe('an adapter', () => {
  const replies = (status: string, body: string): Behaviour => {
    const reply = http(status, body).join('');
    return (socket, received) => received.endsWith('\r\n\r\n') && socket.end(reply);
  };

  test('is healthy if it says so in its answer to a signed GET', async () => {
    const { endpoint, connector } = await adapter(replies('200 OK', '{"status":"ok","since":1}'));
    expect(await connector.isHealthy()).toBe(true);
    const [line, ...lines] = endpoint.received().trimEnd().split('\r\n');
    expect(line).toBe('GET /v1/health HTTP/1.1');
    const headers = Object.fromEntries(lines.map((each) => each.split(': ', 2)));
    expect(verified(headers, 'GET /health.', SECRETS)).toEqual({ id: headers['webhook-id'] });
  });

  test.each([
    ['200 OK', '{"status":"down"}'],
    ['200 OK', 'ok'],
    ['200 OK', ''],
    ['202 Accepted', '{"status":"ok"}'],
    ['503 Unavailable', '{"status":"ok"}'],
  ])('is not healthy with %s and the body %j', async (status, body) => {
    const { connector } = await adapter(replies(status, body));
    expect(await connector.isHealthy()).toBe(false);
  });

  test('is not healthy if it cannot be reached', async () => {
    expect(await open('https://adapter.test').isHealthy()).toBe(false);
  });
});
