import { randomUUID } from 'node:crypto';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { OperationFailure } from '../../server/calls/call.ts';
import type { Role } from '../../server/store/connection/connections.ts';
import { compiledTexts } from '../../server/store/sql.ts';
import { connect, UNLIMITED } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { checkBalances, useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
/** Two service processes that wait for a lock without a time limit. */
const ledger = useLedger(server.connection, undefined, undefined, UNLIMITED);
const other = useLedger(server.connection, undefined, undefined, UNLIMITED);
/** A service that waits for a lock only as long as a request may. It then continues without the locked part. */
const hurried = useLedger(server.connection);
/**
 * A service whose statements time out before its lock waits do, as when one statement waits for several locks in
 * sequence.
 */
const slow = useLedger(server.connection, undefined, undefined, {
  ...UNLIMITED,
  session: [...UNLIMITED.session, ['statement_timeout', '300']],
});
/** A connection that holds a lock at the worst moment. */
let stranger: pg.Client;

beforeEach(async () => {
  stranger = await connect(server.connection);
});

checkBalances(ledger);

afterEach(async () => {
  await stranger.end();
});

const card = { card_id: 'card_active', amount: 1 };

/** Resolves when this many backends of the service are waiting for a lock. */
async function untilWaiting(count: number): Promise<void> {
  const watcher = await connect(server.connection);
  try {
    await waitFor(`${count} that wait`, async () => {
      const { rows } = await watcher.query<{ waiting: string }>(
        `select count(*) as waiting from pg_stat_activity where wait_event_type = 'Lock'
          and application_name = 'transfer-service' and datname = current_database()`,
      );
      return Number(rows[0]?.waiting) >= count;
    });
  } finally {
    await watcher.end();
  }
}

async function lockAccountOf(name: string): Promise<void> {
  await stranger.query('begin');
  await stranger.query(
    'select from account where account_id = (select account_id from card where name = $1) for no key update',
    [name],
  );
}

describe('a decision never uses an outdated read:', () => {
  test('refuses a transfer if the service is disabled while the transfer waits for the switch', async () => {
    await stranger.query('begin');
    await stranger.query('select pg_advisory_xact_lock(7201, 1)');
    const refused = expect(ledger.call('create_transfer', card)).rejects.toMatchObject({ code: 'service_disabled' });
    await untilWaiting(1);
    await stranger.query(
      "insert into switch (switch_id, disabled, reason, actor, since) values (gen_random_uuid(), true, 'x', 'x', now())",
    );
    await stranger.query('commit');
    await refused;
    await ledger.call('change_switch', { disabled: false });
  });

  test("refuses a transfer if the card is reported lost while the transfer waits for the card's account", async () => {
    await ledger.call('create_card', { card_id: 'about_to_be_lost' });
    await lockAccountOf('about_to_be_lost');
    const transfer = ledger.call('create_transfer', { ...card, card_id: 'about_to_be_lost' });
    const refused = expect(transfer).rejects.toMatchObject({ code: 'card_lost' });
    await untilWaiting(1);
    await stranger.query("update card set status = 'lost' where name = 'about_to_be_lost'");
    await stranger.query('commit');
    await refused;
  });

  test('does not spend a balance that is spent while the transfer waits for it', async () => {
    await ledger.call('create_card', { card_id: 'spent' });
    await ledger.call('create_transfer', { card_id: 'spent', amount: 100 });
    await lockAccountOf('spent');
    const unload = { card_id: 'spent', amount: 100, type: 'unload' };
    const both = [ledger, other].map((each) =>
      each.call('create_transfer', unload).then(
        () => 'made',
        (error) => error.code,
      ),
    );
    await untilWaiting(2);
    await stranger.query('rollback');
    expect((await Promise.all(both)).sort()).toEqual(['insufficient_funds', 'made']);
  });

  test('replays the response to a request with the same key after waiting for that request', async () => {
    await ledger.call('create_card', { card_id: 'keyed' });
    await lockAccountOf('keyed');
    const idempotencyKey = randomUUID();
    const body = { card_id: 'keyed', amount: 1 };
    const both = [ledger, other].map((each) => each.call('create_transfer', body, { idempotencyKey }));
    // One request waits for the account. The other waits for the key that the first request holds.
    await untilWaiting(2);
    await stranger.query('rollback');
    const [first, second] = await Promise.all(both);
    expect(first?.body).toBe(second?.body);
    expect([first?.replayed, second?.replayed].filter(Boolean)).toHaveLength(1);
  });

  test('refuses a reference that is taken while the transfer waits for it', async () => {
    await ledger.call('create_card', { card_id: 'referred' });
    await lockAccountOf('referred');
    const body = { card_id: 'referred', amount: 1, reference: 'waited for' };
    const both = [ledger, other].map((each) =>
      each.call('create_transfer', body).then(
        () => 'made',
        (error) => error.code,
      ),
    );
    await untilWaiting(2);
    await stranger.query('rollback');
    expect((await Promise.all(both)).sort()).toEqual(['duplicate_reference', 'made']);
  });
});

describe('after the response to a disable', () => {
  test('nothing in flight completes, because the change waits for running transfers and delays new ones', async () => {
    await ledger.call('create_card', { card_id: 'in_flight' });
    await lockAccountOf('in_flight');
    const begun = ledger.call('create_transfer', { card_id: 'in_flight', amount: 1 });
    await untilWaiting(1);
    const disabled = other.call('change_switch', { disabled: true, reason: 'test' });
    await untilWaiting(2);
    await stranger.query('rollback');
    await disabled;
    // The committed transfers are final at this point. The order of the two responses proves nothing.
    const { rows } = await stranger.query(
      'select count(*) from transfer join card using (program_id, card_id) where card.name = $1',
      ['in_flight'],
    );
    expect(Number(rows[0].count)).toBe(1);
    await begun;
    await expect(ledger.call('create_transfer', card)).rejects.toMatchObject({ code: 'service_disabled' });
    await other.call('change_switch', { disabled: false });
  });

  test('two processes under load create no transfer', async () => {
    for (let round = 0; round < 10; round += 1) {
      let running = true;
      let lateSince = Number.POSITIVE_INFINITY;
      const late: number[] = [];
      const clients = Array.from({ length: 16 }, async (_, index) => {
        const each = index % 2 === 0 ? ledger : other;
        while (running) {
          const sent = performance.now();
          const made = await each.call('create_transfer', card).then(
            () => true,
            () => false,
          );
          if (made && sent > lateSince) late.push(sent);
        }
      });
      try {
        await new Promise((resolve) => setTimeout(resolve, 50));
        await other.call('change_switch', { disabled: true, reason: 'test' });
        lateSince = performance.now();
        const count = async () => Number((await stranger.query('select count(*) from transfer')).rows[0].count);
        const before = await count();
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(await count()).toBe(before);
      } finally {
        running = false;
      }
      await Promise.all(clients);
      expect(late).toEqual([]);
      await ledger.call('change_switch', { disabled: false });
    }
  });
});

describe('a lock held by another transaction', () => {
  test('stops only requests for its card, and not the others in the group', async () => {
    await hurried.call('create_card', { card_id: 'held' });
    await lockAccountOf('held');
    const started = performance.now();
    const stuck = hurried.call('create_transfer', { card_id: 'held', amount: 1 }, { deadline: started + 2500 });
    const refused = expect(stuck).rejects.toBeInstanceOf(OperationFailure);
    const served = await Promise.all(Array.from({ length: 20 }, () => hurried.call('create_transfer', card)));
    expect(served.every(({ status }) => status === 201)).toBe(true);
    await refused;
    await expect(stuck).rejects.toMatchObject({ busy: true, moneyMoved: 'no' });
    await stranger.query('rollback');
    expect((await hurried.call('create_transfer', { card_id: 'held', amount: 1 })).status).toBe(201);
  });

  test("stops only transfers that need its program's funding, and no other program", async () => {
    const { body } = await hurried.call('create_program', { name: 'Other', currency: 'USD' });
    const { program_id } = JSON.parse(body) as { program_id: string };
    const programId = program_id.replace(/^prog_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    await hurried.call('create_card', { card_id: 'elsewhere' }, { programId });
    const deposit = { params: { program_id }, idempotencyKey: randomUUID() };
    await hurried.call('create_deposit', { amount: 1000 }, deposit);
    await stranger.query('begin');
    await stranger.query("select from account where kind = 'funding' and owner_id <> $1 for update", [programId]);
    const deadline = performance.now() + 3000;
    const stuck = Array.from({ length: 10 }, () => hurried.call('create_transfer', card, { deadline }));
    const refused = Promise.all(
      stuck.map((each) => expect(each).rejects.toMatchObject({ busy: true, moneyMoved: 'no' })),
    );
    for (let count = 0; count < 20; count += 1) {
      const reply = await hurried.call('create_transfer', { card_id: 'elsewhere', amount: 1 }, { programId });
      expect(reply.status).toBe(201);
    }
    await refused;
    await stranger.query('rollback');
    expect((await hurried.call('create_transfer', card)).status).toBe(201);
  });

  test('stops only requests with its idempotency key', async () => {
    const keys = [randomUUID(), randomUUID()] as const;
    await ledger.call('create_card', { card_id: 'stood_at' });
    await ledger.call('create_transfer', { card_id: 'stood_at', amount: 1 });
    // The transfer is between two cards, so that the waiting process does not also hold the funding.
    const between = { type: 'card_to_card', card_id: 'stood_at', destination_card_id: 'card_empty', amount: 1 };
    await lockAccountOf('stood_at');
    // One process holds the first key and waits for the account. The other process gets requests with both keys.
    const first = ledger.call('create_transfer', between, { idempotencyKey: keys[0] });
    await untilWaiting(1);
    const same = hurried.call('create_transfer', between, { idempotencyKey: keys[0] });
    const different = await hurried.call('create_transfer', card, { idempotencyKey: keys[1] });
    expect(different.status).toBe(201);
    await stranger.query('rollback');
    expect((await same).body).toBe((await first).body);
  });

  test('leaves other cards usable, even if it affects many cards for a long time', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `held_${index}`);
    for (const name of names) await hurried.call('create_card', { card_id: name });
    await stranger.query('begin');
    await stranger.query(
      "select from account where account_id in (select account_id from card where name like 'held\\_%') for update",
    );
    const deadline = performance.now() + 2500;
    const stuck = names.map((name) => hurried.call('create_transfer', { card_id: name, amount: 1 }, { deadline }));
    const refused = Promise.all(stuck.map((each) => expect(each).rejects.toMatchObject({ busy: true })));
    let served = 0;
    while (served <= 10 || performance.now() < deadline) {
      expect((await hurried.call('create_transfer', card)).status).toBe(201);
      served += 1;
    }
    await refused;
    await stranger.query('rollback');
  });

  test('makes a request fail as busy if all its waits together take longer than a statement may', async () => {
    await lockAccountOf('card_active');
    await stranger.query("select from account where kind = 'funding' for no key update");
    const deposit = { params: { program_id: DEMO_PROGRAM }, idempotencyKey: randomUUID() };
    const sent = [
      slow.call('create_transfer', card, { deadline: performance.now() + 2500 }),
      slow.call('create_deposit', { amount: 1 }, { ...deposit, deadline: performance.now() + 2500 }),
      slow.call(
        'update_card',
        { last_four: '1234' },
        { params: { card_id: 'card_active' }, deadline: performance.now() + 2500 },
      ),
    ];
    const busy = sent.map((each) => expect(each).rejects.toMatchObject({ busy: true, moneyMoved: 'no' }));
    await Promise.all(busy);
    await stranger.query('rollback');
    expect((await slow.call('create_transfer', card)).status).toBe(201);
  });

  test('only delays the request if it is released in time', async () => {
    await lockAccountOf('card_active');
    const transfer = ledger.call('create_transfer', card);
    await untilWaiting(1);
    await stranger.query('rollback');
    expect((await transfer).status).toBe(201);
  });
});

