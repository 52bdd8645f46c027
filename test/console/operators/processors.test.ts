import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromWireId } from '../../../domain/identifier.ts';
import type { TransferRecord } from '../../../sdk/client.ts';
import { signWebhook } from '../../../sdk/client.ts';
import { connect } from '../../harness/ledger.ts';
import { embeddedServerOf, waitFor } from '../../harness/process.ts';
import { expectAccessible, expectAccessibleInEveryView } from '../harness/accessible.ts';
import { pressKeys, screenshot, untilShown, useConsole } from '../harness/use-console.ts';

/** A connector whose address is unreachable. This file signs notices for it. */
const BANK = 'test_bank';
const SECRET = `whsec_${Buffer.alloc(32, 'bank').toString('base64')}`;

const directory = mkdtempSync(join(tmpdir(), 'console-connectors-'));
const CONNECTORS = join(directory, 'connectors.json');
const traits = { ready_seconds: 3600, when_down: 'queue' };
const connector = { connector_id: BANK, url: 'http://127.0.0.1:9', secret_variable: 'BANK_SECRET', traits };
writeFileSync(CONNECTORS, JSON.stringify({ connectors: [connector] }));
afterAll(() => rmSync(directory, { recursive: true }));

const { openConsole, service } = useConsole({ settings: { CONNECTORS, BANK_SECRET: SECRET } });
const client = () => service().client;

let programId: string;
beforeAll(async () => {
  const program = await client().programs.create({ name: 'Lumen Gift Cards', currency: 'USD' });
  programId = program.program_id;
  await client().deposits.create(programId, { amount: 1_000_000 });
});

/** Creates a card whose money is at a processor. The simulator acts according to the token. */
async function newCard(token: string, connectorId = 'simulator'): Promise<string> {
  const card_id = `card_${token.replace(/\W/g, '_')}_${crypto.randomUUID().slice(0, 8)}`;
  const at = { connector_id: connectorId, processor_token: token };
  await client().cards.create({ card_id, holder_reference: `Ada ${token}`, last_four: '4242', ...at }, { programId });
  return card_id;
}

/** Creates a transfer, and waits until its attempt has this status. */
async function transferWith(cardId: string, status: string, type: 'load' | 'unload' = 'load'): Promise<TransferRecord> {
  const made = await client().transfers.create({ amount: 1250, card_id: cardId, type }, { programId });
  await waitForAttempt(made.transfer_id, status);
  return made;
}

async function waitForAttempt(transferId: string, status: string): Promise<void> {
  await waitFor(`an attempt that is ${status}`, async () => (await attemptOf(transferId)).status === status);
}

async function attemptOf(transferId: string) {
  const [attempt] = (await client().transfers.attempts(transferId, { programId })).data;
  if (attempt === undefined) throw new Error('the transfer has no attempt');
  return attempt;
}

const transferPath = ({ transfer_id: id }: TransferRecord): string => `/console/transfer/${id}?program=${programId}`;
const section = (page: Page) => page.getByRole('region', { name: 'At the processor' });
const queue = (page: Page) => page.getByRole('table', { name: 'Transfers at processors' }).locator('tbody tr');

