import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { operatorKey } from '../harness/keys.ts';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { SCRIPT } from './harness/sample-world.ts';
import { screenshot, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

beforeAll(async () => {
  const { client } = service();
  for (let at = 0; at < 60; at += 1) await client.keys.create(operatorKey(`key ${at}`));
  await client.switch.change({ disabled: false, reason: `Nothing ${SCRIPT}` });
});

const table = 'Entries of the audit log';

describe('the audit log', () => {
  test('is listed page by page, filtered, and every entry shows its details', async () => {
    const page = await openConsole('/console/audit');
    const rows = page.getByRole('table', { name: table }).locator('tbody tr');
    await waitFor('the first page', async () => (await rows.count()) === 50);
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByText('Page 2').waitFor();
    await page.getByLabel('Action').fill('change_switch');
    await waitFor('the filter', async () => (await rows.count()) === 1);
    expect(new URL(page.url()).searchParams.get('action')).toBe('change_switch');
    await rows.getByText('Show').click();
    await rows.locator('.json').getByText(SCRIPT.replaceAll('"', '\\"')).waitFor();
    await expectAccessibleInEveryView(page);
    await page.getByLabel('Action').fill('nothing');
    await page.getByText('list_audit_entries_schema').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('Page 2').waitFor();
    await page.getByRole('button', { name: 'Newer' }).click();
    await waitFor('all entries', async () => (await rows.count()) === 50);
    await screenshot(page, 'audit');
  });

  test('is verified, and its head can be copied', async () => {
    const page = await openConsole('/console/audit', { theme: 'dark', width: 390 });
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText('The log is intact').waitFor();
    const { hash } = await service().client.audit.verify();
    await page.locator('.facts').getByText(hash).waitFor();
    await page.getByRole('button', { name: 'Copy the position and the head' }).waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'audit-verified-phone');
  });

  test('a changed entry is named', async () => {
    const { databaseUrl } = await embeddedServerOf(service().directory);
    const intruder = new pg.Client(databaseUrl.replace('//transfer_service@', '//postgres@'));
    await intruder.connect();
    try {
      await intruder.query("set session_replication_role = 'replica'");
      await intruder.query("update audit_entry set actor = 'nobody' where position = 3");
    } finally {
      await intruder.end();
    }
    const page = await openConsole('/console/audit');
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText(/Entry 3 .* was changed/).waitFor();
    await page.getByText('The log is not intact.').waitFor();
    await screenshot(page, 'audit-broken');
  });
});
