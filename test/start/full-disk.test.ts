import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeLockRefusal } from '../../server/foundation/data-directory.ts';
import { chooseServerUser } from '../../server/postgres/ledger-location.ts';
import { createDataDirectory } from '../../server/postgres/postgres-server.ts';
import { connect, startServer, type TestServer } from '../harness/ledger.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { runCommand, startInVain } from '../harness/process.ts';
import { useDirectory } from '../harness/service.ts';

// Every write to Linux's /dev/full fails as on a full disk, without root. The tests that need a small file system are
// in the campaign disk-full, which npm run verify runs (verification/campaigns/disk-full.ts).

const FULL = '/dev/full';
const SENTENCE =
  /^\nThe service cannot start: [^\n]*: the disk is full\. Free up space on it [^\n]*\nRunbook: docs\/runbook\/disk-full\.md\n$/;

const directory = await useDirectory(ledgerDirectory);

describe('a start reports a full disk', () => {
  test('when the data directory cannot be locked', async () => {
    const database = new DatabaseSync(':memory:');
    let full: unknown;
    try {
      database.exec('pragma max_page_count = 1; create table one (name text); create table two (name text)');
    } catch (error) {
      full = error;
    } finally {
      database.close();
    }
    const path = join(directory.path, 'lock');
    const { message } = describeLockRefusal(full, path, directory.path);
    expect(message).toMatch(/^The data directory .* cannot be locked: the disk is full\. Free up space on it /);
  });

  test('when PostgreSQL cannot write while it starts', async () => {
    const file = join(directory.path, 'postgresql', 'postmaster.opts');
    await rm(file, { force: true });
    await symlink(FULL, file);
    const { exitCode, errors } = await startInVain({ DATA_DIR: directory.path });
    expect([exitCode, errors]).toEqual([1, expect.stringMatching(SENTENCE)]);
    expect(errors).toContain('PostgreSQL cannot start in ');
  });

  test('when a new ledger cannot be created', async () => {
    const home = join(directory.path, 'new');
    await mkdir(home);
    await chmod(home, 0o711);
    // Replaces initdb with a script that fails like initdb: it names the call and prints the system's message.
    const initdb = join(home, 'initdb');
    await writeFile(initdb, `#!/bin/sh\nexec cp /etc/passwd ${FULL}\n`, { mode: 0o755 });
    const making = createDataDirectory(home, { initdb, postgres: '' }, await chooseServerUser());
    await expect(making).rejects.toThrow(`A new ledger cannot be created in ${home}: the disk is full. Free up space`);
  });
});

describe('PostgreSQL reports a full disk', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  test('during a migration, and both migrate and a start print the report without a stack', async () => {
    const { host, port } = server.connection;
    const superuser = await connect({ ...server.connection, user: 'postgres' });
    try {
      await superuser.query('create database cramped owner transfer_service');
      const cramped = await connect({ ...server.connection, user: 'postgres', database: 'cramped' });
      await cramped.query(`create function refuse() returns event_trigger language plpgsql as $$
        begin raise exception 'could not extend file "base/1/2": No space left on device' using errcode = 'disk_full'; end $$`);
      await cramped.query('create event trigger full_disk on ddl_command_start execute function refuse()');
      await cramped.end();
      const settings = {
        DATABASE_URL: `postgresql://transfer_service@/cramped?host=${encodeURIComponent(host)}&port=${port}`,
        DATA_DIR: join(directory.path, 'data'),
      };
      const migrated = await runCommand(['migrate'], settings);
      expect([migrated.exitCode, migrated.errors]).toEqual([
        1,
        'PostgreSQL cannot write (could not extend file "base/1/2": No space left on device): the disk is full. ' +
          'Free up space on it and try again.\nRunbook: docs/runbook/disk-full.md\n',
      ]);
      const { exitCode, errors } = await startInVain(settings);
      expect([exitCode, errors]).toEqual([1, expect.stringMatching(SENTENCE)]);
    } finally {
      await superuser.end();
    }
  });
});
