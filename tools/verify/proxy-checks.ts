// The checks for each proxy of ops/proxies/ in front of a service in live mode.
import assert from 'node:assert/strict';
import { type Ask, ask, type Connection, type Relay, type Reply, readUntil } from './proxy-clients.ts';
import type { RunningProxy } from './proxy-programs.ts';

const TRANSFER = '/api/v0.1/core/transfer';
const EVENTS = '/api/v0.1/core/event';
const SESSION = '/api/v0.1/console/session';
const AUDIT = '/api/v0.1/operator/audit';

/**
 * The rate limit of the service, averaged over ten seconds. It is enough for the checks, and wrong keys from one
 * address use it up quickly.
 */
export const REQUESTS_PER_SECOND = 100;

/** An invalid key counts as this many requests. */
const COST_OF_REFUSED_KEY = 10;

/** A buffering proxy delivers an event only with the next comment, seconds later. */
const MAX_EVENT_MILLISECONDS = 1_000;

/** A delayed acknowledgment, which TCP_NODELAY prevents, takes 40 ms. */
const MAX_ADDED_MILLISECONDS = 30;

/** A service in live mode with a card program, the card `card_1` and keys. */
export type LiveService = { readonly port: number; readonly operatorKey: string; readonly programKey: string };

/** A chain: the proxy, then the relay, then the service. */
export type Trial = {
  readonly proxy: RunningProxy;
  readonly relay: Relay;
  readonly service: LiveService;
  readonly http2: Connection;
};

/** The checks, in order. The last one disconnects the proxy. */
export const CHECKS: Readonly<Record<string, (trial: Trial) => Promise<unknown>>> = {
  'a transfer with a key over HTTP/2 and HTTP/1.1': async ({ proxy, service, http2 }) => {
    for (const send of [http2.ask, (sent: Ask) => ask(proxy.tlsPort, sent)]) {
      const { status, headers, text } = await send(transfer(service));
      assert.equal(status, 201, text);
      assert.match(String(headers['strict-transport-security']), /max-age=31536000/);
    }
  },
  'error records pass byte for byte, with their headers': checkErrorRecords,
  'bodies above the limit of the service get its error record': async ({ proxy, service }) => {
    const body = JSON.stringify({ amount: 1, card_id: 'card_1', description: 'x'.repeat(1_500_000) });
    const { status, headers } = await ask(proxy.tlsPort, { ...transfer(service), body });
    assert.deepEqual([status, headers['error-code']], [413, 'payload_too_large']);
  },
  'headers above the limit of the service get its error record': async ({ proxy, service }) => {
    const headers = { ...transfer(service).headers, 'X-Long': 'x'.repeat(20_000) };
    const reply = await ask(proxy.tlsPort, { ...transfer(service), headers });
    assert.deepEqual([reply.status, reply.headers['error-code']], [431, 'headers_too_large']);
  },
  "bodies above the limit of the proxy are refused, by the service or with the proxy's text": async ({
    proxy,
    service,
  }) => {
    const sent = { ...transfer(service), body: JSON.stringify({ description: 'x'.repeat(6_000_000) }) };
    // Repeated, because a refusal that arrives while the body is being sent can get lost.
    for (let count = 0; count < 20; count += 1) {
      const reply = await ask(proxy.tlsPort, sent);
      // If the proxy forwards a body as it arrives, the service refuses it.
      if (reply.headers['error-code'] === undefined) expectProxyPage(reply, 413, /^The proxy refused this request/);
      else assert.deepEqual([reply.status, reply.headers['error-code']], [413, 'payload_too_large']);
    }
  },
  'the address of the caller is the last one in X-Forwarded-For': async ({ proxy, relay, service }) => {
    relay.takeSent();
    const forged = { 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'http' };
    const sent = { ...transfer(service), from: '127.0.0.7', headers: { ...transfer(service).headers, ...forged } };
    assert.equal((await ask(proxy.tlsPort, sent)).status, 201);
    const head = relay.takeSent();
    assert.match(head, /^x-forwarded-for: (?:.*, )?127\.0\.0\.7\r$/im);
    assert.match(head, /^x-forwarded-proto: https\r$/im);
    assert.match(head, /^host: transfers\.example\.com\r$/im);
  },
  'rate limits and the audit log use the address of the caller': checkAddresses,
  'the session of a browser has the cookie __Host-console': checkSession,
  'a stream of events is not delayed': checkStream,
  'a silent stream gets its comments and stays open': async ({ service, http2 }) => {
    const began = performance.now();
    const stream = http2.open(streamOf(service, await lastPosition(http2, service)));
    await readUntil(stream, (text) => text.split('\n').filter((line) => line.startsWith(':')).length >= 2);
    stream.destroy();
    return `2 comments in ${Math.round((performance.now() - began) / 1000)} s`;
  },
  'connections to the service are kept and add no delay': checkConnections,
  'requests without TLS do not pass': async ({ proxy, relay, service }) => {
    relay.takeSent();
    const call = await ask(proxy.clearPort, transfer(service), true);
    assert.equal(call.status, 403);
    const page = await ask(proxy.clearPort, { path: '/console' }, true);
    assert.deepEqual([page.status, page.headers.location], [301, 'https://transfers.example.com/console']);
    assert.equal(relay.takeSent(), '');
  },
  "without a service the response is the proxy's text, not an error record": async ({ proxy, relay, service }) => {
    await relay.stop();
    expectProxyPage(await ask(proxy.tlsPort, transfer(service)), 502, /^The proxy has no response/);
  },
};

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

