import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect, test } from 'vitest';
import { EVERY_PROGRAM, SERVICE_ITSELF } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { Leases } from '../../../server/background/delivery/leases.ts';
import { databaseTime } from '../../../server/foundation/database-clock.ts';
import { postponeErasure, readErasure, toErasure } from '../../../server/store/card-erasure.ts';
import { Database, type Statement } from '../../../server/store/connection/database.ts';
import { PoolGroup } from '../../../server/store/connection/pool.ts';
import { Standby } from '../../../server/store/connection/standby.ts';
import { HOLD_RELAY, relayEvents } from '../../../server/store/events/relay.ts';
import { lockAccounts, lockAllFunding, lockFundingAccounts } from '../../../server/store/ledger/account.ts';
import { HOLD_SWITCH, lockNames, shareSwitchAndLockNames } from '../../../server/store/locks.ts';
import { lockProgram, readProgramRules } from '../../../server/store/program.ts';
import { lockShards } from '../../../server/store/webhooks/shard.ts';
import {
  lockRevisions,
  moveCursors,
  readDeliveredWebhooks,
  readRevisions,
  storeHealth,
} from '../../../server/store/webhooks/state.ts';
import { probeNow } from '../../../server/store/webhooks/status.ts';
import { lockWebhook, readWebhook } from '../../../server/store/webhooks/webhook.ts';
import { eraseInBatches } from '../../../server/subjects/cards/erase-in-batches.ts';
import { settleDue } from '../../../server/subjects/transfers/settle-due.ts';
import { Random } from '../../fuzz/random.ts';
import { connect } from '../../harness/ledger.ts';
import { useConnection, useServer } from '../../harness/use-ledger.ts';
import { freezeClock, setClock } from '../../properties/lane-ledger.ts';
import type { Ask } from '../../simulation/ask.ts';
import { Asking, EVERY_SUBJECT } from '../../simulation/requests.ts';
import { handle, openService } from '../../simulation/service-process.ts';
import { EPOCH, SimulatedTime } from '../../simulation/simulated-time.ts';
import { STATEMENTS } from '../../simulation/statements/statements.ts';
import { Connection, Server } from '../../simulation/store/connection.ts';
import { partsOf, type StoredRow } from '../../simulation/store/parameters.ts';
import { Transaction } from '../../simulation/store/transaction.ts';
import { firstRows, openTables, PROGRAMS, webhookRows } from '../../simulation/world.ts';

// The simulation (test/simulation) has a store of its own. Here whatever it executes is executed by PostgreSQL, too, and
// both must return the same rows and the same errors, and have the same tables in the end.

/** Columns with the database's own clock, which the simulation does not share. */
const BY_CLOCK: ReadonlySet<string> = new Set([
  'relayed_at',
  'next_at',
  'created_at of fence_batch',
  'now of read_webhook_workers',
]);

