import { accessText, type RoleRule } from '../../../domain/people/access.ts';
import { type OperatorLimits, operatorLimitsText } from '../../../domain/people/operator-limits.ts';
import { machineMemory } from '../machine-memory.ts';
import { shownDatabaseUrl } from '../url-credentials.ts';
import { CONNECTORS, type Connectors } from './connectors.ts';
import {
  ADDRESS,
  ADDRESSES,
  CERTIFICATES,
  type Certificates,
  COLLECTOR_URL,
  DATABASE_URL,
  DIRECTORY,
  HEADERS,
  ISSUER,
  isLoopback,
  type Kind,
  NETWORKS,
  numberOf,
  OPERATOR_LIMITS,
  ORIGIN,
  oneOf,
  PORT,
  PROVIDER_NAME,
  ROLE_RULES,
  SCHEMA,
  SCOPES,
  SHARE,
  TEXT,
  WEBHOOK_KEYS,
} from './values.ts';

// Invariant: A setting is defined once: its allowed values, default, unit and readers
// Kept by: SETTINGS, the source of the configuration and its type, `config`, the messages of a service that refuses to start,
// docs/configuration.md and `start --help`
// Tested by: `test/security/settings.test.ts`, `server/foundation/configuration/settings.test.ts`

/** The settings that influence the defaults of other settings. They come first in the table. */
export type Earlier = {
  readonly mode: 'sandbox' | 'live';
  readonly hosts: readonly string[];
  readonly errorRetentionDays: number;
};

export type Setting = {
  readonly name: string;
  readonly kind: Kind<unknown>;
  /** The default, described for people. An empty string if there is none. */
  readonly fallback: string;
  /** Returns the value if the setting is not set. If omitted, the default is parsed like any other value. */
  readonly unset?: (earlier: Earlier) => unknown;
  readonly purpose: string;
  /** Whether the value must not appear in any output or message. */
  readonly isSecret?: true;
  /** Whether the variable with `_FILE` after the name may name a file that contains the value. */
  readonly mayBeInFile?: true;
  /** Who may read it: only the service, or also the commands on its host. The types of the commands enforce this. */
  readonly readBy: 'service' | 'commands';
  /** Whether `start --help` also lists it. */
  readonly isInHelp?: true;
  /** Formats the value for `config`, if the result differs from the value that was set. */
  readonly show?: (value: never) => string;
};

/** Returns the name of the variable that names the file of a secret. */
export function fileSettingOf(name: string): string {
  return `${name}_FILE`;
}

const days = (min: number) => numberOf('days', { min, max: 3_650 });
const notSet = () => null;

/** For this many days, replays equal the first response exactly: the responses to idempotency keys are stored in events. */
export const MIN_EVENT_RETENTION_DAYS = 31;

/** For this many days, the contract promises one response per idempotency key. */
export const MIN_KEY_RETENTION_DAYS = 30;

/**
 * Default limits in live mode, in requests per second and process. They are far above the rate of a normal caller, and below the
 * capacity of a process. So a faulty caller leaves room for others.
 */
const LIVE_ADDRESS_RATE = 2_000;
const LIVE_KEY_RATE = 1_000;

const rate = numberOf('requests per second', { min: 1, max: 999_999, zero: 'for no limit' });

/**
 * Returns the size of a live ledger's buffers in MB: a quarter of the machine's memory (in bytes), up to a maximum. The maximum is
 * needed because PostgreSQL searches all buffers when it drops a table.
 */
export function liveBuffersMegabytes(memory: number): number {
  return Math.min(4096, Math.max(256, Math.floor(memory / 4 / 1024 ** 2)));
}

/** Only this machine can reach these addresses, so a sandbox needs no key. */
const DEFAULT_HOSTS = ['127.0.0.1', '::1'];

/** For developers, who receive webhooks on their own machine. */
const LOOPBACK = ['127.0.0.1', '::1'];

