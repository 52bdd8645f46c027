import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { placeOf } from '../../installation.mjs';
import { openDatabases } from '../../server/store/connection/databases.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { connect, UNHURRIED } from '../harness/ledger.ts';
import { runCommand, startInVain, startService, waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { useConnection, usePostgres } from '../harness/use-ledger.ts';

// Tests an operator's own PostgreSQL: which users may create the schema, and which may only use it.

const { directory, embedded, urlOf } = await usePostgres();
const superuser = await useConnection({ ...embedded.connection, user: 'postgres', database: 'postgres' });

beforeAll(async () => {
  for (const user of ['maker', 'clerk', 'stranger']) await superuser.query(`create role ${user} login`);
});

function settingsOf(user: string, database: string) {
  return { DATABASE_URL: urlOf(user, database), DATA_DIR: `${directory}/${user}` };
}

const ROLES = 'transfer_service_application, transfer_service_background, transfer_service_authentication';

describe('a database that the service does not own', () => {
  test('the statements of docs/go-live.md are enough for an administrator who is not a superuser', async () => {
    const guide = readFileSync(placeOf('docs/go-live.md'), 'utf8');
    // The embedded PostgreSQL already has a user and a database with that name.
    const [, sql = ''] =
      /```sql\n(CREATE ROLE .*?)```/s.exec(guide.replaceAll(/\btransfer_service\b/g, 'provided')) ?? [];
    await superuser.query('create role administrator login createrole createdb');
    const administrator = await connect({ ...embedded.connection, user: 'administrator', database: 'postgres' });
    try {
      for (const statement of sql.trim().split('\n')) await administrator.query(statement);
    } finally {
      await administrator.end();
    }
    expect(await runCommand(['migrate'], settingsOf('provided', 'provided'))).toMatchObject({ exitCode: 0 });
    await superuser.query('drop database provided');
    await superuser.query(`drop role provided, ${ROLES}`);
  });

  test('every missing privilege is reported with its statement before anything is changed', async () => {
    await superuser.query('create database abroad');
    const settings = { ...settingsOf('maker', 'abroad'), DATABASE_SCHEMA: 'books' };
    const ending = await runCommand(['migrate'], settings);
    const create = ROLES.split(', ')
      .map((role) => `CREATE ROLE ${role};`)
      .join(' ');
    const [schema, roles] = [
      'The schema books does not exist, and the user maker may not create it. As a superuser: ' +
        'CREATE SCHEMA "books" AUTHORIZATION maker;',
      'The user maker may not create the roles of the service, or act under them. As a superuser: ' +
        `${create} GRANT ${ROLES} TO maker;`,
    ];
    const page = 'Runbook: docs/runbook/database-rights.md\n';
    expect(ending).toEqual({ exitCode: 1, output: '', errors: `${schema}\n${roles}\n${page}` });

    const inside = await connect({ ...embedded.connection, user: 'postgres', database: 'abroad' });
    try {
      await inside.query('create schema "books" authorization maker');
      expect(await runCommand(['migrate'], settings)).toEqual({ exitCode: 1, output: '', errors: `${roles}\n${page}` });
      const { rows } = await inside.query("select from pg_class where relnamespace = 'books'::regnamespace");
      expect(rows).toEqual([]);
    } finally {
      await inside.end();
    }
    await superuser.query(`${create} GRANT ${ROLES} TO maker;`);
    await superuser.query('create database ledger owner maker');
    for (const made of [settings, settingsOf('maker', 'ledger')]) {
      expect(await runCommand(['migrate'], made)).toMatchObject({ exitCode: 0 });
    }
  });

  test('a user that inherits no roles gets a grant to inherit them', async () => {
    await superuser.query('create role shy login noinherit');
    await superuser.query('create database shade owner shy');
    const { errors } = await runCommand(['migrate'], settingsOf('shy', 'shade'));
    const [grant = ''] = /GRANT .*;/.exec(errors) ?? [];
    expect(grant).toBe(`GRANT ${ROLES} TO shy WITH INHERIT TRUE;`);
    await superuser.query(grant);
    expect(await runCommand(['migrate'], settingsOf('shy', 'shade'))).toMatchObject({ exitCode: 0 });
  });

  test('the missing grant is named if the user is not a member of the roles', async () => {
    const ending = await startInVain(settingsOf('stranger', 'ledger'));
    expect(ending.exitCode).toBe(1);
    expect(ending.errors).toMatch(
      /^\nThe service cannot start: The user of DATABASE_URL cannot assume [^\n]+\nRunbook: docs\/runbook\/database-rights\.md\n$/,
    );
    expect(ending.errors).toContain(`GRANT ${ROLES} TO`);
  });

  test('the service works with a user that is only a member of the roles and owns nothing', async () => {
    await superuser.query(`grant ${ROLES} to clerk`);
    const service = await startService(settingsOf('clerk', 'ledger'));
    try {
      const headers = { 'Idempotency-Key': randomUUID() };
      const { status } = await sendRaw(service.url, { body: { amount: 5, card_id: 'card_active' }, headers });
      expect(status).toBe(201);
      expect((await service.client.cards.get('card_active')).balance).toBe(25_005);
      expect(await service.client.trialBalance.get()).toMatchObject({ balanced: true });
    } finally {
      expect(await service.stop()).toBe(0);
    }
    // On a slow machine, the database may not respond for a moment.
    const ofSilence = /"event":"readiness".*"(reason|before)":"database_silent"/;
    const lines = service.errors().split('\n');
    expect(lines.filter((line) => /"level":[45]0/.test(line) && !ofSilence.test(line))).toEqual([]);
  });

  test('the first operator key can be created with that user, and the service starts in live mode', async () => {
    await superuser.query('create database vault owner maker');
    const live = { ...settingsOf('clerk', 'vault'), MODE: 'live', SUPPORT_CONTACT: 'help@example.com' };
    const { DATABASE_URL } = settingsOf('maker', 'vault');
    expect(await runCommand(['migrate'], { ...live, DATABASE_URL })).toMatchObject({ exitCode: 0 });
    expect((await startInVain(live)).errors).toContain('operator-key create');
    const made = await runCommand(['operator-key', 'create', '--name', 'first'], live);
    expect(made).toMatchObject({ exitCode: 0, output: expect.stringMatching(/^ts_[0-9a-f]{16}_[0-9a-f]+\n$/) });
    const service = await startService(live);
    expect(await service.stop()).toBe(0);
  });

  test.each(ROLES.split(', '))('the service does not start without the role %s, and names it', async (role) => {
    await superuser.query(`revoke ${role} from clerk`);
    try {
      const { exitCode, errors } = await startInVain(settingsOf('clerk', 'ledger'));
      expect({ exitCode, errors }).toMatchObject({ exitCode: 1, errors: expect.stringContaining(role) });
      expect(errors).toMatch(
        /^\nThe service cannot start: The user of DATABASE_URL cannot assume [^\n]+\nRunbook: docs\/runbook\/database-rights\.md\n$/,
      );
    } finally {
      await superuser.query(`grant ${role} to clerk`);
    }
  });

  test('the service keeps its role and settings despite options in DATABASE_URL', async () => {
    const { DATABASE_URL, ...rest } = settingsOf('clerk', 'ledger');
    const options = encodeURIComponent('-c work_mem=8MB -c lock_timeout=0 -c role=none');
    const connectionString = `${DATABASE_URL}&options=${options}`;
    const databases = openDatabases({ connectionString }, undefined, UNHURRIED);
    try {
      expect(await databases.findRoleProblem()).toBeUndefined();
      const text = `select current_user::text as user, current_setting('lock_timeout') as lock, current_setting('work_mem') as memory`;
      const [row] = await databases.authentication.read({ name: 'in_force', text, values: [] });
      expect(row).toEqual({ user: 'transfer_service_authentication', lock: '500ms', memory: '8MB' });
    } finally {
      await databases.close();
    }
    const service = await startService({ ...rest, DATABASE_URL: connectionString });
    expect(await service.stop()).toBe(0);
  });

  test('a migration by an owner that cannot see the rows is refused', async () => {
    await superuser.query('revoke transfer_service_background from maker');
    const maker = await connect({ ...embedded.connection, user: 'maker', database: 'ledger' });
    const last = "'0006_audit_positions.sql'";
    try {
      const { rows } = await maker.query(`delete from schema_migration where name = ${last} returning *`);
      const ending = await runCommand(['migrate'], settingsOf('maker', 'ledger'));
      expect(ending).toMatchObject({ exitCode: 1, errors: expect.stringContaining('cannot see the rows') });
      expect((await runCommand(['migrate'], settingsOf('clerk', 'ledger'))).errors).toContain(
        'The user clerk may not change the tables of the ledger, because they belong to maker. ' +
          'Run the command with the owner in DATABASE_URL.\n',
      );
      await maker.query('insert into schema_migration values ($1, $2, $3, $4)', Object.values(rows[0]));
      expect(await runCommand(['migrate'], settingsOf('maker', 'ledger'))).toMatchObject({ exitCode: 0 });
    } finally {
      await maker.end();
      await superuser.query('grant transfer_service_background to maker');
    }
  });

  test('a migration is retried while a table is in use, and then fails with the reason', async () => {
    await superuser.query('create database busy owner maker');
    const busy = settingsOf('maker', 'busy');
    expect(await runCommand(['migrate'], busy)).toMatchObject({ exitCode: 0 });
    const connection = { ...embedded.connection, user: 'maker', database: 'busy' };
    const maker = await connect(connection);
    const stranger = await connect(connection);
    try {
      // Makes this migration look as if it had not been applied yet.
      await maker.query("delete from schema_migration where name = '0006_audit_positions.sql'");
      await maker.query('alter table audit_entry drop constraint audit_entry_position_from_one');
      await stranger.query("begin; set application_name = 'a report'; lock table audit_entry in access share mode");
      const NAMED =
        /lock timeout\. PostgreSQL process \d+ \(a report, user maker\) uses the table audit_entry for \d+ s\. Nothing/;
      const waits: string[] = [];
      const problem = await migrate(connection, { tries: 3, onWait: (sentence) => waits.push(sentence) }).catch(
        (error: unknown) => error,
      );
      expect(problem).toMatchObject({ page: 'migration-locked', message: expect.stringMatching(NAMED) });
      expect(waits).toHaveLength(2);
      const ending = runCommand(['migrate'], busy);
      await waitFor('the command to wait for the lock', async () => {
        const { rowCount } = await maker.query('select from pg_locks where not granted');
        return rowCount !== 0;
      });
      await stranger.query('rollback');
      expect(await ending).toMatchObject({
        exitCode: 0,
        output: expect.stringMatching(/^Applied 0006_audit_positions\.sql in [0-9]+ ms\.\n$/),
      });
    } finally {
      await maker.end();
      await stranger.end();
    }
  });

  test('only migrate creates a schema, and other commands report a database without one', async () => {
    await superuser.query('create database empty owner maker');
    const empty = settingsOf('maker', 'empty');
    for (const command of [['verify-books'], ['audit', 'verify'], ['operator-key', 'create', '--name', 'x']]) {
      const { exitCode, output, errors } = await runCommand(command, empty);
      expect([exitCode, output]).toEqual([1, '']);
      expect(errors).toMatch(
        /^The database of DATABASE_URL, postgresql:\/\/[^ ]+@\/empty\?[^ ]+, has no ledger in its schema public\. /,
      );
    }
    const maker = await connect({ ...embedded.connection, user: 'maker', database: 'empty' });
    try {
      const { rows } = await maker.query("select from pg_class where relnamespace = 'public'::regnamespace");
      expect(rows).toEqual([]);
    } finally {
      await maker.end();
    }
  });

  test('the grants that a user without its own tables needs to migrate are named', async () => {
    await superuser.query('create database behind owner maker');
    const ending = await runCommand(['migrate'], settingsOf('clerk', 'behind'));
    expect(ending).toEqual({
      exitCode: 1,
      output: '',
      errors:
        'The user clerk may not create tables in the schema public. ' +
        'As a superuser: GRANT USAGE, CREATE ON SCHEMA "public" TO clerk;\n' +
        'Runbook: docs/runbook/database-rights.md\n',
    });
  });
});
