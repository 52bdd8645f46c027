import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { StartupProblem } from './startup-problem.ts';
import { holdsUrlCredentials, shownDatabaseUrl, withoutUrlCredentials } from './url-credentials.ts';
import { findNetworkProblem } from './webhooks/networks.ts';

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
  /** The schema that contains the tables. */
  readonly databaseSchema: string;
  /** Maximum connections of this process to PostgreSQL. */
  readonly databaseConnections: number;
  /** Absolute path of the directory of the embedded PostgreSQL. */
  readonly dataDirectory: string;
  /** Where that path comes from, for messages: a wrong one is often a missing or mistyped setting. */
  readonly dataDirectoryOrigin: string;
  readonly supportContact: string;
  /** Days after which errors are removed from the error log. */
  readonly errorRetentionDays: number;
  /** Days after which events are removed. */
  readonly eventRetentionDays: number;
  /** Requests per second from one address, and with one key, on average; 0 is unlimited. */
  readonly addressRatePerSecond: number;
  readonly keyRatePerSecond: number;
  /** Number of proxies in front of the service whose X-Forwarded-For entries are trusted. */
  readonly trustedProxies: number;
  /** Addresses and networks that webhooks may be sent to besides those of the internet. */
  readonly webhookAllowedNetworks: readonly string[];
  /** Certificates in PEM that webhooks trust besides the usual ones, and their file; null if there are none. */
  readonly webhookCa: { readonly path: string; readonly certificates: string } | null;
  /** The keys that encrypt the secrets of webhooks, the current one first; null for one in the data directory. */
  readonly webhookKeys: readonly Buffer[] | null;
  readonly logLevel: LogLevel;
};

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** How much is logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];

const DEFAULT_DATA_DIRECTORY = './data';

/** Responses to idempotency keys are stored in their events, and a replay is exact for so many days. */
const MIN_EVENT_RETENTION_DAYS = 31;

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
    name: 'TRUSTED_PROXIES',
    fallback: '0',
    purpose: "number of proxies in front of the service that append the caller's address to X-Forwarded-For, 0 to 10",
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
  { name: 'LOG_LEVEL', fallback: 'info', purpose: LOG_LEVELS.join(', ') },
] as const;

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
  const mode = oneOf('MODE', read('MODE'), ['sandbox', 'live'] as const);
  const hosts = environment.HOST?.trim() ? [readHost(environment.HOST.trim())] : ['127.0.0.1', '::1'];
  const loopbackOnly = hosts.every(isLoopback);
  const configuration: Configuration = {
    mode,
    hosts,
    port: readPort(read('PORT')),
    loopbackOnly,
    databaseUrl: readDatabaseUrl(read('DATABASE_URL')),
    databaseSchema: readSchema(read('DATABASE_SCHEMA')),
    databaseConnections: readConnections(read('DATABASE_CONNECTIONS')),
    ...readDataDirectory(environment),
    supportContact: read('SUPPORT_CONTACT'),
    errorRetentionDays: readDays('ERROR_RETENTION_DAYS', read('ERROR_RETENTION_DAYS'), 1),
    eventRetentionDays: readDays('EVENT_RETENTION_DAYS', read('EVENT_RETENTION_DAYS'), MIN_EVENT_RETENTION_DAYS),
    addressRatePerSecond: readRate('RATE_LIMIT_PER_ADDRESS', environment, mode === 'live' ? LIVE_ADDRESS_RATE : 0),
    keyRatePerSecond: readRate('RATE_LIMIT_PER_KEY', environment, mode === 'live' ? LIVE_KEY_RATE : 0),
    trustedProxies: readProxies(read('TRUSTED_PROXIES')),
    webhookAllowedNetworks: readNetworks(environment, mode === 'sandbox' && loopbackOnly ? LOOPBACK : []),
    webhookCa: readCertificates(read('WEBHOOK_CA')),
    webhookKeys: readWebhookKeys(environment.WEBHOOK_KEY?.trim() ?? ''),
    logLevel: oneOf('LOG_LEVEL', read('LOG_LEVEL'), LOG_LEVELS),
  };
  if (mode === 'live' && !environment.SUPPORT_CONTACT?.trim()) {
    throw new StartupProblem(
      'SUPPORT_CONTACT is not set. Live mode quotes it in error messages: set it to how customers can reach support.',
    );
  }
  if (mode === 'live' && environment.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw new StartupProblem(
      'NODE_TLS_REJECT_UNAUTHORIZED is 0, so the identity of the database is not verified. Unset it in live mode.',
    );
  }
  return configuration;
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

/** The settings in force, one `NAME=value` a line, without passwords. */
export function showConfiguration(configuration: Configuration): string {
  return [
    `MODE=${configuration.mode}`,
    `HOST=${configuration.hosts.join(' ')}`,
    `PORT=${configuration.port}`,
    `DATABASE_URL=${configuration.databaseUrl === null ? '(embedded PostgreSQL)' : shownDatabaseUrl(configuration.databaseUrl)}`,
    `DATABASE_SCHEMA=${configuration.databaseSchema}`,
    `DATABASE_CONNECTIONS=${configuration.databaseConnections}`,
    `DATA_DIR=${withoutUrlCredentials(configuration.dataDirectory)}`,
    `SUPPORT_CONTACT=${withoutUrlCredentials(configuration.supportContact)}`,
    `ERROR_RETENTION_DAYS=${configuration.errorRetentionDays}`,
    `EVENT_RETENTION_DAYS=${configuration.eventRetentionDays}`,
    `RATE_LIMIT_PER_ADDRESS=${configuration.addressRatePerSecond}`,
    `RATE_LIMIT_PER_KEY=${configuration.keyRatePerSecond}`,
    `TRUSTED_PROXIES=${configuration.trustedProxies}`,
    `WEBHOOK_ALLOWED_NETWORKS=${configuration.webhookAllowedNetworks.join(',')}`,
    `WEBHOOK_CA=${configuration.webhookCa === null ? '' : withoutUrlCredentials(configuration.webhookCa.path)}`,
    `WEBHOOK_KEY=${configuration.webhookKeys === null ? '(in DATA_DIR)' : '(set)'}`,
    `LOG_LEVEL=${configuration.logLevel}`,
  ].join('\n');
}

