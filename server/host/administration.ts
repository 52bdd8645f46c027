import { constants, hostname } from 'node:os';
import { join } from 'node:path';
import { readPlainText } from '../../contract/reading/plain-text.ts';
import { KEY_SCOPES } from '../../contract/scope.ts';
import { toWireId } from '../../domain/identifier.ts';
import { printable } from '../../domain/printable-text.ts';
import { writeSettlementFile as writeSimulatorFile } from '../background/processors/start-simulator.ts';
import {
  type CommandConfiguration,
  readConfiguration,
  readDataDirectory,
  showConfiguration,
} from '../foundation/configuration/configuration.ts';
import { newId } from '../foundation/ids.ts';
import { withoutSecrets } from '../foundation/redaction.ts';
import { runbookLine } from '../foundation/runbook.ts';
import { codeOf, StartupProblem } from '../foundation/startup-problem.ts';
import { findRunningServices, type RunningService } from '../postgres/running-services.ts';
import { wasCutOff } from '../store/connection/failure.ts';
import { explainStartFailure } from '../store/connection/start-failure.ts';
import { migrate } from '../store/migrations/migrate.ts';
import {
  findEscapedNames,
  KINDS_WITH_METADATA,
  type LastRecord,
  type RecordWithEscapes,
  toRecordWithEscapes,
} from '../store/search/escaped-names.ts';
import { changeApprovalPolicy, getApprovalPolicy, openPolicyMemory } from '../subjects/approvals/policy.ts';
import { verifyAudit } from '../subjects/audit/verify-audit.ts';
import { createKey } from '../subjects/keys/manage-keys.ts';
import { drawUpTrialBalance } from '../subjects/programs/get-trial-balance.ts';
import { backUp, listBackups } from './commands/back-up.ts';
import { changePlace } from './commands/distribute.ts';
import { examineHost } from './commands/doctor.ts';
import { resetSandbox } from './commands/reset-sandbox.ts';
import { restore } from './commands/restore.ts';
import { endOnCrash } from './crash.ts';
import {
  type Command,
  type CommandDatabase,
  openDatabaseForCommand,
  requireMode,
  requireSafeConnection,
  requireSchema,
  waitForDatabase,
} from './open-database.ts';

// Tasks on the service's host. They use the service's settings and need no key. The command line runs them as
// administration.ts migrate | config | verify-books | verify-metadata | verify-audit [<hash>] | operator-key <name> |
// approval-policy-remove | distribute [<host:port> | undo] | backup | backup-list | restore <to> <from> <timeline> |
// sandbox-reset ask|sure | sandbox-settlement [<differences>] | doctor [<port> [<file of claims>]].

/** Number of records that one statement of verify-metadata reads. */
const METADATA_PORTION = 1000;

const [task, name, from = '', timeline = ''] = process.argv.slice(2);
endOnCrash();
endOnSignal();
try {
  if (task === 'config') printConfiguration();
  else if (task === 'migrate') await withDatabase({ task, use: 'write', mayCreate: true }, applyMigrations);
  else if (task === 'operator-key' && name !== undefined)
    await withDatabase({ task: 'operator-key create', use: 'write', mayCreate: false }, (opened) =>
      printOperatorKey(opened, readKeyName(name)),
    );
  else if (task === 'approval-policy-remove')
    await withDatabase({ task: 'approval-policy remove', use: 'write', mayCreate: false }, removeApprovalPolicy);
  else if (task === 'verify-books') await withDatabase({ task, use: 'read', mayCreate: false }, verifyBooks);
  else if (task === 'verify-metadata') await withDatabase({ task, use: 'read', mayCreate: false }, verifyMetadata);
  else if (task === 'verify-audit')
    await withDatabase({ task: 'audit verify', use: 'read', mayCreate: false }, (opened) =>
      verifyAuditLog(opened, name),
    );
  else if (task === 'distribute')
    await withDatabase({ task, use: 'read', mayCreate: false }, (opened) => changePlace(opened, name || undefined));
  else if (task === 'backup') await backUp(readConfiguration());
  else if (task === 'backup-list') await listBackups(readConfiguration());
  else if (task === 'restore' && name !== undefined) await restore(readConfiguration(), { to: name, from, timeline });
  else if (task === 'doctor') await examineHost(name ? Number(name) : undefined, from || undefined);
  else if (task === 'sandbox-settlement') writeSettlementFile(readConfiguration(), name ?? '');
  else if (task === 'sandbox-reset') await resetSandbox(readConfiguration(), name === 'sure');
  else
    throw new StartupProblem(
      'invalid-command',
      'The command is missing: migrate, config, verify-books, verify-metadata, verify-audit, operator-key <name>, approval-policy-remove, distribute, backup, backup-list, restore <to>, sandbox-reset, sandbox-settlement, or doctor.',
    );
} catch (error) {
  const problem = explainStartFailure(error);
  if (!(problem instanceof StartupProblem)) throw problem;
  process.stderr.write(`${withoutSecrets(problem.message)}\n${runbookLine(problem.page)}\n`);
  process.exitCode = 1;
}

