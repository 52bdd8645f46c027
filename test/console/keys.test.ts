import { expect, test } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { pressKeys, screenshot, useConsole } from './harness/use-console.ts';

const { openConsole, service, keyOf } = useConsole({ mode: 'live' });
const administrator = async () => new TransferService({ baseUrl: service().url, key: await keyOf('administrator') });

test('creates a working key with a role using the keyboard, and shows the key only once', async () => {
  const page = await openConsole('/console/keys', { role: 'administrator' });
  await page.getByRole('button', { name: 'Create a key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create a key' });
  await dialog.waitFor();
  await expectAccessibleInEveryView(page);
  await page.keyboard.type('Ada <script>alert(1)</script>');
  await pressKeys(page, 'Enter');
  const secret = page.getByRole('dialog', { name: 'The key for Ada' });
  await secret.waitFor();
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'new-key');
  const key = await secret.locator('code').innerText();
  const session = await new TransferService({ baseUrl: service().url, key }).sessions.current();
  expect(session).toMatchObject({ role: 'support', key_name: 'Ada <script>alert(1)</script>', all_programs: true });
  await pressKeys(page, 'Escape');
  await page.getByText('Ada <script>alert(1)</script>').first().waitFor();
  await expect.poll(() => page.content()).not.toContain(key);
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'keys');
});

test('creates a key of one program without operator scopes', async () => {
  const api = await administrator();
  const { program_id } = await api.programs.create({ name: 'Shop', currency: 'USD' });
  const page = await openConsole('/console/keys', { role: 'administrator' });
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Shop server');
  await page.getByLabel('Card program').last().selectOption({ label: 'Shop' });
  await page.getByLabel('Role').selectOption('own');
  const scopes = await page.getByRole('group', { name: 'Scopes' }).locator('code').allInnerTexts();
  expect(scopes.filter((scope) => /operator|keys|funding|switch|programs/.test(scope))).toEqual([]);
  await page.getByLabel('transfers:write').check();
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.getByRole('dialog', { name: 'The key for Shop server' }).waitFor();
  const [made] = (await api.keys.list({ limit: 1 })).data;
  expect(made).toMatchObject({ name: 'Shop server', program_id, scopes: ['transfers:write'] });
});

test('rolls a key, revokes the new key, and ends a session', async () => {
  const api = await administrator();
  const { key_id } = await api.keys.create({ name: 'Leaving', role: 'viewer', all_programs: true });
  const page = await openConsole('/console/keys', { role: 'administrator' });
  await page.getByTitle('Roll Leaving').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll Leaving' }).click();
  await page.getByRole('dialog', { name: 'The new key for Leaving' }).getByRole('button', { name: 'Done' }).click();
  // Until the new list hides the old key, the test could mistake the old key's row for the new key's row.
  await page.getByTitle(key_id).waitFor({ state: 'detached' });
  await expect.poll(() => page.getByTitle('Roll Leaving').count()).toBe(1);
  await page.getByTitle('Revoke Leaving').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke Leaving' }).click();
  await expect.poll(() => page.getByTitle('Revoke Leaving').count()).toBe(0);
  const { data } = await api.keys.list({ limit: 5 });
  expect(data.find((key) => key.key_id === key_id)).toMatchObject({ revoked_at: null, replaced_by: data[0]?.key_id });
  expect(data[0]).toMatchObject({ name: 'Leaving', revoked_at: expect.any(String) });

  const other = new TransferService({ baseUrl: service().url, key: await keyOf('viewer') });
  const { session_id } = await other.sessions.create();
  await page.reload();
  // The list of keys is above the sessions. If the list loaded during the click, the button would move.
  await page.getByTitle('Revoke The administrator of the tests').first().waitFor();
  await page.getByTitle('End the session of The viewer of the tests').first().click();
  await page.getByRole('button', { name: 'End the session' }).click();
  await expect
    .poll(async () => (await api.sessions.list()).data.map((one) => one.session_id))
    .not.toContain(session_id);
});

test('support sees keys and sessions but cannot change them', async () => {
  const page = await openConsole('/console/keys?show=all', { role: 'support' });
  await page.getByRole('table', { name: 'Sessions' }).waitFor();
  for (const name of ['Create a key', 'Roll', 'Revoke', 'End'])
    expect(await page.getByRole('button', { name, exact: true }).count(), name).toBe(0);
  await page.getByText('ask an administrator').first().waitFor();
});

test('shows who can move money', async () => {
  const api = await administrator();
  await api.keys.create({ name: 'Treasury', role: 'treasurer', all_programs: true });
  await api.keys.create({ name: 'Reader', role: 'viewer', all_programs: true });
  const page = await openConsole('/console/keys', { role: 'administrator' });
  await page.getByRole('link', { name: 'Who can move money?' }).click();
  await page.getByText('move money, change funding').first().waitFor();
  await page.getByText('Treasury').waitFor();
  expect(await page.getByText('Reader').count()).toBe(0);
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'access');
  await page.getByLabel('Who', { exact: true }).selectOption('Cannot');
  await page.getByText('Reader').waitFor();
  expect(await page.getByText('Treasury').count()).toBe(0);
});
