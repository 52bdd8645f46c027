import { expect, test } from 'vitest';
import { useConnection, useLedger, useServer } from '../../../test/harness/use-ledger.ts';
import { wrongSums } from './snapshots.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);
await ledger.call('create_transfer', { amount: 100, card_id: 'card_active' });

const ON_CARD = "where account_id = (select account_id from card where name = 'card_active')";

test.each<[string, readonly string[], string]>([
  ['nothing in correct books', [], ''],
  [
    'money without a source',
    [`update account set balance = balance + 1 ${ON_CARD}`],
    '1 currencies do not sum to zero',
  ],
  ['a held amount without a hold', [`update account set held = held + 1 ${ON_CARD}`], 'held 1, holds 0'],
  [
    'an account below its floor',
    ['alter table account drop constraint account_floor', `update account set floor = balance + 1 ${ON_CARD}`],
    '1 accounts are below the floor',
  ],
])('one query for wrong sums finds %s', async (_, lies, wrong) => {
  await owner.query('begin');
  try {
    for (const lie of lies) await owner.query(lie);
    expect((await owner.query(wrongSums())).rows).toEqual([{ wrong }]);
  } finally {
    await owner.query('rollback');
  }
});
