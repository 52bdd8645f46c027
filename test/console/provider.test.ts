import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { type ClientOperationId, METHODS } from '../../contract/clients/sdk-methods.ts';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { AwaitsApproval, TransferService } from '../../sdk/client.ts';
import { CLIENT_ID, CLIENT_SECRET, freePort, startOpenidProvider } from '../harness/openid-provider.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { expectProblem } from './harness/page-problems.ts';
import { screenshot, untilShown, useConsole } from './harness/use-console.ts';

// The service and its provider are on different sites, so the browser treats cookies as it does in production.
const port = await freePort();
const publicUrl = `http://localhost:${port}`;
const provider = await startOpenidProvider(publicUrl, {
  ada: { name: 'Ada Lovelace', email: 'ada@bank.test', groups: ['card-ops'] },
  grace: { name: 'Grace Hopper', groups: ['card-admins'] },
  mary: { name: 'Mary Jackson', groups: ['card-admins'] },
  guest: { name: 'Guest', groups: ['everyone'] },
});
afterAll(provider.stop);
const { openConsole, keyOf, service } = useConsole({
  mode: 'live',
  settings: {
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_NAME: 'Acme SSO',
    OIDC_CLIENT_ID: CLIENT_ID,
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
    OIDC_SCOPES: 'openid profile email groups',
    OIDC_ROLES: 'card-ops=operator, card-admins=administrator',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
  },
});

const PROVIDER = { name: 'Sign in with Acme SSO', exact: true };

test('signs a person in with the provider, returns to the screen, and signs out at both', async () => {
  const page = await openConsole('/console/keys?show=all');
  const link = page.getByRole('link', PROVIDER);
  await link.waitFor();
  const help = page.getByRole('region', { name: 'If neither works' });
  await help.getByRole('link', { name: 'Single sign-on' }).waitFor();
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
  // The provider has also ended its session.
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await page.getByRole('button', { name: 'guest' }).click();
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  await page.getByText('If neither works, ask').waitFor();
  await page.getByText("OIDC_ROLES assigns no role to these values of the claim 'groups': 'everyone'").waitFor();
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'no-role');
  leftTheService(page);
});

