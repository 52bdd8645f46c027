import { afterEach, describe, expect, test } from 'vitest';
import { StartupProblem } from '../../server/foundation/startup-problem.ts';
import { findDatabaseProblem } from '../../server/store/connection/database-problem.ts';
import { openDatabases } from '../../server/store/connection/databases.ts';
import { type AppliedMigration, compareSchema, findSchemaState } from '../../server/store/migrations/compatibility.ts';
import { migrate, pendingMigrations, readSchema } from '../../server/store/migrations/migrate.ts';
import { type Migration, readMigrations, toMigration } from '../../server/store/migrations/migration-files.ts';
import { SilentProcessors } from '../fixtures/processors.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';
import { PLANTED_MIGRATIONS, withPlanted } from './planted.ts';

const server = await useServer();
const { connection } = server;
const client = await useConnection(connection);
const ledger = useLedger(connection);
const present = useLedger(connection, undefined, undefined, undefined, new SilentProcessors());
const { expand, contract } = PLANTED_MIGRATIONS;

afterEach(async () => {
  await client.query(`alter table transfer drop column if exists planted; drop table if exists planted;
    delete from schema_migration where name ~ '^9'`);
});

const state = () => findSchemaState(ledger.database);
const refusal = () =>
  pendingMigrations(connection).then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a schema with migrations that this version does not have', () => {
  test('is usable if the migrations say that this version can run on them', async () => {
    expect(await state()).toBe('current');
    expect(await migrate(connection, { migrations: await withPlanted(expand) })).toEqual([expand.name]);
    expect(await state()).toBe('newer_usable');
    expect(await pendingMigrations(connection)).toEqual([]);
    expect(await findDatabaseProblem(connection, 'write')).toBeUndefined();
    const newer: string[] = [];
    expect(await migrate(connection, { onNewer: (names) => newer.push(...names) })).toEqual([]);
    expect(newer).toEqual([expand.name]);
    const made = await ledger.call('create_transfer', { amount: 5, card_id: 'card_active' });
    expect(JSON.parse(made.body)).toMatchObject({ status: 'completed' });
  });

  test('is refused, even by migrate, if one of them needs a migration that this version does not have', async () => {
    await migrate(connection, { migrations: await withPlanted(expand, contract) });
    expect(await state()).toBe('newer_unusable');
    for (const attempt of [refusal(), migrate(connection).catch((error: unknown) => error)]) {
      const problem = await attempt;
      expect(problem).toBeInstanceOf(StartupProblem);
      expect(problem).toMatchObject({
        page: 'schema-too-new',
        message: expect.stringMatching(
          /9002_contract\.sql, which this version does not know, needs a version that has the migration 9001/,
        ),
      });
    }
  });

  test('is refused if the migrations do not say what they need', async () => {
    await client.query("insert into schema_migration (name, checksum) values ('9009_unknown.sql', '')");
    expect(await state()).toBe('newer_unusable');
    expect(await refusal()).toMatchObject({ page: 'schema-too-new' });
  });
});

test('a schema that lacks a migration is older, even if it has a migration of a newer version', async () => {
  await client.query("delete from schema_migration where name ~ '^0018'");
  expect(await state()).toBe('older');
  await client.query("insert into schema_migration (name, checksum, needs) values ('9001_expand.sql', '', '0017')");
  expect(await state()).toBe('older');
  expect(await pendingMigrations(connection)).toEqual(['0018_webhooks.sql']);
  const { checksum } = (await readMigrations()).find(({ name }) => name.startsWith('0018')) ?? { checksum: '' };
  await client.query("insert into schema_migration (name, checksum) values ('0018_webhooks.sql', $1)", [checksum]);
});

