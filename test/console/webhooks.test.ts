import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { chooseAction, refusedActions, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const received: string[] = [];
const receiver = createServer((request, response) => {
  received.push(String(request.headers['webhook-id']));
  response.end('<script>alert(1)</script> thanks');
});
await new Promise<void>((done) => void receiver.listen(0, '127.0.0.1', done));
afterAll(() => void receiver.close());
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/<b>`;

const { openConsole, service } = useConsole({ settings: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' } });

test('creates, tests, disables and enables a webhook, and resends an event', async () => {
  const page = await openConsole('/console/webhooks');
  await expectAccessibleInEveryView(page);
  await page.getByRole('button', { name: 'Create a webhook' }).click();
  await page.getByRole('dialog').getByLabel('URL').fill(url);
  await page.getByLabel('Events').fill('transfer.*, card.created');
  await expectAccessibleInEveryView(page);
  await page.getByRole('button', { name: 'Create webhook' }).click();
  const secret = page.getByRole('dialog', { name: 'Signing secret' });
  expect(await secret.locator('code').innerText()).toMatch(/^whsec_/);
  await secret.getByRole('button', { name: 'Done' }).click();
  await screenshot(page, 'webhooks');
  await page.getByRole('table', { name: 'Webhooks' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor();
  await untilShown(page);

  await page.getByRole('button', { name: 'Send test event' }).click();
  await page.getByText('is on its way').waitFor();
  await expect.poll(() => received.length).toBe(1);
  await service().client.transfers.create({ amount: 100, card_id: 'card_active' });
  await expect.poll(() => received.length).toBeGreaterThan(1);
  const resend = page.getByRole('button', { name: 'Resend' }).first();
  await resend.click();
  await page.getByRole('button', { name: 'Resend event' }).click();
  await expect.poll(() => received.filter((id) => id === received[1]).length).toBe(2);
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'webhook');

  await chooseAction(page, 'Disable');
  await page.getByRole('button', { name: 'Disable webhook' }).click();
  await page.getByText('on request').waitFor();
  expect(await refusedActions(page)).toEqual({
    Replay: 'The webhook is disabled. Enable it first.',
    Disable: 'The webhook is already disabled.',
  });
  await page.getByRole('button', { name: 'Enable', exact: true }).click();
  await page.getByLabel('Missed events').selectOption('now');
  await page.getByRole('button', { name: 'Enable webhook' }).click();
  await page.getByRole('button', { name: 'Enable', exact: true }).waitFor({ state: 'detached' });
  expect(await refusedActions(page)).toEqual({ Enable: 'The webhook is already enabled.' });
});

test('replays a period', async () => {
  const { client } = service();
  const [webhook] = (await client.webhooks.list()).data;
  const page = await openConsole(`/console/webhooks/${webhook?.webhook_id}`);
  await chooseAction(page, 'Replay');
  await page.getByLabel('Events from').fill('2026-01-02T00:00:00');
  await page.getByLabel('Until').fill('2026-01-01T00:00:00');
  await page.getByText('The period ends before it begins.').waitFor();
  await expectAccessibleInEveryView(page);
  await page.getByLabel('Until').fill('2099-01-01T00:00:00');
  await page.getByLabel('Which events').selectOption('all');
  await page.getByRole('button', { name: 'Replay events' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect((await client.webhooks.get(webhook?.webhook_id ?? '')).replay).toMatchObject({ only: 'all' });
});

test("finds failed attempts by status and time, and shows a webhook's failures in the list", async () => {
  const { client } = service();
  const broken = createServer((_request, response) => void response.writeHead(503).end('busy'));
  await new Promise<void>((done) => void broken.listen(0, '127.0.0.1', done));
  const { port } = broken.address() as AddressInfo;
  const made = await client.webhooks.create({ url: `http://127.0.0.1:${port}/`, description: 'Order system' });
  await client.webhooks.test(made.webhook_id);
  await client.transfers.create({ amount: 100, card_id: 'card_active' });
  await expect.poll(async () => (await client.webhooks.get(made.webhook_id)).failures).toBeGreaterThan(0);
  const page = await openConsole('/console/webhooks');
  await page.getByRole('cell', { name: /\d+ failures?.*, next try/ }).waitFor();
  await screenshot(page, 'webhooks-failing');
  await page.getByRole('link', { name: 'Order system' }).click();
  await page.getByRole('heading', { name: 'Order system' }).waitFor();
  await page.getByText(/\d+ failures?.*, next try/).waitFor();
  const rows = page.getByRole('table', { name: 'Attempts' }).getByRole('row');
  await page.getByLabel('Result').selectOption('failed');
  await page.getByLabel('Status').fill('5xx');
  await page.getByLabel('Sent', { exact: true }).selectOption('hour');
  await rows.getByText('503').first().waitFor();
  expect(new URL(page.url()).search).toContain('status=5xx');
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'webhook-failing');
  await page.getByLabel('Status').fill('404');
  await page.getByText('No such attempts').waitFor();
  await page.getByLabel('Status').fill('abc');
  await page.getByText('Enter a status such as 404 or 5xx, or none for no response.').waitFor();
  await rows.getByText('503').first().waitFor();
  broken.close();
  broken.closeAllConnections();
});

