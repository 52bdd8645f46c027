import { afterAll, describe, expect, test } from 'vitest';
import { ROLES } from '../../../contract/scope.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { startOpenidProvider } from '../../harness/openid-provider.ts';
import {
  BLOCKED,
  Browser,
  chooseUrl,
  expectRefusal,
  expectSample,
  LUMEN,
  NOVA,
  settingsAt,
  startSignIn,
  textOf,
} from './world.ts';

const chosen = await chooseUrl();
const provider = await startOpenidProvider(chosen.url, {
  ada: { name: 'Ada Lovelace', email: 'ada@bank.test', groups: ['everyone', 'card-support', 'card-ops'] },
  grace: { groups: ['lumen', 'nova'] },
  lin: { name: 'Lin', groups: ['lumen'] },
  // Names with invisible characters, one of which reverses the text after it.
  ira: { name: '\u200b\u2060', email: 'ira\u202e@bank.test', groups: ['lumen'] },
  near: { name: 'Near', groups: ['Card-Ops', '/card-support'] },
  nobody: { name: 'Nobody' },
  guest: { name: 'Guest', groups: ['everyone'] },
  [BLOCKED]: { name: 'Mallory', groups: ['card-ops'] },
});
afterAll(provider.stop);
const service = await startSignIn(chosen, settingsAt(provider.issuer, chosen.url));
const SESSION = `console-${chosen.port}`;
const LOGIN = `console-${chosen.port}-login`;

