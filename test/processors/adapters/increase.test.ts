import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../harness/process.ts';
import { checked, order } from '../simulated.ts';
import { startExample } from './example.ts';
import { IncreaseStandIn } from './increase-stand-in.ts';

// This test needs the vendor's SDK, which tools/fetch-packages.mjs installs.

const EXAMPLE = resolve(import.meta.dirname, '../../../examples/increase-card-push');
const TOKEN = 'outbound_card_token_zlt0ml6youq3q7vcdlg0';

async function start(apiKey = 'key_of_the_test') {
  const increase = new IncreaseStandIn('key_of_the_test');
  const url = await increase.start();
  onTestFinished(() => increase.stop());
  const startAdapter = (file = join(EXAMPLE, 'transfer.json')) =>
    startExample('increase-card-push', {
      INCREASE_BASE_URL: url,
      INCREASE_API_KEY: apiKey,
      TRANSFER_FILE: file,
    });
  return { increase, startAdapter, adapter: await startAdapter() };
}

const pushed = (more: Parameters<typeof order>[1] = {}) => order(null, { processor_token: TOKEN, ...more });

test('keeps every rule except those about reversals, which the adapter does not support', async () => {
  const { adapter } = await start();
  const results = await checked(adapter.url, adapter.secret, TOKEN);
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  const notApplicable = results.filter(({ outcome }) => outcome === 'not_applicable').map(({ rule }) => rule);
  expect(notApplicable).toEqual(['reverse', 'reverse_again', 'reverse_then_send', 'reverse_before_send']);
  const text = readFileSync(join(EXAMPLE, 'adapter.mjs'), 'utf8');
  expect(text.split('\n').length).toBeLessThan(200);
});

test('sends the amount, the card and the key of the order', async () => {
  const { increase, adapter } = await start();
  const one = pushed({ amount: 1205 });
  const { record } = await adapter.call('send', one);
  const [transfer] = increase.transfersOf(one.attempt_id);
  expect(transfer).toMatchObject({
    card_token_id: TOKEN,
    presentment_amount: { value: '12.05', currency: 'USD' },
    merchant_name: 'Example Cards',
  });
  expect(record).toMatchObject({ status: 'approved', amount: 1205, processor_reference: transfer?.id, code: null });
  const yen = pushed({ amount: 7, currency: 'JPY' });
  expect((await adapter.call('send', yen)).record).toMatchObject({ status: 'approved', amount: 7, currency: 'JPY' });
  expect(increase.transfersOf(yen.attempt_id)[0]?.presentment_amount).toMatchObject({ value: '7' });
});

test('reports the outcome of a transfer in the terms of the contract', async () => {
  const { increase, adapter } = await start();
  const declined = pushed({ processor_token: 'outbound_card_token_declined' });
  expect((await adapter.call('send', declined)).record).toMatchObject({ status: 'declined', code: '51' });
  const pending = pushed({ processor_token: 'outbound_card_token_pending' });
  expect((await adapter.call('send', pending)).record?.status).toBe('pending');
  increase.end(pending.attempt_id, 'complete');
  expect((await adapter.call('inquire', pending)).record?.status).toBe('approved');
  increase.end(pending.attempt_id, 'canceled');
  expect((await adapter.call('inquire', pending)).record?.status).toBe('not_executed');
  increase.end(pending.attempt_id, 'requires_attention');
  expect((await adapter.call('inquire', pending)).record?.status).toBe('pending');
});

test('finds a transfer by its key after a lost response, and sends the order again only if the service sends it again', async () => {
  const { increase, adapter } = await start();
  const one = pushed();
  increase.mishaps.push('created_then_cut');
  expect((await adapter.call('send', one)).status).toBe(502);
  expect(increase.posts).toBe(1);
  expect((await adapter.call('inquire', one)).record?.status).toBe('approved');
  expect((await adapter.call('send', { ...one, repeat: true })).record?.status).toBe('approved');
  expect(increase.transfersOf(one.attempt_id)).toHaveLength(1);
  for (const mishap of ['server_error', 'rate_limited'] as const) {
    const other = pushed();
    increase.mishaps.push(mishap);
    expect((await adapter.call('send', other)).status).toBe(502);
    expect((await adapter.call('inquire', other)).record?.status).toBe('not_found');
  }
});

test('finds a repeated order by the id in the conflict response, even if its other fields have changed', async () => {
  const { increase, adapter, startAdapter } = await start();
  const one = pushed();
  const first = await adapter.call('send', one);
  const { path, remove } = await temporaryDirectory();
  onTestFinished(remove);
  const file = join(path, 'transfer.json');
  const transfer = JSON.parse(readFileSync(join(EXAMPLE, 'transfer.json'), 'utf8'));
  writeFileSync(file, JSON.stringify({ ...transfer, merchant_name: 'New Name' }));
  const changed = await startAdapter(file);
  expect((await changed.call('send', { ...one, repeat: true })).record).toEqual(first.record);
  expect((await changed.call('send', { ...one, amount: 1001, repeat: true })).status).toBe(409);
  expect(increase.transfersOf(one.attempt_id)).toHaveLength(1);
});

test('reports a refusal by Increase as not executed, or as uncertain if the order is a repeat', async () => {
  const { adapter } = await start();
  const noCard = pushed({ processor_token: 'no_card' });
  expect((await adapter.call('send', noCard)).record?.status).toBe('not_executed');
  expect((await adapter.call('send', { ...noCard, repeat: true })).status).toBe(503);
  expect((await adapter.call('send', pushed({ kind: 'pull' }))).record?.status).toBe('not_executed');
  const late = pushed({ not_after: '2020-01-01T00:00:00.000Z' });
  expect((await adapter.call('send', late)).record?.status).toBe('not_executed');
  expect((await adapter.call('send', { ...late, repeat: true })).status).toBe(503);
});

test('executes nothing and fails inquiries if the API key is wrong', async () => {
  const { adapter } = await start('another_key');
  const one = pushed();
  expect((await adapter.call('send', one)).record?.status).toBe('not_executed');
  expect((await adapter.call('inquire', one)).status).toBe(502);
});
