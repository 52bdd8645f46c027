import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import { refusalOf } from '../harness/service.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld, SCRIPT } from './harness/sample-world.ts';
import { collectStatuses, pressKeys, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();
const client = () => service().client;

/** Sends a request that is refused, waits until its error is stored, and returns the request id. */
async function refused(call: () => Promise<unknown>): Promise<string> {
  const { requestId } = await refusalOf(call());
  await waitFor('the error to be stored', () =>
    client()
      .errors.inspect(requestId)
      .then(Boolean, () => false),
  );
  return requestId;
}

const overdrawn = () => client().transfers.create({ amount: 5, card_id: 'card_empty', type: 'unload' });
const rows = (page: Page) => page.getByRole('table', { name: 'Errors' }).locator('tbody tr');

describe('the screen of errors', () => {
  test('has a chart by code and a list, and opens a request with the keyboard', async () => {
    const requestId = await refused(overdrawn);
    await refused(() => client().cards.get('card_none'));
    const page = await openConsole('/console/errors');
    await page.getByText('Errors by code, last 24 hours').waitFor();
    await page.getByRole('button', { name: /^insufficient_funds 1/ }).waitFor();
    for (const code of ['insufficient_funds', 'card_not_found']) {
      expect(await rows(page).filter({ hasText: code }).count()).toBe(1);
    }
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'errors');
    await page.getByRole('button', { name: /^insufficient_funds 1/ }).click();
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.locator('main').focus();
    await pressKeys(page, 'j Enter');
    await page.waitForURL(`**/console/request/${requestId}`);
    await untilShown(page);
    await page.getByText(/^Declined: insufficient funds\. The card/).waitFor();
  });

  test('keeps its filters in the URL, clears them, and suggests a next step if no error matches', async () => {
    await refused(overdrawn);
    await refused(() => client().cards.get('card_none'));
    const page = await openConsole('/console/errors');
    await page.getByRole('button', { name: /^card_not_found/ }).click();
    await page.waitForURL(/[?&]code=card_not_found/);
    await expect.poll(() => rows(page).filter({ hasText: 'insufficient_funds' }).count()).toBe(0);
    expect(await rows(page).filter({ hasText: 'card_not_found' }).count()).toBeGreaterThan(0);
    await page.getByLabel('Operation').fill('create_transfer');
    await page.getByText('No errors here').waitFor();
    await page.reload();
    await page.getByText('No errors here').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rows(page).filter({ hasText: 'insufficient_funds' }).first().waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  test('shows a card program only its errors, without details for operators', async () => {
    const { program_id } = await client().programs.create({ name: 'Own', currency: 'USD' });
    const { key } = await client().keys.create({ name: 'Shop', program_id, role: 'viewer' });
    await refused(overdrawn);
    const own = await refused(() => client().cards.get(`of ${program_id}`, { programId: program_id }));
    const page = await openConsole('/console/errors', { key: key ?? '' });
    await rows(page).first().waitFor();
    expect(await rows(page).count()).toBe(1);
    expect(await page.getByText('Errors by code').count()).toBe(0);
    await pressKeys(page, 'j Enter');
    await page.waitForURL(`**/console/request/${own}*`);
    await page.getByText('Refused: card not found.').waitFor();
    // The caller reads the resolution of the code, and support its own advice.
    await page.getByRole('region', { name: 'What to do' }).getByText('Check the card id.').waitFor();
    expect(await page.getByText('Tell the customer').count()).toBe(0);
    expect(await page.getByText('Audit log').count()).toBe(0);
    // A successful request also has a screen.
    const { response } = await client().cards.create({ card_id: 'of_own' }, { programId: program_id });
    const request = new URL(`/console/request/${response.requestId}`, page.url());
    await page.goto(request.href);
    await page.locator('.answer').getByText('succeeded. It moves no money.').waitFor();
    await page.getByRole('table', { name: 'Events' }).getByText('card.created').waitFor();
    expect(await page.getByText('Audit log').count()).toBe(0);
  });
});

describe('the screen of a request', () => {
  test('shows whether money moved, with the checks, the catalog entry, and text to copy into a ticket', async () => {
    const requestId = await refused(overdrawn);
    const page = await openConsole(`/console/request/${requestId}`);
    await page
      .locator('.answer')
      .getByText(/^Declined: insufficient funds\..*No money moved\.$/)
      .waitFor();
    // A refusal by a rule is not a fault, so its color is neutral and its sentence appears once.
    expect(await page.locator('.answer').getAttribute('class')).toContain('declined');
    expect(await page.locator('.answer').getByTitle('card_empty', { exact: true }).count()).toBe(1);
    const checks = page.getByRole('region', { name: 'Values at the time' });
    expect(await checks.innerText()).toMatch(/available\s+0\.00 USD\s+amount\s+0\.05 USD/);
    expect(await page.getByRole('region', { name: 'What was sent' }).innerText()).toMatch(/amount\s+0\.05 USD/);
    const meaning = page.getByRole('region', { name: 'What to do' });
    await meaning.getByText(/^Check whether the card or the program's funding has too little money/).waitFor();
    await meaning.getByText(/send a smaller amount as a new request\. No money moved\./).waitFor();
    await meaning.getByText('insufficient_funds means').click();
    await meaning.getByRole('link', { name: 'Its page in the catalogue' }).waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'request-refused');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const said = await collectStatuses(page);
    await page.getByText('Copy for a ticket').click();
    await expect.poll(said).toContain('Copied');
    const ticket = await page.evaluate(() => navigator.clipboard.readText());
    expect(ticket).toContain(`Request: ${requestId}\n`);
    expect(ticket).toContain('No money moved.');
    expect(ticket.split('\n').at(-1)).toBe(`${service().url}/console/request/${requestId}`);
    await page.getByRole('link', { name: 'Re-check now' }).click();
    await page.getByText('Would be declined: insufficient funds').waitFor();
    expect(await page.getByLabel('Amount', { exact: true }).inputValue()).toBe('0.05');
  });

  test('shows a successful request with its transfer and event, and links to the transfer', async () => {
    const made = await client().transfers.create({ amount: 1250, card_id: 'card_active', description: SCRIPT });
    const page = await openConsole(`/console/request/${made.request_id}`);
    await page.locator('.answer').getByText('create_transfer succeeded: 12.50 USD moved').waitFor();
    await page.getByRole('table', { name: 'Events' }).getByText('transfer.completed').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'request-succeeded');
    await page.getByRole('table', { name: 'Transfers' }).getByRole('link').first().click();
    await page.waitForURL(`**/console/transfer/${made.transfer_id}*`);
  });

  test('switches to the program of the request, and inspects the request once', async () => {
    const { program_id } = await client().programs.create({ name: 'Lumen', currency: 'USD' });
    const requestId = await refused(() => client().cards.get(`of ${program_id}`, { programId: program_id }));
    const page = await openConsole('/console/errors');
    const lookUps: string[] = [];
    page.on('request', (sent) => {
      if (new URL(sent.url()).pathname.endsWith(`/request/${requestId}`)) lookUps.push(sent.url());
    });
    await page.goto(new URL(`/console/request/${requestId}`, page.url()).href);
    await page.getByText('Refused: card not found.').waitFor();
    await page.locator('.top').getByRole('button', { name: 'Lumen' }).waitFor();
    await page.waitForURL(`**/console/request/${requestId}?program=${program_id}`);
    await untilShown(page);
    expect(lookUps.filter((url) => url.includes('/api/'))).toHaveLength(1);
  });

  test('shows text from callers as plain text, and the audit entry of an operator request', async () => {
    const world = await makeWorld(service());
    const { request_id } = await client().transfers.get(world.transfer_id, { programId: world.program_id });
    const page = await openConsole(`/console/request/${request_id}`);
    await page.locator('.answer').waitFor();
    const deposit = await client().deposits.create(world.program_id, { amount: 100, description: SCRIPT });
    await page.goto(`/console/request/${deposit.response.requestId}`);
    await page.locator('.answer').getByText("1.00 USD was paid into the program's funding").waitFor();
    await page.getByRole('table', { name: 'Audit entries' }).getByText('create_deposit').waitFor();
    await expectAccessibleInEveryView(page);
  });

  test('explains why it found nothing, and retries if the error may not be stored yet', async () => {
    const page = await openConsole('/console/request/req_019000000000700080000000000000de');
    await page.getByText('Nothing is stored about a request').waitFor();
    await page.getByText('What to try next').waitFor();
    await expectAccessibleInEveryView(page);
    const { requestId } = await refusalOf(overdrawn());
    await page.goto(`/console/request/${requestId}`);
    await page.locator('.answer').getByText('insufficient funds').waitFor();
  });

  test('shows the causes of a fault that happened while the database was stopped', async () => {
    await service().database.stop();
    const { requestId } = await refusalOf(client().transfers.create({ amount: 1, card_id: 'card_active' }));
    await service().database.start();
    await waitFor('the error to be stored', () =>
      client()
        .errors.inspect(requestId)
        .then(Boolean, () => false),
    );
    const page = await openConsole(`/console/request/${requestId}`);
    await page.locator('.answer.fault, .answer.unknown').getByText('Failed: ').waitFor();
    const causes = page.getByRole('region', { name: 'Causes', exact: true });
    await causes.getByText('Stack trace').first().click();
    await causes.locator('pre').first().waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'request-failed');
  });
});
