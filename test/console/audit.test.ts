import pg from 'pg';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { ACTIONS, hasDescription } from '../../console/format/audit.ts';
import { OTHER_ACTIONS } from '../../contract/audit.ts';
import { TransferService } from '../../sdk/client.ts';
import { AUDITED_OF_OPERATORS, AUDITED_OPERATIONS } from '../../server/subjects/audit/audit.ts';
import { operatorKey } from '../harness/keys.ts';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { SCRIPT } from './harness/sample-world.ts';
import { screenshot, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

beforeAll(async () => {
  const { client } = service();
  for (let at = 0; at < 60; at += 1) await client.keys.create(operatorKey(`key ${at}`));
  const { program_id } = await client.programs.create({ name: 'Lumen Gift Cards', currency: 'USD' });
  const maria = await client.keys.create(operatorKey('Maria'));
  const as = new TransferService({ baseUrl: service().url, key: maria.key ?? '' });
  await as.switch.change({ program_id, type: 'unload', disabled: true, reason: 'OPS-311' });
  await client.switch.change({ disabled: false, reason: `Nothing ${SCRIPT}` });
});

const entriesOf = (page: Page) => page.getByRole('list', { name: 'Entries of the audit log' }).locator('> li');

test('every action in the log has a sentence', () => {
  const recorded = [...AUDITED_OPERATIONS, ...AUDITED_OF_OPERATORS, ...OTHER_ACTIONS];
  expect(recorded.filter((action) => !hasDescription(action))).toEqual([]);
  expect(ACTIONS.map(([action]) => action).toSorted()).toEqual([...recorded].toSorted());
});

describe('the audit log', () => {
  test('lists sentences page by page, filters by person, action, program and time, and shows every detail', async () => {
    const page = await openConsole('/console/audit');
    const entries = entriesOf(page);
    await waitFor('the first page', async () => (await entries.count()) === 50);
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByText('Page 2').waitFor();
    await page.getByLabel('Action').selectOption('Stop or restart transfers');
    await waitFor('the filter', async () => (await entries.count()) === 2);
    expect(new URL(page.url()).searchParams.get('action')).toBe('change_switch');
    expect(await entries.first().innerText()).toContain(`A local caller restarted all transfers: Nothing ${SCRIPT}`);
    await page.getByLabel('Who').selectOption('Maria');
    await waitFor('the person', async () => (await entries.count()) === 1);
    await entries.getByText('Maria stopped unloads for Lumen Gift Cards: OPS-311').waitFor();
    await page.getByLabel('Card program').selectOption('Lumen Gift Cards');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('audit.csv');
    await page.getByText('Saved 1 entries.').waitFor();
    await page.getByLabel('Time', { exact: true }).selectOption('Last hour');
    await page.waitForURL(/period=hour/);
    await entries.getByRole('button', { name: /^Details of entry/ }).click();
    await entries.locator('.json').getByText('"reason": "OPS-311"').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'audit-entry');
    await page.getByLabel('Action').selectOption('Refused keys');
    await page.getByText('Change the filters, or clear them.').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('Page 2').waitFor();
    await page.getByRole('button', { name: 'Newer' }).click();
    await waitFor('all entries', async () => (await entries.count()) === 50);
    await screenshot(page, 'audit');
  });

  test('verifies the log, and copies its latest hash', async () => {
    const page = await openConsole('/console/audit', { theme: 'dark', width: 390 });
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText('The log is intact').waitFor();
    const { hash } = await service().client.audit.verify();
    await page.locator('.details').getByText(hash).waitFor();
    await page.getByRole('button', { name: 'Copy the position and the hash' }).waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'audit-verified-phone');
  });

  test('names a changed entry', async () => {
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