/**
 * Lets the simulator write a settlement file, and prints its path. `plants` names the differences to put into it, separated by
 * commas.
 */
function writeSettlementFile({ mode, dataDirectory }: CommandConfiguration, plants: string): void {
  if (mode === 'live') throw new StartupProblem('ledger-mode', 'MODE is live. Only a sandbox has the simulator.');
  const words = plants.split(',').filter((word) => word !== '');
  process.exitCode = writeSimulatorFile(join(dataDirectory, 'simulator'), words);
}

/** Exits on a signal, because only `exit` stops a PostgreSQL that this process has started. */
function endOnSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
}

/** Prints the settings of the running services. If none runs, prints the settings that a start from this shell would have. */
function printConfiguration(): void {
  const { dataDirectory, dataDirectoryOrigin } = readDataDirectory();
  const services = findServices(dataDirectory, dataDirectoryOrigin);
  if (services.length > 0) {
    process.stdout.write(`${services.map(describeService).join('\n\n')}\n`);
    return;
  }
  const configuration = readConfiguration();
  process.stdout.write(
    `# No service runs with the data directory ${dataDirectory} (${dataDirectoryOrigin}).\n` +
      `# With the settings of this shell, a service would have:\n${showConfiguration(configuration)}\n`,
  );
  requireSafeConnection(configuration);
}

function findServices(dataDirectory: string, origin: string): readonly RunningService[] {
  try {
    return findRunningServices(dataDirectory);
  } catch (error) {
    const reason = codeOf(error) ?? String(error);
    throw new StartupProblem(
      'data-directory-unusable',
      `The services that use the data directory ${dataDirectory} (${origin}) cannot be listed (${reason}). ` +
        'Run the command as the user of the service.',
      { cause: error },
    );
  }
}

function describeService({ processId, host, startedAt, port, settings }: RunningService): string {
  const where = host === hostname() ? '' : ` on ${host}`;
  return [`# In force in process ${processId}${where}, started at ${startedAt}, on port ${port}:`, ...settings].join(
    '\n',
  );
}

async function withDatabase(command: Command, run: (opened: CommandDatabase) => Promise<void>): Promise<void> {
  const configuration: CommandConfiguration = readConfiguration();
  const complain = (line: string): void => void process.stderr.write(`${line}\n`);
  const opened = await openDatabaseForCommand(configuration, command, { onProgress: complain, onServerExit: complain });
  const { databases, place } = opened;
  try {
    const wait = { what: `running ${command.task}`, settings: databases.settings, onProgress: complain };
    await waitForDatabase(wait, async () => {
      await requireMode(databases, configuration.mode);
      if (!command.mayCreate) await requireSchema(databases, place);
      await run(opened);
    });
  } catch (error) {
    if (!wasCutOff(error)) throw error;
    throw new StartupProblem(
      'database-unreachable',
      `The connection to ${place} was lost before ${command.task} completed, because the database ` +
        'or the service that runs it was stopped. Run the command again when it is available.',
      { cause: error },
    );
  } finally {
    await opened.close();
  }
}

async function applyMigrations({ databases }: CommandDatabase): Promise<void> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const applied = await migrate(databases.settings, {
    onApplied: (name, milliseconds) => print(`Applied ${name} in ${Math.round(milliseconds)} ms.`),
    onWait: (sentence) => void process.stderr.write(`${sentence}\n`),
    onNewer: (names) => print(`The schema is newer, and this version can use it. Unknown here: ${names.join(', ')}.`),
  });
  if (applied.length === 0) print('The schema is up to date.');
}

/** Returns the name of a new key. The same rule applies as in create_key. */
function readKeyName(sent: string): string {
  const read = readPlainText('line', sent);
  if ('wrong' in read) throw new StartupProblem('invalid-command', `The name of the key ${read.wrong}.`);
  return read.value;
}

async function printOperatorKey({ databases }: CommandDatabase, keyName: string): Promise<void> {
  const body = { name: keyName, all_programs: true, scopes: [...KEY_SCOPES] };
  const call = { ...hostCall(), operation: 'create_key', body } as const;
  const reply = await createKey({ database: databases.background }, call);
  if (!('record' in reply)) throw new Error('a request without an idempotency key was replayed');
  const { key } = reply.record;
  process.stderr.write(
    `This operator key can act in all card programs, with every scope: ${KEY_SCOPES.join(', ')}.\n` +
      (process.stdout.isTTY
        ? 'It is shown only once:\n'
        : 'It was written to standard output, and is shown only once.\n'),
  );
  process.stdout.write(`${key}\n`);
}

