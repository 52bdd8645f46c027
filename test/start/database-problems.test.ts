import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfiguration } from '../../server/foundation/configuration/configuration.ts';
import { runbookLine } from '../../server/foundation/runbook.ts';
import { StartupProblem } from '../../server/foundation/startup-problem.ts';
import { openDatabase, prepareSchema } from '../../server/host/open-database.ts';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { findServerProblem, type ServerFacts } from '../../server/store/connection/database-problem.ts';
import { explainStartFailure } from '../../server/store/connection/start-failure.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { namesCreatedBy, readMigrations } from '../../server/store/migrations/migration-files.ts';
import { connect } from '../harness/ledger.ts';
import { runCommand, startInVain, startService, temporaryDirectory } from '../harness/process.ts';
import { useConnection, usePostgres } from '../harness/use-ledger.ts';
import { startOldServer } from './old-server.ts';

// Tests that the service refuses a PostgreSQL that it cannot use, with one sentence, before it changes the database.

const { directory, embedded, urlOf } = await usePostgres();
const superuser = await useConnection({ ...embedded.connection, user: 'postgres', database: 'postgres' });

beforeAll(async () => {
  // This user only owns databases and is a member of the service's roles.
  await superuser.query('create role owner login');
  for (const role of ROLES) await superuser.query(`create role ${role}; grant ${role} to owner`);
});

const ROLES = ['transfer_service_application', 'transfer_service_background', 'transfer_service_authentication'];

const asSuperuser = (database: string): Promise<pg.Client> =>
  connect({ ...embedded.connection, user: 'postgres', database });

function settingsOf(database: string, more: Readonly<Record<string, string>> = {}, user = 'owner') {
  return { DATABASE_URL: urlOf(user, database), DATA_DIR: join(directory, 'service'), ...more };
}

