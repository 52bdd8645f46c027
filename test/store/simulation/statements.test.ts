import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { Refusal } from '../../../domain/refusal.ts';
import { Leases } from '../../../server/background/delivery/leases.ts';
import { newBatchId } from '../../../server/foundation/ids.ts';
import type { Statement } from '../../../server/store/connection/database.ts';
import { HOLD_RELAY, relayEvents } from '../../../server/store/events/relay.ts';
import { lockAccounts, lockAllFunding, lockFundingAccounts } from '../../../server/store/ledger/account.ts';
import { HOLD_SWITCH, lockNames, shareSwitchAndLockNames } from '../../../server/store/locks.ts';
import { lockProgram, readProgramRules } from '../../../server/store/program.ts';
import { readTransfer } from '../../../server/store/transfers/transfer.ts';
import { lockShards } from '../../../server/store/webhooks/shard.ts';
import {
  lockRevisions,
  moveCursors,
  readDeliveredWebhooks,
  readRevisions,
  storeHealth,
} from '../../../server/store/webhooks/state.ts';
import { lockWebhook, probeNow, readWebhook } from '../../../server/store/webhooks/webhook.ts';
import { settleDue } from '../../../server/subjects/transfers/change-transfer.ts';
import { CallersKnow } from '../../../verification/environments/memory/callers.ts';
import { drawWorkload, EVERY_SUBJECT } from '../../../verification/environments/memory/profile.ts';
import { handle } from '../../../verification/environments/memory/requests.ts';
import { openService } from '../../../verification/environments/memory/service-process.ts';
import { PROGRAMS, programOf } from '../../../verification/environments/memory/world.ts';
import { PROCESSOR_STATEMENTS } from '../../../verification/environments/memory-store/processors.ts';
import { STATEMENTS } from '../../../verification/environments/memory-store/statements.ts';
import { Transaction } from '../../../verification/environments/memory-store/transaction.ts';
import { Commands } from '../../../verification/generators/commands.ts';
import { nextPeriodAfter } from '../../../verification/model/calendar.ts';
import type { Request } from '../../../verification/model/commands.ts';
import { connect } from '../../harness/ledger.ts';
import { Random } from '../../harness/random.ts';
import { commitEvents, eventOf, relayOnce } from '../events/relayed.ts';
import { useBoth } from './both.ts';

// Runs random histories, and waits for locks. `both.ts` describes the comparison.

const { server, client, now, time, opening, tables, bugs, simulated, compared, database, ...both } = await useBoth();
const { pairWith, passTime, compareTable } = both;
const service = openService(database, { batch: 64, waiting: 64 });

/** Sends a request. Returns the code of its refusal, or the id of the new transfer or webhook. */
async function ask(wanted: Request, key: string | null): Promise<{ readonly code?: string; readonly id?: string }> {
  const own = { ...service, database: database.forProgram(programOf(wanted.program).programId) };
  const deadline = performance.now() + 240_000;
  try {
    const reply = await handle(own, wanted, { requestId: randomUUID(), key, trace: undefined, deadline });
    if (!('record' in reply)) return {};
    const { transfer_id, webhook_id } = reply.record as { transfer_id?: string; webhook_id?: string };
    const id = transfer_id ?? webhook_id;
    return id === undefined ? {} : { id };
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code };
    // PostgreSQL refuses this request's row.
    if (wanted.does === 'create' && wanted.isPoison) return { code: 'poison' };
    throw error;
  }
}

/** Settles everything that is due. */
async function settle(): Promise<number> {
  const { settled, failed } = await settleDue({ ...service, database });
  expect(failed).toBe(0);
  return settled;
}

async function enableAll(): Promise<void> {
  for (const program of ['0', '1']) {
    const enabled = { disabled: false, until: null };
    await ask({ does: 'change_switch', program, setting: { program: null, type: null, ...enabled } }, null);
    for (const type of [null, 'load', 'unload', 'card_to_card'] as const) {
      await ask({ does: 'change_switch', program, setting: { program, type, ...enabled } }, null);
    }
  }
}

