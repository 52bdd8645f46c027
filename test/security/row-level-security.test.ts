import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fromWireId } from '../../domain/identifier.ts';
import type { Database } from '../../server/store/connection/database.ts';
import { HOLD_RELAY, relayEvents } from '../../server/store/events/relay.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// Tests only row-level security. The statements name no program or the wrong one, as a bug in the service could.

/** Tables that requests read or write, with rows of every program. */
const PROTECTED = [
  'program',
  'account',
  'card',
  'transfer',
  'posting',
  'reversal',
  'hold',
  'limit_counter',
  'transfer_metadata',
  'card_metadata',
  'idempotency',
  'event',
  'event_position',
  'event_head',
  'error',
  'support_case',
  'case_message',
];

/** Statements that no request needs. */
const OUT_OF_REACH = [
  'select from api_key',
  'select from audit_entry',
  'select from audit_head',
  'select from incident',
  'delete from support_case',
  'delete from case_message',
  "update event set payload = '{}'",
  'delete from event',
  'select from funding_movement',
  'select from funding_movement_metadata',
  'select from error_count',
  'select from error_report',
  'select from transfer_count',
  'select from service_process',
  'select from error_default',
  'select from event_default',
  'select event_programs from write_batch',
  'update event set program_id = null',
  'update event_position set position = 1',
  "insert into event_head (program_id, position) values ('ffffffff-ffff-ffff-ffff-ffffffffffff', 1)",
  "select make_event_partition('event', '2030-01-01')",
  "select drop_event_partition('event', '2030-01-01')",
  "select find_droppable_event_partition('event', '2030-01-01')",
  "select delete_unpartitioned_events('event', '2030-01-01')",
  "insert into error_drop (drop_id, reason, count, since, until) values (gen_random_uuid(), 'queue_full', 1, now(), now())",
  "update switch set disabled = true, reason = 'mischief'",
  "update connector_switch set disabled = true, reason = 'mischief'",
  'select program_id from processor_card',
  'update processor_card set place = 1',
  "update program set name = 'mine'",
  'update posting set amount = 1',
  'delete from transfer',
  'truncate idempotency',
  'update sandbox_clock set ahead = ahead',
  "select make_month_partition('event', '2030-01-01')",
  'select drop_error_partitions(now())',
  'create table mine (id integer)',
  'alter table card disable row level security',
  'drop policy own_programs on card',
];

const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);
let first: string;
let second: string;

beforeAll(async () => {
  first = await makeProgram('first');
  second = await makeProgram('second');
  await ledger.databases.background.underLock(HOLD_RELAY, relayEvents(null));
});
afterEach(async () => {
  await owner.query('rollback');
});

/** Creates a program with rows in every table, and returns its UUID. */
async function makeProgram(name: string): Promise<string> {
  const made = JSON.parse((await ledger.call('create_program', { name, currency: 'USD' })).body);
  const programId = fromWireId('prog', made.program_id) ?? '';
  const operate = { params: { program_id: made.program_id }, idempotencyKey: randomUUID() };
  await ledger.call('create_deposit', { amount: 100_000 }, operate);
  const within = (more: object = {}) => ({ programId, idempotencyKey: randomUUID(), ...more });
  await ledger.call('create_card', { card_id: 'card_one', metadata: { shop: name } }, within());
  const load = { amount: 1000, card_id: 'card_one', metadata: { shop: name } };
  const { transfer_id } = JSON.parse((await ledger.call('create_transfer', load, within())).body);
  await ledger.call('reverse_transfer', { amount: 10 }, within({ params: { transfer_id } }));
  await ledger.call('create_transfer', { ...load, capture: 'manual' }, within());
  const { case_id } = JSON.parse((await ledger.call('create_case', { text: name }, within())).body);
  await ledger.call('reply_to_case', { text: name }, within({ params: { case_id } }));
  const requestId = randomUUID();
  await owner.query(
    `insert into error (request_id, created_at, program_id, code, status, type, message, causes)
      values ($1, now(), $2, 'card_not_found', 404, 'Request Error', 'of the test', '[]')`,
    [requestId, programId],
  );
  return programId;
}

const readOf = (database: Database, text: string, values: readonly unknown[] = []) =>
  database.writeUnguarded({ name: '', text, values });
