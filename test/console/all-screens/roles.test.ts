import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { whoMay } from '../../../console/format/operators/keys.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import { includesScope, type KeyScope, PROGRAM_SCOPES, ROLE_NAMES, ROLES } from '../../../contract/scope.ts';
import { programKey, withSecret } from '../../harness/keys.ts';
import { makeWorld, type World } from '../harness/sample-world.ts';
import { untilShown, useConsole, visit } from '../harness/use-console.ts';
import { addressOf, SCREENS } from './screens.ts';

const { service, openConsole } = useConsole();
let world: World;
/** An integrator's key, bound to the program of the sample world. */
let integratorKey: string;

beforeAll(async () => {
  world = await makeWorld(service());
  const { key } = await withSecret(service().client.keys.create(programKey('Shop', world.program_id)));
  integratorKey = key;
});

/** Screens with changes, the scope that each change needs, and the words with which its buttons start. */
const CHANGES: readonly { readonly path: string; readonly scope: KeyScope; readonly buttons: RegExp }[] = [
  { path: '/console/transfer/:transfer_id', scope: 'transfers:write', buttons: /^(Reverse|Capture|Cancel)/ },
  {
    path: '/console/card/:card_id',
    scope: 'cards:write',
    buttons: /^(Suspend|Activate|Close|Mark|Report|Change|Block)/,
  },
  { path: '/console/programs/:program_id', scope: 'funding:write', buttons: /^(Deposit|Withdraw|Record|Pay)/ },
  { path: '/console/case/:case_id', scope: 'cases:write', buttons: /^Close/ },
  { path: '/console/case/:case_id', scope: 'operator:cases', buttons: /^Resolve/ },
  { path: '/console/incidents', scope: 'operator:cases', buttons: /^Open/ },
  { path: '/console/incident/:incident_id', scope: 'operator:cases', buttons: /^(Edit|End)/ },
  { path: '/console/settlement/:file_id', scope: 'funding:write', buttons: /^(Withdraw|Close)/ },
  { path: '/console/move-ins/:move_in_id', scope: 'funding:write', buttons: /^Undo/ },
  { path: '/console/move-ins/comparison/:comparison_id', scope: 'funding:write', buttons: /^Cut over/ },
  { path: '/console/break/:break_id', scope: 'funding:write', buttons: /^(Close|Book)/ },
  { path: '/console/switch', scope: 'switch:write', buttons: /^(Stop|Restart)/ },
  { path: '/console/keys', scope: 'keys:write', buttons: /^(Create|New|Roll|Revoke|End)/ },
  { path: '/console/webhooks', scope: 'webhooks:write', buttons: /^(Create|New|Add)/ },
  {
    path: '/console/webhooks/:webhook_id',
    scope: 'webhooks:write',
    buttons: /^(Send|Test|Replay|Resend|Disable|Roll|Delete)/,
  },
];

/** Opens every screen. A forbidden screen must say so. No screen may offer or request anything forbidden. */
async function visitAll(page: Page, scopes: readonly KeyScope[]): Promise<void> {
  const forbidden: string[] = [];
  page.on('response', (response) => {
    if (response.status() === 403) forbidden.push(`${response.request().method()} ${response.url()}`);
  });
  const wrong: string[] = [];
  for (const route of SCREENS) {
    await visit(page, addressOf(route, world));
    const { pathname } = new URL(page.url());
    const text = await page.locator('main').innerText();
    const mayOpen = route.scope === undefined || includesScope(scopes, route.scope);
    // Callers who cannot see the overview start on a different screen.
    const isElsewhere = route.path === '/console' && pathname !== '/console';
    if ((isElsewhere || text.includes('Your key has no access to this screen')) === mayOpen) {
      wrong.push(`${route.path} ${mayOpen ? 'does not open' : 'opens'}`);
    }
    if (!mayOpen) continue;
    const buttons = (await page.locator('main button').allInnerTexts()).map((button) => button.trim());
    for (const change of CHANGES.filter(({ path }) => path === route.path)) {
      const mayChange = includesScope(scopes, change.scope);
      const found = buttons.filter((button) => change.buttons.test(button));
      if (found.length > 0 !== mayChange) {
        wrong.push(`${route.path} has ${mayChange ? 'only ' : ''}the buttons ${buttons.join(', ') || '(none)'}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(forbidden, 'requests that the caller has no permission for').toEqual([]);
}

test('for each action, screens name the role with the fewest scopes that may perform it', () => {
  for (const [id, { scope, reach }] of Object.entries(OPERATIONS)) {
    const isRead = scope === null || /:read$/.test(scope);
    if (isRead || reach === 'sandbox') continue;
    const first = ROLE_NAMES.find((role) => includesScope(ROLES[role], scope));
    // The role `support` is named as a team. The other roles are named as people.
    const pattern = first === 'support' ? /^support$/ : new RegExp(`^an? ${first}$`);
    expect(whoMay(id as keyof typeof OPERATIONS), id).toMatch(pattern);
  }
});

const titles = (page: Page) =>
  page
    .locator('nav[aria-label="Screens"] li a')
    .evaluateAll((links) => links.map((link) => link.querySelector(':scope > span')?.textContent));

const titlesFor = (scopes: readonly KeyScope[]) =>
  SCREENS.filter(
    ({ group, scope }) => group !== undefined && (scope === undefined || includesScope(scopes, scope)),
  ).map(({ name, title }) => name ?? title);

describe.each(ROLE_NAMES)('a key with the role %s', (role) => {
  test('sees only permitted screens and buttons, and requests nothing forbidden', async () => {
    const scopes: readonly KeyScope[] = ROLES[role];
    const page = await openConsole(`/console/transfers?program=${world.program_id}`, { role });
    expect(new Set(await titles(page))).toEqual(new Set(titlesFor(scopes)));
    await visitAll(page, scopes);
  });
});

describe('a key of a card program', () => {
  test('sees only its program, and starts there if the address names no screen', async () => {
    const page = await openConsole('/console', { key: integratorKey });
    expect(new Set(await titles(page))).toEqual(new Set(titlesFor(PROGRAM_SCOPES)));
    await untilShown(page);
    expect(await page.locator('main').innerText()).not.toContain('may not open');
    await visitAll(page, PROGRAM_SCOPES);
  });

  test('cannot reach another program through its id in the address', async () => {
    const other = await service().client.programs.create({ name: 'Other shop', currency: 'USD' });
    const page = await openConsole(`/console/transfers?program=${other.program_id}`, { key: integratorKey });
    expect(await page.locator('main').innerText()).not.toContain('Other shop');
  });
});

test('the service refuses the forbidden requests that the console never sends', async () => {
  const page = await openConsole(`/console/transfers?program=${world.program_id}`, { role: 'support' });
  const statuses = await page.evaluate(async (program) => {
    const headers = { 'Content-Type': 'application/json', Console: '1', 'Program-Id': program };
    const send = async (path: string, body: object) =>
      (await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    return [
      await send('/api/v0.1/core/transfer', { amount: 1, card_id: 'card_one' }),
      await send('/api/v0.1/operator/switch', { disabled: true, reason: 'x' }),
      await send('/api/v0.1/operator/key', { name: 'x', role: 'administrator', all_programs: true }),
    ];
  }, world.program_id);
  expect(statuses).toEqual([403, 403, 403]);
});
