import { machineMemory } from '../machine-memory.ts';
import { shownDatabaseUrl } from '../url-credentials.ts';
import { CONNECTORS, type Connectors } from './connectors.ts';
import { fileSettingOf, type Setting } from './setting.ts';
import {
  ADDRESS,
  ADDRESSES,
  CERTIFICATES,
  type Certificates,
  COLLECTOR_URL,
  DATABASE_URL,
  DIRECTORY,
  HEADERS,
  isLoopback,
  NETWORKS,
  numberOf,
  ORIGIN,
  oneOf,
  PORT,
  SCHEMA,
  SHARE,
  TEXT,
  WEBHOOK_KEYS,
} from './values.ts';

// Invariant: A setting is defined once: its allowed values, default, unit and readers
// Kept by: SETTINGS, the source of the configuration and its type, `config`, the messages of a refused start,
//   docs/configuration.md and `start --help`
// Tested by: `test/security/settings.test.ts`, `server/foundation/configuration/settings.test.ts`

const days = (min: number) => numberOf('days', { min, max: 3_650 });
const notSet = () => null;

/** Responses to idempotency keys are stored in their events, and replays are exact for this many days. */
export const MIN_EVENT_RETENTION_DAYS = 31;

/** The contract promises integrators one response per key for this many days. */
export const MIN_KEY_RETENTION_DAYS = 30;

/**
 * Default limits of live mode, in requests per second and process: far more than a normal caller sends, and less than a process
 * can serve, so that one faulty caller leaves capacity for others.
 */
const LIVE_ADDRESS_RATE = 2_000;
const LIVE_KEY_RATE = 1_000;

const rate = numberOf('requests per second', { min: 1, max: 999_999, zero: 'for no limit' });

/**
 * Buffers of a live ledger in MB: a quarter of the memory (bytes), bounded because PostgreSQL searches all of them when it drops
 * a table.
 */
export function liveBuffersMegabytes(memory: number): number {
  return Math.min(4096, Math.max(256, Math.floor(memory / 4 / 1024 ** 2)));
}

/** Only this machine, where a sandbox needs no key. */
const DEFAULT_HOSTS = ['127.0.0.1', '::1'];

/** Developers receive webhooks on their own machine. */
const LOOPBACK = ['127.0.0.1', '::1'];

