import { expect, test } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { pressKeys, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service, keyOf } = useConsole({ mode: 'live' });

/** A JavaScript expression for everything that the browser stores for the page. */
const STORED = `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state])`;

test('exchanges a key for a session with the keyboard, and does not store the key', async () => {
  const page = await openConsole('/console/keys');
  const key = await keyOf('support');
  await page.getByRole('heading', { name: 'Sign in to Transfer Service' }).waitFor();
  await page.getByText(new URL(service().url).host, { exact: true }).waitFor();
  const help = page.getByRole('region', { name: 'Without a key' });
  await help.getByText(/^Ask .+\. Never send a key\.$/).waitFor();
  await help.getByText('transfer-service keys create').waitFor();
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'sign-in');
  await page.keyboard.type('ts_of someone else');
  await page.getByText('A key begins with ts_').waitFor();
  await page.keyboard.press('Control+A');
  await page.keyboard.type(key);
  await pressKeys(page, 'Enter');
  await page.getByRole('heading', { name: 'Keys and sessions' }).waitFor();
  await page.getByText('yours').waitFor();
  expect(await page.evaluate(STORED)).not.toContain(key.slice(3, 19));
  const [cookie, ...others] = await page.context().cookies();
  expect(others).toEqual([]);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' });
  expect(cookie?.value).not.toContain(key.slice(20, 40));
  await page.reload();
  await page.getByRole('heading', { name: 'Keys and sessions' }).waitFor();
});

test('explains how a key begins and disables the button while the input is not a key', async () => {
  const page = await openConsole('/console');
  await page.getByLabel('API key').fill(`ts_${'0'.repeat(88)}`);
  await page.getByText('A key begins with ts_').waitFor();
  expect(await page.getByRole('button', { name: 'Sign in' }).isDisabled()).toBe(true);
});

test('leaves nothing in the browser after signing out', async () => {
  const page = await openConsole('/console/keys', { role: 'administrator' });
  await page.getByText('yours').waitFor();
  await page.getByRole('button', { name: 'The administrator of the tests' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await page.context().cookies()).toEqual([]);
  // The window's title changes shortly after the screen.
  await expect.poll(() => page.content()).not.toContain('Keys and sessions');
});

test('keeps the view when a session ends, and continues with a key', async () => {
  const { url } = service();
  const administrator = new TransferService({ baseUrl: url, key: await keyOf('administrator') });
  const page = await openConsole('/console/keys?show=all', { role: 'support' });
  await page.getByText('yours').waitFor();
  const { data } = await administrator.sessions.list();
  for (const { session_id, key_name } of data)
    if (key_name === 'The support of the tests') await administrator.sessions.revoke(session_id);
  // The service may take a second to notice that the session has ended. Each try makes the page send a request.
  await expect
    .poll(async () => {
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
      return page.getByRole('dialog', { name: 'Your session has ended' }).count();
    })
    .toBe(1);
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'session-ended');
  expect(await page.getByText('The support of the tests').first().isVisible()).toBe(true);
  await page.getByLabel('API key').fill(await keyOf('support'));
  await pressKeys(page, 'Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(page.url()).toContain('show=all');
  await untilShown(page);
});
