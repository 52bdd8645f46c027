import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CaseRecord, Overview, TransferService } from '../../../sdk/client.ts';
import { fetchPatiently, patientClient } from '../../harness/client/patience.ts';
import { programKey, withSecret } from '../../harness/keys.ts';
import { refusalOf } from '../../harness/service.ts';
import { expectAccessible, expectAccessibleInEveryView } from '../harness/accessible.ts';
import { SCRIPT } from '../harness/sample-world.ts';
import { pressKeys, screenshot, untilShown, useConsole, visit } from '../harness/use-console.ts';

const { openConsole, service, keyOf } = useConsole();
const client = () => service().client;

type Shop = {
  readonly programId: string;
  /** The key of the program's integrator. */
  readonly key: string;
  readonly caller: TransferService;
};

async function newShop(name: string): Promise<Shop> {
  const { program_id: programId } = await client().programs.create({ name, currency: 'USD' });
  await client().cards.create({ card_id: 'card_shop' }, { programId });
  const { key } = await withSecret(client().keys.create(programKey(`${name} backend`, programId)));
  return { programId, key, caller: patientClient(service().url, key) };
}

let shop: Shop;
beforeAll(async () => {
  shop = await newShop('Lumen Gift Cards');
});

/** Creates a transfer that a rule refuses, waits until the error is stored, and returns the request id. */
const declined = async ({ caller }: Shop): Promise<string> =>
  stored(
    caller,
    (await refusalOf(caller.transfers.create({ amount: 1250, card_id: 'card_shop', type: 'unload' }))).requestId,
  );

async function stored(caller: TransferService, requestId: string): Promise<string> {
  await expect.poll(() => caller.requests.get(requestId).catch(() => undefined)).toBeDefined();
  return requestId;
}

/** Makes a transfer fail with a provoked error, waits until the error is stored, and returns the request id. */
async function provoked({ caller, key }: Shop, provocation: string): Promise<string> {
  const response = await fetchPatiently(`${service().url}/api/v0.1/core/transfer`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': crypto.randomUUID(),
      'Sandbox-Provoke': provocation,
    },
    body: JSON.stringify({ amount: 1250, card_id: 'card_shop' }),
  });
  await response.text();
  return stored(caller, response.headers.get('Request-Id') ?? '');
}

const rows = (page: Page) => page.getByRole('table', { name: 'Cases', exact: true }).locator('tbody tr');
const messages = (page: Page) => page.locator('.messages > li');

/** Closes cases from other tests, so that the queue starts empty. */
async function closeAll(): Promise<void> {
  for (const status of ['open', 'waiting'] as const) {
    for (const one of (await client().cases.search({ status, limit: 100 })).data) {
      await client().cases.close(one.case_id, { programId: one.program_id });
    }
  }
}