/** All settings by their field in the configuration, in the order of the documentation. */
export const SETTINGS = {
  mode: {
    name: 'MODE',
    kind: oneOf('sandbox', 'live'),
    fallback: 'sandbox',
    purpose: 'sandbox: for development and tests, needs no keys; live: for real money',
    readBy: 'commands',
    isInHelp: true,
  },
  hosts: {
    name: 'HOST',
    kind: ADDRESSES,
    fallback: DEFAULT_HOSTS.join(' and '),
    unset: () => DEFAULT_HOSTS,
    purpose:
      'address to listen on, with plain HTTP; if other machines can reach it, put a proxy with TLS in front of the service',
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
    purpose: 'URL of PostgreSQL 15 or later, on one or several hosts; if not set, the embedded PostgreSQL is used',
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
    purpose: 'database schema that contains the tables; migrate creates it if it is missing',
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
      'required: the service writes only if the PostgreSQL of DATABASE_URL has a synchronous standby that each commit waits for',
    readBy: 'commands',
  },
  /** Absolute path. */
  dataDirectory: {
    name: 'DATA_DIR',
    kind: DIRECTORY,
    fallback: './data',
    purpose:
      'directory for the data of the embedded PostgreSQL, errors recorded while the database is unavailable, and the webhook key',
    readBy: 'commands',
    isInHelp: true,
  },
  /** In MB. */
  sharedBuffers: {
    name: 'SHARED_BUFFERS_MEGABYTES',
    kind: numberOf('MB', { min: 16, max: 1_048_576 }),
    fallback: "256 in the sandbox; in live mode a quarter of the machine's memory, 256 to 4096",
    unset: ({ mode }) => (mode === 'live' ? liveBuffersMegabytes(machineMemory()) : 256),
    purpose: "size of the embedded PostgreSQL's page cache (shared_buffers)",
    readBy: 'service',
  },
  /** Absolute path, or null for no backups. */
  backupDirectory: {
    name: 'BACKUP_DIR',
    kind: DIRECTORY,
    fallback: '',
    unset: notSet,
    purpose:
      'directory for backups of the embedded PostgreSQL; it must exist outside DATA_DIR, and should be on another disk; if not ' +
      'set, no backups are made',
    readBy: 'commands',
    isInHelp: true,
  },
  backupRetentionDays: {
    name: 'BACKUP_RETENTION_DAYS',
    kind: days(1),
    fallback: '14',
    purpose: 'days that a restore can go back, to any second; backups that are not needed for this are deleted',
    readBy: 'commands',
  },
  supportContact: {
    name: 'SUPPORT_CONTACT',
    kind: TEXT,
    fallback: 'support@example.com',
    purpose: 'contact that error messages give to customers, such as an email address; required in live mode',
    readBy: 'service',
  },
  errorRetentionDays: {
    name: 'ERROR_RETENTION_DAYS',
    kind: days(1),
    fallback: '90',
    purpose: 'days to keep errors; they are deleted a whole month at a time',
    readBy: 'service',
  },
  eventRetentionDays: {
    name: 'EVENT_RETENTION_DAYS',
    kind: days(MIN_EVENT_RETENTION_DAYS),
    fallback: '90',
    purpose: 'days to keep events; older positions can no longer be read',
    readBy: 'service',
  },
  errorCountRetentionDays: {
    name: 'ERROR_COUNT_RETENTION_DAYS',
    kind: days(1),
    fallback: 'as ERROR_RETENTION_DAYS',
    unset: ({ errorRetentionDays }) => errorRetentionDays,
    purpose: 'days to keep the hourly counts of errors and transfers; they contain no text',
    readBy: 'service',
  },
  attemptRetentionDays: {
    name: 'WEBHOOK_ATTEMPT_RETENTION_DAYS',
    kind: days(1),
    fallback: '14',
    purpose: 'days to keep webhook deliveries and their responses',
    readBy: 'service',
  },
  refusedKeyRetentionDays: {
    name: 'REFUSED_KEY_RETENTION_DAYS',
    kind: days(MIN_KEY_RETENTION_DAYS),
    fallback: '30',
    purpose:
      'days to keep a refusal (409) under its idempotency key; after that, the same request with the same key is carried out',
    readBy: 'service',
  },
  addressRatePerSecond: {
    name: 'RATE_LIMIT_PER_ADDRESS',
    kind: rate,
    fallback: `${LIVE_ADDRESS_RATE} in live mode, 0 in the sandbox`,
    unset: ({ mode }) => (mode === 'live' ? LIVE_ADDRESS_RATE : 0),
    purpose:
      'maximum requests per second from one address, averaged over 10 seconds; a request with an invalid key or for a page ' +
      'counts as 10 requests, a request for a page that shows the host name of the request as 30, and a search of the errors as 50',
    readBy: 'service',
  },
  keyRatePerSecond: {
    name: 'RATE_LIMIT_PER_KEY',
    kind: rate,
    fallback: `${LIVE_KEY_RATE} in live mode, 0 in the sandbox`,
    unset: ({ mode }) => (mode === 'live' ? LIVE_KEY_RATE : 0),
    purpose:
      'maximum requests per second with one API key, averaged over 10 seconds; each 1,024 bytes of a body, and each row of a ' +
      'batch after the first, count as another request',
    readBy: 'service',
  },
  overloadDelayMilliseconds: {
    name: 'OVERLOAD_DELAY_MILLISECONDS',
    kind: numberOf('milliseconds', { min: 1, max: 60_000, zero: 'to never refuse requests because of the delay' }),
    fallback: '100',
    purpose:
      'the process responds 503 while the mean delay of its event loop over the last second is longer than this; raise it on ' +
      'a busy machine',
    readBy: 'service',
  },
  keepAliveTimeoutMilliseconds: {
    name: 'KEEP_ALIVE_MILLISECONDS',
    kind: numberOf('milliseconds', { min: 1_000, max: 3_600_000 }),
    fallback: '75000',
    purpose:
      'the service closes a connection that has been idle for this time and 5 more seconds; set a longer time than the idle ' +
      'time-out of the load balancer or proxy in front of the service',
    readBy: 'service',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    kind: numberOf('proxies', { min: 0, max: 10 }),
    fallback: '0',
    purpose: "number of proxies in front of the service that append the caller's address to X-Forwarded-For",
    readBy: 'commands',
  },
  /** The origin that callers use. Null for the origin of each request. */
  publicUrl: {
    name: 'PUBLIC_URL',
    kind: ORIGIN,
    fallback: 'the URL of each request',
    unset: notSet,
    purpose: 'URL under which callers reach the service, shown on its pages and in /openapi.json',
    readBy: 'commands',
  },
  webhookAllowedNetworks: {
    name: 'WEBHOOK_ALLOWED_NETWORKS',
    kind: NETWORKS,
    fallback: `${LOOPBACK.join(', ')} in a sandbox that only this machine can reach, otherwise none`,
    unset: ({ mode, hosts }) => (mode === 'sandbox' && hosts.every(isLoopback) ? LOOPBACK : []),
    purpose:
      'private addresses and networks that webhooks and the OpenID provider may also use; list loopback, link-local and ' +
      'metadata addresses one by one',
    readBy: 'commands',
  },
  /** Null for none. */
  webhookCa: {
    name: 'WEBHOOK_CA',
    kind: CERTIFICATES,
    fallback: '',
    unset: notSet,
    purpose: "file of certificates to trust for webhooks and the OpenID provider, in addition to Node's",
    readBy: 'commands',
    show: (certificates: Certificates | null) => certificates?.path ?? '',
  },
  /** The current key comes first. Null for the key in the data directory. */
  webhookKeys: {
    name: 'WEBHOOK_KEY',
    kind: WEBHOOK_KEYS,
    fallback: 'a key in DATA_DIR/webhook-key, created when needed',
    unset: notSet,
    purpose: 'key that encrypts webhook secrets; to change it, set the new key, a comma, and the previous key',
    isSecret: true,
    mayBeInFile: true,
    readBy: 'commands',
    show: (keys: readonly Buffer[] | null) => (keys === null ? '(in DATA_DIR)' : '(set)'),
  },
  /** The provider that people sign in with. Null for none. */
  oidcIssuer: {
    name: 'OIDC_ISSUER',
    kind: ISSUER,
    fallback: '',
    unset: notSet,
    purpose: 'OpenID provider that people sign in to the console with; it needs the other OIDC settings and PUBLIC_URL',
    readBy: 'commands',
  },
  oidcName: {
    name: 'OIDC_NAME',
    kind: PROVIDER_NAME,
    fallback: '',
    unset: notSet,
    purpose:
      'name of the OpenID provider on the button of the sign-in screen: "Sign in with Acme SSO"; if not set, its host',
    readBy: 'commands',
  },
  oidcClientId: {
    name: 'OIDC_CLIENT_ID',
    kind: TEXT,
    fallback: '',
    unset: notSet,
    purpose: 'id of this service at the OpenID provider',
    readBy: 'commands',
  },
  oidcClientSecret: {
    name: 'OIDC_CLIENT_SECRET',
    kind: TEXT,
    fallback: '',
    unset: notSet,
    purpose: 'secret of this service at the OpenID provider',
    isSecret: true,
    mayBeInFile: true,
    readBy: 'commands',
  },
  oidcScopes: {
    name: 'OIDC_SCOPES',
    kind: SCOPES,
    fallback: 'openid profile email',
    purpose: 'scopes to ask the OpenID provider for; some providers send groups only for a scope with that name',
    readBy: 'commands',
  },
  oidcRoleClaim: {
    name: 'OIDC_ROLE_CLAIM',
    kind: TEXT,
    fallback: 'groups',
    purpose:
      "claim whose values decide a person's roles; a dot leads into an object: realm_access.roles is the field roles of the " +
      'claim realm_access',
    readBy: 'commands',
  },
  /** Null without a provider. */
  oidcRoles: {
    name: 'OIDC_ROLES',
    kind: ROLE_RULES,
    fallback: '',
    unset: notSet,
    purpose:
      'roles for the values of OIDC_ROLE_CLAIM, which are compared exactly: viewer, support, treasurer, operator, ' +
      'approver or administrator; a role without a card program applies to all card programs',
    readBy: 'commands',
    show: (rules: readonly RoleRule[] | null) =>
      (rules ?? []).map((rule) => `${rule.value}=${accessText(rule)}`).join(', '),
  },
  /** Empty for no limits. */
  operatorLimits: {
    name: 'OPERATOR_DAILY_LIMITS',
    kind: OPERATOR_LIMITS,
    fallback: '',
    unset: (): OperatorLimits => new Map(),
    purpose:
      'amount that each operator (a person or an API key) may withdraw from funding and reverse per day (UTC), for each ' +
      'currency; if not set, there are no limits',
    readBy: 'service',
    show: operatorLimitsText,
  },
  /** Null for none. */
  connectors: {
    name: 'CONNECTORS',
    kind: CONNECTORS,
    fallback: '',
    unset: notSet,
    purpose:
      'file that lists the connectors to card processors, and the variables with their secrets; if not set, there are none',
    readBy: 'service',
    show: (connectors: Connectors | null) => connectors?.path ?? '',
  },
  /** Null for no metrics. */
  metricsPort: {
    name: 'METRICS_PORT',
    kind: PORT,
    fallback: '',
    unset: notSet,
    purpose: 'port of the page /metrics for Prometheus; 0 selects a free port; if not set, there are no metrics',
    readBy: 'service',
  },
  metricsHost: {
    name: 'METRICS_HOST',
    kind: ADDRESS,
    fallback: '127.0.0.1',
    purpose: 'address to serve METRICS_PORT on; the page needs no key, so let only Prometheus reach it',
    readBy: 'service',
  },
  logLevel: {
    name: 'LOG_LEVEL',
    kind: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    fallback: 'info',
    purpose: 'lowest level of log lines to write',
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
    purpose: 'requests to log, one line each, regardless of LOG_LEVEL',
    readBy: 'service',
  },
  /** URL of the collector, without `/v1/traces`. Null for no traces. */
  tracesUrl: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    kind: COLLECTOR_URL,
    fallback: '',
    unset: notSet,
    purpose:
      'URL of the OpenTelemetry collector for traces (OTLP over HTTP with JSON); if not set, there are no traces',
    readBy: 'service',
  },
  tracesHeaders: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    kind: HEADERS,
    fallback: '',
    unset: notSet,
    purpose: 'headers of requests to the collector',
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
    purpose: 'name of the service in traces',
    readBy: 'service',
  },
} as const satisfies Readonly<Record<string, Setting>>;

/** Every environment variable for the help and the documentation, including the variables that name files. */
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
      purpose: `file that contains the value of ${name}; set only one of the two; a trailing line break is removed`,
      isInHelp: false,
    },
  ];
});