/** Returns the parts of a call that come from the host, for a command. */
function hostCall() {
  return {
    requestId: newId(),
    caller: { kind: 'host' },
    programId: '',
    params: {},
    query: undefined,
    sent: {},
    idempotencyKey: null,
    deadline: performance.now() + 5000,
  } as const;
}

/** Removes the rules for approvals. This works even if no one is left who could approve the removal. Prints the previous policy. */
async function removeApprovalPolicy({ databases }: CommandDatabase): Promise<void> {
  const service = { database: databases.background };
  const { rules, expires_after_hours } = (await getApprovalPolicy(service)).record;
  if (rules.length === 0) {
    process.stderr.write('There are no rules for approvals, so nothing was changed.\n');
    return;
  }
  const call = {
    ...hostCall(),
    operation: 'change_approval_policy',
    body: { rules: [], expires_after_hours },
  } as const;
  await changeApprovalPolicy(openPolicyMemory(databases.background), service, call);
  process.stderr.write(
    'All rules for approvals were removed, and the audit log records it. Running services stop asking for approvals within a ' +
      'second.\nRequests that already wait can still be approved, rejected or withdrawn.\n' +
      'These were the rules. To set them again: approvals set-policy --file <file>\n',
  );
  process.stdout.write(`${JSON.stringify({ rules, expires_after_hours }, null, 2)}\n`);
}

/** Compares every balance with every posting, without a time limit. */
async function verifyBooks({ databases }: CommandDatabase): Promise<void> {
  const books = await drawUpTrialBalance(databases.background, 0);
  process.stdout.write(`${JSON.stringify(books, null, 2)}\n`);
  if (!books.balanced) throw new StartupProblem('books-not-balanced', 'The books do not balance.');
}

/**
 * Lists the records whose metadata has a name that an earlier version could have changed: a name with an escape in JSON
 * (domain/parse-json.ts). Node replaced such a name with a name that has a backslash. So stored names without a backslash are
 * correct, and only an event about the record can have a different name.
 */
async function verifyMetadata({ databases }: CommandDatabase): Promise<void> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  let stored = 0;
  let total = 0;
  for (const kind of KINDS_WITH_METADATA) {
    let after: LastRecord | undefined;
    for (;;) {
      const rows = await databases.background.survey(findEscapedNames(kind, after, METADATA_PORTION), 0);
      const records = (rows ?? []).map(toRecordWithEscapes);
      for (const record of records) {
        const isStored = record.names.some((name) => name.includes('\\'));
        if (isStored) stored += 1;
        total += 1;
        const where = isStored ? 'the stored name may have been changed' : 'an event may have a different name';
        print(
          `${metadataOwner(kind, record)}: ${record.names.map((name) => printable(JSON.stringify(name))).join(', ')} (${where})`,
        );
      }
      after = records.at(-1);
      if (records.length < METADATA_PORTION) break;
    }
  }
  print(
    total === 0
      ? 'No name in metadata has a quotation mark, a backslash or a control character, so Node cannot have changed one.'
      : `${total} records have names that Node may have changed, ${stored} of them in the stored metadata. ` +
          'Compare them with what the callers sent, and correct them with an update of the metadata.',
  );
}

function metadataOwner(kind: (typeof KINDS_WITH_METADATA)[number], { programId, shown }: RecordWithEscapes): string {
  const program = toWireId('prog', programId);
  if (kind === 'program') return program;
  return `${kind} ${kind === 'card' ? printable(shown) : toWireId('tr', shown)} of ${program}`;
}

/** Compares every row of the audit log with the previous row, and one row with a hash that was recorded outside the log. */
async function verifyAuditLog({ databases }: CommandDatabase, expected: string | undefined): Promise<void> {
  if (expected !== undefined && !/^[0-9a-f]{64}$/.test(expected)) {
    throw new StartupProblem('invalid-command', `The hash must have 64 hex digits, but it is '${expected}'.`);
  }
  const { entries, position, head, problems } = await verifyAudit(databases.background, expected);
  for (const problem of problems) process.stdout.write(`${problem}\n`);
  process.stdout.write(`entries:  ${entries}\nposition: ${position}\nhead:     ${head}\n`);
  if (problems.length > 0)
    throw new StartupProblem('audit-log-changed', 'The audit log was changed after it was written.');
  const bounds =
    expected === undefined
      ? 'To detect entries that were removed at the end, pass a hash that you noted earlier with --expect.\n'
      : 'It contains the expected entry.\n';
  process.stdout.write(
    `The audit log is intact. ${bounds}Store the position and the latest hash outside this database for the next verification.\n`,
  );
}
