import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Certificates, createAuthority, type Identity } from './certificates.ts';
import { listen, OK } from './endpoint.ts';
import { openTestSender, outcomeOf, sendTo } from './sender.ts';

const ALLOWED = ['127.0.0.1', '::1'];
const NAMES = 'DNS:localhost,IP:127.0.0.1';

let authority: Certificates;
let stranger: Certificates;
let good: Identity;
beforeAll(() => {
  authority = createAuthority();
  stranger = createAuthority();
  good = authority.issue(NAMES);
});
afterAll(() => {
  authority.remove();
  stranger.remove();
});

/** Starts a TLS server that responds to everything with 200. Returns its port and the bytes that it received. */
async function listenWithTls(identity: Identity, options: TlsOptions = {}) {
  let received = '';
  const servernames: unknown[] = [];
  const server = createServer({ ...identity, ...options }, (socket) => {
    servernames.push(socket.servername);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received += chunk;
      if (received.includes('webhook.tested')) socket.write(OK);
    });
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { port, received: () => received, servernames };
}

/** Sends a request to a server, with the server's certificate authority as WEBHOOK_CA. */
function sendWithTls(port: number, host = 'localhost', limits = {}) {
  return sendTo(openTestSender({ allowedNetworks: ALLOWED, ca: authority.ca, limits }), `https://${host}:${port}/`);
}

describe('an endpoint with TLS', () => {
  test.each(['localhost', '127.0.0.1', 'LOCALHOST.'])('is trusted by WEBHOOK_CA under the name %s', async (host) => {
    const { port, servernames } = await listenWithTls(good);
    expect(await sendWithTls(port, host)).toMatchObject({ status: 200, address: '127.0.0.1' });
    // TLS does not allow an address as the server name.
    expect(servernames).toEqual([host === '127.0.0.1' ? false : 'localhost']);
  });

  test('is trusted by the second of two certificates', async () => {
    const { port } = await listenWithTls(good);
    const sender = openTestSender({ allowedNetworks: ALLOWED, ca: `${stranger.ca}\n${authority.ca}` });
    expect(outcomeOf(await sendTo(sender, `https://localhost:${port}/`))).toBe(200);
  });

  test.each<[string, () => Identity, RegExp]>([
    ['a certificate for a different name', () => authority.issue('DNS:other.test,IP:127.0.0.2'), /not in the cert/],
    ['an expired certificate', () => authority.issue(NAMES, 'expired'), /expired/],
    ['a certificate that is not valid yet', () => authority.issue(NAMES, 'not yet valid'), /not yet valid/],
    ['a certificate of an unknown authority', () => stranger.issue(NAMES), /certificate/],
  ])('receives nothing if it has %s', async (_, identity, message) => {
    const { port, received } = await listenWithTls(identity());
    for (const host of ['localhost', '127.0.0.1']) {
      const answer = await sendWithTls(port, host);
      expect(answer).toMatchObject({ error: 'tls_failed', message: expect.stringMatching(/^TLS failed: .*[^.]\.$/) });
      expect(answer).toMatchObject({ message: expect.stringMatching(message), address: '127.0.0.1' });
    }
    expect(received()).toBe('');
  });

  test('receives nothing without WEBHOOK_CA', async () => {
    const { port, received } = await listenWithTls(good);
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    expect(outcomeOf(await sendTo(sender, `https://localhost:${port}/`))).toBe('tls_failed');
    expect(received()).toBe('');
  });

  test('receives nothing with TLS 1.1', async () => {
    const { port, received } = await listenWithTls(good, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
    expect(outcomeOf(await sendWithTls(port))).toBe('tls_failed');
    expect(received()).toBe('');
  });

  test('receives nothing readable if it only supports HTTP', async () => {
    const endpoint = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const answer = await sendWithTls(endpoint.port);
    expect(answer).toMatchObject({ error: 'tls_failed', message: 'TLS failed: wrong version number.' });
    expect(endpoint.received()).not.toContain('POST');
  });

  test.each(['reset', 'end'])('receives nothing if it ends the connection during the handshake by %s', async (how) => {
    const endpoint = await listen((socket) => (how === 'reset' ? socket.resetAndDestroy() : socket.end()));
    expect(outcomeOf(await sendWithTls(endpoint.port))).toBe('tls_failed');
  });

  test('times out if it does not complete the handshake', async () => {
    const endpoint = await listen(() => undefined);
    const answer = await sendWithTls(endpoint.port, 'localhost', { connectTimeoutMilliseconds: 200 });
    expect(answer).toMatchObject({ error: 'connect_timeout', address: '127.0.0.1' });
    await expect.poll(endpoint.open).toBe(0);
  });
});

test('no environment variable can disable the checks or add a proxy', async () => {
  const { port, received } = await listenWithTls(good);
  const proxy = await listen((socket) => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'));
  const plain = await listen((socket) => socket.write(OK));
  const root = new URL('../..', import.meta.url).pathname;
  const program = `
    import { openAddressRules } from '${root}server/subjects/webhooks/addresses.ts';
    import { SEND_LIMITS } from '${root}server/background/outbound/sender.ts';
    import { openSender } from '${root}server/background/outbound/send.ts';
    const rules = openAddressRules({ mode: 'sandbox', allowedNetworks: ['127.0.0.1', '::1'] });
    const patient = { connectTimeoutMilliseconds: 120_000, answerTimeoutMilliseconds: 120_000 };
    const sender = openSender({ rules, ca: null }, { ...SEND_LIMITS, ...patient });
    for (const url of ['https://localhost:${port}/', 'http://localhost:${plain.port}/']) {
      const answer = await sender.send({ method: 'POST', url, headers: {}, body: '{}' });
      console.log(answer.error ?? answer.status);
    }
    sender.close();`;
  const url = `http://127.0.0.1:${proxy.port}`;
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [
    [name, url],
    [name.toLowerCase(), url],
  ]);
  const env = {
    ...Object.fromEntries(proxies),
    NODE_USE_ENV_PROXY: '1',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_NO_WARNINGS: '1',
  };
  const output = await new Promise((resolve) =>
    execFile(process.execPath, ['--input-type=module', '-e', program], { env }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    ),
  );
  expect(output).toBe('tls_failed\n200\n');
  expect([proxy.connections(), received()]).toEqual([0, '']);
});