describe('the support queue', () => {
  test('shows the most urgent case first, and opens it with two keystrokes', async () => {
    await closeAll();
    const question = await shop.caller.cases.create({ text: 'Where is the invoice?' });
    await shop.caller.cases.create({ request_id: await declined(shop), severity: 'critical' });
    const urgent = await shop.caller.cases.create({
      request_id: await provoked(shop, 'unknown_create_transfer; money_moved=unknown'),
    });
    await shop.caller.cases.create({ request_id: await provoked(shop, 'service_disabled') });
    const page = await openConsole('/console/cases', { role: 'support' });
    await expect.poll(() => rows(page).filter({ hasText: 'Lumen Gift Cards' }).count()).toBe(4);
    const texts = await rows(page).allInnerTexts();
    for (const [at, word] of [
      'urgent money unknown',
      'high process error',
      'high request error, critical for the customer',
      'low question',
    ].entries()) {
      expect(texts[at]?.replace(/\s+/g, ' ')).toContain(word);
    }
    expect(texts.every((text) => /no response for \d+ (?:s|min)/.test(text))).toBe(true);
    await screenshot(page, 'cases');
    await page.locator('main').focus();
    await pressKeys(page, 'j Enter');
    await page.waitForURL(`**/console/case/${urgent.case_id}?*`);
    await untilShown(page);
    await page.locator('.answer').first().getByText('Whether money moved is not confirmed').waitFor();
    const advice = page.getByRole('region', { name: 'What to do' });
    await advice.getByText('Wait a minute, then reload this page.').waitFor();
    await advice.getByText('Please do not send a new request for it.').waitFor();
    expect(await page.locator('.answer').first().innerText()).not.toContain('Send exactly');
    await page.getByRole('region', { name: 'Causes', exact: true }).getByText('provoked').waitFor();
    await page.getByRole('table', { name: 'Errors around that time' }).getByText('insufficient_funds').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'case-urgent');

    await page.goto(`/console/cases?status=waiting`);
    await page.getByText('No open cases').waitFor();
    await page.getByLabel('Status').selectOption('');
    await expect.poll(() => rows(page).count()).toBe(4);
    await page.getByLabel('Code').fill('insufficient_fun');
    await page.getByText('Not an error code.').waitFor();
    expect(await rows(page).count()).toBe(4);
    await page.getByLabel('Code').fill('insufficient_funds');
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rows(page).count()).toBe(4);
    await client().cases.close(question.case_id, { programId: shop.programId });
    await expect.poll(() => rows(page).count()).toBe(3);
  });

  test('leads to the cause of a database fault, a stop and a decline with two keystrokes', async () => {
    await closeAll();
    const { caller, programId } = await newShop('Three Causes');
    await service().database.stop();
    const failed = await fetch(`${service().url}/api/v0.1/core/transfer`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ amount: 1, card_id: 'card_active' }),
    }).finally(() => service().database.start());
    const ofFault = failed.headers.get('Request-Id') ?? '';
    await client().switch.change({ program_id: programId, disabled: true, reason: 'OPS-312' });
    const stopped = await refusalOf(caller.transfers.create({ amount: 1, card_id: 'card_shop' }));
    await client().switch.change({ program_id: programId, disabled: false });
    const { requestId } = await refusalOf(caller.transfers.create({ amount: 1, card_id: 'card_shop', type: 'unload' }));
    const page = await openConsole('/console/cases', { role: 'support' });
    for (const [id, by, sentence, cause] of [
      [ofFault, client(), 'The transfer could not be created', 'the database failed'],
      [stopped.requestId, caller, 'Declined: service disabled.', 'OPS-312'],
      [requestId, caller, 'Declined: insufficient funds', 'insufficient_funds'],
    ] as const) {
      const open = () => by.cases.create({ request_id: id }).catch(() => undefined);
      // While the database was stopped, the error waited in a file. It is stored a moment after the database starts.
      await expect.poll(open).toBeDefined();
      const [made] = (await by.cases.list({ request_id: id })).data;
      await page.goto('/console/cases');
      await expect.poll(() => rows(page).count()).toBe(1);
      await page.locator('main').focus();
      await pressKeys(page, 'j Enter');
      await page.waitForURL(`**/console/case/${made?.case_id}?*`);
      await page.locator('.answer').first().getByText(sentence).waitFor();
      await page.locator('main').getByText(cause).first().waitFor();
      await client().cases.close(made?.case_id ?? '', { programId: made?.program_id ?? '' });
    }
  });
});