/** Creates a database and runs the statements in it as a superuser. */
async function makeDatabase(name: string, ...statements: readonly string[]): Promise<void> {
  await superuser.query(`create database ${name} owner owner`);
  const client = await asSuperuser(name);
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Returns the names in a database, without PostgreSQL's own. */
async function contentsOf(database: string): Promise<readonly string[]> {
  const client = await asSuperuser(database);
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
      where nspname !~ '^pg_' and nspname <> 'information_schema' order by 1`,
  );
  await client.end();
  return rows.map(({ name }) => name);
}

/** Returns the message of a start that is refused before the service would serve requests. */
async function refusalOf(settings: Readonly<Record<string, string>>): Promise<string> {
  return (await problemOf(settings)).message;
}

async function problemOf(settings: Readonly<Record<string, string>>): Promise<StartupProblem> {
  const reports = { onProgress: () => undefined, onServerExit: () => undefined };
  try {
    const { databases, close } = await openDatabase(readConfiguration(settings), reports);
    await prepareSchema(databases, 'sandbox').finally(close);
  } catch (error) {
    const problem = explainStartFailure(error);
    expect(problem).toBeInstanceOf(StartupProblem);
    return problem as StartupProblem;
  }
  throw new Error('the start was not refused');
}

/**
 * Does the same for a service and for commands in separate processes. Each one prints the sentence and its runbook
 * page, without a stack.
 */
async function refusalOfAll(settings: Readonly<Record<string, string>>): Promise<string> {
  const { message, page } = await problemOf(settings);
  const [started, migrated, keyed] = await Promise.all([
    startInVain(settings),
    runCommand(['migrate'], settings),
    runCommand(['operator-key', 'create', '--name', 'x'], settings),
  ]);
  const errors = `${message}\n${runbookLine(page)}\n`;
  expect([started.exitCode, started.errors]).toEqual([1, `\nThe service cannot start: ${errors}`]);
  for (const ending of [migrated, keyed]) expect(ending).toEqual({ exitCode: 1, output: '', errors });
  return message;
}

/** Updates the schema, as `migrate` does. */
async function install(settings: ReturnType<typeof settingsOf>): Promise<void> {
  const { databaseUrl, databaseSchema: schema } = readConfiguration(settings);
  await migrate({ connectionString: databaseUrl ?? '', schema });
}

describe('refuses a database that is not encoded in UTF8', () => {
  test.each(['WIN1252', 'SQL_ASCII', 'LATIN1', 'EUC_JP'])('%s', async (encoding) => {
    const name = `encoded_${encoding.toLowerCase()}`;
    await superuser.query(`create database ${name} owner owner encoding '${encoding}' template template0 locale 'C'`);
    const refuse = encoding === 'LATIN1' ? refusalOfAll : refusalOf;
    expect(await refuse(settingsOf(name))).toBe(
      `The database ${name} has the encoding ${encoding}, and the service needs UTF8 to store every text unchanged. ` +
        "Create a database with CREATE DATABASE <name> ENCODING 'UTF8' TEMPLATE template0, and set DATABASE_URL to it.",
    );
    expect(await contentsOf(name)).toEqual([]);
  });
});

describe("the check of the server's version", () => {
  const facts: ServerFacts = {
    versionNumber: 150_000,
    version: '15.0',
    encoding: 'UTF8',
    database: 'ledger',
    isStandby: false,
    readOnly: 'off',
    readOnlySource: 'default',
  };

  test.each([
    [140_013, '14.13 (Debian 14.13-1)'],
    [149_999, '14.99'],
    [90_624, '9.6.24'],
    [80_002, '8.0.2'],
  ])('refuses version %i before it checks anything else', (versionNumber, version) => {
    const old = { ...facts, versionNumber, version, encoding: 'LATIN1', isStandby: true };
    for (const use of ['read', 'write'] as const) {
      expect(findServerProblem(old, use)?.message).toBe(
        `The database server runs PostgreSQL ${version}, and the service needs 15 or later. ` +
          'Upgrade the server, or set DATABASE_URL to a newer one.',
      );
    }
  });

  test('refuses an old server because of its version, even if the server does not support our settings', async () => {
    const old = await startOldServer();
    try {
      const DATA_DIR = join(directory, 'service');
      expect(await refusalOfAll({ DATABASE_URL: old.databaseUrl, DATA_DIR })).toMatch(
        /^The database server runs PostgreSQL 13\.16, and the service needs 15 or later\./,
      );
    } finally {
      old.close();
    }
  });

  test.each([150_000, 150_014, 160_000, 180_001, 190_000])('accepts version %i', (versionNumber) => {
    expect(findServerProblem({ ...facts, versionNumber }, 'write')).toBeUndefined();
  });
});

describe('reports foreign objects that have names of the service, and does not change them', () => {
  const strange: readonly (readonly [what: string, database: string, statement: string])[] = [
    ['table transfer', 'shop', 'create table transfer (id int)'],
    ['table account', 'bank', 'create table account (id int); create table event (id int)'],
    ['view card', 'views', 'create view card as select 1 as id'],
    ['type event', 'types', "create type event as enum ('a')"],
    ['type switch', 'domains', 'create domain switch as text'],
    ['function service_now', 'functions', 'create function service_now() returns int language sql as $$ select 1 $$'],
    ['index hold_expiry', 'indexes', 'create table other (id int); create index hold_expiry on other (id)'],
    ['sequence posting', 'sequences', 'create sequence posting'],
  ];
  test.each(strange)('a %s', async (what, database, statement) => {
    await makeDatabase(database, statement);
    const before = await contentsOf(database);
    const sentence = await (database === 'shop' ? refusalOfAll : refusalOf)(settingsOf(database));
    expect(sentence).toContain('already contains objects that have names of the service and were not created by it: ');
    expect(sentence).toContain(what);
    expect(sentence).toContain('Set DATABASE_SCHEMA to ');
    expect(await contentsOf(database)).toEqual(before);
  });

  test.each([
    ['a table of a different application', 'create table schema_migration (version text primary key)'],
    [
      'a table with columns of the same name',
      'create table schema_migration (name int, checksum text, applied_at date)',
    ],
    ['a view', 'create view schema_migration as select 1 as name'],
    ['a table without columns', 'create table schema_migration ()'],
  ])('a history of migrations that the service did not create: %s', async (what, statement) => {
    const database = `history_${what.length}`;
    await makeDatabase(database, statement);
    expect(await refusalOf(settingsOf(database))).toContain(
      'The schema public cannot be used: its table schema_migration was not created by the service',
    );
    expect(await contentsOf(database)).toHaveLength(statement.includes('key') ? 2 : 1);
  });

  test('until a separate schema, which migrate creates, avoids the conflict', async () => {
    const settings = settingsOf('shop', { DATABASE_SCHEMA: 'ledger' });
    expect(await runCommand(['migrate'], settings)).toMatchObject({ exitCode: 0 });
    const books = await runCommand(['verify-books'], settings);
    expect([books.exitCode, JSON.parse(books.output)]).toEqual([0, expect.objectContaining({ balanced: true })]);
    const client = await asSuperuser('shop');
    const { rows } = await client.query(
      "select count(*)::int from pg_class where relnamespace = 'public'::regnamespace",
    );
    await client.end();
    expect(rows).toEqual([{ count: 1 }]);
  });

  test('names that only a later migration uses', async () => {
    const client = await asSuperuser('shop');
    await client.query("set search_path = ledger; delete from schema_migration where name like '0007%'");
    await client.query('drop table ledger_mode; create table ledger_mode (id int)');
    await client.end();
    const sentence = await refusalOf(settingsOf('shop', { DATABASE_SCHEMA: 'ledger' }));
    expect(sentence).toMatch(/were not created by it: table ledger_mode\. Set DATABASE_SCHEMA to another schema/);
  });

  test('in a check of every table, type and function of the migrations', async () => {
    const known = new Set((await readMigrations()).flatMap(namesCreatedBy));
    await makeDatabase('whole');
    await install(settingsOf('whole'));
    const client = await asSuperuser('whole');
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm')
        union select proname from pg_proc where pronamespace = 'public'::regnamespace`,
    );
    await client.end();
    const missing = rows.map(({ name }) => name).filter((name) => !known.has(name));
    expect(missing.filter((name) => !/^((event|error)_\d{4}_\d{2}|write_batch_until_.*)$/.test(name))).toEqual([
      'schema_migration',
    ]);
  });
});

