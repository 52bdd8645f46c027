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
