import { expect, test } from 'vitest';
import type { ProgramRecord } from '../../contract/programs.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { trialBalance } from '../harness/ledger.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);

test('a trial balance has exact sums that exceed the largest JSON number', async () => {
  const ids: string[] = [];
  for (const name of ['one', 'two']) {
    const { body } = await ledger.call('create_program', { name, currency: 'CHF' });
    const { program_id } = JSON.parse(body) as ProgramRecord;
    const options = { params: { program_id }, idempotencyKey: name };
    await ledger.call('create_deposit', { amount: 1 }, options);
    ids.push(fromWireId('prog', program_id) ?? '');
  }
  /** Returns a statement that changes a table without the triggers that protect it. */
  const set = (table: string, what: string) =>
    owner.query(`begin; alter table ${table} disable trigger user;
      update ${table} set ${what} where program_id in ('${ids.join("', '")}');
      alter table ${table} enable trigger user; commit`);
  await set('posting', 'amount = 9007199254740991');
  await set('account', "balance = case kind when 'funding' then 9007199254740991 else -9007199254740991 end");
  const { balanced, currencies } = await trialBalance(ledger);
  expect(balanced).toBe(true);
  expect(currencies.find(({ currency }) => currency === 'CHF')).toMatchObject({
    sum: 0,
    by_kind: [
      { kind: 'funding', balance: '18014398509481982' },
      { kind: 'world', balance: '-18014398509481982' },
    ],
  });
  await set('posting', 'amount = 9223372036854775807');
  const { differing_accounts: differing } = await trialBalance(ledger);
  expect(differing.map(({ balance, postings }) => [balance, postings])).toEqual(
    expect.arrayContaining([
      [9007199254740991, '9223372036854775807'],
      [-9007199254740991, '-9223372036854775807'],
    ]),
  );
});
