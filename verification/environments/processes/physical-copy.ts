import { execFile } from 'node:child_process';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { onConnection } from '../../../test/harness/ledger.ts';

const execute = promisify(execFile);

/**
 * Makes a physical copy of a running server: starts a backup in PostgreSQL, copies the files, and then copies the WAL written in
 * the meantime. `superuser` connects as a superuser. `target` must not exist yet.
 */
export function copyRunning(superuser: pg.ClientConfig, source: string, target: string): Promise<void> {
  return onConnection(superuser, async (client) => {
    await client.query("select pg_create_physical_replication_slot('backup', true)");
    await client.query("select pg_backup_start('campaign', true)");
    await mkdir(target);
    const left = ['./postmaster.pid', './postmaster.opts', './pg_wal/*', './pg_replslot/*'];
    // tar exits with 1 if a file changed while it was read. The WAL repairs that.
    const copy = `tar -C "$1" ${left.map((path) => `--exclude='${path}'`).join(' ')} -cf - . | tar -C "$2" -xpf -`;
    await execute('bash', ['-c', copy, 'copy', source, target]).catch((error: unknown) => {
      if (Reflect.get(error as object, 'code') !== 1) throw error;
    });
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    const label = join(target, 'backup_label');
    await writeFile(label, rows[0]?.labelfile ?? '', { mode: 0o600 });
    await execute('bash', ['-c', 'cp -a "$1"/pg_wal/[0-9A-F]* "$2"/pg_wal/', 'copy', source, target]);
    const { uid, gid } = await stat(source);
    await execute('chown', [`${uid}:${gid}`, label]);
    await client.query("select pg_drop_replication_slot('backup')");
  });
}