test('edits a webhook, rolls its secret and deletes it', async () => {
  const { client } = service();
  const [webhook] = (await client.webhooks.list()).data;
  const id = webhook?.webhook_id ?? '';
  const page = await openConsole(`/console/webhooks/${id}`);
  await chooseAction(page, 'Edit');
  await page.getByRole('dialog', { name: 'Edit Order system' }).waitFor();
  await page.getByLabel('Events').fill('card.* transfer.failed');
  await page.getByLabel('Description').fill('Orders');
  await expectAccessibleInEveryView(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Orders' }).waitFor();
  expect(await client.webhooks.get(id)).toMatchObject({ types: ['card.*', 'transfer.failed'], description: 'Orders' });

  await chooseAction(page, 'Roll secret');
  await page.getByLabel('Keep signing with the old secret').selectOption('0');
  await expectAccessibleInEveryView(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Roll secret' }).click();
  const secret = page.getByRole('dialog', { name: 'New secret for Orders' });
  expect(await secret.locator('code').innerText()).toMatch(/^whsec_/);
  await secret.getByRole('button', { name: 'Done' }).click();
  const { secrets } = await client.webhooks.get(id);
  expect(secrets).toHaveLength(1);
  expect(secrets[0]?.secret_id).not.toBe(webhook?.secrets[0]?.secret_id);

  await chooseAction(page, 'Delete');
  await page.getByText('This cannot be undone.').waitFor();
  await expectAccessibleInEveryView(page);
  await page.getByRole('button', { name: 'Delete webhook' }).click();
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
  expect((await client.webhooks.list()).data.map(({ webhook_id }) => webhook_id)).not.toContain(id);
});

test('lists the failures of all webhooks with filters by time and status, and links to them from the overview', async () => {
  const { client } = service();
  const { program_id: programId } = await client.programs.create({ name: 'Lumen', currency: 'USD' });
  const broken = { url: 'http://127.0.0.1:9/closed-port', description: 'Ledger export' };
  await client.webhooks.create(broken, { programId });
  await client.cards.create({ card_id: 'lumen-1' }, { programId });
  await expect
    .poll(async () => (await client.webhooks.failedAttempts({}, { programId })).data.length)
    .toBeGreaterThan(0);
  const page = await openConsole('/console');
  await page.getByRole('link', { name: /^running: / }).click();
  await page.getByRole('heading', { name: 'Failed webhooks' }).waitFor();
  await untilShown(page);
  const row = page.getByRole('row', { name: /Ledger export/ }).first();
  await page.getByText(/attempts? to \d+ webhooks? failed/).waitFor();
  expect(await row.innerText()).toMatch(/connection refused/);
  expect(await row.getByRole('link', { name: 'Lumen' }).count()).toBe(1);
  await screenshot(page, 'failed-webhooks');
  await expectAccessibleInEveryView(page);
  await row.getByRole('button', { name: 'Resend' }).click();
  await page.getByRole('button', { name: 'Resend event' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByLabel('Status').fill('5xx');
  await row.waitFor({ state: 'detached' });
  await page.getByText('Nothing failed').waitFor();
  await page.getByLabel('Status').fill('none');
  await row.waitFor();
  await page.getByLabel('Sent', { exact: true }).selectOption('night');
  expect(new URL(page.url()).searchParams.get('period')).toBe('night');
});
