import { resolve } from 'node:path';
import { StartupProblem } from '../startup-problem.ts';
import { holdsUrlCredentials } from '../url-credentials.ts';
import {
  DEFAULT_DATA_DIRECTORY,
  LOG_FORMATS,
  LOG_LEVELS,
  type LogFormat,
  type LogLevel,
  REQUEST_LOGS,
  type RequestLog,
  SETTINGS,
} from './settings.ts';
import { readTraces, type TraceSettings } from './traces.ts';
import {
  type Certificates,
  isLoopback,
  oneOf,
  quoted,
  readBackupDirectory,
  readCertificates,
  readConnections,
  readDatabaseUrl,
  readDays,
  readHost,
  readNetworks,
  readOverloadDelay,
  readPort,
  readProxies,
  readPublicUrl,
  readRate,
  readSchema,
  readSecret,
  readWebhookKeys,
} from './values.ts';

/** The settings of the service, read once from the environment. */
export type Configuration = {
  readonly mode: 'sandbox' | 'live';
  /** Addresses to listen on. */
  readonly hosts: readonly string[];
  readonly port: number;
  /** Whether only this machine can reach the service. */
  readonly loopbackOnly: boolean;
  /** URL of PostgreSQL, or null for the embedded one. */
  readonly databaseUrl: string | null;
  /** Absolute path of the file that the URL is from; null if it is not from a file. */
  readonly databaseUrlFile: string | null;
  /** The schema that contains the tables. */
  readonly databaseSchema: string;
  /** Maximum connections of this process to PostgreSQL. */
  readonly databaseConnections: number;
  /** Absolute path of the directory of the embedded PostgreSQL. */
  readonly dataDirectory: string;
  /** Where that path comes from, for messages: a wrong one is often a missing or mistyped setting. */
  readonly dataDirectoryOrigin: string;
  /** Absolute path of the directory of backups; null for none. */
  readonly backupDirectory: string | null;
  /** Days of which every second can be restored. */
  readonly backupRetentionDays: number;
  readonly supportContact: string;
  /** Days after which errors are removed from the error log. */
  readonly errorRetentionDays: number;
  /** Days after which events are removed. */
  readonly eventRetentionDays: number;
  /** Days after which the numbers of errors by hour are removed. */
  readonly errorCountRetentionDays: number;
  /** Days after which attempts to send events to webhooks are removed. */
  readonly attemptRetentionDays: number;
  /** Days after which refused requests are forgotten under their idempotency keys. */
  readonly refusedKeyRetentionDays: number;
  /** Requests per second from one address, and with one key, on average; 0 is unlimited. */
  readonly addressRatePerSecond: number;
  readonly keyRatePerSecond: number;
  /** Mean delay of the event loop above which requests are refused; 0 is never. */
  readonly overloadDelayMilliseconds: number;
  /** Number of proxies in front of the service whose X-Forwarded-For entries are trusted. */
  readonly trustedProxies: number;
  /** The origin that callers use, such as https://transfers.example.com; null for that of each request. */
  readonly publicUrl: string | null;
  /** Addresses and networks that webhooks may be sent to besides those of the internet. */
  readonly webhookAllowedNetworks: readonly string[];
  /** Certificates in PEM that webhooks trust besides the usual ones, and their file; null if there are none. */
  readonly webhookCa: Certificates | null;
  /** The keys that encrypt the secrets of webhooks, the current one first; null for one in the data directory. */
  readonly webhookKeys: readonly Buffer[] | null;
  /** Absolute path of the file that they are from; null if they are not from a file. */
  readonly webhookKeyFile: string | null;
  /** Port of the page of metrics; null for none. */
  readonly metricsPort: number | null;
  /** Its address. */
  readonly metricsHost: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Which requests are logged. */
  readonly requestLog: RequestLog;
  /** Where and which traces are sent; null where none are. */
  readonly traces: TraceSettings | null;
};

/** Responses to idempotency keys are stored in their events, and a replay is exact for so many days. */
const MIN_EVENT_RETENTION_DAYS = 31;

/** Integrators are promised that a key has one response for so many days. */
const MIN_KEY_RETENTION_DAYS = 30;

/**
 * Default limits of live mode, in requests per second and process: far more than a normal caller sends, and less than a
 * process can serve, so that one faulty caller leaves capacity for others.
 */
const LIVE_ADDRESS_RATE = 2_000;
const LIVE_KEY_RATE = 1_000;

/** Developers receive webhooks on their own machine. */
const LOOPBACK = ['127.0.0.1', '::1'];