describe('an error', () => {
  test('has a button that opens a case and then links to the case', async () => {
    const requestId = await declined(shop);
    const page = await openConsole(`/console/request/${requestId}?program=${shop.programId}`, { key: shop.key });
    await page.getByRole('button', { name: 'Contact support' }).click();
    const dialog = page.getByRole('dialog', { name: 'Contact support' });
    await dialog.getByLabel('What happened (optional)').fill('The customer is waiting.');
    await dialog.getByLabel('How much it matters').selectOption('high');
    await expectAccessible(page);
    await screenshot(page, 'contact-support');
    await dialog.getByRole('button', { name: 'Open a case' }).click();
    await page.waitForURL('**/console/case/case_*');
    await page.locator('.answer').first().getByText('Declined: insufficient funds').waitFor();
    await messages(page).getByText('The customer is waiting.').waitFor();
    const [made] = (await shop.caller.cases.list({ limit: 1 })).data;
    expect(made).toMatchObject({ request_id: requestId, severity: 'high', status: 'open' });
    await page.goto(`/console/request/${requestId}?program=${shop.programId}`);
    await page.getByRole('link', { name: 'See its case' }).click();
    await page.waitForURL(`**/console/case/${made?.case_id}?*`);
  });

  test('opens a case without leaving the form that failed', async () => {
    const page = await openConsole(`/console/card/nobody?program=${shop.programId}`, { key: shop.key });
    await page.getByRole('button', { name: 'Open a case' }).click();
    const link = page.getByRole('link', { name: 'See its case' });
    await link.waitFor();
    await link.click();
    await page.locator('.answer').first().getByText('card not found').waitFor();
    expect(await shop.caller.cases.list({ limit: 1 })).toMatchObject({
      data: [{ operation: 'get_card', status: 'open' }],
    });
  });

  test('adds the message to a case that another person has opened in the meantime', async () => {
    const requestId = await declined(shop);
    const page = await openConsole(`/console/request/${requestId}?program=${shop.programId}`, { key: shop.key });
    // The page must have looked for a case before the other person opens one.
    await Promise.all([
      page.waitForResponse((one) => new URL(one.url()).pathname.endsWith('/core/case')),
      page.reload(),
    ]);
    await page.getByRole('button', { name: 'Contact support' }).click();
    const opened = await shop.caller.cases.create({ request_id: requestId });
    await page.getByLabel('What happened (optional)').fill('The same again.');
    await page.getByRole('dialog').getByRole('button', { name: 'Open a case' }).click();
    await page.waitForURL(`**/console/case/${opened.case_id}?*`);
    await messages(page).getByText('The same again.').waitFor();
  });

  test('can become a case even if the transfer fails while its page is open', async () => {
    const { caller, programId, key } = await newShop('Late Shop');
    const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
    const { transfer_id } = await caller.transfers.create({
      amount: 5,
      card_id: 'card_shop',
      type: 'unload',
      scheduled_for,
    });
    const page = await openConsole(`/console/transfer/${transfer_id}?program=${programId}`, { key });
    expect(await page.getByRole('button', { name: 'Contact support' }).count()).toBe(0);
    await client().sandbox.moveClock({ seconds_ahead: 3_700 });
    await expect.poll(async () => (await caller.transfers.get(transfer_id)).status).toBe('failed');
    await page.getByRole('button', { name: 'Contact support' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Open a case' }).click();
    await page.waitForURL('**/console/case/case_*');
    await page.getByRole('heading', { name: 'The transfer now' }).waitFor();
    await page.locator('.timeline').getByText('Failed').first().waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'case-transfer');
  });
});

describe('a case', () => {
  const openCase = async (text: string): Promise<CaseRecord> =>
    shop.caller.cases.create({ request_id: await declined(shop), text });
  const at = ({ case_id }: CaseRecord) => `/console/case/${case_id}?program=${shop.programId}`;

  test('is discussed by both sides with the keyboard, resolved, reopened and closed', async () => {
    const record = await openCase('Why?');
    const status = async () => (await shop.caller.cases.get(record.case_id)).status;
    const support = await openConsole(at(record), { key: await keyOf('support') });
    await pressKeys(support, 'r');
    await support.keyboard.type('Which card is it?');
    await pressKeys(support, 'Control+Enter');
    await messages(support).getByText('Which card is it?').waitFor();
    await support.getByText('waiting for the caller').waitFor();
    expect(await status()).toBe('waiting');

    const caller = await openConsole(at(record), { key: shop.key });
    await caller.getByText('waiting for you').waitFor();
    const answer = messages(caller).filter({ hasText: 'Which card is it?' });
    expect(await answer.innerText()).toContain('Support, The support of the tests');
    await caller.getByLabel('Write to support').fill('The one of Priya.');
    await caller.getByRole('button', { name: 'Send' }).click();
    await caller.getByText('with support').waitFor();
    // The other side sees the message without reloading the page and without causing another entry in the audit log.
    await messages(support).getByText('The one of Priya.').waitFor();
    const looks = await client().audit.list({ action: 'inspect_case', program_id: shop.programId, limit: 100 });
    expect(looks.data.filter(({ subject_id }) => subject_id === record.case_id).length).toBe(1);
    expect(await messages(support).filter({ hasText: 'Priya' }).innerText()).toContain('Lumen Gift Cards backend');

    await support.getByRole('button', { name: 'Resolve…' }).focus();
    await pressKeys(support, 'Enter');
    const dialog = support.getByRole('dialog', { name: 'Resolve the case' });
    const confirm = dialog.getByRole('button', { name: 'Resolve the case' });
    expect(await confirm.isDisabled()).toBe(true);
    await support.keyboard.type('She has less than that.');
    await dialog.getByLabel('Outcome').selectOption('nothing');
    await expectAccessible(support);
    await confirm.click();
    await support.getByText('Resolved. The caller is notified.').waitFor();
    await messages(caller).getByText('She has less than that.').waitFor();
    await messages(caller).getByText('Resolved: nothing had to be changed').waitFor();
    expect(await status()).toBe('resolved');

    await caller.getByText('A message reopens the case.').waitFor();
    await caller.getByLabel('Write to support').fill('She has more.');
    await caller.getByRole('button', { name: 'Send' }).click();
    await caller.getByText('with support').waitFor();
    expect(await status()).toBe('open');
    await caller.getByRole('button', { name: 'Close…' }).click();
    await caller.getByText('It was not resolved.').waitFor();
    await caller.getByRole('button', { name: 'Close the case' }).click();
    await caller.getByText('This case is closed.').waitFor();
    expect(await caller.getByRole('button', { name: 'Send' }).count()).toBe(0);
    expect(await status()).toBe('closed');
    await expectAccessibleInEveryView(caller);
    await screenshot(caller, 'case-closed');
  });

  test('shows all text as plain text, with its line breaks', async () => {
    const text = `Line one\nLine two ${SCRIPT}`;
    const record = await openCase(text);
    await client().cases.answer(record.case_id, { text, external_author: SCRIPT, external_id: '1' });
    await client().cases.resolve(record.case_id, { text, outcome: 'retry' });
    const page = await openConsole(at(record));
    await expect.poll(() => messages(page).locator('.message-text').allInnerTexts()).toEqual([text, text, text]);
    expect(await page.evaluate(() => 'planted' in window)).toBe(false);
    expect(await page.locator('main script, main img').count()).toBe(0);
  });

  test('opens from its id, and from a link without its program', async () => {
    const record = await openCase('Without a program.');
    const page = await openConsole(`/console/case/${record.case_id}`, { role: 'support' });
    await messages(page).getByText('Without a program.').waitFor();
    await page.waitForURL((url) => url.searchParams.get('program') === shop.programId);
    // A person who receives only the case id must be able to find the case.
    await visit(page, '/console/cards');
    await pressKeys(page, '/');
    await page
      .getByRole('dialog')
      .getByRole('combobox', { name: 'Search, or open a screen or an action' })
      .fill(record.case_id);
    await page.getByRole('dialog').getByRole('option', { name: 'Case about insufficient_funds: open' }).waitFor();
    await pressKeys(page, 'Enter');
    await messages(page).getByText('Without a program.').waitFor();
  });

  test('is named in the audit log for every action that support takes from it', async () => {
    await client().deposits.create(shop.programId, { amount: 900 });
    const { transfer_id } = await shop.caller.transfers.create({ amount: 900, card_id: 'card_shop' });
    const record = await shop.caller.cases.create({ transfer_id });
    const page = await openConsole(at(record), { role: 'operator' });
    await page.getByRole('button', { name: 'Reverse' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reverse 9.00 USD' }).click();
    await page.getByText('Reversed 9.00 USD.').waitFor();
    const failed = await declined(shop);
    await pressKeys(page, 'g e');
    await page.getByText('You are working on the case').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'case-banner');
    await pressKeys(page, '/');
    await page
      .getByRole('dialog')
      .getByRole('combobox', { name: 'Search, or open a screen or an action' })
      .fill(failed);
    await pressKeys(page, 'Enter');
    await page.waitForURL((url) => url.pathname === `/console/request/${failed}`);
    await page.locator('.answer').first().waitFor();
    const casesOf = async (action: string) =>
      (await client().audit.list({ action, program_id: shop.programId, limit: 1 })).data.map(
        ({ details }) => details.case_id,
      );
    expect(await casesOf('reverse_transfer')).toEqual([record.case_id]);
    expect(await casesOf('inspect_request')).toEqual([record.case_id]);
    await page.getByRole('link', { name: 'Leave the case' }).click();
    await page.getByText('You are working on the case').waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.has('case')).toBe(false);

    await page.goto('/console/audit?action=reverse_transfer');
    await page
      .getByRole('button', { name: /^Details of entry/ })
      .first()
      .click();
    await page
      .getByRole('link', { name: record.case_id.slice(-6) })
      .first()
      .click();
    await page.waitForURL(`**/console/case/${record.case_id}?*`);
    await page.getByRole('heading', { name: 'The transfer now' }).waitFor();
    expect(await page.getByText('You are working on the case').count()).toBe(0);
  });

  test('is not found in another card program, and readers see which role can write', async () => {
    const record = await openCase('Private.');
    const other = await newShop('Nosy Shop');
    const page = await openConsole(`/console/case/${record.case_id}`, { key: other.key });
    await page.getByText('case_not_found').waitFor();
    expect(await page.locator('main').innerText()).not.toContain('Private.');
    const viewer = await openConsole(at(record), { role: 'viewer' });
    await messages(viewer).getByText('Private.').waitFor();
    await viewer.getByText('To write in this case, ask an operator.').waitFor();
    expect(await viewer.getByRole('button', { name: /Resolve|Close|Send/ }).count()).toBe(0);
    await viewer.goto(`/console/request/${await declined(shop)}?program=${shop.programId}`);
    await viewer.getByText('To contact support about it, ask an operator.').waitFor();
    await viewer.route('**/core/case?*', (route) =>
      route.fulfill({
        status: 424,
        headers: { 'Request-Id': 'req_0196f5c2d9a27c3e8b1f4a6d7e905b13' },
        json: { Status: 424, Type: 'Process Error', Code: 'service_disabled', Message: 'Stopped.' },
      }),
    );
    await viewer.goto(`/console/cases?program=${shop.programId}`);
    await viewer.getByRole('alert').getByText('To open a case, ask an operator.').waitFor();
  });
});

describe('an incident', () => {
  const proposals = (page: Page) => page.getByRole('table', { name: 'Proposed cases' }).locator('tbody tr');

  test('is proposed by the overview during a burst of errors, attaches its cases with one keystroke, and resolves them', async () => {
    await closeAll();
    const opened = [];
    for (let at = 0; at < 3; at += 1) {
      opened.push(await shop.caller.cases.create({ request_id: await provoked(shop, 'unknown_create_transfer') }));
    }
    const page = await openConsole('/console', { role: 'support' });
    const overview: Overview = await client().status.overview();
    const burst = { code: 'unknown_create_transfer', in_last_minute: 240, in_hour_before: 3 };
    await page.route('**/operator/overview', (route) =>
      route.fulfill({ json: { ...overview, proposed_incidents: [burst] } }),
    );
    await page.reload();
    const work = page.getByRole('list', { name: 'What needs attention' });
    await work.getByText('3 urgent cases are open, without a response.').waitFor();
    await work.getByText('240 times in the last minute, and 3 times in the hour before').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'overview-support');
    await work.getByRole('button', { name: 'Open an incident…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Open an incident' });
    expect(await dialog.getByLabel('Error codes').inputValue()).toBe('unknown_create_transfer');
    await dialog.getByLabel('Title').fill('Transfers fail');
    await dialog.getByLabel('What callers should know').fill('A server is being replaced.');
    await dialog.getByLabel('Began').fill('2026-01-01T00:00:00');
    await expectAccessible(page);
    await screenshot(page, 'incident-dialog');
    await dialog.getByRole('button', { name: 'Open the incident' }).click();
    await page.waitForURL('**/console/incident/inc_*');
    await page.getByRole('heading', { name: 'Transfers fail' }).waitFor();
    await expect.poll(() => proposals(page).count()).toBe(3);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'incident-proposed');
    await page.locator('main').focus();
    await pressKeys(page, 'a');
    await page.getByText('Attached 3 cases.').waitFor();
    const attached = page.getByRole('table', { name: 'Cases of the incident' }).locator('tbody tr');
    await expect.poll(() => attached.count()).toBe(3);
    await page.getByText('may belong to it').waitFor({ state: 'detached' });

    // Once a code has a known cause, the overview does not list it again.
    await page.goto('/console');
    await work.getByText('3 urgent cases are open').waitFor();
    await expect.poll(() => work.getByText('240 times').count()).toBe(0);

    await page.goBack();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('What callers should know').fill('A server was replaced.');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.answer').getByText('A server was replaced.').waitFor();
    await page.getByRole('button', { name: 'End the incident…' }).click();
    await page.getByLabel('What was found and done').fill('A server was broken.');
    await page.getByLabel('Outcome').selectOption('retry');
    await page.getByRole('dialog').getByRole('button', { name: 'End the incident' }).click();
    await page.locator('.answer').getByText('This incident is over.').waitFor();
    await expect.poll(() => attached.getByText('resolved').count()).toBe(3);
    await screenshot(page, 'incident-ended');
    for (const { case_id } of opened) {
      expect(await shop.caller.cases.get(case_id)).toMatchObject({ status: 'resolved', outcome: 'retry' });
    }
    const caller = await openConsole(`/console/case/${opened[0]?.case_id}`, { key: shop.key });
    await messages(caller).getByText('A server was broken.').waitFor();
    await caller.getByText('Part of the incident').getByRole('link', { name: 'Transfers fail' }).click();
    await caller.locator('.answer').getByText('This incident is over.').waitFor();
  });

  test('is offered on the page of a case that it covers, and attached with one keystroke', async () => {
    const other = await newShop('Covered Shop');
    const { case_id } = await other.caller.cases.create({ request_id: await declined(other) });
    const incident = await client().incidents.create({
      title: `Balances are late ${SCRIPT}`,
      public_text: 'Balances are late.',
      scope: 'program',
      program_id: other.programId,
      codes: ['insufficient_funds'],
    });
    const page = await openConsole(`/console/case/${case_id}?program=${other.programId}`, { role: 'support' });
    await page.getByRole('list', { name: 'Incidents that cover it' }).getByText('covers this error').waitFor();
    await pressKeys(page, 'a');
    await page.getByText('Attached to the incident').waitFor();
    await page
      .getByText('Part of the incident')
      .getByRole('link', { name: `Balances are late ${SCRIPT}` })
      .waitFor();
    await screenshot(page, 'case-incident');
    expect(await client().incidents.inspect(incident.incident_id)).toMatchObject({ case_count: 1 });
    await page.goto(`/console/cases?incident=${incident.incident_id}`);
    await expect.poll(() => rows(page).count()).toBe(1);
    // The queue shows the titles of incidents.
    await rows(page).getByText('Balances are late').waitFor();

    // Only affected callers see the incident.
    const own = await openConsole('/console/incidents', { key: other.key });
    const listed = own.getByRole('table', { name: 'Incidents' }).locator('tbody tr');
    await expect.poll(() => listed.getByText('Balances are late').count()).toBe(1);
    expect(await own.getByRole('button', { name: 'Open an incident' }).count()).toBe(0);
    await screenshot(own, 'incidents');
    const foreign = await openConsole('/console/incidents', { key: shop.key });
    await foreign.getByRole('link', { name: 'Transfers fail' }).waitFor();
    expect(await foreign.getByText('Balances are late').count()).toBe(0);
    await foreign.goto(`/console/incident/${incident.incident_id}`);
    await foreign.getByText('Incident not found').waitFor();
  });

  test("is offered after a stop with the stop's reason, and can be ended after the restart", async () => {
    const { programId } = await newShop('Stopped Shop');
    const page = await openConsole(`/console/switch?scope=program&of=${programId}`);
    await page.getByLabel('Reason').fill('OPS-311');
    const stop = page.getByRole('button', { name: 'Stop all transfers for Stopped Shop…' });
    await expect.poll(() => stop.isEnabled()).toBe(true);
    await stop.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop all transfers for Stopped Shop' }).click();
    await page.getByRole('button', { name: 'Open an incident…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Open an incident' });
    expect(await dialog.getByLabel('Title').inputValue()).toBe('All transfers for Stopped Shop are stopped');
    // Only operators see the reason.
    expect(await dialog.getByLabel('Note for operators only (optional)').inputValue()).toBe('OPS-311');
    expect(await dialog.getByLabel('What callers should know').inputValue()).not.toContain('OPS-311');
    await dialog.getByRole('button', { name: 'Open the incident' }).click();
    await page.waitForURL('**/console/incident/inc_*');
    await page.getByText('OPS-311').first().waitFor();
    const [made] = (await client().incidents.list({ limit: 1 })).data;
    expect(made).toMatchObject({ scope: 'program', program_id: programId, codes: ['service_disabled'] });
    const incidentId = made?.incident_id ?? '';

    await page.goto('/console/switch');
    await page
      .getByRole('row', { name: 'All transfers for Stopped Shop' })
      .getByRole('button', { name: 'Restart' })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart all transfers for Stopped Shop' }).click();
    await page.getByText('is still open.').waitFor();
    await expectAccessible(page);
    await screenshot(page, 'switch-incident');
    await page.getByRole('button', { name: 'End the incident…' }).click();
    await page.getByLabel('What was found and done').fill('Transfers run again.');
    await page.getByLabel('Outcome').selectOption('nothing');
    await page.getByRole('dialog').getByRole('button', { name: 'End the incident' }).click();
    await page.getByText('is still open.').waitFor({ state: 'detached' });
    expect(await client().incidents.inspect(incidentId)).toMatchObject({ status: 'resolved', outcome: 'nothing' });
  });

  test('appears on the request of an error that it covers', async () => {
    const other = await newShop('Known Shop');
    const { title } = await client().incidents.create({
      title: 'The ledger is slow',
      public_text: 'We are on it.',
      scope: 'operation',
      operation: 'create_transfer',
    });
    const requestId = await provoked(other, 'unknown_create_transfer');
    const page = await openConsole(`/console/request/${requestId}?program=${other.programId}`, { key: other.key });
    await page.getByRole('list', { name: 'Known incidents' }).getByRole('link', { name: title }).click();
    await page.locator('.answer').getByText('We are on it.').waitFor();
  });
});
