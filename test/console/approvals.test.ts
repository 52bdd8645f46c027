import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { METHODS } from '../../contract/clients/sdk-methods.ts';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { APPROVABLE, type ApprovableId } from '../../domain/approvals/policy.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { chooseAction, refusedActions, screenshot, signInAs, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

/** Opens a screen as one of the sandbox's people. */
async function openAs(person: 'treasurer' | 'approver', path: string): Promise<Page> {
  const page = await openConsole('/console');
  await signInAs(page, person);
  await page.goto(`${service().url}${path}`);
  await untilShown(page);
  return page;
}

const SENTENCE = /^Tariq Haddad want(s|ed) to withdraw 250\.00 USD from the funding of Demo program$/;

async function fundingOf(): Promise<number> {
  const { funding } = await service().client.programs.get(DEMO_PROGRAM);
  return funding.find(({ currency }) => currency === 'USD')?.balance ?? 0;
}

/** Fills in the form to withdraw 250.00, and follows the link to the approval. */
async function ask(page: Page): Promise<void> {
  await chooseAction(page, 'Withdraw');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('A second person must approve this above 100.00 USD').waitFor();
  await dialog.getByLabel('Amount').fill('250');
  await dialog.getByRole('button', { name: 'Withdraw 250.00 USD from Demo program' }).click();
  await dialog.getByText('This is waiting for the approval of a second person.').waitFor();
  expect(await dialog.getByRole('button', { name: /^Withdraw/ }).count()).toBe(0);
  await screenshot(page, 'approval-dialog');
  await dialog.getByRole('link', { name: 'Open the approval' }).click();
  await page.getByRole('heading', { name: SENTENCE }).waitFor();
}

test('a withdrawal waits until another person approves it', async () => {
  await service().client.approvals.changePolicy({
    rules: [{ operation: 'create_withdrawal', over: 10_000, currency: 'USD' }],
  });
  const before = await fundingOf();
  const tariq = await openAs('treasurer', `/console/programs/${DEMO_PROGRAM}`);
  await ask(tariq);
  // The requester can withdraw the request but cannot approve it.
  await tariq.getByRole('button', { name: 'Withdraw the request' }).waitFor();
  expect(await tariq.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
  expect(await refusedActions(tariq)).toEqual({
    Approve: "You can't approve your own request.",
    'Reject…': 'Withdraw your own request instead.',
  });
  expect(await fundingOf()).toBe(before);

  const amara = await openAs('approver', '/console/approvals');
  const entry = amara.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: /^Approvals/ });
  await expect.poll(() => entry.innerText()).toContain('1');
  await screenshot(amara, 'approvals-waiting');
  await amara.getByRole('link', { name: SENTENCE }).click();
  await amara.getByText('Nothing has changed since the request.').waitFor();
  await expectAccessibleInEveryView(amara);
  await screenshot(amara, 'approval-waiting');
  await amara.getByRole('button', { name: 'Approve', exact: true }).click();
  await amara.getByRole('dialog').getByRole('button', { name: 'Approve and carry out' }).click();
  await amara.getByText('Approved and carried out.').waitFor();
  expect(await fundingOf()).toBe(before - 25_000);
  await expect.poll(() => entry.innerText()).not.toContain('1');
  await screenshot(amara, 'approval-carried-out');
});

test('repeating a withdrawal creates a new request, which another person can reject with a reason', async () => {
  const before = await fundingOf();
  const tariq = await openAs('treasurer', `/console/programs/${DEMO_PROGRAM}`);
  await ask(tariq);
  const amara = await openAs('approver', new URL(tariq.url()).pathname);
  await amara.getByRole('button', { name: 'Reject…' }).click();
  const dialog = amara.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Reject' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Reason').fill('Made on Monday');
  await dialog.getByRole('button', { name: 'Reject' }).click();
  await amara.getByText('Rejected. Nothing has changed.').waitFor();
  await tariq.reload();
  await tariq.getByText('Made on Monday').waitFor();
  expect(await fundingOf()).toBe(before);
});

test('the requester can withdraw a request', async () => {
  const tariq = await openAs('treasurer', `/console/programs/${DEMO_PROGRAM}`);
  await ask(tariq);
  await tariq.getByRole('button', { name: 'Withdraw the request' }).click();
  await tariq.getByRole('dialog').getByRole('button', { name: 'Withdraw the request' }).click();
  await tariq.getByText('Withdrawn. Nothing has changed.').waitFor();
  await service().client.approvals.changePolicy({ rules: [] });
});

/** The operations that can require an approval but that the console does not offer. */
const NOT_OFFERED: readonly ApprovableId[] = [
  'create_move_in',
  'erase_card_holder',
  'create_operator_webhook',
  'erase_person',
  'change_approval_policy',
];

test('every form of an approvable operation announces that a second person must approve', () => {
  expect(OPERATION_IDS.filter((id) => OPERATIONS[id].approvable).toSorted()).toEqual([...APPROVABLE].toSorted());
  const folder = resolve(import.meta.dirname, '../../console');
  const sources = globSync('**/*.tsx', { cwd: folder })
    .filter((file) => !file.startsWith('built'))
    .map((file) => readFileSync(join(folder, file), 'utf8'));
  const all = sources.join('\n');
  for (const id of APPROVABLE) {
    const isCalled = all.includes(`api.${METHODS[id]}(`);
    expect(isCalled, id).toBe(!NOT_OFFERED.includes(id));
    const notices = all.match(/<ApprovalNotice[^>]*/g)?.filter((notice) => notice.includes(`${id}`)) ?? [];
    expect(notices.length > 0, id).toBe(isCalled);
  }
});