function transfer({ programKey }: LiveService): Ask & { readonly headers: Readonly<Record<string, string>> } {
  return { method: 'POST', path: TRANSFER, headers: bearer(programKey), body: '{"amount":100,"card_id":"card_1"}' };
}

async function checkErrorRecords({ proxy, service, http2 }: Trial): Promise<string> {
  const sent: readonly Ask[] = [
    { ...transfer(service), body: '{"card_id":"card_1"}' },
    { ...transfer(service), body: '{"amount":100,"card_id":"card_none"}' },
    { ...transfer(service), body: '{"amount":99999999,"card_id":"card_1"}' },
    { ...transfer(service), body: '{"amount":' },
    { ...transfer(service), headers: bearer('ts_wrong') },
    { ...transfer(service), headers: {} },
    { path: '/api/v0.1/core/none' },
    { ...transfer(service), method: 'DELETE' },
    { path: `${TRANSFER}?limit=x`, headers: bearer(service.programKey) },
  ];
  const shownHeaders = ['content-type', 'error-code', 'money-moved', 'should-retry', 'error-field', 'link', 'allow'];
  const show = ({ status, headers, text }: Reply) => [status, text, ...shownHeaders.map((name) => headers[name])];
  for (const one of sent) {
    const direct = await ask(service.port, one, true);
    assert.ok(direct.status >= 400 && direct.headers['error-code'] !== undefined, direct.text);
    assert.deepEqual(show(await ask(proxy.tlsPort, one)), show(direct));
    assert.deepEqual(show(await http2.ask(one)), show(direct));
  }
  return `${sent.length} refusals`;
}

async function checkAddresses({ proxy, service }: Trial): Promise<void> {
  const guess = { ...transfer(service), from: '127.0.0.9', headers: bearer('ts_wrong') };
  const quota = (REQUESTS_PER_SECOND * 10) / COST_OF_REFUSED_KEY;
  let status = 0;
  for (let count = 0; count < 5 * quota && status !== 429; count += 1)
    status = (await ask(proxy.tlsPort, guess)).status;
  assert.equal(status, 429);
  assert.equal((await ask(proxy.tlsPort, { ...transfer(service), from: '127.0.0.8' })).status, 201);
  const until = performance.now() + 60_000;
  for (;;) {
    const sent = { path: `${AUDIT}?action=refuse_credential`, headers: bearer(service.operatorKey), from: '127.0.0.8' };
    const { text } = await ask(proxy.tlsPort, sent);
    const { data } = JSON.parse(text) as {
      readonly data?: readonly { readonly details: { readonly address?: string } }[];
    };
    if (data?.some(({ details }) => details.address === '127.0.0.9')) return;
    assert.ok(performance.now() < until, `no entry of the audit log has the address: ${text}`);
    await new Promise((wake) => setTimeout(wake, 200));
  }
}