describe('a read-only database', () => {
  test('is refused if default_transaction_read_only is on for the database, and used if it is on only for the role', async () => {
    await makeDatabase('frozen');
    const settings = settingsOf('frozen');
    await install(settings);
    await superuser.query('alter database frozen set default_transaction_read_only = on');
    expect(await refusalOfAll(settings)).toBe(
      'The database frozen is read-only: default_transaction_read_only is on (database). ' +
        'Make it writable, or set DATABASE_URL to another one.',
    );
    const checks = await Promise.all([['verify-books'], ['audit', 'verify']].map((task) => runCommand(task, settings)));
    expect(checks.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    await superuser.query('alter database frozen reset default_transaction_read_only');
    await superuser.query('alter role owner set default_transaction_read_only = on');
    try {
      expect(await runCommand(['migrate'], settings)).toMatchObject({ exitCode: 0 });
    } finally {
      await superuser.query('alter role owner reset default_transaction_read_only');
    }
  });

  test('is refused if it is a standby, but its books can be verified', async () => {
    const copy = await temporaryDirectory();
    try {
      const primary = await startEmbeddedPostgres({ dataDirectory: copy.path });
      const DATA_DIR = join(copy.path, 'service');
      await migrate(primary.connection);
      await primary.stop();
      await writeFile(join(primary.dataDirectory, 'standby.signal'), '');
      const standby = await startEmbeddedPostgres({ dataDirectory: copy.path });
      try {
        const settings = { DATABASE_URL: standby.url, DATA_DIR };
        expect(await refusalOf(settings)).toBe(
          'The database server is a standby, which is read-only. Set DATABASE_URL to the primary server.',
        );
        expect(await runCommand(['verify-books'], settings)).toMatchObject({ exitCode: 0 });
      } finally {
        await standby.stop();
      }
    } finally {
      await copy.remove();
    }
  });
});

describe('the schema', () => {
  test('the service starts despite an invalid search_path of the role', async () => {
    await makeDatabase('pathless');
    await superuser.query('alter role owner set search_path = nowhere');
    try {
      const service = await startService(settingsOf('pathless'));
      expect(await service.stop()).toBe(0);
    } finally {
      await superuser.query('alter role owner reset search_path');
    }
  });

  test('a schema that cannot be created is reported, with the statement that creates it', async () => {
    await makeDatabase('foreign_land');
    await superuser.query('alter database foreign_land owner to postgres');
    const settings = settingsOf('foreign_land', { DATABASE_SCHEMA: 'embassy' });
    const sentence = await refusalOf(settings);
    expect(sentence).toBe(
      'The schema embassy does not exist, and the user owner may not create it. ' +
        'As a superuser: CREATE SCHEMA "embassy" AUTHORIZATION owner;',
    );
    const client = await asSuperuser('foreign_land');
    await client.query(/CREATE .*;/.exec(sentence)?.[0] ?? '');
    await client.end();
    await install(settings);
  });

  test('all missing permissions on the schema are reported at once', async () => {
    await makeDatabase('guarded', 'create schema treasury');
    const settings = settingsOf('guarded', { DATABASE_SCHEMA: 'treasury' });
    const sentences = await refusalOf(settings);
    const share =
      'The user owner may not let the roles of the service use the schema treasury. ' +
      'As a superuser: GRANT USAGE ON SCHEMA "treasury" TO owner WITH GRANT OPTION;';
    expect(sentences).toBe(
      'The user owner may not use the schema treasury. ' +
        `As a superuser: GRANT USAGE, CREATE ON SCHEMA "treasury" TO owner;\n${share}`,
    );
    const client = await asSuperuser('guarded');
    await client.query('grant usage, create on schema treasury to owner');
    expect(await refusalOf(settings)).toBe(share);
    expect(await contentsOf('guarded')).toEqual([]);
    await client.query(/GRANT .*;/.exec(share)?.[0] ?? '');
    await install(settings);
    await client.query(`revoke usage on schema treasury from ${ROLES.join(', ')}, owner cascade`);
    await client.query('grant usage on schema treasury to owner');
    const shut = await refusalOf(settings);
    const [grant = ''] = /GRANT USAGE ON SCHEMA .*;/.exec(shut) ?? [];
    expect(shut).toContain('The roles of the service may not use the schema treasury. As its owner: ');
    for (const role of ROLES) expect(grant).toContain(role);
    await client.query(grant);
    await client.end();
    expect(await (await startService(settings)).stop()).toBe(0);
  });

  test('a missing or empty schema is refused as a ledger in live mode', async () => {
    await makeDatabase('live_one');
    const settings = settingsOf('live_one', {
      MODE: 'live',
      SUPPORT_CONTACT: 'help@bank.test',
      DATABASE_SCHEMA: 'typo',
    });
    const { exitCode, errors } = await startInVain(settings);
    expect([exitCode, errors]).toEqual([
      1,
      expect.stringMatching(/^\nThe service cannot start: The database has no ledger in its schema typo\. If /),
    ]);
    expect(await contentsOf('live_one')).toEqual([]);
  });

  test.each([
    'Ledger',
    'with space',
    'a-b',
    'a.b',
    '"quoted"',
    '1st',
    'pg_ledger',
    'information_schema',
    'x'.repeat(64),
    'größe',
    'public, pg_temp',
  ])('DATABASE_SCHEMA=%s is refused', (DATABASE_SCHEMA) => {
    expect(() => readConfiguration({ DATABASE_SCHEMA })).toThrow(
      /^DATABASE_SCHEMA is .*, but it must be 1 to 63 lower-case letters/,
    );
  });

  test.each([
    ['', 'public'],
    ['ledger', 'ledger'],
    ['user', 'user'],
    [`_${'9'.repeat(62)}`, `_${'9'.repeat(62)}`],
  ])('DATABASE_SCHEMA=%s means %s', (DATABASE_SCHEMA, schema) => {
    expect(readConfiguration({ DATABASE_SCHEMA }).databaseSchema).toBe(schema);
  });
});
