/** The names that log lines have as `event`, in the order of docs/logs.md. Names are only added, and never changed. */
export const LOG_EVENTS = {
  service_start:
    'A process starts: its version, mode, process id, port, and the newest migration of the database. A service that refuses to start logs no line. It only prints a message that names a page of the runbook.',
  service_ready: 'The process accepts requests and runs its jobs; `milliseconds` is how long startup took.',
  service_stop: 'The process ends: the signal, how long stopping took, and any failure. The last line of a process.',
  crash: 'A bug ends the process. Transactions in progress roll back or have committed, as after a power failure.',
  request: 'A response was sent, or its caller disconnected. Only if REQUEST_LOG is set.',
  server_error: 'A response with a status of 500 or above, with its cause. The error log has it too.',
  server_errors:
    'The number of further such responses in the last second, while the database is unavailable; `firstRequestId` names the response with its own line.',
  log_lines_lost:
    'The reader of the log was too slow, or its disk was full; `lines` is how many lines are missing before this one.',
  readiness: 'The response of `GET /health/ready` has changed; `reason` is the new state, `before` the previous one.',
  database_server_exit: 'The embedded PostgreSQL ended unexpectedly, and is being restarted.',
  few_connections: 'The database allows fewer connections than the service may open, or has fewer left.',
  clock: "This machine's clock differs from the database's.",
  clock_not_read: "The database's clock could not be read; the service tries again.",
  clear_text: 'The service accepts HTTP without TLS on a public address.',
  settings_not_shown: 'The settings could not be published: the command config does not show them.',
  error_log: 'Errors could not be stored or were dropped; `cause` says why.',
  error_events_not_written: 'The events about errors could not be written; the service tries again.',
  credential_uses_not_written: 'Uses of keys, or refused credentials, could not be written; the service tries again.',
  job_failed:
    'A background job failed; `job` names it, and it is tried again. Only the first of several failures in a row has a line. A line of `day_checks` can name the card program and the day.',
  books:
    'The books do not balance, or the day of a card program does not add up; the line has the result of the verification, or the program and the day.',
  backup: 'A copy of the ledger is complete.',
  backup_failed: 'A copy of the ledger, or the archive of its changes, failed.',
  traces_not_sent:
    'The collector of OTEL_EXPORTER_OTLP_ENDPOINT is not accepting traces; the `lost` spans are dropped. Only the first of several failures in a row is logged.',
  sign_in:
    'A sign-in with the OpenID provider, or its request to end sessions, was refused or failed; `code` and `reason` say why. It also reports a group whose name almost equals one in OIDC_ROLES.',
  webhook: 'The state of one webhook has changed, for example to paused.',
  connector: 'A connector is not giving valid answers, so nothing new is sent to it; `reason` says why.',
} as const satisfies Readonly<Record<string, string>>;

export type LogEvent = keyof typeof LOG_EVENTS;
