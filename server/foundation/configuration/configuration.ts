import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf, StartupProblem } from '../startup-problem.ts';
import { holdsUrlCredentials, withoutUrlCredentials } from '../url-credentials.ts';
import { type Earlier, fileSettingOf, LISTED_SETTINGS, SETTINGS, type Setting } from './settings.ts';
import { isLoopback, type Kind, quoted } from './values.ts';

type Settings = typeof SETTINGS;

type ValueOf<Row> =
  | (Row extends { readonly kind: Kind<infer Value> } ? Value : never)
  | (Row extends { readonly unset: (...earlier: never) => infer Value } ? Value : never);

type FieldsWith<Property extends keyof Setting, Value> = {
  [Field in keyof Settings]: Settings[Field] extends { readonly [Name in Property]: Value } ? Field : never;
}[keyof Settings];

/** The service's settings, read once from the environment. */
export type Configuration = { readonly [Field in keyof Settings]: ValueOf<Settings[Field]> } & {
  /** The absolute path of the file that a secret was read from. Null if it was not read from a file. */
  readonly [Field in FieldsWith<'mayBeInFile', true> as `${Field}File`]: string | null;
} & {
  readonly loopbackOnly: boolean;
  /** Where the path of the data directory comes from. Often, a wrong path is caused by a missing or mistyped setting. */
  readonly dataDirectoryOrigin: string;
};

/** The settings that the commands on the service's host may use. */
export type CommandConfiguration = Pick<
  Configuration,
  FieldsWith<'readBy', 'commands'> | 'loopbackOnly' | 'dataDirectoryOrigin'
>;

/** Reads the configuration. Throws a {@link StartupProblem} that names the invalid setting and its valid values. */
export function readConfiguration(environment: NodeJS.ProcessEnv = process.env): Configuration {
  refuseCredentials(environment);
  const read: Record<string, unknown> = {};
  for (const [field, setting] of Object.entries<Setting>(SETTINGS)) {
    const source = sourceOf(setting, environment);
    read[field] = readValue(setting, source, read as Earlier, environment);
    if (setting.mayBeInFile) read[`${field}File`] = source.file;
  }
  const values = read as Configuration;
  const { dataDirectoryOrigin } = readDataDirectory(environment);
  const configuration = { ...values, loopbackOnly: values.hosts.every(isLoopback), dataDirectoryOrigin };
  refuseTogether(configuration, environment);
  refuseIncompleteSignIn(configuration);
  return configuration;
}

/** The value of a setting as text (empty if it is not set), its name for messages, and the file that it was read from. */
type Source = { readonly text: string; readonly origin: string; readonly file: string | null };

/**
 * Returns the value of the variable. A secret may also be in the file that the variable with `_FILE` names. Containers and
 * systemd pass secrets as files, because the environment of a process can be seen more widely.
 */
function sourceOf(
  { name, mayBeInFile }: Pick<Setting, 'name' | 'mayBeInFile'>,
  environment: NodeJS.ProcessEnv,
): Source {
  const text = environment[name]?.trim() ?? '';
  const fileSetting = fileSettingOf(name);
  const path = mayBeInFile ? (environment[fileSetting]?.trim() ?? '') : '';
  if (path === '') return { text, origin: name, file: null };
  if (text !== '') throw invalid(`${name} and ${fileSetting} are both set. Unset one of them.`);
  return { text: readSecret(name, path), origin: `The content of ${fileSetting}`, file: resolve(path) };
}

/** Reads the file of a secret. Messages never quote it. */
function readSecret(name: string, path: string): string {
  const refuse = (problem: string, cause?: unknown): StartupProblem =>
    invalid(`${fileSettingOf(name)} is ${quoted(path)}, but that file ${problem}.`, cause);
  let content: string;
  try {
    content = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw refuse(`cannot be read: ${codeOf(error) ?? String(error)}`, error);
  }
  if (content === '') throw refuse('is empty');
  if (/[\r\n]/.test(content)) throw refuse(`must contain the ${name} on a single line`);
  return content;
}

function readValue(
  { kind, fallback, unset, isSecret }: Setting,
  { text, origin }: Source,
  earlier: Earlier,
  environment: NodeJS.ProcessEnv,
): unknown {
  if (text === '' && unset !== undefined) return unset(earlier);
  const refuse = (problem: string): StartupProblem => invalid(`${origin} is ${quoted(text)}, but ${problem}.`);
  const readVariable = (name: string): string => sourceOf({ name, mayBeInFile: true }, environment).text;
  const value = kind.parse(text || fallback, refuse, { mode: earlier.mode, readVariable });
  if (value !== undefined) return value;
  throw isSecret ? invalid(`${origin} must be ${kind.allowed}.`) : refuse(`it must be ${kind.allowed}`);
}

