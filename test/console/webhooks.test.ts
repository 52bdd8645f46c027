import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { screenshot, untilShown, useConsole } from './harness/use-console.ts';

/** The ids of the events that the receiver got. */
const received: string[] = [];
const receiver = createServer((request, response) => {
  received.push(String(request.headers['webhook-id']));
  response.end('<script>alert(1)</script> thanks');
});
await new Promise<void>((done) => void receiver.listen(0, '127.0.0.1', done));
afterAll(() => void receiver.close());
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/<b>`;

const { openConsole, service } = useConsole({ settings: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' } });

test('a webhook is created, tested, disabled and enabled, and one of its events is sent again', async () => {
  const page = await openConsole('/console/webhooks');
  await expectAccessibleInEveryView(page);
  await page.getByRole('button', { name: 'Create a webhook' }).click();
  await page.getByRole('dialog').getByLabel('URL').fill(url);
  await page.getByLabel('Events').fill('transfer.*, card.created');
  await expectAccessibleInEveryView(page);
  await page.getByRole('button', { name: 'Create the webhook' }).click();
  const secret = page.getByRole('dialog', { name: 'The secret of the webhook' });
  expect(await secret.locator('code').innerText()).toMatch(/^whsec_/);
  await secret.getByRole('button', { name: 'Done' }).click();
  await screenshot(page, 'webhooks');
  await page.getByRole('table', { name: 'Webhooks' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor();
  await untilShown(page);

  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByText('The test event').waitFor();
  await expect.poll(() => received.length).toBe(1);
  await service().client.transfers.create({ amount: 100, card_id: 'card_active' });
  await expect.poll(() => received.length).toBeGreaterThan(1);
  const resend = page.getByRole('button', { name: 'Resend' }).first();
  await resend.click();
  await page.getByRole('button', { name: 'Send it again' }).click();
  await expect.poll(() => received.filter((id) => id === received[1]).length).toBe(2);
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'webhook');

  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByRole('button', { name: 'Disable it' }).click();
  await page.getByRole('button', { name: 'Enable', exact: true }).click();
  await page.getByLabel('Events of the meantime').selectOption('now');
  await page.getByRole('button', { name: 'Enable it' }).click();
  await page.getByRole('button', { name: 'Disable', exact: true }).waitFor();
});

test('a period is replayed', async () => {
  const { client } = service();
  const [webhook] = (await client.webhooks.list()).data;
  const page = await openConsole(`/console/webhooks/${webhook?.webhook_id}`);
  await page.getByRole('button', { name: 'Replay a period' }).click();
  await page.getByLabel('Events from').fill('2026-01-02T00:00:00');
  await page.getByLabel('To').fill('2026-01-01T00:00:00');
  await page.getByText('The period ends before it begins.').waitFor();
  await expectAccessibleInEveryView(page);
  await page.getByLabel('To').fill('2099-01-01T00:00:00');
  await page.getByLabel('Which').selectOption('all');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect((await client.webhooks.get(webhook?.webhook_id ?? '')).replay).toMatchObject({ only: 'all' });
});
