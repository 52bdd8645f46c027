import { isIP } from 'node:net';
import pg from 'pg';
import type { ConnectionSettings } from './connections.ts';
import { HostListProblem, readHostList } from './hosts/host-list.ts';

/** The values of `sslmode` that require TLS. With other values, the server may refuse TLS. */
const REQUIRES_TLS = ['require', 'verify-ca', 'verify-full'];

/**
 * Returns the reason why the service must not connect to a database. Undefined if it may connect to every host of the address.
 * The sentence says what to set and repeats no part of the address. A private connection must be safe from eavesdropping and
 * impersonation: it must stay on the machine, or use TLS with a verified certificate.
 *
 * Only `pg` defines how it reads an address, its parameters, and PGHOST and PGSSLMODE for missing parts. So this function
 * creates a client that never connects. Throws the error of `pg` for an address that `pg` cannot read.
 */
export function findConnectionProblem(settings: ConnectionSettings, mustBePrivate: boolean): string | undefined {
  if (!('connectionString' in settings)) return findHostProblem(settings, mustBePrivate);
  try {
    const { urls } = readHostList(settings.connectionString);
    const problems = urls.map((connectionString) => findHostProblem({ connectionString }, mustBePrivate));
    return problems.find((problem) => problem !== undefined);
  } catch (error) {
    if (error instanceof HostListProblem) return error.message;
    throw error;
  }
}

function findHostProblem(settings: ConnectionSettings, mustBePrivate: boolean): string | undefined {
  const client = new pg.Client(settings);
  // PostgreSQL would quote the database's name in an error, and it may be the end of a password that was cut at a '/'. If the
  // address names no database, `pg` uses the user's name.
  if (client.database?.includes('@') && client.database !== client.user) {
    return 'DATABASE_URL has an @ in the name of the database. In a user name or a password, write @ as %40 and / as %2F.';
  }
  if (client.host.includes(',')) {
    return 'PGHOST names several hosts. Name them in DATABASE_URL, as in postgresql://user@host1,host2/database.';
  }
  if (!mustBePrivate) return undefined;
  const parameters = 'connectionString' in settings ? parametersOf(settings.connectionString) : new URLSearchParams();
  const names = [...parameters.keys()];
  if (new Set(names).size < names.length) {
    return 'DATABASE_URL has a parameter, such as host or sslmode, more than once. Keep only one of them.';
  }
  if (parameters.get('host') === '') {
    return 'DATABASE_URL has an empty parameter host. Remove it, or set it to the host of the database.';
  }
  if (isOfThisMachine(client.host)) return undefined;
  // May be a boolean, options of Node's TLS, or a string that `pg` did not understand. The types of `pg` allow only the boolean.
  const tls: unknown = client.ssl;
  const mode = parameters.get('sslmode');
  const isEncrypted = tls === true || (typeof tls === 'object' && tls !== null);
  if (!isEncrypted || (mode !== null && !REQUIRES_TLS.includes(mode) && mode !== 'no-verify')) {
    return (
      'DATABASE_URL (or PGHOST, if it names no host) names a database on another machine but does not require that ' +
      'the connection be encrypted. ' +
      'Add sslmode=verify-full to it, such as postgresql://user@host/database?sslmode=verify-full.'
    );
  }
  if (checksCertificate(tls)) return undefined;
  return (
    'The connection of DATABASE_URL would be encrypted, but the certificate of the database would not be verified. ' +
    'Set sslmode=verify-full in it, or sslmode=require without uselibpqcompat.'
  );
}

/** Returns the parameters as written. `pg` keeps only the last one of each name. */
function parametersOf(connectionString: string): URLSearchParams {
  const [address = ''] = connectionString.split('#', 1);
  const start = address.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : address.slice(start + 1));
}

function isOfThisMachine(host: string): boolean {
  // A path refers to a socket.
  if (host.startsWith('/') || host.toLowerCase() === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

function checksCertificate(tls: true | object): boolean {
  return tls === true || !('rejectUnauthorized' in tls) || tls.rejectUnauthorized === true;
}
