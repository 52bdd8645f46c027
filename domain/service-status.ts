/** A state of the service: whether it can serve requests, and a sentence for people. */
type State = {
  /** Whether the service serves requests. A ready service can still have shortages. */
  readonly isReady: boolean;
  readonly sentence: string;
  readonly retryAfterSeconds: number;
};

const ready = (sentence: string): State => ({ isReady: true, sentence, retryAfterSeconds: 0 });
const notReady = (sentence: string, retryAfterSeconds: number): State => ({
  isReady: false,
  sentence,
  retryAfterSeconds,
});

/**
 * Every state that `/health/ready` and get_status name. The names are stable, because load balancers, alerts and scripts use
 * them. `Retry-After` is one second if the state ends automatically, and ten seconds if it needs an operator.
 */
export const READINESS = {
  ready: ready('Every operation can be served.'),
  few_connections: ready('The service works with fewer database connections than are configured.'),
  schema_newer: ready('The database has the schema of a newer version of the service. This version can use it.'),
  database_starting: notReady('The database is starting, so no operation can be served yet.', 1),
  database_stopped: notReady('The database of the sandbox was stopped with stop_database.', 10),
  database_failed: notReady('The embedded database cannot be started, so no operation can be served.', 10),
  database_silent: notReady('The database does not respond, so no operation can be served.', 1),
  database_read_only: notReady('The database is read-only or a standby, so nothing can be written.', 1),
  standby_not_set: notReady(
    'The database has no synchronous standby configured, but the service requires one, so nothing can be written.',
    10,
  ),
  disk_full: notReady('The disk of the database is full, so nothing can be written.', 10),
  no_connection: notReady('The database has no connection left for the service, so nothing can be written.', 1),
  write_failing: notReady('The database fails to write or to commit.', 1),
  schema_older: notReady('The database has the schema of an older version of the service.', 10),
  schema_too_new: notReady('The database has a schema that this version of the service cannot use.', 10),
  service_closing: notReady('The service is closing.', 1),
} as const satisfies Readonly<Record<string, State>>;

export type ReadinessReason = keyof typeof READINESS;

/** The names of all states. */
export const READINESS_REASONS = Object.keys(READINESS) as readonly ReadinessReason[];

/** The shortages that a working service can have, by their stable names in get_status. */
export const CONCERNS = [
  'few_connections',
  'schema_newer',
  'service_disabled',
  'delivery_off',
  'webhooks_failing',
  'error_spool_filling',
  'errors_dropped',
  'relay_late',
  'due_transfers_late',
  'books_not_verified',
  'books_not_balanced',
  'day_not_adding_up',
  'day_not_checked',
  'funding_low',
  'standby_missing',
  'replication_late',
  'archiving_failing',
  'backup_overdue',
] as const;

export type Concern = (typeof CONCERNS)[number];

/** Parts of the status that are read from the database, each separately. */
export const STATUS_PARTS = ['ledger', 'webhooks', 'server', 'schema', 'days'] as const;

export type StatusPart = (typeof STATUS_PARTS)[number];

/** How the schema of the database relates to the version of the service. */
export const SCHEMA_STATES = ['current', 'older', 'newer_usable', 'newer_unusable'] as const;

/** States of the database server, as far as the service knows. */
export const DATABASE_STATES = ['up', 'starting', 'stopped', 'failed', 'silent'] as const;

export type DatabaseState = (typeof DATABASE_STATES)[number];

/** Whether this process delivers to webhooks: it does, there are no webhooks, or it has too few connections. */
export const DELIVERY_STATES = ['running', 'no_webhooks', 'off'] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];
