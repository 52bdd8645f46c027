import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { chooseServerUser } from '../../server/postgres/ledger-location.ts';
import { runCommand, type ServiceSettings, startService, waitFor } from '../harness/process.ts';

const PORT = 5432;
const STANZA = 'ledger';
const TRANSFERS = 20;

/**
 * Follows docs/backups.md for an external PostgreSQL whose binaries are in a directory. Archives and backs up the
 * ledger with pgBackRest, restores it to a time, starts the service on the restored ledger and verifies the books.
 */
export async function tryPgbackrest(binaries: string): Promise<void> {
  const user = await chooseServerUser();
  const directory = await mkdtemp('/tmp/transfer-service-pgbackrest-');
  await chmod(directory, 0o711);
  await chown(directory, user.uid, user.gid);
  /** Runs a command as PostgreSQL's user, and prints it. */
  const run = async (program: string, ...words: string[]): Promise<string> => {
    console.log(`$ ${[program.replace(`${binaries}/`, ''), ...words].join(' ').replaceAll(directory, '…')}`);
    const options = { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' }, ...user.spawnAs };
    return (await promisify(execFile)(program, words, options)).stdout;
  };
  const cluster = new Cluster(directory, binaries, run, user);
  try {
    await cluster.make();
    await backUpAndRestore(cluster, directory);
    console.log(
      'The restored ledger is correct: the books, the audit log, all transfers up to the time and none after it.',
    );
  } finally {
    await cluster.stop().catch(() => undefined);
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

type Run = (program: string, ...words: string[]) => Promise<string>;

/** A PostgreSQL server for this trial, configured as docs/backups.md says. */
class Cluster {
  readonly #directory: string;
  readonly #binaries: string;
  readonly #user: { readonly uid: number; readonly gid: number };
  readonly run: Run;
  readonly files: string;
  readonly url: string;
  #isRunning = false;

  constructor(directory: string, binaries: string, run: Run, user: { readonly uid: number; readonly gid: number }) {
    this.#directory = directory;
    this.#binaries = binaries;
    this.#user = user;
    this.run = run;
    this.files = join(directory, 'main');
    this.url = `postgresql://transfer_service@/transfer_service?host=${encodeURIComponent(directory)}&port=${PORT}`;
  }

  async make(): Promise<void> {
    const own = (name: string): string => join(this.#directory, name);
    for (const name of ['repository', 'log', 'lock', 'spool']) {
      await mkdir(own(name), { mode: 0o750 });
      await chown(own(name), this.#user.uid, this.#user.gid);
    }
    const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--data-checksums', '--username=postgres'];
    await this.run(join(this.#binaries, 'initdb'), '-D', this.files, '--auth=trust', ...locale);
    await writeFile(
      own('pgbackrest.conf'),
      `[global]
repo1-path=${own('repository')}
repo1-retention-full=2
repo1-bundle=y
start-fast=y
process-max=2
log-path=${own('log')}
lock-path=${own('lock')}
spool-path=${own('spool')}

[${STANZA}]
pg1-path=${this.files}
pg1-port=${PORT}
pg1-socket-path=${this.#directory}
pg1-user=postgres
`,
      { mode: 0o644 },
    );
    await writeFile(
      own('settings.conf'),
      `listen_addresses = ''
unix_socket_directories = '${this.#directory}'
unix_socket_permissions = 0700
archive_mode = on
archive_command = 'pgbackrest --config=${own('pgbackrest.conf')} --stanza=${STANZA} archive-push %p'
archive_timeout = 60s
`,
      { mode: 0o644 },
    );
    await this.run('bash', '-c', `echo "include '${own('settings.conf')}'" >> ${join(this.files, 'postgresql.conf')}`);
    await this.start();
    await this.query('create role transfer_service login createrole');
    await this.query('create database transfer_service owner transfer_service');
  }

  async start(): Promise<void> {
    await this.run(
      join(this.#binaries, 'pg_ctl'),
      'start',
      '-w',
      '-D',
      this.files,
      '-l',
      join(this.#directory, 'log', 'postgresql.log'),
    );
    this.#isRunning = true;
  }

  async stop(): Promise<void> {
    if (!this.#isRunning) return;
    await this.run(join(this.#binaries, 'pg_ctl'), 'stop', '-w', '-m', 'fast', '-D', this.files);
    this.#isRunning = false;
  }

  async query(text: string, database = 'postgres'): Promise<string> {
    const words = ['-h', this.#directory, '-p', String(PORT), '-U', 'postgres', '-d', database, '-AtXc', text];
    return (await this.run(join(this.#binaries, 'psql'), ...words)).trim();
  }

  async pgbackrest(...words: string[]): Promise<void> {
    const config = `--config=${join(this.#directory, 'pgbackrest.conf')}`;
    await this.run('pgbackrest', config, `--stanza=${STANZA}`, '--log-level-console=warn', ...words);
  }
}

async function backUpAndRestore(cluster: Cluster, directory: string): Promise<void> {
  const settings = { DATABASE_URL: cluster.url, DATA_DIR: join(directory, 'data'), LOG_LEVEL: 'silent' };
  await cluster.pgbackrest('stanza-create');
  await cluster.pgbackrest('check');
  const service = await startService(settings);
  const transfer = async (): Promise<string> =>
    (await service.client.transfers.create({ amount: 1, card_id: 'card_active' })).transfer_id;
  let before: readonly string[] = [];
  let after: readonly string[] = [];
  let time = '';
  try {
    await transfer();
    await cluster.pgbackrest('--type=full', 'backup');
    before = await many(transfer);
    await sleep(1_100);
    time = await cluster.query('select clock_timestamp()');
    await sleep(1_100);
    after = await many(transfer);
    await cluster.query('select pg_switch_wal()');
    const isArchived = async (): Promise<boolean> =>
      (await cluster.query("select count(*) from pg_ls_archive_statusdir() where name like '%.ready'")) === '0';
    await waitFor('the archive', isArchived);
  } finally {
    await service.stop();
  }
  const head = /head: +([0-9a-f]{64})/.exec((await succeed(['audit', 'verify'], settings)).output)?.[1] ?? '';
  await cluster.stop();
  // Keeps the old files until the restored ones are verified.
  await rename(cluster.files, `${cluster.files}.before`);
  await cluster.run('mkdir', '-m', '700', cluster.files);
  await cluster.pgbackrest('--type=time', `--target=${time}`, '--target-action=promote', 'restore');
  await cluster.start();
  await waitFor('the end of recovery', async () => (await cluster.query('select pg_is_in_recovery()')) === 'f');
  await succeed(['verify-books'], settings);
  // No audit entry was written after that time, so the head has not changed.
  await succeed(['audit', 'verify', '--expect', head], settings);
  await requireTransfers(settings, before, after);
  await cluster.pgbackrest('--type=full', 'backup');
  await cluster.pgbackrest('check');
}

async function many(transfer: () => Promise<string>): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let number = 1; number <= TRANSFERS; number += 1) ids.push(await transfer());
  return ids;
}

async function requireTransfers(
  settings: ServiceSettings,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const service = await startService(settings);
  try {
    const isThere = (id: string): Promise<boolean> =>
      service.client.transfers.get(id).then(
        () => true,
        () => false,
      );
    for (const id of before) if (!(await isThere(id))) throw new Error(`${id} is missing`);
    for (const id of after) if (await isThere(id)) throw new Error(`${id} is from after that time`);
  } finally {
    await service.stop();
  }
}

async function succeed(command: readonly string[], settings: Readonly<Record<string, string>>) {
  const ending = await runCommand(command, settings);
  if (ending.exitCode !== 0) throw new Error(`${command.join(' ')}: ${ending.output}${ending.errors}`);
  return ending;
}
