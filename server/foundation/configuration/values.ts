import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { findNetworkProblem } from '../networks.ts';
import { codeOf, StartupProblem } from '../startup-problem.ts';

/** Certificates in PEM format, and the file that they are from. */
export type Certificates = { readonly path: string; readonly certificates: string };

/** The value of a secret setting, empty if it is not set; how messages name it; and the file that it is from. */
export type Secret = { readonly value: string; readonly origin: string; readonly file: string | null };

/**
 * A secret from the variable of its name, or from the file that the variable with `_FILE` names: containers and systemd
 * give secrets as files, since the environment of a process is seen by more programs. No message quotes a content.
 */
export function readSecret(name: 'DATABASE_URL' | 'WEBHOOK_KEY', environment: NodeJS.ProcessEnv): Secret {
  const value = environment[name]?.trim() ?? '';
  const path = environment[`${name}_FILE`]?.trim() ?? '';
  if (path === '') return { value, origin: name, file: null };
  if (value !== '') {
    throw new StartupProblem('invalid-setting', `${name} and ${name}_FILE are both set. Unset one of them.`);
  }
  const refuse = (problem: string, cause?: unknown): StartupProblem =>
    new StartupProblem('invalid-setting', `${name}_FILE is ${quoted(path)}, but that file ${problem}.`, { cause });
  let content: string;
  try {
    content = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw refuse(`cannot be read: ${codeOf(error) ?? String(error)}`, error);
  }
  if (content === '') throw refuse('is empty');
  if (/[\r\n]/.test(content)) throw refuse(`must contain the ${name} on a single line`);
  return { value: content, origin: `The content of ${name}_FILE`, file: resolve(path) };
}

/** A value for a message; one that could contain a URL with a password is not shown. */
export function quoted(value: string): string {
  return /^[^@]{0,80}$/.test(value) && !value.includes('://') ? `'${value}'` : 'set to a value that is not shown here';
}

/** One of the allowed values of a setting. */
export function oneOf<Name extends string>(setting: string, value: string, allowed: readonly Name[]): Name {
  const found = allowed.find((name) => name === value);
  if (found !== undefined) return found;
  throw new StartupProblem(
    'invalid-setting',
    `${setting} is ${quoted(value)}, but it must be one of: ${allowed.join(', ')}.`,
  );
}

/** The port to listen on. */
export function readPort(setting: string, text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65535) return port;
  throw new StartupProblem(
    'invalid-setting',
    `${setting} is ${quoted(text)}, but it must be a number from 0 to 65535.`,
  );
}

/** A number of days, from `min` to 3650. */
export function readDays(setting: string, text: string, min: number): number {
  const days = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  if (days >= min && days <= 3650) return days;
  throw new StartupProblem(
    'invalid-setting',
    `${setting} is ${quoted(text)}, but it must be a number of days from ${min} to 3650.`,
  );
}

/** The number of database connections, 6 to 200. */
export function readConnections(text: string): number {
  const connections = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (connections >= 6 && connections <= 200) return connections;
  throw new StartupProblem(
    'invalid-setting',
    `DATABASE_CONNECTIONS is ${quoted(text)}, but it must be a number of connections from 6 to 200.`,
  );
}

/** A rate limit in requests per second; 0 is no limit. */
export function readRate(setting: string, environment: NodeJS.ProcessEnv, fallback: number): number {
  const text = environment[setting]?.trim() ?? '';
  if (text === '') return fallback;
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  throw new StartupProblem(
    'invalid-setting',
    `${setting} is ${quoted(text)}, but it must be a number of requests per second from 1 to 999999, or 0 for no limit.`,
  );
}

const LONGEST_OVERLOAD_DELAY_MILLISECONDS = 60_000;

/** The mean delay of the event loop above which requests are refused, in milliseconds; 0 is never. */
export function readOverloadDelay(text: string): number {
  const delay = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (delay <= LONGEST_OVERLOAD_DELAY_MILLISECONDS) return delay;
  throw new StartupProblem(
    'invalid-setting',
    `OVERLOAD_DELAY_MILLISECONDS is ${quoted(text)}, but it must be a number of milliseconds from 1 to 60000, or 0 to never refuse requests for the delay.`,
  );
}

