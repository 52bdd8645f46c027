import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible } from './harness/accessible.ts';
import { makeWorld, type World } from './harness/sample-world.ts';
import { chooseAction, screenshot, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
});

const SOON = '2099-01-02T03:04';

type FormCase = {
  readonly title: string;
  readonly path: (of: World) => string;
  readonly open: (page: Page) => Promise<void>;
  /** Texts to type and options to choose, by the label of their field. */
  readonly fill: Readonly<Record<string, string>>;
  readonly send: string | RegExp;
  /** The fields of the request that the user can't change. */
  readonly fixed?: readonly string[];
};

const press = (name: string | RegExp) => async (page: Page) =>
  page.locator('main').getByRole('button', { name }).first().click();
const choose = (name: string) => (page: Page) => chooseAction(page, name);

/** Every form that changes something and has fields. */
const FORMS: readonly FormCase[] = [
  {
    title: 'Deposit',
    path: ({ program_id }) => `programs/${program_id}`,
    open: press('Deposit'),
    fill: { Amount: '1', Reference: 'wire 1', Description: 'first' },
    send: /^Deposit 1\.00 USD/,
  },
  {
    title: 'Withdrawal',
    path: ({ program_id }) => `programs/${program_id}`,
    open: choose('Withdraw'),
    fill: { Amount: '1', Reference: 'wire 2', Description: 'second' },
    send: /^Withdraw 1\.00 USD/,
  },
  {
    title: 'Settings of a program',
    path: ({ program_id }) => `programs/${program_id}`,
    open: choose('Change'),
    fill: { Name: 'New name', 'Alert below': '5' },
    send: /^Save/,
  },
  {
    title: 'Limits of a program',
    path: ({ program_id }) => `programs/${program_id}`,
    open: press('Change the limits'),
    fill: { 'Daily count': '3', 'Monthly amount': '7' },
    send: /^Save/,
  },
  {
    title: 'New program',
    path: () => 'programs',
    open: press('New program'),
    fill: { Name: 'Cafe', Currency: 'USD', 'Time zone': 'Europe/Berlin' },
    send: 'Create Cafe',
  },
  {
    title: 'New card',
    path: () => 'cards',
    open: async (page) => {
      await press('New card')(page);
      // Its code is loaded later, and the list behind it has a form with similar fields.
      await page.getByRole('dialog').waitFor();
    },
    fill: { 'Holder reference': 'x', 'Last four digits': '1234', 'Card id': 'y', Currency: 'USD' },
    send: 'Create the card',
  },
  {
    title: 'Limits of a card',
    path: ({ card_id }) => `card/${card_id}`,
    open: choose('Change limits'),
    fill: { 'Daily count': '3', 'Maximum balance of a card': '9' },
    send: /^Save/,
  },
  {
    title: 'Details of a card',
    path: ({ card_id }) => `card/${card_id}`,
    open: choose('Change details'),
    fill: { 'Holder reference': 'x', 'Last four digits': '1234', Expires: '2099-01-01', Metadata: 'color = red' },
    send: /^Save/,
  },
  {
    title: 'Reversal',
    path: ({ transfer_id }) => `transfer/${transfer_id}`,
    open: press('Reverse'),
    fill: { Amount: '1', 'Reason (optional)': 'twice' },
    send: 'Reverse 1.00 USD',
  },
  {
    title: 'Capture',
    path: ({ held_id }) => `transfer/${held_id}`,
    open: press('Capture'),
    fill: { Amount: '1' },
    send: 'Capture 1.00 USD',
  },
  {
    title: 'New webhook',
    path: () => 'webhooks',
    open: press('Create a webhook'),
    fill: { URL: 'https://shop.test/hook', Description: 'Orders', Events: 'card.*' },
    send: 'Create webhook',
  },
  {
    title: 'Edit a webhook',
    path: ({ webhook_id }) => `webhooks/${webhook_id}`,
    open: choose('Edit'),
    fill: { URL: 'https://shop.test/hook', Description: 'Orders', Events: 'card.*', Order: 'strict' },
    send: 'Save',
  },
  {
    title: 'Replay',
    path: ({ webhook_id }) => `webhooks/${webhook_id}`,
    open: choose('Replay'),
    fill: { 'Events from': '2020-01-01T00:00', Until: SOON, 'Which events': 'all' },
    send: 'Replay events',
  },
  {
    title: 'Roll the secret of a webhook',
    path: ({ webhook_id }) => `webhooks/${webhook_id}`,
    open: choose('Roll secret'),
    fill: { 'Keep signing with the old secret': '1' },
    send: 'Roll secret',
  },
  {
    title: 'New key',
    path: () => 'keys',
    open: press('Create a key'),
    fill: { Name: 'Ada', Role: 'viewer', Expires: SOON },
    send: 'Create the key for Ada',
    fixed: ['all_programs'],
  },
  {
    title: 'New case',
    path: () => 'cases',
    open: press('Contact support'),
    fill: { Question: 'Why?', 'How much it matters': 'high', 'Contact (optional)': 'jo' },
    send: 'Open a case',
  },
  {
    title: 'Reply to a case',
    path: ({ case_id }) => `case/${case_id}`,
    open: async () => undefined,
    fill: { 'Reply to the caller': 'Hello' },
    send: 'Send',
  },
  {
    title: 'Resolve a case',
    path: ({ case_id }) => `case/${case_id}`,
    open: press('Resolve…'),
    fill: { 'What was found and done': 'Fixed', Outcome: 'retry' },
    send: 'Resolve the case',
  },
  {
    title: 'New incident',
    path: () => 'incidents',
    open: press('Open an incident'),
    fill: {
      Title: 'Slow',
      'What callers should know': 'It is slow',
      'Note for operators only (optional)': 'A disk',
      'Error codes': 'insufficient_funds',
      Began: '2020-01-01T00:00',
    },
    send: 'Open the incident',
  },
  {
    title: 'Edit an incident',
    path: ({ incident_id }) => `incident/${incident_id}`,
    open: press('Edit'),
    fill: { Title: 'Slow', 'What callers should know': 'It is slow' },
    send: 'Save',
  },
  {
    title: 'Close a break',
    path: ({ break_id }) => `break/${break_id}`,
    open: press('Close…'),
    fill: { 'What you found and did': 'Asked' },
    send: /^Close the break/,
  },
  {
    title: 'Withdraw a settlement file',
    path: ({ file_id }) => `settlement/${file_id}`,
    open: press('Withdraw…'),
    fill: { Why: 'Wrong' },
    send: 'Withdraw the file',
  },
  {
    title: 'Undo a move-in',
    path: ({ move_in_id }) => `move-ins/${move_in_id}`,
    open: press('Undo…'),
    fill: { Why: 'Wrong' },
    send: 'Undo the move-in',
  },
];

