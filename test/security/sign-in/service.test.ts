import { afterAll, expect, test } from 'vitest';
import { OPERATIONS } from '../../../contract/operations.ts';
import { CLIENT_ID, CLIENT_SECRET, startOpenidProvider } from '../../harness/openid-provider.ts';
import { waitFor } from '../../harness/process.ts';
import { useOwnService, useService } from '../../harness/service.ts';
import { Browser, chooseUrl, expectRefusal, textOf } from './world.ts';

const chosen = await chooseUrl();
const provider = await startOpenidProvider(chosen.url, {
  ada: { name: 'Ada Lovelace', email: 'ada@bank.test', groups: ['card-ops'] },
  mallory: { name: 'Mallory', groups: ['card-support'] },
  guest: { groups: ['everyone'] },
});
afterAll(provider.stop);
const service = useOwnService('It has an OpenID provider.', {
  PORT: String(chosen.port),
  PUBLIC_URL: chosen.url,
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: CLIENT_ID,
  OIDC_CLIENT_SECRET: CLIENT_SECRET,
  OIDC_SCOPES: 'openid profile email groups',
  OIDC_ROLES: 'card-ops=operator, card-support=support',
});
const plain = useService();

/** Calls an operation as the console does, with a browser's cookies. */
async function callFrom(browser: Browser, id: 'get_session' | 'delete_session') {
  const { method, path } = OPERATIONS[id];
  const cookies = [...browser.cookiesOf(chosen.url)].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { Cookie: cookies, Console: '1', 'Sec-Fetch-Site': 'same-origin' };
  const response = await fetch(`${chosen.url}${path}`, { method, headers });
  return { status: response.status, fields: (await response.json()) as Readonly<Record<string, unknown>> };
}

test('a person has a session with their roles, their name and an entry in the audit log', async () => {
  const browser = new Browser();
  expect((await browser.signIn(chosen, 'ada')).status).toBe(200);
  const { fields } = await callFrom(browser, 'get_session');
  expect(fields).toMatchObject({
    caller: 'operator_person',
    person_name: 'Ada Lovelace',
    role: 'operator',
    key_id: null,
    all_programs: true,
  });
  const { data } = await service().client.audit.list({ action: 'sign_in' });
  expect(data).toMatchObject([{ actor: fields.person_id, subject_id: fields.session_id }]);
  expect(JSON.stringify(data)).not.toContain('Ada');
});

test('a back-channel logout ends the session of the person', async () => {
  const browser = new Browser();
  await browser.signIn(chosen, 'ada');
  expect((await callFrom(browser, 'get_session')).fields).toMatchObject({ caller: 'operator_person' });
  const leaving = await browser.visit(`${chosen.url}/console/signed-out?provider=1`);
  const form = await browser.visit(leaving.headers.get('location') ?? '');
  const [, xsrf = ''] = /name="xsrf" value="([^"]*)"/.exec(form.text) ?? [];
  await browser.visit(`${provider.issuer}/session/end/confirm`, { xsrf, logout: 'yes' });
  expect(provider.problems).toEqual([]);
  // Without the session, the sandbox refuses the cookie.
  await waitFor('the end of the session', async () => (await callFrom(browser, 'get_session')).status === 401);
});

test("a blocked person cannot sign in, and the person's existing sessions end", async () => {
  const browser = new Browser();
  await browser.signIn(chosen, 'mallory');
  const { fields } = await callFrom(browser, 'get_session');
  await service().client.people.block(String(fields.person_id));
  await waitFor('the end of the session', async () => (await callFrom(browser, 'get_session')).status === 401);
  expectRefusal(
    await new Browser().signIn(chosen, 'mallory'),
    'person_blocked',
    403,
    /You were blocked from this service/,
  );
});

test('a refused sign-in is recorded in the log and in the error log', async () => {
  const page = await new Browser().signIn(chosen, 'guest');
  expectRefusal(page, 'no_role', 403, /OIDC_ROLES assigns no role to these values of the claim 'groups': 'everyone'/);
  const requestId = page.headers.get('request-id') ?? '';
  const { client, output } = service();
  await waitFor('the error', async () => (await client.errors.inspect(requestId).catch(() => undefined)) !== undefined);
  expect(await client.errors.inspect(requestId)).toMatchObject({ code: 'no_role', path: '/console/sign-in/callback' });
  expect(output()).toMatch(/"event":"sign_in"[^\n]*"code":"no_role"/);
  expect(output()).not.toContain(CLIENT_SECRET);
});

test('without a provider, the service offers no single sign-on', async () => {
  const root = async (url: string) =>
    (await (await fetch(url)).json()) as { readonly links: object; readonly sign_in?: object };
  expect((await root(chosen.url)).links).toMatchObject({ sign_in: '/console/sign-in' });
  expect((await root(chosen.url)).sign_in).toEqual({
    provider: expect.stringMatching(/^(?:127\.0\.0\.1|localhost):\d+$/),
  });
  expect((await root(plain().url)).links).not.toHaveProperty('sign_in');
  expect(await root(plain().url)).not.toHaveProperty('sign_in');
  const page = await new Browser().visit(`${plain().url}/console/signed-out`);
  expect(textOf(page)).not.toContain('Signed out');
  const post = await fetch(`${plain().url}/console/back-channel-logout`, { method: 'POST' });
  expect(post.status).toBe(405);
});