describe('a ledger that lacks migrations of version 0.1.0', () => {
  const first = async (count: number) => (await readMigrations()).slice(0, count);
  const outcomeOf = (run: Promise<unknown>): Promise<unknown> => run.catch((error: unknown) => error);

  /** Returns every object of a schema, and every row of its history and its programs. */
  const contentsOf = async (schema: string): Promise<unknown> => {
    const objects = `select relname, relkind, relfilenode from pg_class where relnamespace = '${schema}'::regnamespace`;
    const rows = ['schema_migration', 'program'].map((table) => `select * from ${schema}.${table}`);
    const found: unknown[] = [];
    for (const text of [`${objects} order by 1`, ...rows]) found.push((await client.query(text)).rows);
    return found;
  };

  test('is refused unchanged, with advice, if an earlier version created it', async () => {
    const older = { ...connection, schema: 'older' };
    await migrate(older, { migrations: await first(18) });
    await client.query(`alter table older.schema_migration drop column needs;
      insert into older.program (program_id, name, currency, time_zone, created_at)
        values (gen_random_uuid(), 'Earlier', 'USD', 'UTC', now())`);
    const before = await contentsOf('older');
    for (const run of [() => migrate(older), () => pendingMigrations(older), () => migrate(older)]) {
      expect(await outcomeOf(run())).toMatchObject({
        name: 'StartupProblem',
        page: 'schema-behind',
        message:
          'The ledger is from a version before 0.1.0, which this version cannot upgrade: it lacks the migration ' +
          '0019_traceparent.sql. Nothing was changed. Start version 0.1.0 on it once, and then this version.',
      });
    }
    expect(await contentsOf('older')).toEqual(before);
  });

  test('is completed if its creation was interrupted', async () => {
    const begun = { ...connection, schema: 'begun' };
    await migrate(begun, { migrations: await first(5) });
    expect(await migrate(begun)).toHaveLength((await readMigrations()).length - 5);
    expect(await pendingMigrations(begun)).toEqual([]);
  });

  test('is upgraded if version 0.1.0 migrated it without recording what its first migrations need', async () => {
    const upgraded = { ...connection, schema: 'upgraded' };
    await migrate(upgraded, { migrations: await first(21) });
    await client.query("update upgraded.schema_migration set needs = null where name < '0019'");
    expect(await migrate(upgraded)).toHaveLength((await readMigrations()).length - 21);
  });
});

test('findSchemaState works with every role of the service', async () => {
  const databases = openDatabases(connection);
  try {
    for (const database of [databases.background, databases.authentication, databases.application.forProgram()]) {
      expect(await findSchemaState(database)).toBe('current');
    }
  } finally {
    await databases.close();
  }
});

describe('compact payloads of events, which version 0.1.0 cannot read', () => {
  const inSchema = (schema: string) => ({ ...connection, schema });
  const stateFor = async (schema: string, migrations: readonly Migration[]) => {
    const { rows } = await client.query<AppliedMigration>(
      `select name, checksum, needs from ${schema}.schema_migration`,
    );
    return compareSchema(migrations, rows).state;
  };

  test('are written on a ledger that this version created and that refuses earlier versions', async () => {
    await migrate(inSchema('made_by_this'));
    expect(await readSchema(inSchema('made_by_this'))).toMatchObject({ compactsPayloads: true });
    const before = (await readMigrations()).filter(({ name }) => name < '0046');
    expect(await stateFor('made_by_this', before)).toBe('newer_unusable');
  });

  test('are not written on a ledger of an older version until a migration needs this version', async () => {
    const all = await readMigrations();
    const before = all.filter(({ name }) => name < '0046');
    await migrate(inSchema('made_before'), { migrations: before });
    await migrate(inSchema('made_before'), { migrations: all });
    expect(await readSchema(inSchema('made_before'))).toMatchObject({ compactsPayloads: false });
    expect(await stateFor('made_before', before)).toBe('newer_usable');
    await migrate(inSchema('made_before'), { migrations: await withPlanted(expand) });
    expect(await readSchema(inSchema('made_before'))).toMatchObject({ compactsPayloads: true });
    expect(await stateFor('made_before', before)).toBe('newer_unusable');
  });
});