async function checkSession({ proxy, service }: Trial): Promise<void> {
  const page = { 'Sec-Fetch-Site': 'same-origin', Origin: 'https://transfers.example.com' };
  const headers = { ...bearer(service.operatorKey), ...page };
  const begun = await ask(proxy.tlsPort, { method: 'POST', path: SESSION, headers });
  assert.equal(begun.status, 201, begun.text);
  const [cookie = ''] = begun.headers['set-cookie'] ?? [];
  assert.match(cookie, /^__Host-console=[^;]+; Secure; HttpOnly; SameSite=Strict; Path=\/$/);
  const session = { Cookie: cookie.split(';')[0] ?? '', Console: '1' };
  assert.equal((await ask(proxy.tlsPort, { path: SESSION, headers: { ...session, ...page } })).status, 200);
  // A browser without Sec-Fetch-Site sends its origin. It must match the Host that the proxy forwards.
  const older = { ...session, Origin: page.Origin };
  assert.equal((await ask(proxy.tlsPort, { path: SESSION, headers: older })).status, 200);
  const foreign = { ...session, Origin: 'https://elsewhere.example.com' };
  assert.equal((await ask(proxy.tlsPort, { path: SESSION, headers: foreign })).status, 401);
}

function streamOf({ programKey }: LiveService, after: number): Ask {
  return { path: `${EVENTS}?after=${after}`, headers: { ...bearer(programKey), accept: 'text/event-stream' } };
}

async function lastPosition(http2: Connection, { programKey }: LiveService): Promise<number> {
  let after = 0;
  for (;;) {
    const { text } = await http2.ask({ path: `${EVENTS}?after=${after}&limit=100`, headers: bearer(programKey) });
    const { data } = JSON.parse(text) as { readonly data: readonly { readonly position: number }[] };
    const last = data.at(-1)?.position;
    if (last === undefined) return after;
    after = last;
  }
}

async function checkStream({ service, http2 }: Trial): Promise<string> {
  const stream = http2.open(streamOf(service, await lastPosition(http2, service)));
  const delays: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const began = performance.now();
    const arrived = readUntil(stream, (text) => text.includes('transfer.completed') && text.endsWith('\n\n'));
    assert.equal((await http2.ask(transfer(service))).status, 201);
    await arrived;
    delays.push(performance.now() - began);
  }
  stream.destroy();
  const longest = Math.max(...delays);
  assert.ok(longest < MAX_EVENT_MILLISECONDS, `an event took ${longest} ms`);
  return `an event arrives at most ${Math.round(longest)} ms after its request was sent`;
}

async function checkConnections({ relay, service, http2 }: Trial): Promise<string> {
  const before = relay.connections();
  const timed = async (send: () => Promise<Reply>): Promise<number> => {
    const times: number[] = [];
    for (let count = 0; count < 50; count += 1) {
      const began = performance.now();
      assert.equal((await send()).status, 200);
      times.push(performance.now() - began);
    }
    return times.sort((one, other) => one - other)[25] ?? Number.POSITIVE_INFINITY;
  };
  const sent = { path: '/api/v0.1/core/card/card_1', headers: bearer(service.programKey), from: '127.0.0.6' };
  const direct = await timed(() => ask(service.port, sent, true));
  const proxied = await timed(() => http2.ask(sent));
  const opened = relay.connections() - before;
  assert.ok(opened <= 2, `${opened} connections for 50 requests`);
  assert.ok(proxied - direct < MAX_ADDED_MILLISECONDS, `${proxied} ms instead of ${direct} ms`);
  return `${opened} new for 50 requests; a read takes ${proxied.toFixed(1)} ms, directly ${direct.toFixed(1)} ms`;
}

function expectProxyPage({ status, headers, text }: Reply, expected: number, words: RegExp): void {
  assert.equal(status, expected);
  assert.match(text, words);
  assert.equal(headers['error-code'], undefined);
  assert.match(String(headers['content-type']), /^text\/plain/);
}
