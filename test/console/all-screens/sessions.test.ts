import pg from 'pg';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TransferService } from '../../../sdk/client.ts';
import { patientClient } from '../../harness/client/patience.ts';
import { withSecret } from '../../harness/keys.ts';
import { embeddedServerOf } from '../../harness/process.ts';
import { pressKeys, useConsole } from '../harness/use-console.ts';

const { service, openConsole, keyOf } = useConsole({ mode: 'live' });
let ledger: pg.Client;
let operator: TransferService;
let programId: string;

beforeAll(async () => {
  const { databaseUrl } = await embeddedServerOf(service().directory);
  // Only the superuser can change the time when a session was last used.
  ledger = new pg.Client(databaseUrl.replace('//transfer_service@', '//postgres@'));
  await ledger.connect();
  operator = patientClient(service().url, await keyOf('administrator'));
  programId = (await operator.programs.create({ name: 'Shop', currency: 'USD' })).program_id;
  await operator.deposits.create(programId, { amount: 100_000 });
  await operator.cards.create({ card_id: 'card_live' }, { programId });
  await operator.transfers.create({ amount: 500, card_id: 'card_live' }, { programId });
});
afterAll(async () => {
  await ledger?.end();
});

const newKey = () => withSecret(operator.keys.create({ name: 'Ada of support', all_programs: true, role: 'support' }));
const shown = (page: Page) => page.locator('main').getByText('card_live').first();
const question = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended' });

const uuidOf = (id: string): string => id.replace(/^.*_/, '');

const setTime = (column: string, before: string) => (keyId: string) =>
  ledger.query(`update console_session set ${column} = now() - interval '${before}' where key_id = $1`, [
    uuidOf(keyId),
  ]);

/** Different ways to end the session of a key. */
const ENDS = {
  'it was idle for 15 minutes': setTime('last_active_at', '16 minutes'),
  'it is twelve hours old': setTime('created_at', '13 hours'),
  'its key is revoked': (keyId: string) => operator.keys.revoke(keyId),
  'its key is rolled': (keyId: string) => operator.keys.roll(keyId, {}),
} as const;

describe.each(Object.entries(ENDS))('a session that ends because %s', (reason, end) => {
  test('keeps the view, loses access, and continues with a different key', async () => {
    const { key, key_id } = await newKey();
    const page = await openConsole(`/console/transfers?program=${programId}&status=completed`, { key });
    await shown(page).waitFor();
    await end(key_id);
    // The service may take a second to notice that the session has ended. Each try makes the page send a request.
    await expect
      .poll(async () => {
        // The service may still be recording that the page was just opened, so the change is repeated.
        if (reason.startsWith('it was idle')) await end(key_id);
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
        return question(page).count();
      })
      .toBe(1);
    expect(await shown(page).isVisible(), 'the earlier view').toBe(true);
    const refused = await page.evaluate(async (program) => {
      const headers = { Console: '1', 'Program-Id': program };
      return (await fetch('/api/v0.1/core/transfer', { headers })).status;
    }, programId);
    expect(refused).toBe(401);
    const before = page.url();
    await page.keyboard.insertText((await newKey()).key);
    await pressKeys(page, 'Enter');
    await question(page).waitFor({ state: 'detached' });
    await shown(page).waitFor();
    expect(page.url()).toBe(before);
  });
});

test('background requests are marked as such, so they do not keep a session alive', async () => {
  const { key } = await newKey();
  const page = await openConsole(`/console/transfers?program=${programId}`, { key });
  const kinds: (string | undefined)[] = [];
  // Scripts that a screen loads later are not requests to the API.
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/api/')) kinds.push(request.headers().console);
  });
  await expect.poll(() => kinds.length).toBeGreaterThan(0);
  expect(new Set(kinds)).toEqual(new Set(['background']));
});
