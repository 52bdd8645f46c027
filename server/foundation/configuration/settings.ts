/** The values of LOG_LEVEL. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** How much is logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The values of LOG_FORMAT. */
export const LOG_FORMATS = ['auto', 'json', 'text'] as const;

/** How the lines of the log are written. */
export type LogFormat = (typeof LOG_FORMATS)[number];

/** The values of REQUEST_LOG. */
export const REQUEST_LOGS = ['off', 'errors', 'all'] as const;

/** Which requests are logged. */
export type RequestLog = (typeof REQUEST_LOGS)[number];

/** The data directory where none is set. */
export const DEFAULT_DATA_DIRECTORY = './data';

/** Every setting: its environment variable, its default, and its purpose. */
export const SETTINGS = [
  {
    name: 'MODE',
    fallback: 'sandbox',
    purpose: 'sandbox: for development and tests, without keys; live: for real money',
  },
  {
    name: 'HOST',
    fallback: '127.0.0.1 and ::1',
    purpose:
      'address to listen on, over HTTP without TLS: if others can reach it, terminate TLS in front of the service',
  },
  { name: 'PORT', fallback: '8080', purpose: 'port to listen on; 0 selects a free port' },
  { name: 'DATABASE_URL', fallback: '', purpose: 'PostgreSQL 15 or later; the embedded PostgreSQL if not set' },
  {
    name: 'DATABASE_URL_FILE',
    fallback: '',
    purpose: 'file that contains the DATABASE_URL, instead of that setting; a line break at its end is removed',
  },
  {
    name: 'DATABASE_SCHEMA',
    fallback: 'public',
    purpose:
      'database schema of the tables; at most 63 lower-case letters, digits and underscores; ' +
      'created by migrate if it is missing',
  },
  {
    name: 'DATABASE_CONNECTIONS',
    fallback: '27',
    purpose: 'maximum number of connections to PostgreSQL per process, 6 to 200',
  },
  {
    name: 'DATA_DIR',
    fallback: DEFAULT_DATA_DIRECTORY,
    purpose:
      'directory of the data of the embedded PostgreSQL, of errors that are stored while the database is unavailable, and ' +
      'of the key of webhooks',
  },
  {
    name: 'BACKUP_DIR',
    fallback: '',
    purpose:
      'directory of the backups of the embedded PostgreSQL, which must exist, outside DATA_DIR and best on another disk; ' +
      'no backups if not set',
  },
  {
    name: 'BACKUP_RETENTION_DAYS',
    fallback: '14',
    purpose: 'days of which every second can be restored, 1 to 3650; what only older times need is deleted',
  },
  {
    name: 'SUPPORT_CONTACT',
    fallback: 'support@example.com',
    purpose: 'how customers can reach support, quoted in messages',
  },
  {
    name: 'ERROR_RETENTION_DAYS',
    fallback: '90',
    purpose: 'days for which errors are stored, 1 to 3650; they are deleted in whole months',
  },
  {
    name: 'EVENT_RETENTION_DAYS',
    fallback: '90',
    purpose: 'days for which events are stored, 31 to 3650; a position that is older can no longer be read from',
  },
  {
    name: 'ERROR_COUNT_RETENTION_DAYS',
    fallback: 'as ERROR_RETENTION_DAYS',
    purpose: 'days for which the numbers of errors and transfers by hour are stored, 1 to 3650; they contain no texts',
  },
  {
    name: 'WEBHOOK_ATTEMPT_RETENTION_DAYS',
    fallback: '14',
    purpose: 'days for which the attempts to send events to webhooks are stored, with the responses, 1 to 3650',
  },
  {
    name: 'REFUSED_KEY_RETENTION_DAYS',
    fallback: '30',
    purpose:
      'days for which a refusal (409) is stored under its idempotency key, 30 to 3650; after that, the same request with ' +
      'the same key is carried out',
  },
  {
    name: 'RATE_LIMIT_PER_ADDRESS',
    fallback: '2000 in live mode, 0 in the sandbox',
    purpose:
      'maximum requests per second from one address, averaged over 10 seconds; a page counts as 10, a search of the ' +
      'errors as 50, an invalid key as 10; 0 is no limit',
  },
  {
    name: 'RATE_LIMIT_PER_KEY',
    fallback: '1000 in live mode, 0 in the sandbox',
    purpose:
      'maximum requests per second with one API key, averaged over 10 seconds; each further row of a batch and ' +
      'each 1,024 bytes of a body count as one more; 0 is no limit',
  },
  {
    name: 'OVERLOAD_DELAY_MILLISECONDS',
    fallback: '100',
    purpose:
      'mean delay of the event loop, over a second, above which the process refuses requests with 503, 1 to 60000; a ' +
      'machine that does much else may need more; 0 never refuses for this reason',
  },
  {
    name: 'TRUSTED_PROXIES',
    fallback: '0',
    purpose: "number of proxies in front of the service that append the caller's address to X-Forwarded-For, 0 to 10",
  },
  {
    name: 'PUBLIC_URL',
    fallback: 'as each request was sent',
    purpose:
      'URL that callers use, such as https://transfers.example.com, without a path: the pages and /openapi.json show it',
  },
  {
    name: 'WEBHOOK_ALLOWED_NETWORKS',
    fallback: '127.0.0.1, ::1 in a sandbox that only this machine can reach, otherwise none',
    purpose:
      'addresses and private networks that webhooks may be sent to, such as 10.1.0.0/16, 192.168.7.9, separated by ' +
      'commas; loopback, link-local and metadata addresses one by one',
  },
  {
    name: 'WEBHOOK_CA',
    fallback: '',
    purpose: 'file of certificates in PEM format that are trusted, besides those of Node, when webhooks are sent',
  },
  {
    name: 'WEBHOOK_KEY',
    fallback: 'a key in DATA_DIR/webhook-key, made when it is needed',
    purpose:
      'key that encrypts the secrets of webhooks: 32 bytes in Base64; to change it, the new key, a comma, and the earlier one',
  },
  {
    name: 'WEBHOOK_KEY_FILE',
    fallback: '',
    purpose: 'file that contains the WEBHOOK_KEY, instead of that setting; a line break at its end is removed',
  },
  {
    name: 'METRICS_PORT',
    fallback: '',
    purpose: 'port of the page /metrics for Prometheus; 0 selects a free port; no metrics if not set',
  },
  {
    name: 'METRICS_HOST',
    fallback: '127.0.0.1',
    purpose: 'address of that port; the page needs no key, so let only Prometheus reach it',
  },
  { name: 'LOG_LEVEL', fallback: 'info', purpose: LOG_LEVELS.join(', ') },
  {
    name: 'LOG_FORMAT',
    fallback: 'auto',
    purpose: 'json: one JSON object per line; text: lines for people; auto: text on a terminal, otherwise json',
  },
  {
    name: 'REQUEST_LOG',
    fallback: 'off',
    purpose: 'which requests have a line of the log each: off, errors or all, whatever the LOG_LEVEL',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    fallback: '',
    purpose:
      'URL of an OpenTelemetry collector, such as http://127.0.0.1:4318, to which traces are sent by OTLP over HTTP as JSON; ' +
      'no traces if not set',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    fallback: '',
    purpose: 'headers of the requests to it, such as authorization=Bearer%20abc, separated by commas',
  },
  { name: 'OTEL_TRACES_SAMPLER_ARG', fallback: '0.01', purpose: 'share of the requests that are traced, 0 to 1' },
  { name: 'OTEL_SERVICE_NAME', fallback: 'transfer-service', purpose: 'name of the service in its traces' },
] as const;