/** Refuses settings that are invalid in combination. */
function refuseTogether(
  { mode, backupDirectory, databaseUrl, databaseStandby }: Configuration,
  environment: NodeJS.ProcessEnv,
): void {
  if (databaseStandby === 'required' && databaseUrl === null) {
    throw invalid(
      "DATABASE_STANDBY is 'required', but DATABASE_URL is not set, and the embedded PostgreSQL has no standby. " +
        'Set DATABASE_URL, or unset DATABASE_STANDBY.',
    );
  }
  if (backupDirectory !== null && databaseUrl !== null) {
    throw new StartupProblem(
      'backup-of-own-database',
      `BACKUP_DIR is ${quoted(environment.BACKUP_DIR?.trim() ?? '')}, but DATABASE_URL is set as well, and the service backs up only its embedded PostgreSQL. ` +
        'Unset BACKUP_DIR, and back up that database with pgBackRest as the guide "Backups" describes.',
    );
  }
  if (mode === 'live' && !environment.SUPPORT_CONTACT?.trim()) {
    throw invalid(
      'SUPPORT_CONTACT is not set. Live mode quotes it in error messages: set it to how customers can reach support.',
    );
  }
  if (mode === 'live' && environment.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw invalid(
      'NODE_TLS_REJECT_UNAUTHORIZED is 0, so the identity of the database is not verified. Unset it in live mode.',
    );
  }
}

/** Refuses an OpenID provider without the other settings that it needs, and those other settings without a provider. */
function refuseIncompleteSignIn(configuration: Configuration): void {
  const { oidcIssuer, publicUrl } = configuration;
  const needed = ['oidcClientId', 'oidcClientSecret', 'oidcRoles'] as const;
  const namesOf = (fields: readonly (keyof typeof SETTINGS)[]): string =>
    fields.map((field) => SETTINGS[field].name).join(', ');
  if (oidcIssuer === null) {
    const set = namesOf((['oidcName', ...needed] as const).filter((field) => configuration[field] !== null));
    if (set === '') return;
    throw invalid(
      `OIDC_ISSUER is not set, but these settings are: ${set}. Set it to the issuer of the OpenID provider, or unset them.`,
    );
  }
  const missing = namesOf(needed.filter((field) => configuration[field] === null));
  if (missing !== '' || publicUrl === null) {
    const all = [...(missing === '' ? [] : [missing]), ...(publicUrl === null ? [SETTINGS.publicUrl.name] : [])];
    throw invalid(`OIDC_ISSUER is set, so these settings must be set too: ${all.join(', ')}.`);
  }
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'https:' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'))) return;
  throw invalid(
    `PUBLIC_URL is ${quoted(publicUrl)}, but sign-in with an OpenID provider needs HTTPS: sessions are refused in clear text.`,
  );
}

/** Reads only the data directory. This works even if other settings are invalid. */
export function readDataDirectory(
  environment: NodeJS.ProcessEnv = process.env,
): Pick<Configuration, 'dataDirectory' | 'dataDirectoryOrigin'> {
  const { name, fallback } = SETTINGS.dataDirectory;
  const set = environment[name]?.trim();
  if (!set) {
    const dataDirectoryOrigin = `${name} is not set, so it is ${fallback} in the working directory`;
    return { dataDirectory: resolve(fallback), dataDirectoryOrigin };
  }
  return { dataDirectory: resolve(set), dataDirectoryOrigin: `${name} is ${quoted(set)}` };
}

/** Hides the variables with this prefix while `open` runs, because some libraries read environment variables themselves. */
export function withoutVariables<T>(prefix: string, open: () => T): T {
  const hidden = Object.entries(process.env).filter(([name]) => name.startsWith(prefix));
  for (const [name] of hidden) delete process.env[name];
  try {
    return open();
  } finally {
    Object.assign(process.env, Object.fromEntries(hidden));
  }
}

/** Refuses credentials in settings that are not for credentials, because their values could be printed, or quoted in responses. */
function refuseCredentials(environment: NodeJS.ProcessEnv): void {
  const { name: allowed } = SETTINGS.databaseUrl;
  for (const { name, purpose } of LISTED_SETTINGS) {
    if (name === allowed || !holdsUrlCredentials(environment[name] ?? '')) continue;
    throw invalid(
      `${name} is not shown because it looks like a URL with a user name or a password. ` +
        `Only ${allowed} may contain one. Purpose of ${name}: ${purpose}.`,
    );
  }
}

function invalid(message: string, cause?: unknown): StartupProblem {
  return new StartupProblem('invalid-setting', message, { cause });
}

/** Returns the current settings without secrets, one `NAME=value` per line. */
export function showConfiguration(configuration: Configuration): string {
  const values: Readonly<Record<string, unknown>> = configuration;
  return Object.entries<Setting>(SETTINGS)
    .flatMap(([field, setting]) => {
      const line = `${setting.name}=${shown(setting, values[field])}`;
      return setting.mayBeInFile ? [line, `${fileSettingOf(setting.name)}=${asSet(values[`${field}File`])}`] : [line];
    })
    .join('\n');
}

function shown({ isSecret, show }: Setting, value: unknown): string {
  if (show !== undefined) return show(value as never);
  return isSecret ? hidden(value) : asSet(value);
}

function hidden(value: unknown): string {
  return value === null ? '' : '(set)';
}

function asSet(value: unknown): string {
  return value === null ? '' : withoutUrlCredentials(String(value));
}
