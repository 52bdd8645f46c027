import type { CommandConfiguration } from '../../foundation/configuration/configuration.ts';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import { findBackupDirectory } from '../../postgres/backup/backup-directory.ts';
import { type RecoveredLedger, restoreLedger } from '../../postgres/backup/restore.ts';
import { planRestore, type RestoreTime, surveyBackups } from '../../postgres/backup/restore-plan.ts';
import { STARTS } from '../../store/connection/connections.ts';
import { type Databases, openDatabases } from '../../store/connection/databases.ts';
import { readLedgerMode } from '../../store/ledger-mode.ts';
import { findSchemaState } from '../../store/migrations/compatibility.ts';
import { pendingMigrations } from '../../store/migrations/migrate.ts';
import { READ_WHETHER_WEBHOOKS_EXIST } from '../../store/webhooks/shard.ts';
import { verifyAudit } from '../../subjects/audit/verify-audit.ts';
import { drawUpTrialBalance } from '../../subjects/programs/get-trial-balance.ts';
import { waitForDatabase } from '../open-database.ts';

/** The options of the command line: `--to`, `--from` and `--timeline`. An option that was not given is empty. */
export type RestoreRequest = { readonly to: string; readonly from: string; readonly timeline: string };

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Restores the ledger of a backup into the data directory, and verifies it. The data directory must not contain a ledger. */
export async function restore(configuration: CommandConfiguration, request: RestoreRequest): Promise<void> {
  const begun = performance.now();
  const { dataDirectory } = configuration;
  refuseOwnDatabase(configuration);
  const time = readTime(request.to);
  const [asked, origin] =
    request.from === '' ? [configuration.backupDirectory, 'BACKUP_DIR'] : [request.from, '--from'];
  if (asked === null) {
    throw new StartupProblem('restore-refused', 'Name the directory of the backup with --from, or set BACKUP_DIR.');
  }
  const source = await findBackupDirectory(asked, origin);
  const plan = planRestore(await surveyBackups(source, readTimeline(request.timeline)), time);
  const ledger = await restoreLedger({ dataDirectory, source, plan, time, onProgress });
  let findings: Findings;
  try {
    findings = await verify(ledger, configuration);
  } catch (error) {
    await ledger.discard();
    throw error;
  }
  const place = await ledger.keep();
  for (const line of describeState(ledger, time)) say(line);
  for (const line of findings.lines) say(line);
  say(`Restored to ${place} in ${Math.ceil((performance.now() - begun) / 1000)} s.`);
  say('');
  for (const line of describeWhatRemains(configuration, ledger, time, findings.isLive)) say(line);
}

function refuseOwnDatabase({ databaseUrl }: CommandConfiguration): void {
  if (databaseUrl === null) return;
  throw new StartupProblem(
    'backup-of-own-database',
    'DATABASE_URL is set, and this command restores the embedded PostgreSQL. Unset it; or, for your own database, see the guide "Backups".',
  );
}

function readTime(text: string): RestoreTime {
  if (text === 'latest') return undefined;
  const time = RFC_3339.test(text) ? new Date(text) : new Date(Number.NaN);
  if (!Number.isNaN(time.getTime())) return time;
  throw new StartupProblem(
    'restore-refused',
    `--to is '${text}', but it must be "latest" or a time with its zone, such as 2030-01-31T12:00:00Z.`,
  );
}

function readTimeline(text: string): number | undefined {
  if (text === '') return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new StartupProblem('restore-refused', `--timeline is '${text}', but it must be a number such as 1.`);
}

type Findings = { readonly lines: readonly string[]; readonly isLive: boolean };

/** Verifies the restored ledger. If it is not correct, throws, so that the ledger is removed. */
async function verify({ connection }: RecoveredLedger, configuration: CommandConfiguration): Promise<Findings> {
  onProgress('Verifying the books and the audit log.');
  const settings = { ...connection, schema: configuration.databaseSchema };
  const databases = openDatabases(settings, undefined, STARTS);
  const verifying = { what: 'verifying the restored ledger', settings, onProgress };
  return waitForDatabase(verifying, () => examine(databases, configuration)).finally(() => databases.close());
}

