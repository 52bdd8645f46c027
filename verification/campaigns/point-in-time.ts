import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { onConnection } from '../../test/harness/ledger.ts';
import {
  embeddedServerOf,
  runCommand,
  type ServiceProcess,
  startService,
  temporaryDirectory,
  waitFor,
} from '../../test/harness/process.ts';
import { keptConnections, NoResponse, sendRaw } from '../../test/harness/raw-request.ts';
import { type Findings, pause, type Setting, streamOf, Tally } from '../campaign.ts';
import { readBooksAt } from '../checkers/books.ts';

const CLIENTS = 12;

/**
 * How long the load runs for each restore, and its minimum duration, in milliseconds. The service completes a WAL segment in less
 * than the minimum.
 */
const LOAD_OF_RESTORE = 6_000;
const LEAST_LOAD = 30_000;
const QUICK_LOAD = 6_000;

/** The interval between two new keys, in milliseconds. Each key adds an entry to the audit log. */
const BETWEEN_KEYS = 500;

/** A transfer as its client knows it. The times are comparable with the server's, because both use this machine's clock. */
type Sent = { readonly key: string; readonly sentAt: number; acknowledgedAt: number | undefined };

/** Moves money and creates keys. Returns a function that stops this and returns all sent transfers. */
function startLoad(service: ServiceProcess): () => Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const agent = keptConnections(CLIENTS);
  let goesOn = true;
  const client = async (): Promise<void> => {
    while (goesOn) {
      const one: Sent = { key: `key-${sent.length + 1}`, sentAt: Date.now(), acknowledgedAt: undefined };
      sent.push(one);
      const body = { amount: 1, card_id: 'card_active', metadata: { key: one.key } };
      try {
        const { status } = await sendRaw(service.url, { body, headers: { 'Idempotency-Key': one.key } }, agent);
        if (status === 201) one.acknowledgedAt = Date.now();
      } catch (error) {
        if (!(error instanceof NoResponse)) throw error;
      }
    }
  };
  const operator = async (): Promise<void> => {
    for (let number = 1; goesOn; number += 1) {
      const key = { name: `key ${number}`, all_programs: true, scopes: ['transfers:read'] } as const;
      // A busy service may refuse the request, as it may refuse a transfer.
      await service.client.keys.create(key).catch(() => undefined);
      await pause(BETWEEN_KEYS);
    }
  };
  const running = Promise.all([...Array.from({ length: CLIENTS }, client), operator()]);
  return async () => {
    goesOn = false;
    await running;
    agent.destroy();
    return sent;
  };
}

async function timeIn(file: string, field: string): Promise<number> {
  const fields = JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, string | null>>;
  return Date.parse(fields[field] ?? '1970-01-01T00:00:00Z');
}

/** Returns when each copy ended. The service takes the first copy automatically. */
async function copiesOf(backup: string): Promise<readonly number[]> {
  const names = (await readdir(join(backup, 'base')).catch(() => [])).filter((name) => !name.startsWith('.'));
  return Promise.all(names.sort().map((name) => timeIn(join(backup, 'base', name, 'manifest.json'), 'endedAt')));
}

type Original = { readonly sent: readonly Sent[]; readonly chain: ReadonlySet<string>; readonly backup: string };

/** Restores to a time, and compares the ledger with the clients' transfers. */
async function restoreTo(
  setting: Setting,
  tally: Tally,
  time: number,
  { sent, chain, backup }: Original,
): Promise<void> {
  const moment = new Date(time).toISOString();
  const target = await temporaryDirectory();
  const remove = setting.resources.add('a restored ledger', target.remove);
  const dataDirectory = join(target.path, 'data');
  const begun = performance.now();
  const { exitCode, output, errors } = await runCommand(['restore', '--to', moment, '--from', backup], {
    DATA_DIR: dataDirectory,
  });
  tally.time('restore', performance.now() - begun);
  if (exitCode !== 0) {
    tally.violate(moment, [`the restore failed: ${errors}`]);
    return remove();
  }
  const restored = await startEmbeddedPostgres({ dataDirectory });
  const stop = setting.resources.add('the restored server', () => restored.stop());
  const { transfers, faults } = await readBooksAt({ ...restored.connection, user: 'postgres' }, []);
  const there = new Set(transfers.map(({ key }) => key));
  const missing = sent.filter(
    ({ key, acknowledgedAt = Number.POSITIVE_INFINITY }) => acknowledgedAt < time && !there.has(key),
  );
  const later = sent.filter(({ key, sentAt }) => sentAt > time && there.has(key));
  const head = /^Audit head: ([0-9a-f]{64}) /m.exec(output)?.[1] ?? '';
  tally.violate(moment, [
    ...missing.map(({ key }) => `lost: ${key} was acknowledged before`),
    ...later.map(({ key }) => `${key} was sent afterwards, but it is in the ledger`),
    ...Object.entries(faults).map(([what, count]) => `${what}: ${count}`),
    ...(chain.has(head) ? [] : [`the head of the audit log, ${head}, is not in the original audit log`]),
  ]);
  tally.add('transfers_restored', there.size);
  tally.add('restores');
  await stop();
  await remove();
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  const random = streamOf(setting.seed);
  const [original, backup] = [await temporaryDirectory(), await temporaryDirectory()];
  setting.resources.add('the ledger', original.remove);
  setting.resources.add('the backup', backup.remove);
  const environment = { DATA_DIR: original.path, BACKUP_DIR: backup.path, LOG_LEVEL: 'silent' };
  const service = await startService(environment);
  const stop = setting.resources.add('the service', async () => void (await service.stop()));
  const stopLoad = startLoad(service);
  await waitFor('the first copy', async () => (await copiesOf(backup.path)).length > 0);
  const loadTime = setting.isQuick === true ? QUICK_LOAD : Math.max(LEAST_LOAD, setting.count * LOAD_OF_RESTORE);
  await pause(loadTime / 2);
  // About half of the restores are to a time after this copy, and start from this copy.
  const taken = await runCommand(['backup'], environment);
  if (taken.exitCode !== 0) tally.violate('backup', [taken.errors]);
  await pause(loadTime / 2);
  const end = Date.now();
  const sent = await stopLoad();
  await waitFor('the archive', async () => (await timeIn(join(backup.path, 'archive.json'), 'coveredUntil')) > end);
  tally.time('covered', Date.now() - end);
  const { databaseUrl } = await embeddedServerOf(original.path);
  const superuser = { connectionString: databaseUrl.replace('transfer_service@', 'postgres@') };
  const { rows: hashes } = await onConnection(superuser, (client) =>
    client.query<{ hash: string }>("select encode(hash, 'hex') as hash from audit_entry"),
  );
  const found: Original = { sent, chain: new Set(hashes.map(({ hash }) => hash)), backup: backup.path };
  tally.add('acknowledged', sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined).length);
  tally.add('audit_entries', hashes.length);
  const [first = end] = await copiesOf(backup.path);
  for (let number = 1; number <= setting.count && !tally.isFull; number += 1) {
    await restoreTo(setting, tally, Math.ceil(first + random() * (end - first)), found);
    setting.progress(number);
  }
  await stop();
  return tally.findings({ clients: CLIENTS });
}
