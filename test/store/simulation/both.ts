import pg from 'pg';
import { expect } from 'vitest';
import { EVERY_PROGRAM, SERVICE_ITSELF } from '../../../domain/event.ts';
import { Database } from '../../../server/store/connection/database.ts';
import { PoolGroup } from '../../../server/store/connection/pool.ts';
import { Standby } from '../../../server/store/connection/standby.ts';
import { EPOCH, SimulatedTime } from '../../../verification/environments/memory/simulated-time.ts';
import {
  firstRows,
  openTables,
  PLACES,
  PROGRAMS,
  plainOpening,
  webhookRows,
} from '../../../verification/environments/memory/world.ts';
import { Connection, Server } from '../../../verification/environments/memory-store/connection.ts';
import { partsOf, type StoredRow } from '../../../verification/environments/memory-store/parameters.ts';
import { STATEMENTS } from '../../../verification/environments/memory-store/statements.ts';
import { type Tables, Transaction } from '../../../verification/environments/memory-store/transaction.ts';
import type { Opening, OpeningProgram } from '../../../verification/model/commands.ts';
import { Random } from '../../harness/random.ts';
import { useConnection, useServer } from '../../harness/use-ledger.ts';

// The simulation (verification/environments/memory) has its own store. Here, PostgreSQL executes everything that the
// simulation executes. Both must return the same rows and errors, and end with the same tables.

/** Makes the service's clock in PostgreSQL show the time in this table. */
const FREEZE_CLOCK = `
  create table frozen_clock (now timestamptz not null);
  insert into frozen_clock values (now());
  grant select on frozen_clock to public;
  create or replace function service_now() returns timestamptz language sql volatile as $$
    select now from frozen_clock
  $$`;

/** Columns that contain times of the database's clock, which the simulation does not share. */
const BY_CLOCK: ReadonlySet<string> = new Set([
  'relayed_at',
  'created_at of fence_batch',
  'now of read_webhook_workers',
]);

type Query = Parameters<Connection['query']>[0];
type Result =
  | { readonly rows: readonly StoredRow[]; readonly command: string }
  | { readonly error: string | undefined };

/** A session on both databases. */
export class Pair {
  readonly connection = { stream: { cork: () => undefined, uncork: () => undefined } };
  readonly on = () => this;
  readonly off = () => this;
  readonly release = () => undefined;
  readonly own: Connection;
  readonly #real: pg.Client;
  readonly #compared: Set<string>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(real: pg.Client, simulated: Server, compared: Set<string>) {
    this.#real = real;
    this.#compared = compared;
    this.own = new Connection(simulated, 'session', () => undefined);
  }

  /** Executes queries in sequence, as a connection does. */
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
      for (const { name } of partsOf(query.name ?? '', query.text)) this.#compared.add(name);
    }
    expect(comparable(shown, ours, found), shown).toEqual(comparable(shown, found, found));
    return theirs;
  }

  /** Returns the simulation's result. `error` is 55P03 if the statement would wait. */
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
    // Several statements in one query return several results.
    ({ rows = [], command }) => ({ rows, command }),
    (error: unknown) => ({ error: error instanceof pg.DatabaseError ? error.code : String(error) }),
  );
}

/**
 * Returns a result without the values that only PostgreSQL has: its clock, the values of locks, and the rows that a
 * write returns.
 */
function comparable(statement: string, result: Result, found: Result): unknown {
  if ('error' in result || 'error' in found) return 'error' in result ? result : { rows: result.rows };
  const [first] = found.rows;
  const names = Object.keys(first ?? {}).filter(
    (name) => !name.startsWith('pg_advisory') && !BY_CLOCK.has(name) && !BY_CLOCK.has(`${name} of ${statement}`),
  );
  if (names.length === 0) return first === undefined ? result.rows.length : undefined;
  return result.rows.map((row) => pick(row, names)).sort();
}

/** Arrays whose order PostgreSQL does not define. */
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

