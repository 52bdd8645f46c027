import { constants } from 'node:fs';
import { access, readFile, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, ok, problem as problemOfHost, warning } from '../../../domain/doctor-check.ts';
import { survivalOf } from '../../../domain/primary-loss.ts';
import {
  type CommandConfiguration,
  readConfiguration,
  readDataDirectory,
} from '../../foundation/configuration/configuration.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import type { RunbookPage } from '../../foundation/runbook.ts';
import { codeOf, StartupProblem } from '../../foundation/startup-problem.ts';
import { hasOperatorKey } from '../../observe/readiness.ts';
import { findRunningServices, type RunningService } from '../../postgres/running-services.ts';
import { readDatabaseFacts } from '../../store/connection/database-problem.ts';
import { explainStartFailure } from '../../store/connection/start-failure.ts';
import { readServerFigures } from '../../store/figures.ts';
import { COUNT_KEYS_OF_APPROVERS } from '../../store/key.ts';
import { getApprovalPolicy } from '../../subjects/approvals/policy.ts';
import {
  type CommandDatabase,
  type DatabaseReports,
  openDatabaseForCommand,
  requireMode,
  requireSchema,
} from '../open-database.ts';
import { examinePort } from '../start/examine-port.ts';
import { signInSettings } from '../start/optional-parts.ts';

/** With less free space than this, a disk counts as nearly full. The WAL of a busy hour can take that much. */
const LITTLE_SPACE_BYTES = 2_000_000_000;
/** With less free space than this, PostgreSQL will stop soon. */
const NO_SPACE_BYTES = 200_000_000;
/** Much longer than a healthy PostgreSQL takes to start or to respond, so a busy machine is not reported as a problem. */
const DATABASE_MILLISECONDS = 60_000;

/**
 * Checks whether this host has everything that a service with the settings of this shell needs. Prints the findings as JSON for the
 * command line. `serving` is the port where the command line has found a service. `claimsFile` contains a token or the claims of a
 * person, or is undefined. Changes nothing.
 */
export async function examineHost(serving: number | undefined, claimsFile?: string): Promise<void> {
  const { dataDirectory } = readDataDirectory();
  let services: readonly RunningService[] = [];
  const checks: Check[] = [];
  let configuration: CommandConfiguration | undefined;
  try {
    configuration = readConfiguration();
    const { mode, hosts, port } = configuration;
    checks.push(ok('settings', `valid: ${mode} mode, port ${port}, on ${hosts.join(' and ')}`));
  } catch (error) {
    checks.push(problemOf('settings', error));
  }
  try {
    services = findRunningServices(dataDirectory);
  } catch (error) {
    checks.push(problemOf('services', error));
  }
  checks.push(await examineDirectory(dataDirectory, services.length > 0));
  if (configuration !== undefined) {
    checks.push(...(await examineDatabase(configuration, services.length > 0)));
    checks.push(await examineBackups(configuration), ...examineAddress(configuration));
    checks.push(...(await examineProvider(configuration, claimsFile)));
  }
  const ofPort = configuration === undefined ? [] : await examinePort(configuration, services, serving);
  process.stdout.write(`${JSON.stringify([...ofPort, ...checks])}\n`);
  // Otherwise a database that does not respond would keep this process alive.
  process.exit();
}

function problem(name: string, message: string, page: RunbookPage): Check {
  return problemOfHost(name, withoutSecrets(message), page);
}

/** Returns the problem that a start would report. Rethrows bugs. */
function problemOf(name: string, error: unknown): Check {
  const explained = explainStartFailure(error);
  if (explained instanceof StartupProblem) return problem(name, explained.message, explained.page);
  const code = codeOf(error);
  if (code === undefined) throw error;
  return problem(name, `It cannot be examined (${code}). Run the command as the user of the service.`, 'ledger-access');
}

