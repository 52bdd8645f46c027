import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../contract/operations.ts';
import { useLedger, useServer } from '../harness/use-ledger.ts';
import { type Lines, makeKey, ownPage, SESSION, signIn, startSessionService } from './session-world.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const live = await startSessionService(ledger);
const proxied = await startSessionService(ledger, { trustedProxies: 1 });
const sandbox = await startSessionService(ledger, { keyless: true });
const { key } = await makeKey(ledger);
const { cookie } = await signIn(live, key);

const HOST = `Host: localhost:${live.port}`;
const COOKIE = `Cookie: ${cookie}`;
const SAME = 'Sec-Fetch-Site: same-origin';
const MARK = 'Console: 1';
/** A token that differs in its last two characters. */
const OTHER_TOKEN = cookie.slice(0, -2) + (cookie.endsWith('AA') ? 'BB' : 'AA');
const origin = (port = live.port) => `http://localhost:${port}`;

/** Requests with the session cookie: the sender or the headers in words, whether the service accepts the cookie, and the headers. */
const TABLE: readonly (readonly [who: string, counts: boolean, lines: Lines])[] = [
  ['a page of the service', true, [HOST, COOKIE, SAME, MARK]],
  ['a page of the service that polls', true, [HOST, COOKIE, SAME, 'Console: background']],
  ['a page of the service, in upper case', true, [HOST, COOKIE, 'Sec-Fetch-Site: Same-Origin', MARK]],
  ['a page that also sends other cookies', true, [HOST, `Cookie: a=1; ${cookie}; b="2"`, SAME, MARK]],
  ['an older browser, with an Origin', true, [HOST, COOKIE, `Origin: ${origin()}`, MARK]],
  ['a form or a link of any page, without the header Console', false, [HOST, COOKIE, SAME]],
  ['a different value of the header Console', false, [HOST, COOKIE, SAME, 'Console: 0']],
  ['an empty header Console', false, [HOST, COOKIE, SAME, 'Console:']],
  ['the header Console twice', false, [HOST, COOKIE, SAME, MARK, MARK]],
  ['a browser without Sec-Fetch-Site, Origin and Console', false, [HOST, COOKIE]],
  ['a browser without Sec-Fetch-Site and Origin', false, [HOST, COOKIE, MARK]],
  ['a page of a different site', false, [HOST, COOKIE, 'Sec-Fetch-Site: cross-site', MARK]],
  ['a page of a subdomain, or of a different port', false, [HOST, COOKIE, 'Sec-Fetch-Site: same-site', MARK]],
  ['the address bar', false, [HOST, COOKIE, 'Sec-Fetch-Site: none', MARK]],
  ['a browser with an empty Sec-Fetch-Site', false, [HOST, COOKIE, 'Sec-Fetch-Site:', MARK]],
  [
    'a page of a different site with the correct Origin',
    false,
    [HOST, COOKIE, 'Sec-Fetch-Site: cross-site', `Origin: ${origin()}`, MARK],
  ],
  ['an older browser on a different site', false, [HOST, COOKIE, 'Origin: https://evil.example', MARK]],
  ['an older browser on a subdomain', false, [HOST, COOKIE, `Origin: http://evil.localhost:${live.port}`, MARK]],
  ['an older browser on a different port', false, [HOST, COOKIE, `Origin: ${origin(1)}`, MARK]],
  [
    'an older browser on a host whose name begins with the name of the service',
    false,
    [HOST, COOKIE, `Origin: ${origin()}.evil.example`, MARK],
  ],
  ['a page with a null origin', false, [HOST, COOKIE, 'Origin: null', MARK]],
  [
    'an older browser on the same host over HTTPS',
    false,
    [HOST, COOKIE, `Origin: https://localhost:${live.port}`, MARK],
  ],
  ['a page that reached the service by DNS rebinding', false, [`Host: evil.example:${live.port}`, COOKIE, SAME, MARK]],
  [
    'a page that reached the service by DNS rebinding, with its own origin',
    false,
    [`Host: evil.example:${live.port}`, COOKIE, `Origin: http://evil.example:${live.port}`, MARK],
  ],
  ['an untrusted proxy', false, [HOST, COOKIE, SAME, MARK, 'X-Forwarded-For: 203.0.113.9']],
  ['an untrusted proxy that claims https', false, [HOST, COOKIE, SAME, MARK, 'X-Forwarded-Proto: https']],
  ['a cookie set by a different port', false, [HOST, `Cookie: ${cookie.replace(String(live.port), '1')}`, SAME, MARK]],
  ['two cookies, one of them from a different page', false, [HOST, `Cookie: ${cookie}; ${cookie}`, SAME, MARK]],
  ['two cookies in two headers', false, [HOST, COOKIE, COOKIE, SAME, MARK]],
  ['another token', false, [HOST, `Cookie: ${OTHER_TOKEN}`, SAME, MARK]],
  ['half a token', false, [HOST, `Cookie: ${cookie.slice(0, -9)}`, SAME, MARK]],
  ['an empty token', false, [HOST, `Cookie: ${cookie.split('=')[0]}=`, SAME, MARK]],
  ['the session and its key', false, [HOST, COOKIE, SAME, MARK, `Authorization: Bearer ${key}`]],
  ['the session and an empty Authorization', false, [HOST, COOKIE, SAME, MARK, 'Authorization:']],
];