const programsOf = async (database: Database, table: string) =>
  (await readOf(database, `select distinct program_id from ${table}`)).map((row) => row.program_id);

/** Acts as a request of these programs, with the request's setting and role. */
async function actWithin(...programIds: readonly string[]): Promise<void> {
  await owner.query(`begin; set local role transfer_service_application;
    set local service.programs = '{${programIds.join()}}'`);
}

describe('without a program, a statement', () => {
  test.each(PROTECTED)("sees only rows of the request's program in %s", async (table) => {
    const { application, background } = ledger.databases;
    expect(await programsOf(application.forProgram(first), table)).toEqual([first]);
    expect(await programsOf(application.forProgram(second), table)).toEqual([second]);
    expect(new Set(await programsOf(application.forProgram(first, second), table))).toEqual(new Set([first, second]));
    expect(await programsOf(application.forProgram(), table)).toEqual([]);
    expect(await programsOf(application as Database, table)).toEqual([]);
    expect(await programsOf(background, table)).toEqual(expect.arrayContaining([first, second]));
  });

  test.each(PROTECTED)("sees only the request's rows of %s in a transaction", async (table) => {
    const steps = {
      batchId: randomUUID(),
      load: { found: { name: '', text: `select distinct program_id from ${table}`, values: [] } },
      decide: (loaded: { readonly found: readonly object[] }) => ({ result: loaded.found, writes: [] }),
    };
    expect(await ledger.databases.application.forProgram(second).transact(steps)).toEqual([{ program_id: second }]);
    expect(await ledger.databases.application.forProgram().transact(steps)).toEqual([]);
  });

  test('never sees the program of the previous request on its connection', async () => {
    const { application } = ledger.databases;
    const seen = await Promise.all(
      Array.from({ length: 200 }, async (_, at) => {
        const own = at % 2 === 0 ? first : second;
        return { own, found: await programsOf(application.forProgram(own), 'card') };
      }),
    );
    for (const { own, found } of seen) expect(found).toEqual([own]);
  });
});

describe('with the wrong program, a statement', () => {
  const ROWS: readonly (readonly [string, string])[] = [
    ['card', "update card set status = 'closed'"],
    ['account', 'update account set balance = balance + 1, sequence = sequence + 1'],
    ['transfer', "update transfer set description = 'mine'"],
    ['limit_counter', 'update limit_counter set amount = 0'],
    ['hold', 'delete from hold'],
    ['transfer_metadata', 'delete from transfer_metadata'],
    ['card_metadata', 'delete from card_metadata'],
    ['support_case', "update support_case set text = 'mine'"],
    ['case_message', "update case_message set text = 'mine'"],
  ];

  test.each(ROWS)('changes nothing of another program in %s', async (table, statement) => {
    const others = `select md5(string_agg(text, '' order by text)) as digest
      from (select ${table}::text as text from ${table} where program_id <> $1) as rows`;
    const { rows: before } = await owner.query(others, [first]);
    await actWithin(first);
    const { rowCount } = await owner.query(statement);
    expect(rowCount).toBeGreaterThan(0);
    await owner.query('reset role');
    expect((await owner.query(others, [first])).rows).toEqual(before);
  });

  const INSERTED = ['card', 'transfer', 'posting', 'reversal', 'hold', 'idempotency', 'event', 'account'];
  test.each([...INSERTED, 'support_case', 'case_message'])(
    'cannot insert a row of %s for another program',
    async (table) => {
      const { rows } = await owner.query(
        'select column_name from information_schema.columns where table_name = $1 and column_name <> $2',
        [table, 'program_id'],
      );
      expect(rows.length).toBeGreaterThan(1);
      await owner.query('begin');
      const columns = rows.map((row) => row.column_name).join();
      await owner.query(
        `create temporary table own on commit drop as select * from ${table} where program_id = '${first}'`,
      );
      await owner.query('grant select on own to transfer_service_application');
      await owner.query(`set local role transfer_service_application; set local service.programs = '{${first}}'`);
      const insert = `insert into ${table} (program_id, ${columns}) select '${second}', ${columns} from own limit 1`;
      await expect(owner.query(insert)).rejects.toMatchObject({
        code: '42501',
        message: expect.stringContaining('row-level security'),
      });
    },
  );

  test('reaches no other program through the setting, which accepts only ids', () => {
    const { application } = ledger.databases;
    for (const id of ['', "}'; reset role; --", `${first},${second}`]) {
      expect(() => application.forProgram(id)).toThrow('not a UUID');
    }
  });
});