/** Every setting by its field of the configuration, in the order of the documentation. */
export const SETTINGS = {
  mode: {
    name: 'MODE',
    kind: oneOf('sandbox', 'live'),
    fallback: 'sandbox',
    purpose: 'sandbox: for development and tests, without keys; live: for real money',
    readBy: 'commands',
    isInHelp: true,
  },
  hosts: {
    name: 'HOST',
    kind: ADDRESSES,
    fallback: DEFAULT_HOSTS.join(' and '),
    unset: () => DEFAULT_HOSTS,
    purpose:
      'address to listen on, over HTTP without TLS; if other machines can reach it, terminate TLS in front of the service',
    readBy: 'commands',
    isInHelp: true,
    show: (hosts: readonly string[]) => hosts.join(' '),
  },
  port: {
    name: 'PORT',
    kind: PORT,
    fallback: '8080',
    purpose: 'port to listen on; 0 selects a free port',
    readBy: 'commands',
    isInHelp: true,
  },
  /** URL of PostgreSQL, or null for the embedded one. */
  databaseUrl: {
    name: 'DATABASE_URL',
    kind: DATABASE_URL,
    fallback: '',
    unset: notSet,
    purpose: 'PostgreSQL 15 or later, on one host or several; the embedded PostgreSQL if not set',
    isSecret: true,
    mayBeInFile: true,
    readBy: 'commands',
    isInHelp: true,
    show: (url: string | null) => (url === null ? '(embedded PostgreSQL)' : shownDatabaseUrl(url)),
  },
  databaseSchema: {
    name: 'DATABASE_SCHEMA',
    kind: SCHEMA,
    fallback: 'public',
    purpose: 'database schema of the tables; created by migrate if it is missing',
    readBy: 'commands',
  },
  databaseConnections: {
    name: 'DATABASE_CONNECTIONS',
    kind: numberOf('connections', { min: 6, max: 200 }),
    fallback: '27',
    purpose: 'maximum number of connections to PostgreSQL per process',
    readBy: 'commands',
  },
  databaseStandby: {
    name: 'DATABASE_STANDBY',
    kind: oneOf('optional', 'required'),
    fallback: 'optional',
    purpose:
      'required: the service writes only if the PostgreSQL of DATABASE_URL has a synchronous standby set, and each commit ' +
      'waits for it',
    readBy: 'commands',
  },
  /** Absolute path. */
  dataDirectory: {
    name: 'DATA_DIR',
    kind: DIRECTORY,
    fallback: './data',
    purpose:
      'directory for the data of the embedded PostgreSQL, the errors that are stored while the database is unavailable, and ' +
      'the webhook key',
    readBy: 'commands',
    isInHelp: true,
  },
  /** In MB. */
  sharedBuffers: {
    name: 'SHARED_BUFFERS_MEGABYTES',
    kind: numberOf('MB', { min: 16, max: 1_048_576 }),
    fallback: "256 in the sandbox; in live mode a quarter of the machine's memory, 256 to 4096",
    unset: ({ mode }) => (mode === 'live' ? liveBuffersMegabytes(machineMemory()) : 256),
    purpose: 'memory of the embedded PostgreSQL for pages of its tables',
    readBy: 'service',
  },
  /** Absolute path, or null for no backups. */
  backupDirectory: {
    name: 'BACKUP_DIR',
    kind: DIRECTORY,
    fallback: '',
    unset: notSet,
    purpose:
      'directory for the backups of the embedded PostgreSQL; it must exist, be outside DATA_DIR, and should be on another ' +
      'disk; no backups if not set',
    readBy: 'commands',
    isInHelp: true,
  },
  backupRetentionDays: {
    name: 'BACKUP_RETENTION_DAYS',
    kind: days(1),
    fallback: '14',
    purpose: 'number of past days of which you can restore any second; backups that this does not need are deleted',
    readBy: 'commands',
  },
  supportContact: {
    name: 'SUPPORT_CONTACT',
    kind: TEXT,
    fallback: 'support@example.com',
    purpose: 'how customers reach support, quoted in messages; live mode requires it',
    readBy: 'service',
  },
  errorRetentionDays: {
    name: 'ERROR_RETENTION_DAYS',
    kind: days(1),
    fallback: '90',
    purpose: 'number of days to keep errors; they are deleted by whole months',
    readBy: 'service',
  },
  eventRetentionDays: {
    name: 'EVENT_RETENTION_DAYS',
    kind: days(MIN_EVENT_RETENTION_DAYS),
    fallback: '90',
    purpose: 'number of days to keep events; you cannot read from an older position',
    readBy: 'service',
  },
  errorCountRetentionDays: {
    name: 'ERROR_COUNT_RETENTION_DAYS',
    kind: days(1),
    fallback: 'as ERROR_RETENTION_DAYS',
    unset: ({ errorRetentionDays }) => errorRetentionDays,
    purpose: 'number of days to keep the hourly counts of errors and transfers; they contain no texts',
    readBy: 'service',
  },
  attemptRetentionDays: {
    name: 'WEBHOOK_ATTEMPT_RETENTION_DAYS',
    kind: days(1),
    fallback: '14',
    purpose: 'number of days to keep webhook deliveries and their responses',
    readBy: 'service',
  },
  refusedKeyRetentionDays: {
    name: 'REFUSED_KEY_RETENTION_DAYS',
    kind: days(MIN_KEY_RETENTION_DAYS),
    fallback: '30',
    purpose:
      'number of days to keep a refusal (409) under its idempotency key; after that, the same request with the same key ' +
      'is carried out',
    readBy: 'service',
  },
  addressRatePerSecond: {
    name: 'RATE_LIMIT_PER_ADDRESS',
    kind: rate,
    fallback: `${LIVE_ADDRESS_RATE} in live mode, 0 in the sandbox`,
    unset: ({ mode }) => (mode === 'live' ? LIVE_ADDRESS_RATE : 0),
    purpose:
      'maximum requests per second from one address, averaged over 10 seconds; a page counts as 10, or as 30 if ' +
      'it is rendered for the Host of the request, a search of the errors as 50, an invalid key as 10',
    readBy: 'service',
  },
  keyRatePerSecond: {
    name: 'RATE_LIMIT_PER_KEY',
    kind: rate,
    fallback: `${LIVE_KEY_RATE} in live mode, 0 in the sandbox`,
    unset: ({ mode }) => (mode === 'live' ? LIVE_KEY_RATE : 0),
    purpose:
      'maximum requests per second with one API key, averaged over 10 seconds; each further row of a batch and ' +
      'each 1,024 bytes of a body count as one more',
    readBy: 'service',
  },
  overloadDelayMilliseconds: {
    name: 'OVERLOAD_DELAY_MILLISECONDS',
    kind: numberOf('milliseconds', { min: 1, max: 60_000, zero: 'to never refuse requests because of the delay' }),
    fallback: '100',
    purpose:
      'the process refuses requests with 503 while the mean delay of its event loop, over a second, is above this; a busy ' +
      'machine may need more',
    readBy: 'service',
  },
  keepAliveTimeoutMilliseconds: {
    name: 'KEEP_ALIVE_MILLISECONDS',
    kind: numberOf('milliseconds', { min: 1_000, max: 3_600_000 }),
    fallback: '75000',
    purpose:
      'the service keeps an idle connection for this time and 5 seconds more; set it to more than the idle time-out of the ' +
      'balancer or proxy in front of the service',
    readBy: 'service',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    kind: numberOf('proxies', { min: 0, max: 10 }),
    fallback: '0',
    purpose: "number of proxies in front of the service that append the caller's address to X-Forwarded-For",
    readBy: 'commands',
  },
  /** The origin that callers use, or null for each request's own. */
  publicUrl: {
    name: 'PUBLIC_URL',
    kind: ORIGIN,
    fallback: 'the URL of each request',
    unset: notSet,
    purpose: 'URL that callers use, shown on the pages and in /openapi.json',
    readBy: 'service',
  },
  webhookAllowedNetworks: {
    name: 'WEBHOOK_ALLOWED_NETWORKS',
    kind: NETWORKS,
    fallback: `${LOOPBACK.join(', ')} in a sandbox that only this machine can reach, otherwise none`,
    unset: ({ mode, hosts }) => (mode === 'sandbox' && hosts.every(isLoopback) ? LOOPBACK : []),
    purpose:
      'additional addresses and private networks for webhooks; loopback, link-local and metadata addresses one by one',
    readBy: 'service',
  },
  /** Null for none. */
  webhookCa: {
    name: 'WEBHOOK_CA',
    kind: CERTIFICATES,
    fallback: '',
    unset: notSet,
    purpose: "certificates to trust for webhooks, in addition to Node's",
    readBy: 'service',
    show: (certificates: Certificates | null) => certificates?.path ?? '',
  },
  /** The current one first; null for one in the data directory. */
  webhookKeys: {
    name: 'WEBHOOK_KEY',
    kind: WEBHOOK_KEYS,
    fallback: 'a key in DATA_DIR/webhook-key, created when needed',
    unset: notSet,
    purpose: 'key that encrypts webhook secrets; to change it, set the new key, a comma, and the earlier one',
    isSecret: true,
    mayBeInFile: true,
    readBy: 'commands',
    show: (keys: readonly Buffer[] | null) => (keys === null ? '(in DATA_DIR)' : '(set)'),
  },
  /** Null for none. */
  connectors: {
    name: 'CONNECTORS',
    kind: CONNECTORS,
    fallback: '',
    unset: notSet,
    purpose: 'connectors to card processors, with the names of their secret variables; none if not set',
    readBy: 'service',
    show: (connectors: Connectors | null) => connectors?.path ?? '',
  },
  /** Null for no metrics. */
  metricsPort: {
    name: 'METRICS_PORT',
    kind: PORT,
    fallback: '',
    unset: notSet,
    purpose: 'port of the page /metrics for Prometheus; 0 selects a free port; no metrics if not set',
    readBy: 'service',
  },
  metricsHost: {
    name: 'METRICS_HOST',
    kind: ADDRESS,
    fallback: '127.0.0.1',
    purpose: 'address of METRICS_PORT; the page needs no key, so let only Prometheus reach it',
    readBy: 'service',
  },
  logLevel: {
    name: 'LOG_LEVEL',
    kind: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    fallback: 'info',
    purpose: 'lowest level of the log lines that are written',
    readBy: 'service',
  },
  logFormat: {
    name: 'LOG_FORMAT',
    kind: oneOf('auto', 'json', 'text'),
    fallback: 'auto',
    purpose: 'json: one JSON object per line; text: lines for people; auto: text on a terminal, otherwise json',
    readBy: 'service',
  },
  requestLog: {
    name: 'REQUEST_LOG',
    kind: oneOf('off', 'errors', 'all'),
    fallback: 'off',
    purpose: 'requests that get a log line each, at any LOG_LEVEL',
    readBy: 'service',
  },
  /** URL of the collector, without `/v1/traces`; null for no traces. */
  tracesUrl: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    kind: COLLECTOR_URL,
    fallback: '',
    unset: notSet,
    purpose: 'URL of the OpenTelemetry collector that gets traces, as OTLP over HTTP with JSON; no traces if not set',
    readBy: 'service',
  },
  tracesHeaders: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    kind: HEADERS,
    fallback: '',
    unset: notSet,
    purpose: 'headers of the requests to the collector',
    isSecret: true,
    readBy: 'service',
  },
  tracesRatio: {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    kind: SHARE,
    fallback: '0.01',
    purpose: 'share of requests to trace',
    readBy: 'service',
  },
  tracesServiceName: {
    name: 'OTEL_SERVICE_NAME',
    kind: TEXT,
    fallback: 'transfer-service',
    purpose: 'name of the service in its traces',
    readBy: 'service',
  },
} as const satisfies Readonly<Record<string, Setting>>;

/** Every environment variable as help and documentation list it, including variables that name a file. */
export const LISTED_SETTINGS = Object.values<Setting>(SETTINGS).flatMap((setting) => {
  const { name, kind, fallback, purpose, mayBeInFile, readBy, isInHelp = false } = setting;
  const own = { name, allowed: kind.allowed, fallback, purpose, readBy, isInHelp };
  if (mayBeInFile === undefined) return [own];
  return [
    own,
    {
      ...own,
      name: fileSettingOf(name),
      allowed: 'a file',
      fallback: '',
      purpose: `file that contains ${name}, instead of that setting; a trailing line break is removed`,
      isInHelp: false,
    },
  ];
});
