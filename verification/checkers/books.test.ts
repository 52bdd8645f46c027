import { expect, test } from 'vitest';
import type { CardRecord } from '../../contract/cards.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import type { WrittenReply } from '../../server/http/wire/reply.ts';
import { useConnection, useLedger, useServer } from '../../test/harness/use-ledger.ts';
import { readBooksAt } from './books.ts';

// Tests that `readBooksAt` finds every fault that the books can have.
const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);

const bodyOf = <Body>(reply: WrittenReply): Body => JSON.parse(reply.body) as Body;

const { card_id } = bodyOf<CardRecord>(await ledger.call('create_card'));
const made = await Promise.all(
  [{}, {}, { capture: 'manual' }].map(async (more) =>
    bodyOf<TransferRecord>(await ledger.call('create_transfer', { amount: 50, card_id, ...more })),
  ),
);
await ledger.call('reverse_transfer', { amount: 20 }, { params: { transfer_id: made[0]?.transfer_id ?? '' } });

const CARDS_ACCOUNT = `account_id = (select account_id from card where name = '${card_id}')`;

/** The SQL that changes a number in rows of a table, and the SQL that changes it back. */
const off = (table: string, column: string, where: string, by = 1): readonly [plant: string, mend: string] => [
  `update ${table} set ${column} = ${column} + (${by}) where ${where}`,
  `update ${table} set ${column} = ${column} - (${by}) where ${where}`,
];

/** The faults, each with the SQL that causes it and the SQL that repairs it. */
const FAULTS: readonly (readonly [name: string, plant: string, mend: string])[] = [
  ['unbalanced_currencies', ...off('account', 'balance', CARDS_ACCOUNT)],
  [
    'accounts_below_floor',
    `alter table account drop constraint account_floor; update account set floor = balance + 1 where ${CARDS_ACCOUNT}`,
    `update account set floor = 0 where ${CARDS_ACCOUNT};
      alter table account add constraint account_floor check (floor is null or balance - held >= floor)`,
  ],
  ['accounts_that_differ', ...off('account', 'balance', CARDS_ACCOUNT)],
  ['accounts_with_other_holds', ...off('account', 'incoming', CARDS_ACCOUNT)],
  [
    'holds_without_pending',
    `update transfer set status = 'canceled' where status = 'pending'`,
    `update transfer set status = 'pending' where status = 'canceled'`,
  ],
  ['transfers_with_other_reversals', ...off('transfer', 'reversed_amount', 'reversed_amount > 0', -1)],
  ['transfers_with_other_postings', ...off('transfer', 'captured_amount', 'reversed_amount > 0', -1)],
  ['reversals_with_other_postings', ...off('reversal', 'amount', 'true')],
  [
    'postings_without_reversal',
    'create table taken as select * from reversal; delete from reversal',
    'insert into reversal select * from taken; drop table taken',
  ],
  [
    'postings_without_transfer',
    'create table taken as select * from transfer where reversed_amount > 0; delete from transfer where reversed_amount > 0',
    'insert into transfer select * from taken; drop table taken',
  ],
];

async function faultsNow(): Promise<readonly string[]> {
  return Object.keys((await readBooksAt(server.connection, [card_id])).faults);
}

const GUARDED = ['account', 'posting', 'transfer', 'reversal'];

/** Changes the books without the triggers that protect them. */
async function change(statement: string): Promise<void> {
  const all = (what: string): string => GUARDED.map((table) => `alter table ${table} ${what} trigger user`).join('; ');
  await owner.query(`begin; ${all('disable')}; ${statement}; ${all('enable')}; commit`);
}

test.for(FAULTS)('finds %s', async ([name, plant, mend]) => {
  expect(await faultsNow()).toEqual([]);
  await change(plant);
  expect(await faultsNow()).toContain(name);
  await change(mend);
  expect(await faultsNow()).toEqual([]);
});