describe('the database refuses', () => {
  test.each([
    ['a changed posting', 'update posting set amount = amount + 1', '23001'],
    ['a deleted posting', 'delete from posting', '23001'],
    ['emptied postings', 'truncate posting', '23001'],
    ['a deleted account', 'delete from account', '23001'],
    ['a deleted card', 'delete from card', '23001'],
    ['a deleted transfer', 'delete from transfer', '23001'],
    ['a balance below the minimum', "update account set balance = -1 where kind = 'card'", '23514'],
    ['a hold above the balance', "update account set held = balance + 1 where kind = 'card'", '23514'],
    ['a balance past 2^53 - 1', 'update account set balance = 9007199254740992', '23514'],
    ['a transfer without an amount', 'update transfer set amount = 0', '23514'],
    ['two responses for one key', 'insert into idempotency select * from idempotency', '23505'],
  ])('%s', async (_what, statement, code) => {
    await ledger.call('create_transfer', card, { idempotencyKey: randomUUID() });
    await expect(stranger.query(statement)).rejects.toMatchObject({ code });
  });
});

/** Row locks that no operation of a card program takes. Operators and loops take them as `background`. */
const NOT_OF_PROGRAMS = [
  'claim_webhook_shards',
  'close_breaks_of_file',
  'close_found_breaks',
  'find_person',
  'forget_bodies',
  'forget_error_reports',
  'forget_notes_of_breaks',
  'forget_refused_keys',
  'forget_sessions',
  'insert_breaks_missing_in_file',
  'lock_approval',
  'lock_break',
  'lock_breaks_of_attempts',
  'lock_card_erasure',
  'lock_comparison',
  'lock_due_errors',
  'lock_incident',
  'lock_key',
  'lock_key_of_session',
  'lock_new_breaks',
  'lock_person',
  'lock_provider_sessions',
  'lock_session',
  'lock_settlement_file',
  'lock_webhook_shards',
  'mark_notice_failed',
  'note_key_uses',
  'note_session_uses',
  'release_webhook_shards',
  'renew_webhook_shards',
  'unmark_attempts_settled',
  'update_breaks_file_gaps',
];

