import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { fromWireId } from '../../../domain/identifier.ts';
import { OperationFailure } from '../../../server/calls/call.ts';
import { checkBalances } from '../../harness/use-ledger.ts';
import { outcomeOf, transfer, useInterleaving } from './interleaving.ts';

// A chained group locks no accounts, and reads them, their counters and transfers in several statements. Each test
// commits something between two of the statements, as another process can.

const { other, proxy, stranger, openChain, holdAt, untilWaiting } = await useInterleaving();

checkBalances(other);

test('a transfer counts toward the limit if another process creates it while a chain begins', async () => {
  const { body } = await other.call('create_program', { name: 'Counted', currency: 'USD' });
  const { program_id } = JSON.parse(body) as { readonly program_id: string };
  const programId = fromWireId('prog', program_id) ?? '';
  const params = { program_id };
  await other.call('create_card', { card_id: 'counted' }, { programId });
  await other.call('create_deposit', { amount: 1000 }, { params, idempotencyKey: randomUUID() });
  await other.call('update_program', { limits: { in: { daily_amount: 100 } } }, { params });
  expect(await transfer(other, 'counted', { amount: 10 }, { programId })).toBe('made');
  await stranger.query('begin');
  // Only the read of cards needs this table, so the group's other reads are not delayed.
  await stranger.query('lock table card in access exclusive mode');
  const outcome = transfer(openChain(), 'counted', { amount: 20 }, { programId });
  await untilWaiting();
  // Writes the rows that another process would write for a load of 80, without the posting: the counter, and the
  // version of the funding account.
  const funding = "account.owner_id = $1 and account.kind = 'funding'";
  const { rowCount } = await stranger.query(
    `update limit_counter set amount = amount + 80, count = count + 1 from account
      where ${funding} and limit_counter.account_id = account.account_id`,
    [programId],
  );
  expect(rowCount).toBe(1);
  await stranger.query(`update account set version = version + 1 where ${funding}`, [programId]);
  await stranger.query('commit');
  expect(await outcome).toBe('limit_exceeded');
});

test('a chain remembers nothing that was rolled back, even if groups without changes have ended since', async () => {
  const ledger = openChain({ batch: 256, waiting: 4096, remembered: { accounts: 1, bytes: 1_000_000 } });
  const [locked, lost, another] = [randomUUID(), randomUUID(), randomUUID()] as const;
  for (const card of [locked, lost, another]) await other.call('create_card', { card_id: card });
  const idempotencyKey = randomUUID();
  const replay = () => transfer(ledger, another, { amount: 1 }, { idempotencyKey });
  expect(await replay()).toBe('made');
  await stranger.query('begin');
  await stranger.query(
    `update account set version = account.version + 1 from card
      where card.account_id = account.account_id and card.name = $1`,
    [locked],
  );
  // The guard of this group waits for the account, and then finds that the account has changed.
  const first = transfer(ledger, locked, { amount: 10 });
  await untilWaiting();
  // This group is decided on the result of the first. Its caller does not wait for a second decision.
  const decided = holdAt('before_early');
  let second: Promise<unknown> = Promise.resolve();
  let deadline = 0;
  // If a slow machine reaches the deadline before the decision, the test tries again with more time.
  for (let milliseconds = 2000, outcome: unknown; outcome !== 'decided'; milliseconds *= 2) {
    deadline = performance.now() + milliseconds;
    second = transfer(ledger, lost, { amount: 100 }, { deadline }).catch((error: unknown) => error);
    outcome = await Promise.race([decided.reached.then(() => 'decided'), second]);
    if (outcome !== 'decided') expect(outcome).toBeInstanceOf(OperationFailure);
  }
  decided.release();
  for (let count = 0; count < 4; count += 1) expect(await replay()).toBe('made');
  const last = holdAt('before_early');
  const third = transfer(ledger, another, { amount: 1 });
  await last.reached;
  last.release();
  while (performance.now() <= deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  await stranger.query('commit');
  expect(await first).toBe('made');
  expect(await second).toBeInstanceOf(OperationFailure);
  expect(await third).toBe('made');
  // The account's sequence and version now equal the values that were lost.
  expect(await transfer(other, lost, { amount: 1 })).toBe('made');
  const guards = proxy.watch('update_accounts_if_unchanged');
  while (guards() === 0) expect(await transfer(ledger, another, { amount: 1 })).toBe('made');
  expect(await transfer(ledger, lost, { amount: 100, type: 'unload' })).toBe('insufficient_funds');
});

test('a scheduled transfer is captured if another process executes it while the group reads it', async () => {
  const card = randomUUID();
  await other.call('create_card', { card_id: card });
  const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
  const { body } = await other.call('create_transfer', { card_id: card, amount: 10, capture: 'manual', scheduled_for });
  const { transfer_id } = JSON.parse(body) as { readonly transfer_id: string };
  const id = fromWireId('tr', transfer_id);
  await stranger.query('begin');
  await stranger.query('lock table hold in access exclusive mode');
  const params = { transfer_id };
  const outcome = outcomeOf(openChain().call('capture_transfer', {}, { params, idempotencyKey: randomUUID() }));
  await untilWaiting();
  // Writes what another process would write when it executes the transfer.
  await stranger.query("update transfer set status = 'pending', updated_at = now() where transfer_id = $1", [id]);
  await stranger.query(
    `insert into hold (program_id, transfer_id, source_account_id, destination_account_id, amount, expires_at, day_start)
      select program_id, transfer_id, funding_account_id, account_id, amount, transfer.expires_at, date_trunc('day', now())
      from transfer join card using (program_id, card_id) where transfer_id = $1`,
    [id],
  );
  await stranger.query(
    `update account set held = held + case when kind = 'funding' then 10 else 0 end,
        incoming = incoming + case when kind = 'card' then 10 else 0 end, version = version + 1
      from card where card.name = $1 and account.account_id in (card.account_id, card.funding_account_id)`,
    [card],
  );
  await stranger.query('commit');
  expect(await outcome).toBe('made');
});