test('a disabled connector disables nothing for version 0.1.0, which has no connectors', async () => {
  // These are the queries with which the transfers, jobs and status of 0.1.0 read the switch (server/store/program.ts,
  // switch.ts, due.ts and figures.ts in that version).
  const read =
    'select program_id, transfer_type from switch where disabled and (until is null or until > service_now())';
  const processor = { connector_id: 'simulator', processor_token: 'sim_approve' };
  await present.call('create_card', { card_id: 'at_processor', ...processor });
  const scope = { connector_id: 'simulator', reason: 'fraud' };
  await present.call('change_switch', { ...scope, disabled: true });
  const load = (card_id: string) => present.call('create_transfer', { amount: 5, card_id });
  await expect(load('at_processor')).rejects.toMatchObject({ code: 'service_disabled' });
  expect((await client.query(read)).rows).toEqual([]);
  // If one version changes the switch, the settings of the other version stay the same.
  await client.query(
    `insert into switch (switch_id, disabled, reason, actor, since) values (gen_random_uuid(), true, 'x', 'x', now())
      on conflict (program_id, transfer_type) do update set disabled = true`,
  );
  await expect(load('card_active')).rejects.toMatchObject({ message: 'The service is disabled.' });
  await present.call('change_switch', { disabled: false });
  await expect(load('at_processor')).rejects.toMatchObject({ code: 'service_disabled' });
  expect(JSON.parse((await load('card_active')).body)).toMatchObject({ status: 'completed' });
  await present.call('change_switch', { ...scope, disabled: false });
});

test('the first comment of a migration names the migration that it needs; without such a comment, the migration needs itself', () => {
  const needs = (text: string) => toMigration('0042_x.sql', text).needs;
  expect(needs('-- A comment.\n-- Needs: 0040\n\nselect 1;\n')).toBe('0040');
  expect(needs('-- A comment.\nselect 1;\n')).toBe('0042');
  expect(needs('select 1;\n-- Needs: 0040\n')).toBe('0042');
  expect(toMigration('0042_x.sql', '-- Needs: 0041\n-- Transaction: none\nselect 1;').isOutsideTransaction).toBe(true);
});

test('a newer usable migration does not make up for an older unusable one', () => {
  const known = [toMigration('0001_a.sql', ''), toMigration('0002_b.sql', '')];
  const applied = (name: string, needs: string | null) => ({ name, checksum: '', needs });
  const compare = (...unknown: readonly ReturnType<typeof applied>[]) =>
    compareSchema(known, [applied('0001_a.sql', null), applied('0002_b.sql', null), ...unknown]).state;
  expect(compare(applied('0003_c.sql', '0003'), applied('0004_d.sql', '0002'))).toBe('newer_unusable');
  expect(compare(applied('0003_c.sql', '0001'), applied('0004_d.sql', '0002'))).toBe('newer_usable');
});

test('a migration that was edited after it was applied is refused, but both forms of 0021 are accepted', async () => {
  const setChecksum = (name: string, checksum: string) =>
    client.query('update schema_migration set checksum = $2 where name = $1', [name, checksum]);
  const { rows } = await client.query<{ readonly name: string; readonly checksum: string }>(
    `select name, checksum from schema_migration where name ~ '^002[01]' order by name`,
  );
  await setChecksum('0021_card_erasure.sql', '3c2f2bf704f1b9e57c0aa014fb33776fb1ca01e547fa9306389a7ff8a26d7454');
  expect(await refusal()).toBeUndefined();
  await setChecksum('0020_books_verification.sql', '0'.repeat(64));
  expect(await refusal()).toMatchObject({
    name: 'StartupProblem',
    message: expect.stringContaining('0020_books_verification.sql was changed after it was applied to this database.'),
  });
  for (const { name, checksum } of rows) await setChecksum(name, checksum);
  expect(await refusal()).toBeUndefined();
});
