import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lockAccountsOfCards, readFundingAccount, updateAccounts } from '../../server/store/account.ts';
import { listCards, readCardDetails, readCards } from '../../server/store/card.ts';
import { type Statement, WRITER_OPTIONS } from '../../server/store/database.ts';
import { readAnswers } from '../../server/store/idempotency.ts';
import { listKeys, readKey } from '../../server/store/key.ts';
import { listPrograms, readProgram } from '../../server/store/program.ts';
import { listTransfers, readReferences, readTransfer, type TransferFilter } from '../../server/store/transfer.ts';
import { connect, startServer, type TestServer } from '../harness/ledger.ts';

/** Rows that the tables are filled with: enough that reading one of them whole is never the cheaper plan. */
const CARDS = 20_000;
const TRANSFERS = 100_000;

const PROGRAM = '01900000-0000-7000-8000-0000000000de';

/** Tables that grow with use; nothing may read one of them whole. */
const GROWING = ['transfer', 'card', 'account', 'posting', 'idempotency', 'event', 'write_batch'];

let server: TestServer;
let client: pg.Client;

beforeAll(async () => {
  server = await startServer();
  client = await connect(server.connection);
  // A young table: filled, and the planner does not know it yet.
  await client.query('alter table transfer set (autovacuum_enabled = off)');
  await client.query('alter table card set (autovacuum_enabled = off)');
  await client.query('alter table account set (autovacuum_enabled = off)');
  await client.query('alter table idempotency set (autovacuum_enabled = off)');
  await fill();
});

afterAll(async () => {
  await client.end();
  await server.stop();
});

/** Cards and transfers in bulk. No books are kept here: this suite looks at plans, not at money. */
async function fill(): Promise<void> {
  await client.query(
    `with made as (
       insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
       select $1, gen_random_uuid(), 'card', gen_random_uuid(), 'USD', 0, now() from generate_series(1, $2)
       returning account_id, owner_id
     )
     insert into card (program_id, card_id, name, status, currency, account_id, funding_account_id, created_at, updated_at)
     select $1, owner_id, 'filled_' || owner_id, 'active', 'USD', made.account_id,
       (select account_id from account where program_id = $1 and kind = 'funding' and currency = 'USD'), now(), now()
     from made`,
    [PROGRAM, CARDS],
  );
  await client.query(
    `insert into transfer (program_id, transfer_id, type, card_id, amount, captured_amount, currency, status, outcome,
       capture, reference, metadata, request_id, created_at, updated_at, completed_at)
     select $1, gen_random_uuid(), 'load', card_id, 1, 1, 'USD', 'completed', 'final', 'automatic',
       'filled ' || card_id || ' ' || number, '{}', gen_random_uuid(), now(), now(), now()
     from card, generate_series(1, $2) as number where name like 'filled\\_%'`,
    [PROGRAM, TRANSFERS / CARDS],
  );
  await client.query(
    `insert into idempotency (program_id, operation, key, fingerprint, status, subject_id, created_at)
     select program_id, 'create_transfer', 'key ' || transfer_id, sha256(transfer_id::text::bytea), 201, transfer_id, now()
     from transfer`,
  );
}

const filter: TransferFilter = {
  after: null,
  count: 20,
  cardName: null,
  type: null,
  status: null,
  reference: null,
  idempotencyKey: null,
};

const cards = Array.from({ length: 3 }, () => ({ programId: PROGRAM, name: 'card_active', withFunding: true }));
const after = randomUUID();

/** What is read outside transactions, with the plan for these values. */
const READS: readonly (readonly [string, Statement])[] = [
  ['get_transfer', readTransfer(PROGRAM, after)],
  ['list_transfers', listTransfers(PROGRAM, filter)],
  ['list_transfers, a later page', listTransfers(PROGRAM, { ...filter, after })],
  ['list_transfers of a card', listTransfers(PROGRAM, { ...filter, cardName: 'card_active' })],
  ['list_transfers of a card, a later page', listTransfers(PROGRAM, { ...filter, cardName: 'card_active', after })],
  ['list_transfers by reference', listTransfers(PROGRAM, { ...filter, reference: 'x' })],
  ['list_transfers by idempotency key', listTransfers(PROGRAM, { ...filter, idempotencyKey: 'x' })],
  ['get_card', readCardDetails(PROGRAM, 'card_active')],
  ['list_cards', listCards(PROGRAM, null, 20)],
  ['list_cards, a later page', listCards(PROGRAM, after, 20)],
  ['get_program', readProgram(PROGRAM)],
  ['list_programs', listPrograms(null, 20)],
  ['the funding account', readFundingAccount(PROGRAM, 'USD')],
  ['a key', readKey('0123456789abcdef')],
  ['list_keys', listKeys(null, 20)],
];

/** What a transaction reads and writes by key, with the one plan that serves every call. */
const TRANSACTION: readonly (readonly [string, Statement])[] = [
  ['locking the accounts', lockAccountsOfCards(cards)],
  ['locking the free accounts', lockAccountsOfCards(cards, 'skip')],
  ['reading the cards', readCards(cards)],
  ['reading kept answers', readAnswers([{ programId: PROGRAM, operation: 'create_transfer', key: 'x' }])],
  ['reading references', readReferences([{ programId: PROGRAM, reference: 'x' }])],
  ['updating the accounts', updateAccounts([])],
];

type Plan = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly Plan[];
};

function wholeReads(plan: Plan): readonly string[] {
  const inner = (plan.Plans ?? []).flatMap(wholeReads);
  const whole = plan['Node Type'] === 'Seq Scan' && GROWING.includes(plan['Relation Name'] ?? '');
  return whole ? [...inner, plan['Relation Name'] ?? ''] : inner;
}

/** Scans of growing tables that read rows and then throw some away: a probe of the wrong index. */
function halfProbes(plan: Plan): readonly string[] {
  const inner = (plan.Plans ?? []).flatMap(halfProbes);
  const half = plan.Filter !== undefined && GROWING.includes(plan['Relation Name'] ?? '');
  return half ? [...inner, `${plan['Relation Name']}: ${plan.Filter}`] : inner;
}

describe.each([
  ['on tables that the planner knows nothing of', async () => undefined],
  ['on tables that it has analyzed', async () => void (await client.query('analyze'))],
])('%s', (_state, prepare) => {
  beforeAll(prepare);

  test.each(READS)('%s reads no growing table whole', async (_name, { text, values }) => {
    const { rows } = await client.query(`explain (format json) ${text}`, [...values]);
    expect(wholeReads(rows[0]['QUERY PLAN'][0].Plan), JSON.stringify(rows[0]['QUERY PLAN'], null, 1)).toEqual([]);
  });

  test.each(TRANSACTION)('%s probes an index once a key', async (_name, { text }) => {
    const writer = await connect({ ...server.connection });
    try {
      for (const option of WRITER_OPTIONS) await writer.query(`set ${option.slice(3)}`);
      const { rows } = await writer.query(`explain (generic_plan, format json) ${text}`);
      const { Plan: plan } = rows[0]['QUERY PLAN'][0];
      expect([...wholeReads(plan), ...halfProbes(plan)], JSON.stringify(plan, null, 1)).toEqual([]);
    } finally {
      await writer.end();
    }
  });
});