describe('the page of a transfer at a processor', () => {
  test("shows the processor's response, and offers no action that only the processor can take", async () => {
    const approved = await transferWith(await newCard('sim_approve'), 'approved');
    const page = await openConsole(transferPath(approved));
    await section(page).getByText('The processor carried it out.').waitFor();
    const { attempt_id: id, processor_reference: reference } = await attemptOf(approved.transfer_id);
    await section(page).getByText(id).waitFor();
    await section(page)
      .getByText(reference ?? 'no reference')
      .waitFor();
    await page.locator('.timeline').getByText('Processor', { exact: true }).first().waitFor();
    expect(await page.getByRole('button', { name: 'Reverse' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Resolve…' }).count()).toBe(0);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'processor-approved');

    const declined = await transferWith(await newCard('sim_decline=51:3600'), 'declined');
    await page.goto(transferPath(declined));
    await section(page).getByText('The processor declined it. No money moved.').waitFor();
    await section(page).getByText('51', { exact: true }).waitFor();
    await section(page).getByText('after 1 h, as the processor advises').waitFor();
  });

  test('shows how long the outcome has been unknown, when the service will ask again, and what resolving would do', async () => {
    const transfer = await transferWith(await newCard('sim_partial'), 'unknown');
    const page = await openConsole(transferPath(transfer));
    await section(page).getByText('It is unknown whether the processor carried it out.').waitFor();
    await section(page).getByText('Asked again').waitFor();
    await section(page).getByText('Unknown since').waitFor();
    await page.locator('.highlights').getByText('outcome unknown').waitFor();
    expect(await page.getByRole('button', { name: /^(?:Capture|Cancel)$/ }).count()).toBe(0);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'processor-unknown');

    await page.getByRole('button', { name: 'Resolve…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Resolve the load of 12.50 USD' });
    await dialog.getByText("The load is completed: 12.50 USD moves from the program's funding to the card.").waitFor();
    await dialog.getByText("the 12.50 USD on hold returns to the program's funding").waitFor();
    await expectAccessible(page);
    await screenshot(page, 'processor-resolve');
    expect(await dialog.getByRole('button', { name: 'Resolve', exact: true }).isDisabled()).toBe(true);
    await dialog.getByLabel('What the processor did').selectOption('not_executed');
    expect(await dialog.getByRole('button', { name: 'Fail the load' }).isDisabled()).toBe(true);
    await dialog.getByLabel('How you know').fill('Their support says so, ticket 4711.');
    await dialog.getByRole('button', { name: 'Fail the load' }).click();
    await page.getByRole('status').getByText('Resolved: the load of 12.50 USD has failed.').waitFor();
    await section(page).locator('.badge', { hasText: 'not carried out' }).waitFor();
    await section(page).getByText('Resolved by').waitFor();
    const after = await client().transfers.get(transfer.transfer_id, { programId });
    expect(after).toMatchObject({ status: 'failed', outcome: 'final' });
    await page.goto('/console/audit');
    await page.getByText('resolved the load of 12.50 USD as not carried out').first().waitFor();
    // Notes can name people, so they must not be in the audit log, where nothing can be erased.
    expect(await page.locator('main').innerText()).not.toContain('ticket 4711');
  });

  test('shows on a phone that the processor will carry out the transfer later', async () => {
    const transfer = await transferWith(await newCard('sim_pending=86400'), 'pending', 'unload');
    const page = await openConsole(transferPath(transfer), { width: 390, theme: 'dark' });
    await section(page).getByText('will carry it out later').waitFor();
    await screenshot(page, 'processor-pending-phone');
  });
});

describe('a card whose money is at a processor', () => {
  test('explains this instead of showing balances', async () => {
    const cardId = await newCard('sim_approve');
    const page = await openConsole(`/console/card/${cardId}?program=${programId}`);
    await page.locator('.highlights').getByText('At the processor').waitFor();
    const text = await page.locator('main').innerText();
    expect(text).not.toContain('Balance\n');
    expect(text).not.toContain('Available');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'processor-card');
    await page.goto(`/console/cards?program=${programId}&card_id_prefix=${cardId}`);
    await expect.poll(() => page.locator('main tbody tr').first().innerText()).toContain('at simulator');
  });
});

describe('the screen of operators', () => {
  test('is empty at first, then lists an attempt that needs attention, and opens its transfer with the keyboard', async () => {
    const page = await openConsole('/console/processors');
    await page.getByRole('table', { name: 'Connectors' }).getByText(BANK).waitFor();
    await page.getByText('Nothing needs attention').waitFor();
    await page.getByText('No open breaks').waitFor();
    const transfer = await transferWith(await newCard('sim_partial'), 'unknown', 'load');
    await page.getByLabel('Status').selectOption('unknown');
    await expect.poll(() => queue(page).filter({ hasText: 'outcome unknown' }).count()).toBe(1);

    // After a day, the service stops asking and leaves the attempt to an operator.
    await client().sandbox.moveClock({ seconds_ahead: 25 * 3600 });
    await waitForAttempt(transfer.transfer_id, 'attention');
    await page.goto('/console');
    const concerns = page.getByRole('list', { name: 'What needs attention' });
    await concerns.getByText('1 transfer at a processor needs attention.').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'processor-overview');
    await page.locator('main').focus();
    await pressKeys(page, 'g r');
    await expect.poll(() => queue(page).count()).toBe(1);
    expect(await queue(page).innerText()).toContain('needs attention');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'processors');
    await page.locator('main').focus();
    // The attempt is the third row, after the two connectors.
    await pressKeys(page, 'j j j Enter');
    await page.waitForURL(`**/console/transfer/${transfer.transfer_id}?*`);
    await untilShown(page);
    await section(page).getByText('needs attention').waitFor();
    await page.goBack();

    await page.getByRole('button', { name: 'Resolve…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Resolve the load of 12.50 USD' });
    await dialog.getByLabel('What the processor did').selectOption('executed');
    await dialog.getByLabel('How you know').fill('It is on their statement.');
    await dialog.getByRole('button', { name: 'Complete the load' }).click();
    await page.getByText('Resolved: the load of 12.50 USD is completed.').waitFor();
    await page.getByText('Nothing needs attention').waitFor();
    expect((await client().transfers.get(transfer.transfer_id, { programId })).status).toBe('completed');
    await page.getByLabel('Status').selectOption('approved');
    await queue(page).getByText('It is on their statement.').waitFor();
    await queue(page).getByText('Resolved by').waitFor();
  });

  test('closes a break with a note, and keeps it in the list of closed breaks', async () => {
    const body = JSON.stringify({
      notice_id: 'notice-1',
      attempt_id: `pat_${'0'.repeat(32)}`,
      status: 'approved',
      amount: 500,
      currency: 'USD',
      processor_reference: null,
      code: null,
      retry_after_seconds: null,
    });
    // The signature uses the real time, which does not change when the sandbox clock moves.
    const signature = await signWebhook({ id: 'msg_1', body }, SECRET);
    const response = await fetch(`${service().url}/api/v0.1/connector/${BANK}/notice`, {
      method: 'POST',
      headers: { ...signature, 'Content-Type': 'application/json' },
      body,
    });
    expect(response.status, await response.text()).toBe(200);
    const page = await openConsole('/console/processors', { width: 390 });
    const breaks = page.getByRole('table', { name: 'Breaks' });
    await breaks.getByText('About an unknown order').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'processors-break-phone');
    await breaks.getByRole('button', { name: 'Close…' }).click();
    const dialog = page.getByRole('dialog', { name: `Close a break of ${BANK}` });
    await dialog.getByText('Settle it with the processor first.').waitFor();
    expect(await dialog.getByLabel('Book the difference').count()).toBe(0);
    await expectAccessible(page);
    await screenshot(page, 'processors-close-break');
    await dialog.getByLabel('What you found and did').fill('It was their test.');
    await dialog.getByRole('button', { name: 'Close the break' }).click();
    await page.getByText('No open breaks').waitFor();
    await page.getByRole('combobox', { name: 'Breaks' }).selectOption('closed');
    await breaks.getByText('It was their test.').waitFor();
    expect((await client().breaks.list({ status: 'closed' })).data).toMatchObject([{ note: 'It was their test.' }]);
    await page.goto('/console/audit');
    await page.getByText(`closed a break of ${BANK} (unknown attempt)`).first().waitFor();
    expect(await page.locator('main').innerText()).not.toContain('It was their test.');
  });

  test('books the difference of a break, even after the break was closed', async () => {
    const transfer = await transferWith(await newCard('sim_approve'), 'approved');
    const { attempt_id: attemptId } = await attemptOf(transfer.transfer_id);
    const database = await connect({ connectionString: (await embeddedServerOf(service().directory)).databaseUrl });
    await database.query(
      `insert into processor_break (break_id, kind, connector_id, program_id, attempt_id, transfer_id, amount, currency,
          expected, found, created_at, stated_amount)
        select gen_random_uuid(), 'contradiction', connector_id, program_id, attempt_id, transfer_id, amount, currency,
          'approved', 'declined', now(), 0 from processor_attempt where attempt_id = $1`,
      [fromWireId('pat', attemptId)],
    );
    await database.end();
    const fundingOf = async () => (await client().programs.get(programId)).funding[0]?.balance ?? 0;
    const before = await fundingOf();
    const page = await openConsole('/console/processors');
    const breaks = page.getByRole('table', { name: 'Breaks' });
    await breaks.getByText('Contradicts an approval').waitFor();
    await breaks.getByRole('button', { name: 'Close…' }).click();
    const closing = page.getByRole('dialog', { name: 'Close a break of simulator' });
    await closing.getByLabel('What you found and did').fill('They are checking it.');
    await closing.getByRole('button', { name: 'Close the break' }).click();
    await page.getByText('No open breaks').waitFor();
    expect(await fundingOf()).toBe(before);
    await page.getByRole('combobox', { name: 'Breaks' }).selectOption('closed');
    await breaks.getByRole('button', { name: 'Book…' }).click();
    const booking = page.getByRole('dialog', { name: 'Book the difference of a break of simulator' });
    await booking.getByLabel('What you found and did').fill('They did not carry it out.');
    expect(await booking.getByRole('button', { name: 'Book the difference' }).isDisabled()).toBe(true);
    const choice = 'The card program gets it back: 12.50 USD from clearing to funding';
    await booking.getByLabel('Book the difference').selectOption(choice);
    await expectAccessible(page);
    await screenshot(page, 'processors-book-break');
    await booking.getByRole('button', { name: 'Book the difference' }).click();
    await page.getByText('The break is closed, and its difference is booked.').waitFor();
    await breaks.getByText('They did not carry it out.').waitFor();
    expect(await fundingOf()).toBe(before + 1250);
    await expect.poll(() => breaks.getByRole('button', { name: 'Book…' }).count()).toBe(0);
    await page.goto('/console/audit');
    await page.getByText('booked against the funding').first().waitFor();
  });

  test('names an unreachable connector in the overview, with the reason', async () => {
    const cardId = await newCard('token-1', BANK);
    await Promise.all(
      [1, 2, 3, 4, 5].map((amount) => client().transfers.create({ amount, card_id: cardId }, { programId })),
    );
    await waitFor('the connector to be down', async () => {
      const { data } = await client().connectors.list();
      return data.find(({ connector_id: id }) => id === BANK)?.state === 'down';
    });
    const page = await openConsole('/console');
    const concerns = page.getByRole('list', { name: 'What needs attention' });
    await concerns.getByText(`The connector ${BANK} is down`).waitFor();
    await screenshot(page, 'processor-down-overview');
    await concerns.getByRole('link', { name: 'Its transfers' }).click();
    await page.getByRole('table', { name: 'Connectors' }).locator('.badge', { hasText: 'down' }).waitFor();
    await page.getByRole('table', { name: 'Connectors' }).getByRole('link', { name: BANK }).click();
    await expect.poll(() => queue(page).count()).toBe(5);
    // Nothing was sent, so there is nothing to resolve.
    expect(await page.getByRole('button', { name: 'Resolve…' }).count()).toBe(0);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'processors-down');
  });

  test('shows what the switch has stopped at a connector, with the reason, and when it starts and ends', async () => {
    const until = new Date(Date.now() + 30 * 24 * 3_600_000).toISOString();
    const change = (disabled: boolean, more: object = {}) =>
      client().switch.change({ connector_id: 'simulator', type: 'load', disabled, ...more });
    await change(true, { reason: 'fraud <b>there</b>', until });
    try {
      const page = await openConsole('/console/processors');
      const row = page.getByRole('table', { name: 'Connectors' }).getByRole('row', { name: 'simulator' });
      await row.locator('.badge', { hasText: 'stopped in part' }).waitFor();
      const text = 'Loads at the connector simulator are stopped: fraud <b>there</b> (';
      expect(await row.innerText()).toContain(text);
      expect(await row.innerText()).toContain(', until ');
      // The banner on every screen uses the same words.
      await page.locator('.banner', { hasText: text }).waitFor();
      await expectAccessibleInEveryView(page);
      await screenshot(page, 'processors-stopped');
    } finally {
      await change(false);
    }
    const page = await openConsole('/console/processors');
    await page.getByRole('table', { name: 'Connectors' }).getByText(BANK).waitFor();
    expect(await page.getByText('Stopped by the switch').count()).toBe(0);
  });

  test('shows no buttons to callers without permission', async () => {
    const page = await openConsole('/console/processors?status=open', { role: 'support' });
    await page.getByText('To resolve an attempt or close a break, ask a treasurer.').waitFor();
    expect(await page.getByRole('button', { name: 'Resolve…' }).count()).toBe(0);
  });
});
