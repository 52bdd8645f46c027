/**
 * Every line that the service logs has one of these names as `event`, which are never renamed, only added. The order is
 * that of the table in docs/logs.md.
 */
export const LOG_EVENTS = {
  service_start:
    'A process starts: its version, mode, process id, port, and the newest migration of the database. A start that is refused has no line, but a text with its page of the runbook.',
  service_ready: 'It takes requests and does everything else; `milliseconds` is how long the start took.',
  service_stop:
    'It ends: the signal, how long the stop took, and what failed, if anything. The last line of a process.',
  crash: 'A bug ends the process. Transactions in progress roll back or have committed, as after a power failure.',
  request: 'A response was sent, or its caller went away. Only where REQUEST_LOG asks for it.',
  server_error: 'A response with a status of 500 or above, with what caused it. The error log has it, too.',
  server_errors:
    'So many more of these responses in the last second, while the database is away; `firstRequestId` names the one that has a line.',
  log_lines_lost: 'The reader of the log was too slow, or its disk full: so many lines are missing before this one.',
  readiness: 'What `GET /health/ready` answers has changed; `reason` is the new state, `before` the one before.',
  database_server_exit: 'The embedded PostgreSQL ended unexpectedly, and is started again.',
  few_connections: 'The database allows, or has left, fewer connections than the service may open.',
  clock: "The clock of this machine differs from the database's.",
  clock_not_read: "The database's clock could not be read; it is tried again.",
  clear_text: 'The service takes HTTP without TLS on a public address.',
  settings_not_shown: 'The settings could not be published: the command config does not show them.',
  error_log: 'Errors could not be stored or were dropped; `cause` says why.',
  error_events_not_written: 'The events about errors could not be written; it is tried again.',
  credential_uses_not_written: 'Uses of keys, or refused credentials, could not be written; it is tried again.',
  job_failed:
    'A background job failed; `job` names it, and it is tried again. Of several failures in a row, the first.',
  books: 'The books do not balance, with how.',
  backup: 'A copy of the ledger is complete.',
  backup_failed: 'A copy of the ledger, or the archive of its changes, failed.',
  traces_not_sent:
    'The collector of OTEL_EXPORTER_OTLP_ENDPOINT takes no traces; `lost` spans are gone. Of several failures in a row, the first.',
  webhook: 'Something about one webhook, such as a pause.',
  connector: 'A connector gives no valid answers, so that nothing new is sent to it; `reason` says more.',
} as const satisfies Readonly<Record<string, string>>;

/** One of {@link LOG_EVENTS}. */
export type LogEvent = keyof typeof LOG_EVENTS;
