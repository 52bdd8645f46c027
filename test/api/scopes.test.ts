import { describe, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import type { KeyScope } from '../../contract/scope.ts';
import { TransferService } from '../../sdk/client.ts';
import { withSecret } from '../harness/keys.ts';
import { waitFor } from '../harness/process.ts';
import { refusalOf, useService } from '../harness/service.ts';
import { newCard } from './arrange.ts';

// Checks that a response shows only what its key can also read directly.

const running = useService();
const client = () => running().client;

/** Makes a client with a new key that has these scopes, for one program or for operators. */
async function having(
  scopes: readonly KeyScope[],
  bound: { readonly program_id: string } | { readonly all_programs: true } = { program_id: DEMO_PROGRAM },
): Promise<TransferService> {
  const { key } = await withSecret(client().keys.create({ name: 'narrow', scopes: [...scopes], ...bound }));
  return new TransferService({ baseUrl: running().url, key: key ?? '', timeoutMilliseconds: 120_000 });
}

async function loaded(by = client()) {
  const card_id = await newCard(by);
  return by.transfers.create({ amount: 12_345, card_id });
}

describe('a case', () => {
  const HIDDEN = { operation: null, code: null, type: null, money_moved: null };
  const CASES = ['cases:read', 'cases:write'] as const;

  test('about a transfer hides the transfer from a key without transfers:read, even in replayed responses', async () => {
    const { transfer_id } = await loaded();
    const idempotencyKey = transfer_id;
    const open = (by: TransferService) => by.cases.create({ transfer_id }, { idempotencyKey });
    const narrow = await having(CASES);
    const { case_id } = await open(narrow);
    expect(await open(client())).toMatchObject({ case_id, money_moved: 'yes', operation: 'create_transfer' });
    for (const one of [
      await open(narrow),
      await narrow.cases.get(case_id),
      (await narrow.cases.list()).data.find((listed) => listed.case_id === case_id),
      await narrow.cases.reply(case_id, { text: 'And now?' }),
      await narrow.cases.close(case_id),
    ]) {
      expect(one).toMatchObject({ ...HIDDEN, case_id, transfer_id });
      expect(JSON.stringify(one)).not.toMatch(/123\.45|moved from/);
    }
    expect((await narrow.cases.get(case_id)).snapshot).toMatchObject({ summary: null, error: null, transfer: null });
    const whole = await (await having([...CASES, 'transfers:read'])).cases.get(case_id);
    expect(whole.snapshot).toMatchObject({
      summary: expect.stringContaining('123.45 USD moved'),
      transfer: { transfer_id },
    });
  });

  test('about a request shows its code with errors:read, and its summary with the scopes of get_request', async () => {
    const { card_id } = await client().cards.create({});
    const refused = await refusalOf(client().transfers.create({ amount: 1, card_id, type: 'unload' }));
    const { case_id } = await client().cases.create({ request_id: refused.requestId });
    const seen = async (...scopes: readonly KeyScope[]) => {
      const { code, money_moved, snapshot } = await (await having(['cases:read', ...scopes])).cases.get(case_id);
      return { code, money_moved, summary: snapshot?.summary ?? null };
    };
    const summary = expect.stringContaining('0.00 USD available');
    expect(await seen()).toEqual({ code: null, money_moved: null, summary: null });
    expect(await seen('transfers:read')).toEqual({ code: null, money_moved: 'no', summary: null });
    expect(await seen('errors:read')).toEqual({ code: 'insufficient_funds', money_moved: null, summary: null });
    expect(await seen('errors:read', 'transfers:read', 'events:read')).toMatchObject({ money_moved: 'no', summary });
  });
});

test('limits the balances, events, webhooks and errors in a timeline to those that the key may read', async () => {
  // Uses a new program, because the demo program's webhooks and errors would add steps that the test does not compare.
  const { program_id } = await client().programs.create({ name: 'Timelines', currency: 'USD' });
  await client().deposits.create(program_id, { amount: 12_345 });
  const reading = (...scopes: readonly KeyScope[]) => having(['transfers:read', ...scopes], { program_id });
  const whole = new TransferService({ baseUrl: running().url, programId: program_id, timeoutMilliseconds: 120_000 });
  const { transfer_id } = await loaded(whole);
  await refusalOf(whole.transfers.capture(transfer_id));
  const kinds = async (by: TransferService) => {
    const { steps, truncated } = await by.transfers.timeline(transfer_id);
    const balances = steps.flatMap((step) => step.balances);
    return [...steps.map(({ kind }) => kind), ...truncated.map(({ kind }) => kind), ...balances.map(() => 'balance')];
  };
  const all = ['request', 'posting', 'event', 'error', 'balance'];
  await waitFor('the event and the error', async () => (await kinds(whole)).length === all.length);
  expect((await kinds(whole)).toSorted()).toEqual(all.toSorted());
  expect(await kinds(await reading())).toEqual(['request', 'posting']);
  expect(await kinds(await reading('events:read'))).toEqual(['request', 'posting', 'event']);
  expect(await kinds(await reading('errors:read'))).toEqual(['request', 'posting', 'error']);
  expect(await kinds(await reading('cards:read'))).toEqual(['request', 'posting', 'balance']);
});

test.each([
  ['transfer', 'transfers:read'],
  ['card', 'cards:read'],
  ['webhook', 'webhooks:read'],
] as const)('finds a %s only for a key with %s', async (kind, scope) => {
  const { transfer_id, card_id } = await loaded();
  const webhook = await client().webhooks.create({ url: 'http://127.0.0.1:9/', types: ['card.erased'] });
  const q = { transfer: transfer_id, card: card_id, webhook: webhook.webhook_id }[kind];
  const found = async (...scopes: readonly KeyScope[]) =>
    (await (await having(['operator:read', ...scopes], { all_programs: true })).search.find({ q })).data.map(
      (group) => group.kind,
    );
  expect(await found()).not.toContain(kind);
  expect(await found(scope)).toContain(kind);
  await client().webhooks.delete(webhook.webhook_id);
});