/** Operations that read, and operations that would change something. */
const OPERATIONS_TRIED = ['get_session', 'list_keys', 'get_switch', 'change_switch', 'delete_session'] as const;

describe.each(OPERATIONS_TRIED)('%s with the session cookie', (operation) => {
  const { method, path } = OPERATIONS[operation];

  const titled = TABLE.map(([who, counts, lines]) => [counts ? 'accepts' : 'refuses', who, counts, lines] as const);

  test.each(titled)('%s %s', async (_verb, _who, counts, lines) => {
    // An accepted request would end the session or change the switch, so it is not sent.
    if (counts && method !== 'GET') return;
    const answer = await live.ask(method, path, lines);
    if (counts) expect(answer.status).toBe(200);
    else expect(answer).toMatchObject({ status: 401, fields: { Code: 'unauthenticated' } });
  });
});

test('refused requests change nothing and do not reveal the caller', async () => {
  expect((await live.ask('GET', SESSION, [HOST, COOKIE, SAME, MARK])).status).toBe(200);
  expect(JSON.parse((await ledger.call('get_switch')).body)).toMatchObject({ data: [] });
  for (const [, counts, lines] of TABLE) {
    if (counts) continue;
    const { headers, fields } = await live.ask('GET', SESSION, lines);
    expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
    expect(JSON.stringify(fields)).not.toContain(cookie.split('=')[1]);
    expect(Object.keys(fields)).toEqual(['Message', 'Status', 'Code', 'Type']);
  }
});

test('a preflight from a different origin gets no permission', async () => {
  const asked = [
    'Origin: https://evil.example',
    'Access-Control-Request-Method: GET',
    'Access-Control-Request-Headers: console',
  ];
  const { status, headers } = await live.ask('OPTIONS', SESSION, [HOST, ...asked]);
  expect(status).toBe(405);
  expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
});

test("only a request from the service's own page removes an invalid cookie", async () => {
  const own = await live.ask('GET', SESSION, [HOST, `Cookie: ${OTHER_TOKEN}`, SAME, MARK]);
  expect(own.headers.get('set-cookie')).toBe(`console-${live.port}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`);
  const foreign = await live.ask('GET', SESSION, [HOST, `Cookie: ${OTHER_TOKEN}`, 'Sec-Fetch-Site: cross-site', MARK]);
  expect(foreign.headers.get('set-cookie')).toBeNull();
});

test('guesses and requests from other pages are reported to the audit log, without a token', async () => {
  const before = live.refused.length;
  await live.ask('GET', SESSION, [HOST, COOKIE, 'Sec-Fetch-Site: cross-site', MARK]);
  await live.ask('GET', SESSION, [HOST, `Cookie: console-${live.port}=${'A'.repeat(43)}`, SAME, MARK]);
  const reported = live.refused.slice(before);
  expect(reported.map(({ reason }) => reason)).toEqual(['session from another page', 'session unknown']);
  for (const { sent } of reported) expect(sent).toBe('');
});

describe('behind a trusted proxy', () => {
  const site = ['Host: bank.example', 'X-Forwarded-For: 203.0.113.9'];
  const https = [...site, 'X-Forwarded-Proto: https'];
  const bearer = `Authorization: Bearer ${key}`;

  test('creates and uses a session over HTTPS, with a cookie that only this host can set', async () => {
    const made = await proxied.ask('POST', SESSION, [...https, SAME, MARK, bearer]);
    expect(made.status).toBe(201);
    const setCookie = made.headers.get('set-cookie') ?? '';
    expect(setCookie).toMatch(/^__Host-console=[A-Za-z0-9_-]{43}; Secure; HttpOnly; SameSite=Strict; Path=\/$/);
    const sent = `Cookie: ${setCookie.split(';')[0]}`;
    expect((await proxied.ask('GET', SESSION, [...https, sent, SAME, MARK])).status).toBe(200);
    const old = [...https, sent, 'Origin: https://bank.example', MARK];
    expect((await proxied.ask('GET', SESSION, old)).status).toBe(200);
    // The trusted proxy is the outermost one, so entries that its caller wrote do not count.
    const claimed = [...site, 'X-Forwarded-Proto: https, http'];
    for (const lines of [
      [...https, sent, 'Origin: http://bank.example', MARK],
      [...https, sent, 'Origin: https://evil.bank.example', MARK],
      [...https, sent, 'Sec-Fetch-Site: same-site', MARK],
      [...claimed, sent, SAME, MARK],
      [...site, 'X-Forwarded-Proto: http', sent, SAME, MARK],
      [...site, sent, SAME, MARK],
      [`Host: localhost:${proxied.port}`, sent, SAME, MARK],
    ])
      expect((await proxied.ask('GET', SESSION, lines)).status, lines.join(' | ')).toBe(401);
  });

  test.each<[string, Lines]>([
    ['says http', [...site, 'X-Forwarded-Proto: http']],
    ['says nothing', site],
    ['only repeats what its caller claims', [...site, 'X-Forwarded-Proto: https, http']],
  ])('creates no session if the proxy %s', async (_, lines) => {
    const answer = await proxied.ask('POST', SESSION, [...lines, SAME, MARK, bearer]);
    expect(answer).toMatchObject({ status: 403, fields: { Code: 'forbidden' } });
    expect(String(answer.fields.Message)).toContain('A session needs HTTPS');
    expect(answer.headers.get('set-cookie')).toBeNull();
  });
});