/** The number of trusted proxies, 0 to 10. */
export function readProxies(text: string): number {
  const proxies = /^[0-9]{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (proxies <= 10) return proxies;
  throw new StartupProblem(
    'invalid-setting',
    `TRUSTED_PROXIES is ${quoted(text)}, but it must be a number of proxies from 0 to 10.`,
  );
}

/** The origin of a URL that callers use; null where none is set. The service has all of its host: a path would be lost. */
export function readPublicUrl(text: string): string | null {
  if (text === '') return null;
  const url = URL.parse(text);
  // A query or a fragment, even an empty one, is part of the whole, and so is a path.
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw new StartupProblem(
    'invalid-setting',
    `PUBLIC_URL is ${quoted(text)}, but it must be a URL of a scheme and a host only, such as https://transfers.example.com.`,
  );
}

/** Addresses and networks, separated by commas. */
export function readNetworks(environment: NodeJS.ProcessEnv, fallback: readonly string[]): readonly string[] {
  const text = environment.WEBHOOK_ALLOWED_NETWORKS?.trim() ?? '';
  if (text === '') return fallback;
  const networks = text.split(',').map((network) => network.trim());
  for (const network of networks) {
    const problem = findNetworkProblem(network);
    if (problem === undefined) continue;
    throw new StartupProblem(
      'invalid-setting',
      `WEBHOOK_ALLOWED_NETWORKS is ${quoted(text)}, but ${quoted(network)} ${problem}. ` +
        'Separate addresses and networks with commas.',
    );
  }
  return networks;
}

/** The certificates of a file in PEM format; null where no file is set. */
export function readCertificates(text: string): Certificates | null {
  if (text === '') return null;
  const path = resolve(text);
  const found = `WEBHOOK_CA is ${quoted(text)}`;
  let certificates: string;
  try {
    certificates = readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartupProblem(
      'invalid-setting',
      `${found}, but that file cannot be read: ${(error as NodeJS.ErrnoException).code}.`,
    );
  }
  const blocks = certificates.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? [];
  if (blocks.length > 0 && blocks.every(isCertificate)) return { path, certificates: blocks.join('\n') };
  throw new StartupProblem(
    'invalid-setting',
    `${found}, but that file does not contain valid certificates in PEM format.`,
  );
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** The message does not quote the keys. */
export function readWebhookKeys({ value: text, origin }: Secret): readonly Buffer[] | null {
  if (text === '') return null;
  const keys = text.split(',').map((key) => key.trim());
  if (keys.length <= 2 && keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))) {
    return keys.map((key) => Buffer.from(key, 'base64'));
  }
  throw new StartupProblem(
    'invalid-setting',
    `${origin} must be 32 bytes in Base64, as "openssl rand -base64 32" prints them, or two such keys with a comma between them.`,
  );
}

/** An address or a host name to listen on. */
export function readHost(setting: string, text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 || /^[a-zA-Z0-9.-]+$/.test(host)) return host;
  throw new StartupProblem(
    'invalid-setting',
    `${setting} is ${quoted(text)}, but it must be an address such as 127.0.0.1 or a host name.`,
  );
}

/** Whether only this machine can reach a host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** `requireSafeConnection` of open-database.ts checks whether the connection is safe. */
export function readDatabaseUrl({ value: text, origin }: Secret): string | null {
  if (text === '') return null;
  if (/^postgres(ql)?:\/\//.test(text)) return text;
  throw new StartupProblem(
    'invalid-setting',
    `${origin} must be a URL that begins with postgresql://, such as postgresql://localhost:5432/ledger.`,
  );
}

/**
 * Only names that need no quotes in SQL: a quoted name with capitals would differ from the one that people create without
 * quotes. PostgreSQL reserves `pg_` and `information_schema`.
 */
export function readSchema(text: string): string {
  const isPlain = /^[a-z_][a-z0-9_]{0,62}$/.test(text);
  if (isPlain && !text.startsWith('pg_') && text !== 'information_schema') return text;
  throw new StartupProblem(
    'invalid-setting',
    `DATABASE_SCHEMA is ${quoted(text)}, but it must be 1 to 63 lower-case letters, digits and underscores. ` +
      'It must not begin with a digit or with pg_, and information_schema is reserved.',
  );
}

/** The directory of backups; null for none. Only the embedded PostgreSQL is backed up by the service. */
export function readBackupDirectory(text: string, databaseUrl: string): string | null {
  if (text === '') return null;
  if (databaseUrl === '') return resolve(text);
  throw new StartupProblem(
    'backup-of-own-database',
    `BACKUP_DIR is ${quoted(text)}, but DATABASE_URL is set as well, and the service backs up only its embedded PostgreSQL. ` +
      'Unset BACKUP_DIR, and back up that database with pgBackRest as the guide "Backups" describes.',
  );
}