test('random histories have the same results in PostgreSQL', async () => {
  const random = new Random(20_261_129);
  const known = new CallersKnow(() => time.clock, opening);
  const commands = new Commands(random, known, drawWorkload(random, EVERY_SUBJECT, { asksAll: true }));
  const refused = new Set<string>();
  let settled = 0;
  // Adds funding for many transfers.
  for (const [index, { currency }] of opening.programs.entries()) {
    await ask({ does: 'deposit', program: String(index), currency, amount: 2_000n, reference: null }, null);
  }
  for (let count = 0; count < 350; count += 1) {
    const wanted = commands.next() as Request;
    const { code, id } = await ask(wanted, count % 3 === 0 ? `key ${count % 40}` : null);
    if (code !== undefined) refused.add(code);
    if (id !== undefined) known.learn(wanted, { transfer_id: id, webhook_id: id });
    // Moves the clock by a fraction of a millisecond, which no record shows.
    if (count % 7 === 0) await passTime(count % 2 === 0 ? 400 : 0.7);
    if (count % 9 === 0) settled += await settle();
    if (count % 15 === 0) await enableAll();
    if (count % 10 === 0) await database.underLock(HOLD_RELAY, relayEvents(null, 7));
  }
  expect(refused.size).toBeGreaterThan(9);
  expect(settled).toBeGreaterThan(4);
  await passTime(10_000);
  await enableAll();
  await settle();
  const [batch] = tables.all('write_batch');
  expect(await database.settle(String(batch?.batch_id), performance.now() + 60_000)).toBe('committed');
  expect(await database.settle(randomUUID(), performance.now() + 60_000)).toBe('abandoned');
  const [transfer] = tables.all('transfer');
  const transferId = String(transfer?.transfer_id);
  await database.writeUnguarded(lockAccounts([], [{ programId: String(transfer?.program_id), transferId }], 'skip'));
  await database.read(readTransfer(String(transfer?.program_id), transferId));
  // Moves to just before the end of a day in each time zone. The shown time must be on that day.
  const ids = PROGRAMS.map(({ programId }) => programId);
  for (const { zone } of opening.programs) {
    await passTime(nextPeriodAfter(time.clock, 'day', zone) - time.clock - 0.4);
    for (const withDays of [true, false]) {
      await database.read(readProgramRules(ids, withDays));
      for (const id of ids) await database.read(readProgramRules([id], withDays));
    }
  }
  expect(bugs).toEqual([]);
  for (const table of COMPARED) await compareTable(table);
});

/** The tables that must be equal when everything has run. */
const COMPARED = [
  'account',
  'audit_entry',
  'card',
  'event',
  'event_head',
  'event_position',
  'funding_movement',
  'hold',
  'idempotency',
  'limit_counter',
  'posting',
  'program',
  'reversal',
  'switch',
  'transfer',
  'transfer_metadata',
  'webhook',
  'webhook_secret',
  'webhook_state',
];

test('the relay numbers transactions in their order, although the clock stands still and their ids have another order', async () => {
  const programId = PROGRAMS[0]?.programId ?? '';
  const ids = Array.from({ length: 6 }, newBatchId).sort().reverse();
  // The random histories leave transactions without positions.
  while ((await relayOnce(database)).found > 0);
  for (const id of ids) await commitEvents(database, [eventOf(programId, 'relayed')], id, time.clock);
  await relayOnce(database);
  const numbered = tables.all('event_position').filter(({ batch_id }) => ids.includes(String(batch_id)));
  expect(numbered.map(({ batch_id }) => batch_id)).toEqual(ids);
  await compareTable('event_position');
});