async function examine(databases: Databases, configuration: CommandConfiguration): Promise<Findings> {
  const pending = await pendingMigrations(databases.settings);
  if (pending[0]?.startsWith('0001_') === true) {
    throw new StartupProblem(
      'restore-refused',
      `The restored database has no ledger in the schema ${configuration.databaseSchema}. If DATABASE_SCHEMA is right, the time is from before the ledger was created.`,
    );
  }
  const isNewer = (await findSchemaState(databases.background)) === 'newer_usable';
  const missing =
    pending.length === 0
      ? 'none missing.'
      : `missing are ${pending.join(', ')}: run "npx transfer-service migrate" before the start.`;
  const schema = `Migrations: ${isNewer ? 'some of a newer version, which this one can use' : 'all known'}, ${missing}`;
  const isLive = (await readLedgerMode(databases.settings)) === 'live';
  return { lines: [...(await verifyContents(databases)), schema], isLive };
}

async function verifyContents({ background }: Databases): Promise<readonly string[]> {
  const books = await drawUpTrialBalance(background, 0);
  if (!books.balanced) {
    throw new StartupProblem(
      'books-not-balanced',
      `The books of the restored ledger do not balance, so it was not kept: ${JSON.stringify(books.currencies)}, ${books.differing_accounts.length} accounts differ from their postings.`,
    );
  }
  const audit = await verifyAudit(background);
  if (audit.problems.length > 0) {
    throw new StartupProblem(
      'audit-log-changed',
      `The audit log of the restored ledger is not intact, so it was not kept: ${audit.problems.join(' ')}`,
    );
  }
  const [row] = await background.read(READ_WHETHER_WEBHOOKS_EXIST);
  return [
    `Books: balanced in ${books.currencies.length === 1 ? 'one currency' : `${books.currencies.length} currencies`}; every balance is the sum of its postings.`,
    `Audit log: intact, ${audit.entries} entries.`,
    `Audit head: ${audit.head} at position ${audit.position}`,
    ...(row?.exist !== true ? [] : ['Webhooks: present; their key is described below.']),
  ];
}

function describeState(ledger: RecoveredLedger, time: RestoreTime): readonly string[] {
  const last =
    ledger.lastTransactionAt === undefined
      ? `none after the copy of ${ledger.copyEndedAt}`
      : ledger.lastTransactionAt.toISOString();
  const until = time === undefined ? 'the end of the backup' : time.toISOString();
  return [`Restored up to: ${until}`, `Last transaction: ${last}`, `From the copy: ${ledger.copyName}`];
}

function describeWhatRemains(
  { webhookKeys, dataDirectory }: CommandConfiguration,
  { lastTransactionAt, copyEndedAt }: RecoveredLedger,
  time: RestoreTime,
  isLive: boolean,
): readonly string[] {
  const end = (time ?? lastTransactionAt)?.toISOString() ?? copyEndedAt;
  const steps = [
    `Changes acknowledged after ${end} are not in this ledger. Compare with your callers and your processor before new transfers.`,
    webhookKeys === null
      ? `Webhooks: copy the file webhook-key from the previous data directory, or from where you keep it, to ${dataDirectory}. Without it their secrets cannot be read.`
      : 'Webhooks: WEBHOOK_KEY must contain the key that was in use at that time, as the current or the previous key.',
    'Consumers of events may have seen events of later times, and their positions will be used again for other events: reset each consumer to the last position before that time.',
    'Keys that were revoked after that time are valid again: revoke them. Keys that were created after it are gone.',
    'Erasures of card holders after that time are undone: repeat them.',
    'Stop the service of the previous ledger, if it is still running, and make sure that nothing starts it again.',
    `Start the service with ${isLive ? 'MODE=live, ' : ''}this DATA_DIR and the same BACKUP_DIR: it archives on a new timeline and takes a copy at once. ` +
      'If the previous service was killed, BACKUP_DIR is free after 90 s.',
  ];
  return [
    'A trial? Run "verify-books" and "audit verify" on it without BACKUP_DIR and METRICS_PORT, then remove it. Ignore the steps below.',
    'Do not start the service on it: it would send webhooks and execute due transfers, as the real one does.',
    '',
    'To replace the previous ledger, you still have to do this:',
    ...steps.map((step, index) => `${index + 1}. ${step}`),
  ];
}