describe('creating a session', () => {
  const bearer = `Authorization: Bearer ${key}`;

  test('works on this machine without TLS, with a cookie of its port', async () => {
    const { setCookie } = await signIn(live, key);
    expect(setCookie).toMatch(
      new RegExp(`^console-${live.port}=[A-Za-z0-9_-]{43}; HttpOnly; SameSite=Strict; Path=/$`),
    );
  });

  test.each<[string, Lines]>([
    ['through an untrusted proxy', [HOST, SAME, 'X-Forwarded-For: 203.0.113.9']],
    ['through an untrusted proxy that claims https', ['Host: bank.example', SAME, 'X-Forwarded-Proto: https']],
    ['under another name', ['Host: bank.example', SAME]],
    // A proxy on this machine adds no header and replaces the Host. Only the Origin shows the page's own name.
    ['for a page with a different name behind a proxy that hides it', [HOST, 'Origin: http://bank.example']],
    ['for a page with a different port', [HOST, 'Sec-Fetch-Site: same-site', `Origin: ${origin(1)}`]],
  ])('is refused %s', async (_, lines) => {
    const answer = await live.ask('POST', SESSION, [...lines, MARK, bearer]);
    expect(answer).toMatchObject({ status: 403, fields: { Code: 'forbidden' } });
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  test('is refused from a session and without a key', async () => {
    const bySession = await live.ask('POST', SESSION, [HOST, COOKIE, SAME, MARK]);
    expect(bySession).toMatchObject({ status: 401, fields: { Code: 'unauthenticated' } });
    const withoutKey = await sandbox.ask('POST', SESSION, ownPage(sandbox.port));
    expect(withoutKey).toMatchObject({ status: 401, fields: { Code: 'unauthenticated' } });
  });

  test('works with a key, even if the browser has an old cookie', async () => {
    const again = await signIn(live, key, [COOKIE]);
    expect(again.cookie).not.toBe(cookie);
    const stale = await signIn(live, key, [`Cookie: console-${live.port}=${'A'.repeat(43)}`]);
    expect(stale.cookie).toContain('=');
  });
});

describe('in a sandbox without keys', () => {
  const host = `Host: localhost:${sandbox.port}`;

  test("treats a request without a session as from this machine, and a request with a session as from the session's key", async () => {
    expect(await sandbox.ask('GET', SESSION, [host])).toMatchObject({
      status: 200,
      fields: { mode: 'sandbox', caller: 'sandbox', role: 'administrator', program_name: 'Demo program', key_id: null },
    });
    const viewer = await makeKey(ledger, { all_programs: true, role: 'viewer' });
    const session = await signIn(sandbox, viewer.key);
    const own = [...ownPage(sandbox.port), `Cookie: ${session.cookie}`];
    expect(await sandbox.ask('GET', SESSION, own)).toMatchObject({
      status: 200,
      fields: { caller: 'operator_key', role: 'viewer', session_id: session.sessionId, key_id: viewer.key_id },
    });
    expect((await sandbox.ask('GET', OPERATIONS.get_switch.path, own)).status).toBe(403);
  });

  test('gives other pages no more permissions with the cookie than without it', async () => {
    const session = await signIn(sandbox, key);
    for (const site of ['cross-site', 'same-site']) {
      const lines = [host, `Cookie: ${session.cookie}`, `Sec-Fetch-Site: ${site}`];
      expect((await sandbox.ask('GET', SESSION, lines)).status).toBe(403);
      expect((await sandbox.ask('GET', SESSION, [...lines, MARK])).status).toBe(401);
    }
  });

  test('removes a stale cookie, so the next request is treated as from this machine', async () => {
    const left = `Cookie: console-${sandbox.port}=${'A'.repeat(43)}`;
    const refused = await sandbox.ask('GET', SESSION, [...ownPage(sandbox.port), left]);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await sandbox.ask('GET', SESSION, ownPage(sandbox.port))).status).toBe(200);
  });
});