const server = await useServer();
const client = await useConnection(server.connection);
const now = Math.floor(Date.now() / 1000) * 1000;
await freezeClock(client);
await setClock(client, now);
for (const [table, rows] of Object.entries({ ...firstRows(new Date(now)), ...webhookRows(new Date(now)) })) {
  const columns = Object.keys(rows[0] ?? {}).join(', ');
  await client.query(
    `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
    [JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))],
  );
}

const time = new SimulatedTime(new Random(1));
time.now = now - EPOCH;
const tables = openTables(new Date(now));
const bugs: unknown[] = [];
const simulated = new Server(tables, time, STATEMENTS, {
  onCommit: () => undefined,
  onBug: (error) => bugs.push(error),
  onStep: () => undefined,
});
/** The statements that both have executed. */
const compared = new Set<string>();

type Query = Parameters<Connection['query']>[0];
type Result =
  | { readonly rows: readonly StoredRow[]; readonly command: string }
  | { readonly error: string | undefined };

/** A session of both. */
class Pair {
  readonly connection = { stream: { cork: () => undefined, uncork: () => undefined } };
  readonly on = () => this;
  readonly off = () => this;
  readonly release = () => undefined;
  readonly own: Connection;
  readonly #real: pg.Client;
  #last: Promise<unknown> = Promise.resolve();

  constructor(real: pg.Client) {
    this.#real = real;
    this.own = new Connection(simulated, 'session', () => undefined);
  }

  /** One after the other, like a connection. */
  query(query: Query): Promise<unknown> {
    const result = this.#last.then(() => this.#both(query));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #both(query: Query): Promise<unknown> {
    const mine = this.runOwn(query);
    const theirs = this.#real.query(query as pg.QueryConfig);
    const [ours, found] = await Promise.all([mine, resultOf(theirs)]);
    const shown = typeof query === 'string' ? query : (query.name ?? query.text);
    if (typeof query !== 'string') {
      for (const { name } of partsOf(query.name ?? '', query.text)) compared.add(name);
    }
    expect(comparable(shown, ours, found), shown).toEqual(comparable(shown, found, found));
    return theirs;
  }

  /** What the simulation makes of it; `error` 55P03 where it would wait. */
  async runOwn(query: Query): Promise<Result> {
    const answer = resultOf(this.own.query(query));
    while (this.own.canExecute) this.own.execute();
    if (!this.own.canAnswer) return { error: '55P03' };
    this.own.answer();
    return answer;
  }
}

function resultOf(query: Promise<{ readonly rows: readonly StoredRow[]; readonly command: string }>): Promise<Result> {
  return query.then(
    // Several statements at once have several results.
    ({ rows = [], command }) => ({ rows, command }),
    (error: unknown) => ({ error: error instanceof pg.DatabaseError ? error.code : String(error) }),
  );
}

/** A result without what only PostgreSQL has: the clock, the values of locks, what a write returns. */
function comparable(statement: string, result: Result, found: Result): unknown {
  if ('error' in result || 'error' in found) return 'error' in result ? result : { rows: result.rows };
  const [first] = found.rows;
  const names = Object.keys(first ?? {}).filter(
    (name) => !name.startsWith('pg_advisory') && !BY_CLOCK.has(name) && !BY_CLOCK.has(`${name} of ${statement}`),
  );
  if (names.length === 0) return first === undefined ? result.rows.length : undefined;
  return result.rows.map((row) => pick(row, names)).sort();
}

/** Arrays whose order PostgreSQL chooses. */
const UNORDERED: ReadonlySet<string> = new Set(['disabled', 'used', 'program_ids']);

function pick(row: StoredRow, names: readonly string[]): string {
  const plain = (value: unknown): unknown => {
    if (value instanceof Date) return value.getTime();
    if (typeof value === 'bigint') return String(value);
    if (Buffer.isBuffer(value)) return value.toString('hex');
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(plain);
    return Object.entries(value)
      .map(([name, member]) => [name, plain(member)])
      .sort();
  };
  const shown = (name: string): unknown => {
    const value = plain(row[name]);
    return UNORDERED.has(name) && Array.isArray(value) ? value.map((one) => JSON.stringify(one)).sort() : value;
  };
  return JSON.stringify(names.map((name) => [name, shown(name)]));
}

/** The real {@link Database} over both. */
async function openBoth(): Promise<Database> {
  const pair = new Pair(await useTypedConnection());
  const pool = { take: async () => pair, query: (...of: [Query]) => pair.query(...of), closeIdle: () => undefined };
  const connections = { readers: pool, writers: pool, group: new PoolGroup() };
  return new Database(connections as never, new Standby(pool as never));
}

/** A connection with the types of the service: `bigint` columns are bigints. */
async function useTypedConnection(): Promise<pg.Client> {
  const getTypeParser = (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format ?? 'text');
  return useConnection({ ...server.connection, types: { getTypeParser } as never });
}

/** Programs that a ledger has from the start get the events that are for every program, too. */
async function copyOtherPrograms(): Promise<void> {
  const { rows } = await (await useTypedConnection()).query<StoredRow>('select * from program');
  const transaction = new Transaction(tables, () => time.clock);
  for (const row of rows) {
    const id = String(row.program_id);
    if (tables.newest('program', id) === undefined) [...transaction.insert('program', id, row)];
  }
  transaction.commit();
}

await copyOtherPrograms();
const database = await openBoth();
const service = openService(database, { batch: 64, waiting: 64 });

let lastMoment = 0;

/**
 * Waits for the next millisecond. The clock of the simulation stands still, so that its relay orders transactions by their ids
 * alone, which those of one millisecond have at random; PostgreSQL has the order in which they came.
 */
async function nextMillisecond(): Promise<void> {
  while (databaseTime() === lastMoment) await new Promise((wake) => setTimeout(wake, 1));
  lastMoment = databaseTime();
}

/** Asks for something; gives the code with which it was refused, or the id of the transfer or webhook it has made. */
async function ask(wanted: Ask, key: string | null): Promise<{ readonly code?: string; readonly id?: string }> {
  const own = { ...service, database: database.forProgram(PROGRAMS[wanted.program]?.programId ?? '') };
  const deadline = performance.now() + 240_000;
  await nextMillisecond();
  try {
    const reply = await handle(own, wanted, { requestId: randomUUID(), key, trace: undefined, deadline });
    if (!('record' in reply)) return {};
    const { transfer_id, webhook_id } = reply.record as { transfer_id?: string; webhook_id?: string };
    const id = transfer_id ?? webhook_id;
    return id === undefined ? {} : { id };
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code };
    // PostgreSQL refuses its row.
    if (wanted.does === 'create' && wanted.isPoison) return { code: 'poison' };
    throw error;
  }
}

const ERASURE = { maxTransfers: 2, maxEvents: 4, maxErrors: 10, settleMilliseconds: 0, retryMilliseconds: 0 };

/** Closes a card and erases its holder, batch by batch. */
async function eraseCard(card: string): Promise<void> {
  for (const { transfer_id, card_id, destination_card_id, status } of tables.all('transfer')) {
    const names = [card_id, destination_card_id].map((id) => tables.newest('card', String(id))?.name);
    if (status !== 'pending' || !names.includes(card)) continue;
    await ask({ does: 'cancel', program: 0, transfer: toWireId('tr', String(transfer_id)), amount: null }, null);
  }
  await ask({ does: 'update_card', program: 0, card, status: 'closed' }, null);
  expect(await ask({ does: 'erase', program: 0, card }, 'erasure')).toEqual({});
  const [row] = await database.read(readErasure({ programId: PROGRAMS[0]?.programId ?? '', cardName: card }));
  await database.read(postponeErasure(toErasure(row as StoredRow), 0));
  const onFailure = (error: unknown): never => {
    throw error;
  };
  await eraseInBatches(database, { onFailure, pause: async () => true }, ERASURE);
}

/** Lets time go on in both. */
async function passTime(milliseconds: number): Promise<void> {
  time.now += milliseconds;
  await client.query(`update frozen_clock set now = now + $1 * interval '1 millisecond'`, [milliseconds]);
}

/** Does what is due. */
async function settle(): Promise<number> {
  await nextMillisecond();
  const { settled, failed } = await settleDue({ database, transfers: service.transfers });
  expect(failed).toBe(0);
  return settled;
}

async function enableAll(): Promise<void> {
  for (const program of PROGRAMS.keys()) {
    for (const scope of ['service', 'program', 'load', 'unload', 'card_to_card'] as const) {
      await ask({ does: 'change_switch', program, scope, disabled: false, until: null }, null);
    }
  }
}

test('random histories come out the same in PostgreSQL', async () => {
  const asking = new Asking(new Random(20_261_123), () => time.clock, EVERY_SUBJECT, true);
  const refused = new Set<string>();
  let settled = 0;
  // So that many transfers have funds.
  for (const program of PROGRAMS.keys()) {
    await ask({ does: 'deposit', program, amount: 2_000n, reference: null }, null);
  }
  for (let count = 0; count < 350; count += 1) {
    const wanted = asking.next();
    const { code, id } = await ask(wanted, count % 3 === 0 ? `key ${count % 40}` : null);
    if (code !== undefined) refused.add(code);
    if (wanted.does === 'create' && id !== undefined) asking.known.push({ id, program: wanted.program });
    if (wanted.does === 'create_webhook' && id !== undefined) asking.webhooks.push({ id, program: wanted.program });
    // With a part of a millisecond, which no record shows.
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
  await eraseCard(PROGRAMS[0]?.cards[0]?.name ?? '');
  expect(tables.all('card_erasure')).toMatchObject([{ round: 2, completed_at: expect.any(Date) }]);
  const [batch] = tables.all('write_batch');
  expect(await database.settle(String(batch?.batch_id), performance.now() + 60_000)).toBe('committed');
  expect(await database.settle(randomUUID(), performance.now() + 60_000)).toBe('abandoned');
  const [transfer] = tables.all('transfer');
  const transferId = String(transfer?.transfer_id);
  await database.read(lockAccounts([], [{ programId: String(transfer?.program_id), transferId }], 'skip'));
  // Shortly before a day ends: the time that is shown belongs to the day that is.
  await passTime(DAY - (time.clock % DAY) - 0.4);
  for (const withDays of [true, false]) {
    await database.read(
      readProgramRules(
        PROGRAMS.map(({ programId }) => programId),
        withDays,
      ),
    );
  }
  expect(bugs).toEqual([]);
  for (const table of COMPARED) await compareTable(table);
});

const DAY = 86_400_000;

/** The tables that are the same in the end. */
const COMPARED = [
  'account',
  'audit_entry',
  'card',
  'card_erasure',
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

test('the leases of webhooks, their cursors and their health are the same in PostgreSQL', async () => {
  const programId = PROGRAMS[0]?.programId ?? '';
  await ask({ does: 'create_webhook', program: 0, fromFirst: true }, null);
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
      // The second one was changed meanwhile.
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
  // One that is paused is probed.
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

async function compareTable(table: string): Promise<void> {
  const typed = await useTypedConnection();
  const { rows } = await typed.query<StoredRow>(`select * from ${table}`);
  const own = tables.all(table);
  const names = Object.keys(own[0] ?? {}).filter(
    (name) => !BY_CLOCK.has(name) && (name !== 'completed_at' || table !== 'card_erasure'),
  );
  // What is about no program, or for every one, is there, too.
  const ids = new Set<unknown>([null, SERVICE_ITSELF, EVERY_PROGRAM, ...PROGRAMS.map(({ programId }) => programId)]);
  const isOfAll = table === 'program' || table === 'event_head' || table === 'event_position';
  const found = rows.filter((row) => isOfAll || ids.has(row.program_id));
  expect(own.map((row) => pick(row, names)).sort(), table).toEqual(found.map((row) => pick(row, names)).sort());
}

const card = (number: number) => ({
  programId: PROGRAMS[0]?.programId ?? '',
  name: PROGRAMS[0]?.cards[number]?.name ?? '',
  withFunding: number === 0,
});
const name = (text: string) => ({ programId: card(0).programId, kind: 'reference', name: text }) as const;

/** A webhook of the program of which no history has anything; others may be deleted by then. */
const webhookId = PROGRAMS[0]?.webhookId ?? '';

/** Statements that lock: whoever comes second waits, skips, or goes on. */
const LOCKING: Readonly<Record<string, Statement>> = {
  'the first card and the funding': lockAccounts([card(0)], []),
  'the second card': lockAccounts([card(1)], []),
  'what is free of both cards': lockAccounts([card(0), card(1)], [], 'skip'),
  'a name': lockNames([name('one')]),
  'a name and the switch': shareSwitchAndLockNames([name('one'), name('two')], 'wait'),
  'the free ones of two names': shareSwitchAndLockNames([name('one'), name('two')], 'skip'),
  'the switch alone': HOLD_SWITCH,
  'a program': lockProgram(card(0).programId),
  'the funds of a program': lockAllFunding(card(0).programId),
  'the funds and the world': lockFundingAccounts(card(0).programId, 'USD'),
  relay: HOLD_RELAY,
  'a webhook': lockWebhook(webhookId, null),
  'the version of a webhook': lockRevisions({ webhookIds: [webhookId] }),
};
const PAIRS = Object.keys(LOCKING).flatMap((first) => Object.keys(LOCKING).map((second) => [first, second] as const));

test.each(PAIRS)('whoever holds %s makes the same wait for %s', async (first, second) => {
  const [one, other] = [await connect(server.connection), await connect(server.connection)];
  const [mine, theirs] = [new Pair(one), new Pair(other)];
  try {
    // Only a lock that is held ends a statement with this limit, however slow the machine is.
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

test('no statement of the simulation is left out', () => {
  expect(Object.keys(STATEMENTS).filter((statement) => !compared.has(statement))).toEqual([]);
});