/** Types a text, or chooses an option. */
async function enter(field: Locator, value: string): Promise<void> {
  const isChoice = await field.evaluate((element) => element instanceof HTMLSelectElement);
  await (isChoice ? field.selectOption(value) : field.fill(value));
}

/** Returns the pointers to the values of a body: `/limits/in/daily_amount`. */
function pointersIn(body: object, path = ''): readonly string[] {
  return Object.entries(body).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? pointersIn(value, `${path}/${name}`)
      : [`${path}/${name}`],
  );
}

describe('an error about a field is shown next to it', () => {
  test.each(FORMS)('$title', async ({ title, path, open, fill, send, fixed = [] }) => {
    const page = await openConsole(`/console/${path(world)}?program=${world.program_id}`);
    const bodies: object[] = [];
    let pointer = '';
    await page.route(
      (url) => url.pathname.startsWith('/api/'),
      (route) => {
        const request = route.request();
        if (request.method() === 'GET') return route.fallback();
        bodies.push(request.postDataJSON());
        const error = { Message: `Wrong: ${pointer}.`, Status: 400, Code: 'invalid', Type: 'Request Error' };
        return route.fulfill({
          status: 400,
          headers: { 'Error-Code': 'invalid', 'Error-Field': pointer, 'Money-Moved': 'no' },
          json: error,
        });
      },
    );
    await open(page);
    const form = page.locator('form').last();
    for (const [label, value] of Object.entries(fill)) await enter(form.getByLabel(label).first(), value);
    const sendOnce = async () => {
      const count = bodies.length;
      await form.getByRole('button', { name: send }).click();
      await expect.poll(() => bodies.length).toBe(count + 1);
      await form.getByRole('alert').waitFor();
    };
    await sendOnce();
    const pointers = pointersIn(bodies[0] ?? {}).filter((one) => !fixed.includes(one.slice(1)));
    expect(pointers.length).toBeGreaterThanOrEqual(1);
    for (pointer of pointers) {
      await sendOnce();
      const input = form.locator('[aria-invalid="true"]');
      await form.getByText(`Wrong: ${pointer}.`).waitFor();
      expect(await input.count(), pointer).toBe(1);
      expect(await input.evaluate((element) => element === document.activeElement), pointer).toBe(true);
      const about = (await input.getAttribute('aria-describedby'))?.split(' ').at(-1) ?? '';
      expect(await page.locator(`[id="${about}"]`).innerText()).toBe(`Wrong: ${pointer}.`);
      expect(await form.getByRole('alert').innerText()).toMatch(/^Check the field “/);
    }
    if (title === 'Deposit' || title === 'New incident') await expectAccessible(page);
    await screenshot(page, `form-${title.toLowerCase().replaceAll(' ', '-')}`);
  });
});
