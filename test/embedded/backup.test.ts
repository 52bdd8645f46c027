import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { runCommand, startService, waitFor } from '../harness/process.ts';
import { startForTest, useDirectory } from '../harness/service.ts';
import { untilCopyEnds } from './directories.ts';

// Restores one backup. backups.test.ts tests the details, and backup-failures.test.ts tests failures.

const { path: DATA_DIR } = await useDirectory(ledgerDirectory);
const { path: place } = await useDirectory();
const BACKUP_DIR = join(place, 'backup');

test('restores a ledger that was backed up while in use, with all acknowledged transfers and verified books', async () => {
  await mkdir(BACKUP_DIR);
  const service = await startForTest({ DATA_DIR, BACKUP_DIR, LOG_LEVEL: 'silent' });
  await waitFor('the copy', async () => (await readdir(join(BACKUP_DIR, 'base')).catch(() => [])).length > 0);
  await untilCopyEnds(DATA_DIR);
  const body = { amount: 1, card_id: 'card_active' };
  const { transfer_id } = await service.client.transfers.create(body, { idempotencyKey: 'before' });
  // A normal stop archives the last WAL file.
  expect(await service.stop()).toBe(0);
  const restored = join(place, 'restored');
  const { exitCode, output } = await runCommand(['restore', '--to', 'latest', '--from', BACKUP_DIR], {
    DATA_DIR: restored,
  });
  expect(exitCode).toBe(0);
  expect(output).toMatch(/^Books: balanced in (?:one currency|\d currencies);/m);
  expect(output).toContain('Migrations: all known, none missing.');
  const again = await startService({ DATA_DIR: restored, LOG_LEVEL: 'silent' });
  try {
    expect(await again.client.transfers.get(transfer_id)).toMatchObject({ amount: 1, status: 'completed' });
    expect(await again.client.transfers.create(body, { idempotencyKey: 'before' })).toMatchObject({ transfer_id });
  } finally {
    await again.stop();
  }
});