/** Reads the configuration. Throws a {@link StartupProblem} that names the invalid setting and its valid values. */
export function readConfiguration(environment: NodeJS.ProcessEnv = process.env): Configuration {
  const read = (name: (typeof SETTINGS)[number]['name']): string =>
    environment[name]?.trim() || (SETTINGS.find((setting) => setting.name === name)?.fallback ?? '');
  refuseCredentials(environment);
  const databaseUrl = readSecret('DATABASE_URL', environment);
  const webhookKey = readSecret('WEBHOOK_KEY', environment);
  const mode = oneOf('MODE', read('MODE'), ['sandbox', 'live'] as const);
  const hosts = environment.HOST?.trim() ? [readHost('HOST', environment.HOST.trim())] : ['127.0.0.1', '::1'];
  const loopbackOnly = hosts.every(isLoopback);
  const configuration: Configuration = {
    mode,
    hosts,
    port: readPort('PORT', read('PORT')),
    loopbackOnly,
    databaseUrl: readDatabaseUrl(databaseUrl),
    databaseUrlFile: databaseUrl.file,
    databaseSchema: readSchema(read('DATABASE_SCHEMA')),
    databaseConnections: readConnections(read('DATABASE_CONNECTIONS')),
    ...readDataDirectory(environment),
    backupDirectory: readBackupDirectory(read('BACKUP_DIR'), databaseUrl.value),
    backupRetentionDays: readDays('BACKUP_RETENTION_DAYS', read('BACKUP_RETENTION_DAYS'), 1),
    supportContact: read('SUPPORT_CONTACT'),
    ...readRetention(read, environment),
    addressRatePerSecond: readRate('RATE_LIMIT_PER_ADDRESS', environment, mode === 'live' ? LIVE_ADDRESS_RATE : 0),
    keyRatePerSecond: readRate('RATE_LIMIT_PER_KEY', environment, mode === 'live' ? LIVE_KEY_RATE : 0),
    overloadDelayMilliseconds: readOverloadDelay(read('OVERLOAD_DELAY_MILLISECONDS')),
    trustedProxies: readProxies(read('TRUSTED_PROXIES')),
    publicUrl: readPublicUrl(environment.PUBLIC_URL?.trim() ?? ''),
    webhookAllowedNetworks: readNetworks(environment, mode === 'sandbox' && loopbackOnly ? LOOPBACK : []),
    webhookCa: readCertificates(read('WEBHOOK_CA')),
    webhookKeys: readWebhookKeys(webhookKey),
    webhookKeyFile: webhookKey.file,
    metricsPort: read('METRICS_PORT') === '' ? null : readPort('METRICS_PORT', read('METRICS_PORT')),
    metricsHost: readHost('METRICS_HOST', read('METRICS_HOST')),
    logLevel: oneOf('LOG_LEVEL', read('LOG_LEVEL'), LOG_LEVELS),
    logFormat: oneOf('LOG_FORMAT', read('LOG_FORMAT'), LOG_FORMATS),
    requestLog: oneOf('REQUEST_LOG', read('REQUEST_LOG'), REQUEST_LOGS),
    traces: readTraces(read),
  };
  if (mode === 'live' && !environment.SUPPORT_CONTACT?.trim()) {
    throw new StartupProblem(
      'invalid-setting',
      'SUPPORT_CONTACT is not set. Live mode quotes it in error messages: set it to how customers can reach support.',
    );
  }
  if (mode === 'live' && environment.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw new StartupProblem(
      'invalid-setting',
      'NODE_TLS_REJECT_UNAUTHORIZED is 0, so the identity of the database is not verified. Unset it in live mode.',
    );
  }
  return configuration;
}

type Retention = Pick<
  Configuration,
  | 'errorRetentionDays'
  | 'eventRetentionDays'
  | 'errorCountRetentionDays'
  | 'attemptRetentionDays'
  | 'refusedKeyRetentionDays'
>;

/** For how many days things are stored. */
function readRetention(
  read: (name: (typeof SETTINGS)[number]['name']) => string,
  environment: NodeJS.ProcessEnv,
): Retention {
  const days = (name: (typeof SETTINGS)[number]['name'], min: number): number => readDays(name, read(name), min);
  const errorRetentionDays = days('ERROR_RETENTION_DAYS', 1);
  const hasOwn = Boolean(environment.ERROR_COUNT_RETENTION_DAYS?.trim());
  return {
    errorRetentionDays,
    eventRetentionDays: days('EVENT_RETENTION_DAYS', MIN_EVENT_RETENTION_DAYS),
    errorCountRetentionDays: hasOwn ? days('ERROR_COUNT_RETENTION_DAYS', 1) : errorRetentionDays,
    attemptRetentionDays: days('WEBHOOK_ATTEMPT_RETENTION_DAYS', 1),
    refusedKeyRetentionDays: days('REFUSED_KEY_RETENTION_DAYS', MIN_KEY_RETENTION_DAYS),
  };
}

/** Reads the data directory only, which works even when other settings are invalid. */
export function readDataDirectory(
  environment: NodeJS.ProcessEnv = process.env,
): Pick<Configuration, 'dataDirectory' | 'dataDirectoryOrigin'> {
  const set = environment.DATA_DIR?.trim();
  if (!set) {
    const dataDirectoryOrigin = `DATA_DIR is not set, so it is ${DEFAULT_DATA_DIRECTORY} in the working directory`;
    return { dataDirectory: resolve(DEFAULT_DATA_DIRECTORY), dataDirectoryOrigin };
  }
  return { dataDirectory: resolve(set), dataDirectoryOrigin: `DATA_DIR is ${quoted(set)}` };
}

/**
 * Opens something of a library that reads variables of the environment by itself, beside what it is given: those whose
 * names begin with the prefix are not there meanwhile, so that only the settings above decide.
 */
export function withoutVariables<T>(prefix: string, open: () => T): T {
  const hidden = Object.entries(process.env).filter(([name]) => name.startsWith(prefix));
  for (const [name] of hidden) delete process.env[name];
  try {
    return open();
  } finally {
    Object.assign(process.env, Object.fromEntries(hidden));
  }
}

/** A password in any other setting could be printed, or quoted in responses. */
function refuseCredentials(environment: NodeJS.ProcessEnv): void {
  for (const { name, purpose } of SETTINGS) {
    if (name === 'DATABASE_URL' || !holdsUrlCredentials(environment[name] ?? '')) continue;
    throw new StartupProblem(
      'invalid-setting',
      `${name} is not shown because it looks like a URL with a user name or a password. ` +
        `Only DATABASE_URL may contain one. Purpose of ${name}: ${purpose}.`,
    );
  }
}