/** A password in any other setting could be printed, or quoted in responses. */
function refuseCredentials(environment: NodeJS.ProcessEnv): void {
  for (const { name, purpose } of SETTINGS) {
    if (name === 'DATABASE_URL' || !holdsUrlCredentials(environment[name] ?? '')) continue;
    throw new StartupProblem(
      `${name} is not shown because it looks like a URL with a user name or a password. ` +
        `Only DATABASE_URL may contain one. Purpose of ${name}: ${purpose}.`,
    );
  }
}

/** A value for a message; one that could contain a URL with a password is not shown. */
function quoted(value: string): string {
  return /^[^@]{0,80}$/.test(value) && !value.includes('://') ? `'${value}'` : 'set to a value that is not shown here';
}

function oneOf<Name extends string>(setting: string, value: string, allowed: readonly Name[]): Name {
  const found = allowed.find((name) => name === value);
  if (found !== undefined) return found;
  throw new StartupProblem(`${setting} is ${quoted(value)}, but it must be one of: ${allowed.join(', ')}.`);
}

function readPort(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65535) return port;
  throw new StartupProblem(`PORT is ${quoted(text)}, but it must be a number from 0 to 65535.`);
}

function readDays(setting: string, text: string, min: number): number {
  const days = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  if (days >= min && days <= 3650) return days;
  throw new StartupProblem(`${setting} is ${quoted(text)}, but it must be a number of days from ${min} to 3650.`);
}

function readConnections(text: string): number {
  const connections = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (connections >= 6 && connections <= 200) return connections;
  throw new StartupProblem(
    `DATABASE_CONNECTIONS is ${quoted(text)}, but it must be a number of connections from 6 to 200.`,
  );
}

function readRate(setting: string, environment: NodeJS.ProcessEnv, fallback: number): number {
  const text = environment[setting]?.trim() ?? '';
  if (text === '') return fallback;
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  throw new StartupProblem(
    `${setting} is ${quoted(text)}, but it must be a number of requests per second from 1 to 999999, or 0 for no limit.`,
  );
}

function readProxies(text: string): number {
  const proxies = /^[0-9]{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (proxies <= 10) return proxies;
  throw new StartupProblem(`TRUSTED_PROXIES is ${quoted(text)}, but it must be a number of proxies from 0 to 10.`);
}

function readNetworks(environment: NodeJS.ProcessEnv, fallback: readonly string[]): readonly string[] {
  const text = environment.WEBHOOK_ALLOWED_NETWORKS?.trim() ?? '';
  if (text === '') return fallback;
  const networks = text.split(',').map((network) => network.trim());
  for (const network of networks) {
    const problem = findNetworkProblem(network);
    if (problem === undefined) continue;
    throw new StartupProblem(
      `WEBHOOK_ALLOWED_NETWORKS is ${quoted(text)}, but ${quoted(network)} ${problem}. ` +
        'Separate addresses and networks with commas.',
    );
  }
  return networks;
}

function readCertificates(text: string): Configuration['webhookCa'] {
  if (text === '') return null;
  const path = resolve(text);
  const found = `WEBHOOK_CA is ${quoted(text)}`;
  let certificates: string;
  try {
    certificates = readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartupProblem(`${found}, but that file cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
  const blocks = certificates.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? [];
  if (blocks.length > 0 && blocks.every(isCertificate)) return { path, certificates: blocks.join('\n') };
  throw new StartupProblem(`${found}, but that file does not contain valid certificates in PEM format.`);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** The message does not quote the keys. */
function readWebhookKeys(text: string): readonly Buffer[] | null {
  if (text === '') return null;
  const keys = text.split(',').map((key) => key.trim());
  if (keys.length <= 2 && keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))) {
    return keys.map((key) => Buffer.from(key, 'base64'));
  }
  throw new StartupProblem(
    'WEBHOOK_KEY must be 32 bytes in Base64, as "openssl rand -base64 32" prints them, or two such keys with a comma between them.',
  );
}

function readHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 || /^[a-zA-Z0-9.-]+$/.test(host)) return host;
  throw new StartupProblem(`HOST is ${quoted(text)}, but it must be an address such as 127.0.0.1 or a host name.`);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** `requireSafeConnection` of open-database.ts checks whether the connection is safe. */
function readDatabaseUrl(text: string): string | null {
  if (text === '') return null;
  if (/^postgres(ql)?:\/\//.test(text)) return text;
  throw new StartupProblem(
    'DATABASE_URL must be a URL that begins with postgresql://, such as postgresql://localhost:5432/ledger.',
  );
}

/**
 * Only names that need no quotes in SQL: a quoted name with capitals would differ from the one that people create without
 * quotes. PostgreSQL reserves `pg_` and `information_schema`.
 */
function readSchema(text: string): string {
  const isPlain = /^[a-z_][a-z0-9_]{0,62}$/.test(text);
  if (isPlain && !text.startsWith('pg_') && text !== 'information_schema') return text;
  throw new StartupProblem(
    `DATABASE_SCHEMA is ${quoted(text)}, but it must be 1 to 63 lower-case letters, digits and underscores. ` +
      'It must not begin with a digit or with pg_, and information_schema is reserved.',
  );
}
