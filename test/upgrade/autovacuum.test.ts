import { expect, test } from 'vitest';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { toMigration } from '../../server/store/migrations/migration-files.ts';
import { waitFor } from '../harness/process.ts';
import { useConnection, useServer } from '../harness/use-ledger.ts';
import { withPlanted } from './planted.ts';

const server = await useServer();
const superuser = await useConnection({ ...server.connection, user: 'postgres' });
const owner = await useConnection(server.connection);

const CHANGE = toMigration('9004_vacuumed.sql', 'alter table vacuumed add column planted text;');

/** Returns the running autovacuums of the table. */
const vacuums = async (): Promise<readonly number[]> => {
  const { rows } = await superuser.query<{ pid: number }>(
    "select pid from pg_stat_progress_vacuum where relid = 'vacuumed'::regclass",
  );
  return rows.map(({ pid }) => pid);
};

test('an autovacuum that would lock a table for minutes yields to a migration', async () => {
  // A page takes a tenth of a second, and the table has hundreds of pages.
  await owner.query(`create table vacuumed (number int, filler text) with (autovacuum_vacuum_threshold = 0,
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1);
    insert into vacuumed select number, repeat('x', 500) from generate_series(1, 10000) as number;
    delete from vacuumed where number % 2 = 0`);
  await superuser.query("alter system set autovacuum_naptime = '1s'");
  await superuser.query('select pg_reload_conf()');
  try {
    await waitFor('the autovacuum to run', async () => (await vacuums()).length === 1);
    const [before] = await vacuums();
    let waits = 0;
    const applied = await migrate(server.connection, {
      migrations: await withPlanted(CHANGE),
      onWait: () => {
        waits += 1;
      },
    });
    expect(applied).toEqual([CHANGE.name]);
    expect(waits).toBeGreaterThan(0);
    expect(await vacuums()).not.toContain(before);
  } finally {
    await superuser.query('alter system reset autovacuum_naptime');
    await superuser.query('select pg_reload_conf()');
  }
});
