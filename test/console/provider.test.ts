import { afterAll, expect, test } from 'vitest';
import { CLIENT_ID, CLIENT_SECRET, freePort, startOpenidProvider } from '../harness/openid-provider.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { expectProblem } from './harness/page-problems.ts';
import { screenshot, useConsole } from './harness/use-console.ts';

// The service and its provider are on different sites, so the browser decides on cookies as it does in production.
const port = await freePort();
const publicUrl = `http://localhost:${port}`;
const provider = await startOpenidProvider(publicUrl, {
  ada: { name: 'Ada Lovelace', email: 'ada@bank.test', groups: ['card-ops'] },
  guest: { name: 'Guest', groups: ['everyone'] },
});
afterAll(provider.stop);
const { openConsole } = useConsole({
  mode: 'live',
  settings: {
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT_ID,
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
    OIDC_SCOPES: 'openid profile email groups',
    OIDC_ROLES: 'card-ops=operator',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
  },
});

test('signs a person in with the provider, returns to the screen, and signs out at both', async () => {
  const page = await openConsole('/console/keys?show=all');
  const link = page.getByRole('link', { name: 'Sign in with your organization' });
  await link.waitFor();
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'sign-in-provider');
  await link.click();
  await page.getByRole('button', { name: 'ada' }).click();
  await page.getByRole('heading', { name: 'Keys and sessions' }).waitFor();
  expect(page.url()).toBe(`${publicUrl}/console/keys?show=all`);
  await page.getByText('yours').waitFor();
  const cookies = (await page.context().cookies(publicUrl)).map(({ name, sameSite }) => [name, sameSite]);
  expect(cookies).toEqual([[`console-${port}`, 'Strict']]);
  await page.getByRole('button', { name: 'Ada Lovelace' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Signed out' }).waitFor();
  await expectAccessibleInEveryView(page);
  expect(await page.context().cookies(publicUrl)).toEqual([]);
  // The provider has forgotten the person too.
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await page.getByRole('button', { name: 'guest' }).click();
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  await page.getByText("OIDC_ROLES gives a role to none of them: 'everyone'").waitFor();
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'no-role');
  const hosts = [publicUrl, provider.issuer].join('|');
  expectProblem(page, new RegExp(`^asked another host: (?:${hosts})/|status of 403 \\(Forbidden\\)$`));
});