describe('a sign-in', () => {
  test('sets the session on a page of the service, which then opens the console', async () => {
    const browser = new Browser();
    const page = await browser.signIn(service, 'ada', '?return=%2Fconsole%2Fkeys%3Frole%3Dviewer');
    expect(page.status, page.text).toBe(200);
    expect(page.headers.getSetCookie()).toEqual([
      `${LOGIN}=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0`,
      `${SESSION}=${'t'.repeat(43)}; HttpOnly; SameSite=Strict; Path=/`,
    ]);
    expect(page.text).toContain('<meta http-equiv="refresh" content="0; url=/console/keys?role=viewer">');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    const [person] = service.people;
    expect(person).toMatchObject({
      issuer: provider.issuer,
      subject: 'ada',
      name: 'Ada Lovelace',
      email: 'ada@bank.test',
      roles: [
        { role: 'support', programId: null },
        { role: 'operator', programId: null },
      ],
      programId: null,
      providerSession: expect.any(String),
    });
    expect(new Set(person?.scopes)).toEqual(new Set([...ROLES.support, ...ROLES.operator]));
    expect(service.refused).toEqual([]);
  });

  test('begins with PKCE, state, nonce, the scopes of the settings and the redirect URI of PUBLIC_URL', async () => {
    const begun = await new Browser().visit(`${service.url}/console/sign-in`);
    expect(begun.status).toBe(302);
    expect(begun.headers.get('set-cookie')).toMatch(
      new RegExp(`^${LOGIN}=[\\w-]{100,}; HttpOnly; SameSite=Lax; Path=/; Max-Age=600$`),
    );
    const { origin, searchParams } = new URL(begun.headers.get('location') ?? '');
    expect(origin).toBe(provider.issuer);
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: 'cards',
      response_type: 'code',
      scope: 'openid profile email groups',
      redirect_uri: `${service.url}/console/sign-in/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
  });

  test('at a different host name of the service restarts once at PUBLIC_URL', async () => {
    const other = `http://127.0.0.1:${service.port}/console/sign-in?return=%2Fconsole%2Fkeys`;
    const moved = await new Browser().visit(other);
    expect([moved.status, moved.headers.get('location')]).toEqual([
      302,
      `${service.url}/console/sign-in?return=%2Fconsole%2Fkeys&moved=1`,
    ]);
    // A proxy may replace the Host every time, so a sign-in that has moved once must not move again.
    const begun = await new Browser().visit(`${other}&moved=1`);
    expect(new URL(begun.headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(
      `${service.url}/console/sign-in/callback`,
    );
  });

  test.each([
    ['/console', '/console'],
    ['/console/cards/card_1', '/console/cards/card_1'],
    ['/console/../docs', '/console'],
    ['/consoles', '/console'],
    ['//evil.test/console', '/console'],
    ['https://evil.test/console', '/console'],
    ['/console/\\evil.test', '/console//evil.test'],
    ['/docs', '/console'],
    ['/console/sign-in?return=/console', '/console'],
    ['/console/signed-out', '/console'],
    ['/console?a="><script>', '/console?a=%22%3E%3Cscript%3E'],
  ])('with the return path %s opens %s', async (path, opened) => {
    const page = await new Browser().signIn(service, 'ada', `?${new URLSearchParams({ return: path })}`);
    expect(page.text).toContain(`content="0; url=${opened}">`);
  });

  test('with roles in one card program is for that program', async () => {
    await new Browser().signIn(service, 'lin');
    const programId = fromWireId('prog', LUMEN);
    expect(service.people).toMatchObject([{ programId, roles: [{ role: 'viewer', programId }], scopes: ROLES.viewer }]);
  });

  test('uses the first visible name, without characters that would change how it reads', async () => {
    await new Browser().signIn(service, 'ira');
    expect(service.people).toMatchObject([{ name: 'ira @bank.test', email: 'ira @bank.test' }]);
  });

  test('with roles in several card programs lets the person choose one, and gives no operator scopes there', async () => {
    const browser = new Browser();
    const choice = await browser.signIn(service, 'grace', '?return=%2Fconsole%2Fcards');
    expect([choice.status, choice.headers.getSetCookie().length]).toEqual([200, 1]);
    expect(textOf(choice)).toMatch(new RegExp(`Choose a card program .* Lumen ${NOVA}`));
    const [, path = ''] = new RegExp(`href="([^"]*program=${NOVA}[^"]*)"`).exec(choice.text) ?? [];
    const page = await browser.signIn(service, 'grace', path.replaceAll('&amp;', '&').replace('/console/sign-in', ''));
    expect(page.text).toContain('content="0; url=/console/cards">');
    const scopes = ROLES.operator.filter((scope) => !/^operator|^switch/.test(scope));
    // A person without a name is shown with the provider's id.
    expect(service.people).toMatchObject([
      { programId: fromWireId('prog', NOVA), name: 'grace', email: null, scopes: expect.arrayContaining(scopes) },
    ]);
    expect(service.people[0]?.scopes).toHaveLength(scopes.length);
  });

  test('that must be fresh asks for the password again, even if the person is signed in at the provider', async () => {
    const browser = new Browser();
    await browser.signIn(service, 'ada');
    // The provider shows no form, because its own session is still open.
    await browser.signIn(service, 'ada');
    const begun = await browser.visit(`${service.url}/console/sign-in?again=1`);
    const { searchParams } = new URL(begun.headers.get('location') ?? '');
    expect([searchParams.get('prompt'), searchParams.get('max_age')]).toEqual(['login', '300']);
    await browser.signIn(service, 'ada', '?again=1');
    const at = service.people.at(-1)?.signedInAt.getTime() ?? 0;
    expect(Math.abs(Date.now() - at)).toBeLessThan(60_000);
  });
});

describe('a sign-in is refused if it', () => {
  test('has no cookie, because the callback was opened directly', async () => {
    const callback = await new Browser().authenticate(service, 'ada');
    expectSample(await new Browser().visit(callback), 'sign_in_not_begun');
    expect(service.refused).toMatchObject([{ reason: 'no login state', address: '127.0.0.1' }]);
    expect(service.people).toEqual([]);
  });

  test('began in a different browser', async () => {
    const callback = await new Browser().authenticate(service, 'ada');
    const other = new Browser();
    await other.visit(`${service.url}/console/sign-in`);
    expectRefusal(await other.visit(callback), 'sign_in_not_begun', 400, /This browser did not begin this sign-in/);
    expect(service.refused).toMatchObject([{ reason: 'other login state' }]);
    expect(service.people).toEqual([]);
  });

  test('has a code that was already used', async () => {
    const browser = new Browser();
    const callback = await browser.authenticate(service, 'ada');
    const cookies = new Map(browser.cookiesOf(service.url));
    expect((await browser.visit(callback)).status).toBe(200);
    // The cookie can be used only once.
    expectRefusal(await browser.visit(callback), 'sign_in_not_begun', 400, /no sign-in in progress/);
    const otherBrowser = new Browser();
    otherBrowser.cookies.set('localhost', cookies);
    expectRefusal(
      await otherBrowser.visit(callback),
      'sign_in_not_begun',
      400,
      /used before or is too old: 'invalid_grant'/,
    );
    expect(service.refused.map(({ reason }) => reason)).toEqual(['no login state', 'code used']);
    expect(service.people).toHaveLength(1);
  });

  test('took longer than ten minutes, or has a cookie that cannot be read', async () => {
    const browser = new Browser();
    const callback = await browser.authenticate(service, 'ada');
    const jar = browser.cookiesOf(service.url);
    const login = JSON.parse(Buffer.from(jar.get(LOGIN) ?? '', 'base64url').toString());
    const set = (fields: object) => jar.set(LOGIN, Buffer.from(JSON.stringify(fields)).toString('base64url'));
    set({ ...login, begunAt: login.begunAt - 600_000 });
    expectRefusal(await browser.visit(callback), 'sign_in_not_begun', 400, /longer than ten minutes/);
    for (const wrong of [{ ...login, begunAt: 'now' }, { ...login, state: '' }, {}, null]) {
      set(wrong as object);
      expectRefusal(await browser.visit(callback), 'sign_in_not_begun', 400, /no sign-in in progress/);
    }
    jar.set(LOGIN, 'e');
    expectRefusal(await browser.visit(callback), 'sign_in_not_begun', 400, /no sign-in in progress/);
    // The code verifier does not match the provider's challenge.
    set({ ...login, codeVerifier: 'x'.repeat(43) });
    expectRefusal(await browser.visit(callback), 'sign_in_not_begun', 400, /invalid_grant/);
  });

  test('was canceled at the provider', async () => {
    const page = await new Browser().signIn(service, null);
    expectRefusal(page, 'sign_in_refused', 403, /'access_denied': 'The person cancelled\.'/);
    expect(service.reports.map(({ code, isStray }) => [code, isStray])).toEqual([['sign_in_refused', false]]);
  });

  test('is for a person without a role, and the page names the claim, its values, and near misses', async () => {
    const page = await new Browser().signIn(service, 'near');
    expectRefusal(page, 'no_role', 403, /these values of the claim 'groups': 'Card-Ops', '\/card-support'\./);
    const near = [
      "The value 'Card-Ops' differs from 'card-ops' in OIDC_ROLES only in its case.",
      "The value '/card-support' differs from 'card-support' in OIDC_ROLES only in a leading slash.",
    ];
    for (const sentence of near) expect(textOf(page)).toContain(sentence);
    expect(service.notices).toEqual(expect.arrayContaining(near));
    expect(service.refused).toMatchObject([{ reason: 'no role' }]);
    expectSample(await new Browser().signIn(service, 'guest'), 'no_role');
    const without = await new Browser().signIn(service, 'nobody');
    expectRefusal(without, 'no_role', 403, /The provider sent no claim 'groups'\. It sent: [^.]*name/);
    provider.people.set('many', { _claim_names: { groups: 'src1' } });
    provider.people.set('empty', { groups: [] });
    expectRefusal(await new Browser().signIn(service, 'empty'), 'no_role', 403, /The claim 'groups' is empty\./);
    expect(service.people).toEqual([]);
  });

  test('is for a blocked person', async () => {
    const page = await new Browser().signIn(service, BLOCKED);
    expectRefusal(page, 'person_blocked', 403, /You were blocked\./);
    expect(service.refused).toMatchObject([{ reason: 'person_blocked' }]);
  });

  test('comes from an application instead of a browser, and the response is the error record', async () => {
    const { status, fields, headers } = await new Browser({}).visit(`${service.url}/console/sign-in/callback?state=a`);
    expect([status, fields.Code, headers.get('content-type')]).toEqual([
      400,
      'sign_in_not_begun',
      'application/json; charset=utf-8',
    ]);
  });
});

describe('with other settings', () => {
  test('the error names a wrong client secret', async () => {
    const other = await startSignIn(await chooseUrl(), {
      ...settingsAt(provider.issuer, service.url),
      clientSecret: 'wrong',
    });
    const browser = new Browser();
    const callback = await browser.authenticate(service, 'ada');
    browser.cookiesOf(service.url).set(`console-${other.port}-login`, browser.cookiesOf(service.url).get(LOGIN) ?? '');
    const page = await browser.visit(callback.replace(`:${service.port}`, `:${other.port}`));
    expectRefusal(page, 'sign_in_refused', 403, /'invalid_client'.*Check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET/);
  });

  test('cookies are limited to this host over HTTPS, and clear text is refused', async () => {
    const at = await chooseUrl();
    const https = 'https://cards.bank.test';
    await startSignIn(at, settingsAt(provider.issuer, https), { publicUrl: https, trustedProxies: 1 });
    const forwarded = { Host: 'cards.bank.test', 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' };
    const local = `http://127.0.0.1:${at.port}/console/sign-in`;
    const begun = await fetch(`${local}?moved=1`, { headers: forwarded, redirect: 'manual' });
    expect(begun.headers.get('set-cookie')).toMatch(
      /^__Host-console-login=[\w-]+; Secure; HttpOnly; SameSite=Lax; Path=\/; Max-Age=600$/,
    );
    const clear = await fetch(local, { headers: { ...forwarded, 'X-Forwarded-Proto': 'http' }, redirect: 'manual' });
    expect([clear.status, clear.headers.get('error-code')]).toEqual([403, 'forbidden']);
  });

  test('the error names a provider that is down, and the service uses the provider again once it is back', async () => {
    const at = await chooseUrl();
    const first = await startOpenidProvider(at.url, { ada: { groups: ['card-ops'] } });
    const other = await startSignIn(at, settingsAt(first.issuer, at.url));
    await first.stop();
    const down = await new Browser().visit(`${other.url}/console/sign-in`);
    expectSample(down, 'provider_unavailable');
    expect(down.headers.get('retry-after')).toBe('1');
    expect(other.refused).toEqual([]);
    const again = await startOpenidProvider(
      at.url,
      { ada: { groups: ['card-ops'] } },
      Number(new URL(first.issuer).port),
    );
    const browser = new Browser();
    const callback = await browser.authenticate(other, 'ada');
    await again.stop();
    expectRefusal(await browser.visit(callback), 'provider_unavailable', 503, /cannot be reached/);
  });
});

describe('signing out', () => {
  test('ends on a page that does not start a new sign-in', async () => {
    const page = await new Browser().visit(`${service.url}/console/signed-out`);
    expect([page.status, page.text.includes('http-equiv')]).toEqual([200, false]);
    expect(textOf(page)).toContain('Your console session has ended.');
  });

  test('goes through the provider if it supports that', async () => {
    const browser = new Browser();
    await browser.signIn(service, 'ada');
    const leaving = await browser.visit(`${service.url}/console/signed-out?provider=1`);
    const url = new URL(leaving.headers.get('location') ?? '');
    expect(url.origin).toBe(provider.issuer);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'cards',
      post_logout_redirect_uri: `${service.url}/console/signed-out`,
    });
    const form = await browser.visit(url.href);
    const [, xsrf = ''] = /name="xsrf" value="([^"]*)"/.exec(form.text) ?? [];
    const done = await browser.visit(`${provider.issuer}/session/end/confirm`, { xsrf, logout: 'yes' });
    expect(done.headers.get('location')).toMatch(new RegExp(`^${service.url}/console/signed-out`));
    // The provider has also informed the service over the back channel.
    const session = service.people[0]?.providerSession;
    await expect
      .poll(() => service.ended)
      .toEqual([{ issuer: provider.issuer, subject: 'ada', providerSession: session }]);
    // A new sign-in needs the password again.
    const login = await browser.follow(`${service.url}/console/sign-in`);
    expect(login.text).toContain('<title>Provider</title>');
  });
});