test('asks the person to sign in again after they have signed out at the provider in a different tab', async () => {
  const page = await openConsole('/console/keys');
  await page.getByRole('link', PROVIDER).click();
  await page.getByRole('button', { name: 'ada' }).click();
  await page.getByRole('heading', { name: 'Keys and sessions' }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${provider.issuer}/session/end`);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await other.close();
  leftTheService(page);
});

/** Checks that the page has sent a request to the provider, which is another host. */
function leftTheService(page: Page): void {
  const hosts = [publicUrl, provider.issuer].join('|');
  expectProblem(page, new RegExp(`^asked another host: (?:${hosts})/|status of 403 \\(Forbidden\\)$`));
}

/**
 * Opens a screen as Grace. This provider reports when she authenticated only if `max_age` is sent, so her first sign-in
 * counts as old.
 */
async function openAsGrace(path: string): Promise<Page> {
  const page = await openConsole(path);
  await page.getByRole('link', PROVIDER).click();
  await page.getByRole('button', { name: 'grace' }).click();
  await page.getByRole('button', { name: 'Grace Hopper' }).waitFor();
  await untilShown(page);
  return page;
}

/** Clicks the button in a refused form that leads to the provider. */
async function leaveToSignIn(page: Page): Promise<void> {
  await page.getByRole('dialog').getByRole('link', { name: 'Sign in again' }).click();
  await page.getByRole('button', { name: 'grace' }).waitFor();
}

/** Returns everything that the tab stores for the console's forms. */
const storedForms = (page: Page) => page.evaluate(() => window.sessionStorage.getItem('console.forms'));

/** Makes the stored forms older than 10 minutes. No console screen may be open. */
async function makeOld(page: Page): Promise<void> {
  await page.goto(`${publicUrl}/errors`);
  await page.evaluate(() => {
    const kept = JSON.parse(window.sessionStorage.getItem('console.forms') ?? '');
    window.sessionStorage.setItem('console.forms', JSON.stringify({ ...kept, at: kept.at - 600_001 }));
  });
}

const CREATE = { name: 'Create a key' };

describe('a form that needs a fresh sign-in', () => {
  const fillAndLeave = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('button', CREATE).click();
    const dialog = page.getByRole('dialog', CREATE);
    await dialog.getByLabel('Name', { exact: true }).fill(name);
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    await leaveToSignIn(page);
  };

  test('opens again with its values, and the request succeeds', async () => {
    const api = new TransferService({ baseUrl: service().url, key: await keyOf('administrator') });
    const { program_id } = await api.programs.create({ name: 'Shop', currency: 'USD' });
    const page = await openAsGrace('/console/keys?show=all');
    await page.getByRole('button', CREATE).click();
    const dialog = page.getByRole('dialog', CREATE);
    await dialog.getByLabel('Card program').selectOption({ label: 'Shop' });
    await dialog.getByLabel('Role').selectOption('own');
    await dialog.getByLabel('cards:read').check();
    await dialog.getByLabel('Expires').fill('2097-01-31T09:30:00');
    await dialog.getByLabel('Name', { exact: true }).fill('Shop server');
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    await leaveToSignIn(page);
    await page.getByRole('button', { name: 'grace' }).click();
    await dialog.waitFor();
    expect(page.url()).toContain('/console/keys?show=all');
    expect(await storedForms(page)).toBeNull();
    expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('Shop server');
    expect(await dialog.getByLabel('Expires').inputValue()).toMatch(/^2097-01-31T09:30/);
    expect(await dialog.getByLabel('cards:read').isChecked()).toBe(true);
    expect(await dialog.getByLabel('cards:write').isChecked()).toBe(false);
    await expect.poll(() => dialog.getByLabel('Card program').inputValue()).toBe(program_id);
    await dialog.getByRole('button', { name: 'Create the key for Shop server' }).click();
    await page.getByRole('dialog', { name: 'The key for Shop server' }).waitFor();
    const [made] = (await api.keys.list({ limit: 1 })).data;
    expect(made).toMatchObject({ name: 'Shop server', program_id, scopes: ['cards:read'] });
    await page.reload();
    await untilShown(page);
    expect(await page.getByRole('dialog').count()).toBe(0);
    leftTheService(page);
  });

  test('does not open for a different person, or after 10 minutes', async () => {
    const page = await openAsGrace('/console/keys');
    // A person who returns without signing in again still has the form.
    await fillAndLeave(page, 'First');
    await page.goto(`${publicUrl}/console/keys`);
    await page.getByRole('dialog', CREATE).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('First');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

    await fillAndLeave(page, 'Late');
    await makeOld(page);
    await page.goto(`${publicUrl}/console/keys`);
    await untilShown(page);
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await storedForms(page)).toBeNull();

    await fillAndLeave(page, 'Of Grace');
    await page.getByRole('button', { name: 'mary' }).click();
    await page.getByRole('button', { name: 'Mary Jackson' }).waitFor();
    await untilShown(page);
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await storedForms(page)).toBeNull();
    leftTheService(page);
  });

  test('loses its values after 10 minutes even if no one signs in again', async () => {
    const page = await openAsGrace('/console/keys');
    await fillAndLeave(page, 'Left');
    await page.context().clearCookies();
    await page.goto(`${publicUrl}/console/keys`);
    await page.getByRole('link', PROVIDER).waitFor();
    expect(await storedForms(page)).toContain('Left');
    await makeOld(page);
    await page.goto(`${publicUrl}/console/keys`);
    await page.getByRole('link', PROVIDER).waitFor();
    expect(await storedForms(page)).toBeNull();
    leftTheService(page);
  });

  test('keeps no card number, key or secret', async () => {
    const page = await openAsGrace('/console/keys');
    for (const secret of ['4111 1111 1111 1111', await keyOf('support'), 'whsec_Zm9vYmFyYmF6cXV4cXV1eA']) {
      await fillAndLeave(page, secret);
      await page.goto(`${publicUrl}/errors`);
      const stored = await storedForms(page);
      expect(stored).toContain('"access"');
      expect(stored).not.toContain(secret.slice(3, 19));
      await page.evaluate(() => window.sessionStorage.clear());
      await page.goto(`${publicUrl}/console/keys`);
      await untilShown(page);
    }
    leftTheService(page);
  });

  test('also works for a decision on an approval', async () => {
    const api = new TransferService({ baseUrl: service().url, key: await keyOf('administrator') });
    await api.approvals.changePolicy({ rules: [{ operation: 'create_key' }] });
    const asked = await api.keys.create({ name: 'Till', role: 'viewer', all_programs: true }).catch((error) => error);
    expect(asked).toBeInstanceOf(AwaitsApproval);
    const page = await openAsGrace(`/console/approval/${asked.approval.approval_id}`);
    await page.getByRole('button', { name: 'Reject…' }).click();
    const dialog = page.getByRole('dialog', { name: /^Reject/ });
    await dialog.getByLabel('Reason').fill('Tills have keys');
    await dialog.getByRole('button', { name: 'Reject' }).click();
    await leaveToSignIn(page);
    await page.getByRole('button', { name: 'grace' }).click();
    await dialog.waitFor();
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('Tills have keys');
    await dialog.getByRole('button', { name: 'Reject' }).click();
    await page.getByText('Rejected. Nothing has changed.').waitFor();
    leftTheService(page);
  });
});

test('every form whose request needs a fresh sign-in keeps its values', () => {
  const folder = resolve(import.meta.dirname, '../../console');
  const sources = globSync('**/*.tsx', { cwd: folder })
    .filter((file) => !file.startsWith('built'))
    .map((file) => [file, readFileSync(join(folder, file), 'utf8')] as const);
  const fresh = OPERATION_IDS.filter((id) => OPERATIONS[id].freshSignIn);
  const forms = sources.filter(([, source]) =>
    fresh.some((id) => source.includes(`api.${METHODS[id as ClientOperationId]}(`)),
  );
  expect(forms.length).toBeGreaterThan(2);
  for (const [file, source] of forms) expect(source, file).toContain('useKeptState');
});