/** Row locks that only card programs take, because only they call `create_case`. */
const OF_PROGRAMS_ONLY = ['share_cards'];

describe('a row lock of the store', async () => {
  const store = join(import.meta.dirname, '../../server/store');
  const files = globSync('**/*.ts', { cwd: store, exclude: (path) => path.endsWith('.test.ts') });
  await Promise.all(files.map((file) => import(join(store, file))));
  const locks = [...compiledTexts()].filter(([, text]) => /\bfor (?:no key )?update|\bfor (?:key )?share/.test(text));

  /**
   * Executes every lock as a role, with nulls as parameters. Returns the names of the locks that the role may not take.
   */
  async function deniedTo(role: Role): Promise<string[]> {
    const denied: string[] = [];
    for (const [name, text] of locks) {
      const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
      const values = count === 0 ? '' : `(${Array(count).fill('null').join()})`;
      await stranger.query(`begin; set local role transfer_service_${role}; prepare lock as ${text}`);
      await stranger.query(`execute lock${values}`).catch((error: pg.DatabaseError) => {
        if (error.code !== '42501') throw error;
        denied.push(name);
      });
      await stranger.query('rollback; deallocate lock');
    }
    return denied.sort();
  }

  test('is allowed for each role that takes it', async () => {
    expect(await deniedTo('application')).toEqual(NOT_OF_PROGRAMS);
    expect(await deniedTo('background')).toEqual(OF_PROGRAMS_ONLY);
    expect(await deniedTo('authentication')).toHaveLength(locks.length);
  });

  test('lets a card program create its first card in a currency', async () => {
    const created = ledger.call('create_card', { card_id: 'card_yen', currency: 'JPY' });
    expect((await created).body).toContain('"currency":"JPY"');
  });
});