/** Sets up the simulated store and a PostgreSQL with the same rows. Both clocks stand still. */
export async function useBoth(elsewhere?: ReadonlySet<string>) {
  const server = await useServer();
  const client = await useConnection(server.connection);
  const now = Math.floor(Date.now() / 1000) * 1000;
  await client.query(FREEZE_CLOCK);
  await client.query('update frozen_clock set now = $1', [new Date(now)]);
  const opening = openingAt(now, elsewhere);
  for (const [table, rows] of Object.entries({
    ...firstRows(opening, new Date(now)),
    ...webhookRows(new Date(now)),
  })) {
    const columns = Object.keys(rows[0] ?? {}).join(', ');
    await client.query(
      `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
      [JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))],
    );
  }
  const time = new SimulatedTime(new Random(1));
  time.now = now - EPOCH;
  const tables = openTables(opening, new Date(now));
  const bugs: unknown[] = [];
  const simulated = new Server(tables, time, STATEMENTS, {
    onCommit: () => undefined,
    onBug: (error) => bugs.push(error),
    onStep: () => undefined,
  });
  /** The statements that both have executed. */
  const compared = new Set<string>();
  /** Opens a connection with the types of the service: `bigint` columns are bigints. */
  const useTypedConnection = (): Promise<pg.Client> => {
    const getTypeParser = (oid: number, format?: 'text' | 'binary') =>
      oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format ?? 'text');
    return useConnection({ ...server.connection, types: { getTypeParser } as never });
  };
  await copyOtherPrograms(await useTypedConnection(), tables, time);
  const pairWith = (real: pg.Client): Pair => new Pair(real, simulated, compared);
  const database = openDatabase(pairWith(await useTypedConnection()));
  const passTime = async (milliseconds: number): Promise<void> => {
    time.now += milliseconds;
    await client.query(`update frozen_clock set now = now + $1 * interval '1 millisecond'`, [milliseconds]);
  };
  const compareTable = async (table: string): Promise<void> => {
    const { rows } = await (await useTypedConnection()).query<StoredRow>(`select * from ${table}`);
    compareRows(table, tables.all(table), rows);
  };
  const compare = { pairWith, passTime, compareTable };
  return { server, client, now, time, opening, tables, bugs, simulated, compared, database, ...compare };
}

/** Returns programs in two time zones. The first one has funds in two currencies. */
function openingAt(now: number, elsewhere: ReadonlySet<string> | undefined): Opening {
  const [first, second] = [PLACES[1], PLACES[3]].map(
    (place) => plainOpening(now, place, undefined, elsewhere).programs,
  );
  const [one, other] = [first?.[0], second?.[1]] as [OpeningProgram, OpeningProgram];
  return { now, programs: [{ ...one, funding: { ...one.funding, USD: 50n } }, other] };
}

/** Opens the real {@link Database} on both stores. */
function openDatabase(pair: Pair): Database {
  const pool = { take: async () => pair, query: (...of: [Query]) => pair.query(...of), closeIdle: () => undefined };
  const connections = { readers: pool, writers: pool, group: new PoolGroup() };
  return new Database(connections as never, new Standby(pool as never));
}

/** Copies the other programs of a ledger to the simulation, because some events are for every program. */
async function copyOtherPrograms(client: pg.Client, tables: Tables, time: SimulatedTime): Promise<void> {
  const { rows } = await client.query<StoredRow>('select * from program');
  const transaction = new Transaction(tables, () => time.clock);
  for (const row of rows) {
    const id = String(row.program_id);
    if (tables.newest('program', id) === undefined) [...transaction.insert('program', id, row)];
  }
  transaction.commit();
}

function compareRows(table: string, own: readonly StoredRow[], rows: readonly StoredRow[]): void {
  const names = Object.keys(own[0] ?? {}).filter((name) => !BY_CLOCK.has(name) && !BY_CLOCK.has(`${name} of ${table}`));
  // Includes records that concern no program or every program.
  const ids = new Set<unknown>([
    null,
    undefined,
    SERVICE_ITSELF,
    EVERY_PROGRAM,
    ...PROGRAMS.map(({ programId }) => programId),
  ]);
  const isOfAll = table === 'program' || table === 'event_head' || table === 'event_position';
  const found = rows.filter((row) => isOfAll || ids.has(row.program_id));
  expect(own.map((row) => pick(row, names)).sort(), table).toEqual(found.map((row) => pick(row, names)).sort());
}