async function examineDirectory(directory: string, isInUse: boolean): Promise<Check> {
  const name = 'data directory';
  const existing = await firstExisting(directory);
  try {
    await access(existing, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return problem(
      name,
      `This user cannot write to ${existing} (${codeOf(error)}). Give the user of the service access, or set DATA_DIR.`,
      'data-directory-unusable',
    );
  }
  const { bavail, bsize } = await statfs(existing);
  const free = bavail * bsize;
  const where = existing === directory ? `${directory} is writable` : `${directory} will be created by the first start`;
  const space = `${(free / 1e9).toFixed(1)} GB are free`;
  if (free < NO_SPACE_BYTES) return problem(name, `${where}, but only ${space}. Free up space.`, 'disk-full');
  if (free < LITTLE_SPACE_BYTES) return warning(name, `${where}, but only ${space}. Free up space.`, 'disk-full');
  return ok(name, `${where}, ${space}${isInUse ? '; a service uses it' : ''}`);
}

async function firstExisting(directory: string): Promise<string> {
  try {
    await access(directory, constants.F_OK);
    return directory;
  } catch (error) {
    const parent = dirname(resolve(directory));
    return codeOf(error) === 'ENOENT' && parent !== directory ? firstExisting(parent) : directory;
  }
}

/** Checks the database. If it does not respond, reports that, whereas other commands would wait. */
export async function examineDatabase(
  configuration: CommandConfiguration,
  isRunning: boolean,
  milliseconds: number = DATABASE_MILLISECONDS,
): Promise<readonly Check[]> {
  let progress = '';
  const onProgress = (line: string): void => {
    progress = ` ${line}`;
    // Standard output is reserved for the command line.
    process.stderr.write(`${line}\n`);
  };
  const end = new AbortController();
  const late = sleep(milliseconds, undefined, { signal: end.signal }).then(
    () => {
      const page = configuration.databaseUrl === null && !isRunning ? 'database-starting' : 'database-silent';
      return [problem('database', `It could not be examined within ${milliseconds / 1000} s.${progress}`, page)];
    },
    () => [],
  );
  const examined = readDatabase(configuration, isRunning, { onProgress, onServerExit: onProgress });
  return Promise.race([examined, late]).finally(() => end.abort());
}

async function readDatabase(
  configuration: CommandConfiguration,
  isRunning: boolean,
  reports: DatabaseReports,
): Promise<readonly Check[]> {
  const { mode, databaseUrl } = configuration;
  let opened: CommandDatabase;
  try {
    opened = await openDatabaseForCommand(configuration, { task: 'doctor', use: 'read', mayCreate: false }, reports);
  } catch (error) {
    const isMissing = error instanceof StartupProblem && error.page === 'ledger-missing';
    if (isMissing && mode === 'sandbox') return [ok('database', 'there is no ledger yet: the first start creates it')];
    return [problemOf('database', error)];
  }
  const checks: Check[] = [];
  try {
    const { version, user, megabytes } = await readDatabaseFacts(opened.databases.settings);
    const host = opened.databases.host()?.name;
    const what =
      host === undefined ? `the embedded PostgreSQL ${version}` : `PostgreSQL ${version} at ${host}, user ${user}`;
    const state = databaseUrl === null && !isRunning ? ', started for this check' : '';
    checks.push(ok('database', `${what}, ${megabytes} MB${state}`));
    await requireMode(opened.databases, mode);
    const isReady = await examineSchema(opened, mode, checks);
    if (isReady) {
      checks.push(await examineStandby(opened, configuration), await examineKeys(opened, mode));
      checks.push(...(await examineApprovals(opened, configuration)));
    }
  } catch (error) {
    checks.push(problemOf('ledger', error));
  } finally {
    await opened.close();
  }
  return checks;
}

/** Returns whether the schema allows the other checks to read the database. */
async function examineSchema({ databases, place }: CommandDatabase, mode: string, checks: Check[]): Promise<boolean> {
  try {
    await requireSchema(databases, place);
    checks.push(ok('schema', 'current, and the roles of the service can be used'));
    return true;
  } catch (error) {
    const isOld = error instanceof StartupProblem && ['schema-behind', 'ledger-missing'].includes(error.page);
    // A sandbox migrates at its next start.
    if (isOld && mode === 'sandbox') checks.push(ok('schema', 'the next start brings it up to date'));
    else checks.push(problemOf('schema', error));
    return false;
  }
}

/**
 * Checks whether a commit survives the loss of the primary. A missing standby is only a hint, because not every service needs one.
 */
async function examineStandby(
  { databases }: CommandDatabase,
  { mode, databaseUrl, databaseStandby }: CommandConfiguration,
): Promise<Check> {
  const name = 'standby';
  const figures = await readServerFigures(databases.background);
  const { answer, reason, isWaiting } = survivalOf(figures, databaseUrl === null);
  if (databaseStandby === 'required' && figures.standbyNames === '') {
    return problem(name, `DATABASE_STANDBY is required, so nothing can be written. ${reason}`, 'standby-missing');
  }
  if (isWaiting) return problem(name, reason, 'standby-missing');
  // Running a ledger on one machine is a choice, and a separate check covers its backups.
  if (answer === 'yes' || databaseUrl === null || mode === 'sandbox') return ok(name, reason);
  const meaning = answer === 'no' ? 'Acknowledged transfers can be lost with the primary. ' : '';
  return warning(name, `${meaning}${reason}`, 'standby-missing');
}

async function examineKeys({ databases }: CommandDatabase, mode: string): Promise<Check> {
  const name = 'operator key';
  if (await hasOperatorKey(databases.background)) return ok(name, 'there is one');
  if (mode === 'sandbox') return ok(name, 'none, and a sandbox on this machine needs none');
  return problem(
    name,
    'There is none, and live mode needs one. Create it: npx transfer-service operator-key create --name <name>',
    'operator-key-missing',
  );
}

/**
 * If requests need an approval, checks whether a person could approve them. A sandbox is not checked, because it always
 * has people who can.
 */
async function examineApprovals(
  { databases }: CommandDatabase,
  { mode, oidcIssuer }: CommandConfiguration,
): Promise<readonly Check[]> {
  const name = 'approvals';
  const { rules } = (await getApprovalPolicy({ database: databases.background })).record;
  if (rules.length === 0 || mode === 'sandbox') return [];
  const policy = `the approval policy has ${rules.length === 1 ? 'a rule' : `${rules.length} rules`}`;
  if (oidcIssuer !== null) return [ok(name, `${policy}, and people can sign in to approve`)];
  const [row] = await databases.background.read(COUNT_KEYS_OF_APPROVERS);
  if (row !== undefined && row.count !== 0n) return [ok(name, `${policy}, and a person has a key that can approve`)];
  return [
    warning(
      name,
      `Requests need an approval (${policy}), but there is no one who can approve them: OIDC_ISSUER is not set, and no ` +
        'person has a valid key with operator, or with operator:read and approvals:write. Set up single sign-on (guide ' +
        '"Single sign-on"), or remove the rules: npx transfer-service approval-policy remove',
      'approval-waiting',
    ),
  ];
}

async function examineBackups({ mode, databaseUrl, backupDirectory }: CommandConfiguration): Promise<Check> {
  const name = 'backups';
  if (backupDirectory === null) {
    if (mode === 'sandbox') return ok(name, 'none, because BACKUP_DIR is not set: a sandbox needs none');
    return databaseUrl === null
      ? warning(name, 'None: set BACKUP_DIR to a directory on another disk, and restart the service.', 'backup-overdue')
      : warning(name, 'Not checked: back up the database of DATABASE_URL as the guide "Backups" describes.', null);
  }
  try {
    await access(backupDirectory, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok(name, `into ${backupDirectory}, which is writable`);
  } catch (error) {
    return problem(
      name,
      `This user cannot write to ${backupDirectory} (${codeOf(error)}), which BACKUP_DIR names.`,
      'backup-directory-unusable',
    );
  }
}

/** Checks sign-in with the OpenID provider, if one is configured. */
async function examineProvider(
  configuration: CommandConfiguration,
  claimsFile: string | undefined,
): Promise<readonly Check[]> {
  const settings = signInSettings(configuration);
  if (settings === undefined) {
    if (claimsFile === undefined) return [];
    return [problemOfHost('claims', 'OIDC_ISSUER is not set, so claims give no roles.')];
  }
  let claims: string | undefined;
  try {
    claims = claimsFile === undefined ? undefined : await readFile(claimsFile, 'utf8');
  } catch (error) {
    return [problemOfHost('claims', `The file cannot be read: ${codeOf(error) ?? String(error)}.`)];
  }
  const { examineSignIn } = await import('../../sign-in/examine.ts');
  return examineSignIn(settings, claims);
}

/** Checks whether callers reach the service over TLS, and whether it can distinguish them. */
function examineAddress({ mode, loopbackOnly, hosts, trustedProxies }: CommandConfiguration): readonly Check[] {
  const name = 'TLS';
  if (!loopbackOnly && mode === 'live') {
    return [
      warning(
        name,
        `HOST is ${hosts.join(' ')}, and the service itself has no TLS: put a proxy with TLS in front of it ` +
          '(guide "Go live"), and let only that reach this port.',
        null,
      ),
    ];
  }
  if (!loopbackOnly) {
    return [
      warning(name, `HOST is ${hosts.join(' ')}: other machines reach this sandbox over HTTP, and need a key.`, null),
    ];
  }
  if (mode === 'sandbox') return [ok(name, 'not needed: only this machine can reach the sandbox')];
  return trustedProxies > 0
    ? [ok(name, `a proxy on this machine terminates it; TRUSTED_PROXIES is ${trustedProxies}`)]
    : [
        warning(
          name,
          'TRUSTED_PROXIES is 0: if a proxy on this machine terminates TLS, set it to 1. Otherwise all callers count as ' +
            'one address for RATE_LIMIT_PER_ADDRESS.',
          null,
        ),
      ];
}
