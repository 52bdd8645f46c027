import { Refusal } from '../../domain/refusal.ts';
import { READINESS, type ReadinessReason } from '../../domain/service-status.ts';
import { IS_CLONE, ROOT } from '../../installation.mjs';

// Invariant: Every problem, state and alert leads to a page of the runbook, and every message is found in the runbook's index
// Tested by: `server/host/start/runbook.test.ts`; `test/harness/process.ts` follows each refusal that a test causes

/**
 * The pages of the runbook: the file name in docs/runbook/, without `.md`, and the title. There is a page for each kind of
 * problem that prevents the service from starting, for each alert, and for each state that the readiness or the status names.
 */
export const RUNBOOK = {
  'approval-waiting': 'A request has been waiting for approval for an hour',
  'archiving-failing': 'The write-ahead log cannot be archived',
  'audit-log-changed': 'The audit log was changed',
  'backup-directory-taken': 'The backup directory belongs to another ledger',
  'backup-directory-unusable': 'The backup directory cannot be used',
  'backup-failed': 'The ledger could not be backed up',
  'backup-of-own-database': 'The service does not back up your own database',
  'backup-overdue': 'The last backup is old',
  'books-not-balanced': 'The books do not balance',
  'books-not-verified': 'The books have not been verified recently',
  'case-unanswered': 'An urgent case is waiting for support',
  'connector-down': 'A connector to a processor is down',
  'connector-missing': 'A connector with open transfers is not in the settings',
  'connections-waiting': 'Requests are waiting for database connections',
  'data-directory-in-use': 'The data directory is in use',
  'data-directory-unusable': 'The data directory cannot be used',
  'database-address': 'The address of the database is refused',
  'database-encoding': 'The database has the wrong encoding',
  'database-read-only': 'The database is read-only',
  'database-refused-statement': 'PostgreSQL refused a statement',
  'database-rights': 'The database user lacks a privilege',
  'database-silent': 'The database does not respond',
  'database-starting': 'The database is starting',
  'database-stopped': "The sandbox's database was stopped",
  'database-unreachable': 'The database cannot be reached',
  'database-user-settings': 'The database user has unsafe settings',
  'database-version': 'The database server is too old',
  'delivery-off': 'A process does not deliver to webhooks',
  'disk-full': 'The disk is full',
  'distribution-refused': 'A ledger cannot be distributed or moved',
  'due-transfers-late': 'Due transfers are late',
  'durability-off': 'The database server can lose confirmed transfers',
  'embedded-postgres-failed': 'The embedded PostgreSQL does not start',
  'embedded-postgres-unavailable': 'The embedded PostgreSQL cannot run on this machine',
  'error-budget': 'Too many requests fail',
  'error-spool-filling': 'Errors are waiting for the database',
  'errors-dropped': 'Errors are missing from the error log',
  'event-loop-delayed': 'The event loop of a service is delayed',
  'few-connections': 'Too few database connections',
  'figures-old': 'The database figures are old',
  'funding-low': 'The funding of a card program is low',
  'incident-not-updated': 'An open incident has not been updated',
  'invalid-command': 'A command was called with wrong arguments',
  'invalid-setting': 'A setting is invalid',
  'latency-budget': 'Too many requests are slow',
  'ledger-access': 'The ledger cannot be accessed',
  'ledger-location': 'The location of the ledger is not clear',
  'ledger-missing': 'There is no ledger',
  'ledger-mode': 'The ledger is for the other mode',
  'ledger-version': 'The ledger was created by a different version of PostgreSQL',
  'migration-changed': 'A migration was changed after it was applied',
  'migration-locked': 'A migration is waiting for a lock',
  'money-unknown': 'Whether money moved is unknown',
  'not-ready': 'A service is not ready',
  'operator-key-created': 'An operator key was created on the host',
  'operator-key-missing': 'There is no operator key',
  'outcome-unknown': 'The outcome of a transfer at a processor is unknown',
  'pooled-connection': 'A connection pooler is in the way',
  'port-unavailable': 'The port cannot be used',
  'processors-attention': 'An attempt or a break needs attention',
  'relay-late': 'Events get their positions late',
  'replication-late': 'A standby is behind',
  'restore-incomplete': 'The WAL of a backup is damaged or ends too early',
  'restore-refused': 'A ledger cannot be restored',
  'retention-failing': 'Old rows are not deleted',
  'schema-behind': 'The schema is older than the service',
  'schema-newer': 'The schema is from a newer version of the service',
  'schema-taken': 'The schema belongs to something else',
  'schema-too-new': 'The schema is too new for the service',
  'service-closing': 'The service is closing',
  'service-disabled': 'Transfers are disabled by the switch',
  'service-down': 'A service cannot be scraped',
  'standby-missing': 'There is no synchronous standby',
  'webhook-key': 'The webhook key is missing or wrong',
  'webhooks-failing': 'Webhooks fail or are paused',
  'webhooks-late': 'A webhook is behind',
  'writes-failing': 'The database fails to write',
} as const satisfies Readonly<Record<string, string>>;

export type RunbookPage = keyof typeof RUNBOOK;

/** Returns the path of a page, from the root of the project. */
export function runbookPath(page: RunbookPage): string {
  return `docs/runbook/${page}.md`;
}

/**
 * Returns the line after the message of a problem, which leads to its page. A reader in a terminal or a log has one of three
 * installations: a clone, usually with the service started from its root; the package, which may be anywhere; or a container,
 * whose files cannot be opened.
 */
export function runbookLine(page: RunbookPage, directory = process.cwd(), isClone = IS_CLONE): string {
  const path = runbookPath(page);
  if (!isClone) return `Runbook: transfer-service runbook ${page}, or ${ROOT}/${path}`;
  return `Runbook: ${directory === ROOT ? path : `${ROOT}/${path}`}`;
}

export const READINESS_PAGES: Readonly<Record<Exclude<ReadinessReason, 'ready'>, RunbookPage>> = {
  few_connections: 'few-connections',
  schema_newer: 'schema-newer',
  database_starting: 'database-starting',
  database_stopped: 'database-stopped',
  database_failed: 'embedded-postgres-failed',
  database_silent: 'database-silent',
  database_read_only: 'database-read-only',
  standby_not_set: 'standby-missing',
  disk_full: 'disk-full',
  no_connection: 'few-connections',
  write_failing: 'writes-failing',
  schema_older: 'schema-behind',
  schema_too_new: 'schema-too-new',
  service_closing: 'service-closing',
};

export function runbookOf(reason: ReadinessReason): string | null {
  return reason === 'ready' ? null : runbookPath(READINESS_PAGES[reason]);
}

export function notReady(reason: ReadinessReason): Refusal {
  const { sentence, retryAfterSeconds } = READINESS[reason];
  const runbook = runbookOf(reason);
  return new Refusal('service_unavailable', sentence, {
    endsIn: retryAfterSeconds * 1000,
    saw: { readiness: reason },
    ...(runbook === null ? {} : { readiness: { reason, runbook } }),
  });
}