test('the leases, cursors and health of webhooks are the same in PostgreSQL', async () => {
  const programId = PROGRAMS[0]?.programId ?? '';
  await ask({ does: 'create_webhook', program: '0', fromFirst: true }, null);
  const webhooks = tables
    .all('webhook_state')
    .map((row) => ({ ...row, ...tables.newest('webhook', String(row.webhook_id)) }));
  const idsOf = (shards: readonly number[]): string[] =>
    webhooks.filter(({ shard }) => shards.includes(Number(shard))).map(({ webhook_id }) => String(webhook_id));
  const write = async (leases: Leases, owner: string, cursor: number) => {
    const shards = leases.held.map(({ shard }) => shard);
    const sent = webhooks.map(({ webhook_id, shard, revision }, index) => {
      const epoch = leases.held.find((held) => held.shard === shard)?.epoch ?? 0;
      const progress = {
        cursor,
        ahead: index === 0 ? '{[9,11)}' : '{}',
        lastSuccessAt: now + cursor,
        lastFailureAt: null,
      };
      const health = {
        status: 'paused',
        failures: cursor,
        failingSince: now,
        probeTries: 1,
        nextProbeAt: now,
        isFailingTold: false,
      } as const;
      // The second webhook has changed in the meantime.
      const version = { revision: Number(revision) + (index === 1 ? 1 : 0) };
      return { webhookId: String(webhook_id), shard: Number(shard), epoch, ...progress, ...health, ...version };
    });
    const [, , moved, stored] = await database.inOnePacket([
      lockShards({ owner, shards }),
      lockRevisions({ webhookIds: sent.map(({ webhookId }) => webhookId) }),
      moveCursors({ sent, owner }),
      storeHealth({ sent, owner }),
    ]);
    return [moved?.length, stored?.length];
  };
  const owners = [randomUUID(), randomUUID()] as const;
  const [one, other] = [new Leases(database, owners[0]), new Leases(database, owners[1])];
  for (const leases of [one, other, one]) await leases.renew();
  expect(webhooks.length).toBeGreaterThan(1);
  const heldBy = (leases: Leases) => idsOf(leases.held.map(({ shard }) => shard)).length;
  expect((await write(one, owners[0], 5))[0]).toBe(heldBy(one));
  await database.read(readRevisions({ shards: one.held.map(({ shard }) => shard) }));
  await database.read(readDeliveredWebhooks({ webhookIds: webhooks.map(({ webhook_id }) => String(webhook_id)) }));
  // Probes a paused webhook.
  const [first] = webhooks;
  const webhookId = String(first?.webhook_id);
  await database.read(probeNow(webhookId, new Date(now)));
  await database.read(readWebhook(webhookId, programId));
  const free = 'update webhook_shard set owner = null, expires_at = null';
  await client.query(free);
  const transaction = new Transaction(tables, () => time.clock);
  for (const { shard } of tables.all('webhook_shard')) {
    const none = { owner: null, expires_at: null };
    [...transaction.update('webhook_shard', String(shard), (row) => ({ ...row, ...none }))];
  }
  transaction.commit();
  await other.renew();
  expect((await write(one, owners[0], 7))[0]).toBe(0);
  expect((await write(other, owners[1], 3))[0]).toBe(heldBy(other));
});

const card = (number: number) => ({
  programId: PROGRAMS[0]?.programId ?? '',
  name: `card_1_${number + 1}`,
  withFunding: number === 0,
});
const name = (text: string) => ({ programId: card(0).programId, kind: 'reference', name: text }) as const;

/** A webhook that the histories do not use, because they may delete other webhooks. */
const webhookId = PROGRAMS[0]?.webhookId ?? '';

/** Statements with locks. The statement that comes second waits for the lock, skips the locked rows, or continues. */
const LOCKING: Readonly<Record<string, Statement>> = {
  'the first card and the funding': lockAccounts([card(0)], []),
  'the second card': lockAccounts([card(1)], []),
  'the free one of both cards': lockAccounts([card(0), card(1)], [], 'skip'),
  'a name': lockNames([name('one')]),
  'a name and the switch': shareSwitchAndLockNames([name('one'), name('two')], 'wait'),
  'the free one of two names': shareSwitchAndLockNames([name('one'), name('two')], 'skip'),
  'the switch alone': HOLD_SWITCH,
  'a program': lockProgram(card(0).programId),
  'the funds of a program': lockAllFunding(card(0).programId),
  'the funds and the world': lockFundingAccounts(card(0).programId, 'JPY'),
  relay: HOLD_RELAY,
  'a webhook': lockWebhook(webhookId, null),
  'the version of a webhook': lockRevisions({ webhookIds: [webhookId] }),
};
const PAIRS = Object.keys(LOCKING).flatMap((first) => Object.keys(LOCKING).map((second) => [first, second] as const));

test.each(PAIRS)('a lock on %s delays a statement on %s in both stores or in neither', async (first, second) => {
  const [one, other] = [await connect(server.connection), await connect(server.connection)];
  const [mine, theirs] = [pairWith(one), pairWith(other)];
  try {
    // With this limit, a statement ends only because of a lock, even on a slow machine.
    await other.query("set lock_timeout = '20ms'");
    for (const pair of [mine, theirs]) await pair.query('begin');
    await mine.query(LOCKING[first] as Statement);
    await theirs.query(LOCKING[second] as Statement).catch((error: unknown) => {
      expect(error).toMatchObject({ code: '55P03' });
    });
  } finally {
    for (const pair of [mine, theirs]) pair.own.cut(new Error('the test is over'), 0);
    for (const connection of simulated.connections) while (connection.canExecute) connection.execute();
    await Promise.all([one.end(), other.end()]);
  }
});

test('every statement of the simulation was compared', () => {
  // The barrier for a standby has no name. The suite `crashes` runs it.
  const here = Object.keys(STATEMENTS).filter((statement) => statement !== '' && !(statement in PROCESSOR_STATEMENTS));
  expect(here.filter((statement) => !compared.has(statement))).toEqual([]);
});