describe('permissions of the roles', () => {
  test.each(OUT_OF_REACH)('requests may not: %s', async (statement) => {
    await actWithin(first);
    await expect(owner.query(statement)).rejects.toMatchObject({ code: '42501' });
  });

  test('requests see only the switches of the service and of their program', async () => {
    await owner.query('begin');
    const add = (programId: string | null) =>
      owner.query(
        `with at_connector as (
            insert into connector_switch (switch_id, connector_id, program_id, disabled, reason, actor, since)
              values (gen_random_uuid(), 'simulator', $1, true, 'of the test', 'test', now())
          )
          insert into switch (switch_id, program_id, disabled, reason, actor, since)
          values (gen_random_uuid(), $1, true, 'of the test', 'test', now())`,
        [programId],
      );
    for (const programId of [null, first, second]) await add(programId);
    await owner.query(`set local role transfer_service_application; set local service.programs = '{${first}}'`);
    for (const table of ['switch', 'connector_switch']) {
      const { rows } = await owner.query(`select program_id from ${table} order by program_id nulls first`);
      expect(rows).toEqual([{ program_id: null }, { program_id: first }]);
    }
  });

  test.each(['card', 'account', 'transfer', 'audit_entry', 'error', 'switch', 'connector_switch', 'idempotency'])(
    'the authentication role may not read %s',
    async (table) => {
      await expect(readOf(ledger.databases.authentication, `select from ${table}`)).rejects.toMatchObject({
        sqlState: '42501',
      });
    },
  );

  test('the authentication role can read keys but not change them', async () => {
    const { authentication } = ledger.databases;
    await expect(readOf(authentication, 'select from api_key')).resolves.toEqual([]);
    const unrevoke = 'update api_key set revoked_at = null';
    await expect(readOf(authentication, unrevoke)).rejects.toMatchObject({ sqlState: '42501' });
  });

  test.each(['posting', 'reversal', 'funding_movement', 'transfer', 'audit_entry', 'account', 'card'])(
    'loops and operators may not remove rows of %s',
    async (table) => {
      await expect(readOf(ledger.databases.background, `delete from ${table}`)).rejects.toMatchObject({
        sqlState: '42501',
      });
    },
  );
});

describe('completeness', () => {
  test('every table with rows of programs has row-level security, even for its owner', async () => {
    const { rows } = await owner.query(
      `select relname, relrowsecurity and relforcerowsecurity as protected from pg_class
        join pg_attribute on attrelid = pg_class.oid and attname = 'program_id'
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
    );
    expect(rows.length).toBeGreaterThan(PROTECTED.length);
    expect(rows.filter((row) => !row.protected)).toEqual([]);
  });

  test('only the owner has permissions on single partitions, except to remove errors', async () => {
    const { rows } = await owner.query(
      `select distinct grantee, table_name from information_schema.role_table_grants
        where grantee like 'transfer_service_%' and table_name ~ '_(default|[0-9]{4}_[0-9]{2}(_[0-9]{2})?)$'`,
    );
    expect(rows).toEqual([{ grantee: 'transfer_service_background', table_name: 'error_default' }]);
  });

  test('no role of the service can bypass policies or owns anything', async () => {
    const { rows } = await owner.query(
      `select rolname from pg_roles where rolname like 'transfer_service_%' and (
        rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolcanlogin
        or exists (select from pg_class where relowner = pg_roles.oid))`,
    );
    expect(rows).toEqual([]);
  });

  test("functions that run with the owner's privileges search the schema first and pg_temp last", async () => {
    const { rows } = await owner.query(
      `select proname, array_to_string(proconfig, ';') as settings from pg_proc
        where pronamespace = 'public'::regnamespace and prosecdef`,
    );
    expect(rows.length).toBe(9);
    for (const { proname, settings } of rows) expect(settings, proname).toMatch(/search_path=public, pg_temp(;|$)/);
  });
});
