import { isIP } from 'node:net';
import pg from 'pg';
import type { ConnectionSettings } from './connections.ts';

/** The values of `sslmode` that insist on TLS wherever they are understood; in others the server may talk it away. */
const INSISTS_ON_TLS = ['require', 'verify-ca', 'verify-full'];

/**
 * What stands against connecting to a database, in a sentence that says what to set and repeats nothing of the address;
 * undefined when nothing does. Where the connection must be private, nobody between here and the database may be able
 * to read along or to pass for it: the same machine, or TLS with a certificate that is checked.
 *
 * Only `pg` knows what it makes of an address, of its parameters, and of PGHOST and PGSSLMODE where the address is
 * silent. So a client of it is asked that would connect, and never does. Throws what `pg` throws when it cannot tell.
 */
export function findConnectionProblem(settings: ConnectionSettings, mustBePrivate: boolean): string | undefined {
  const client = new pg.Client(settings);
  // PostgreSQL would quote it: it may be the end of a password that was cut at a '/'. Where none is named it is the user.
  if (client.database?.includes('@') && client.database !== client.user) {
    return 'DATABASE_URL has an @ in the name of the database. In a user name or a password, write @ as %40 and / as %2F.';
  }
  if (!mustBePrivate) return undefined;
  const parameters = 'connectionString' in settings ? parametersOf(settings.connectionString) : new URLSearchParams();
  const names = [...parameters.keys()];
  if (new Set(names).size < names.length) {
    return 'DATABASE_URL has a parameter, such as host or sslmode, more than once, and only one can count. Leave one.';
  }
  if (parameters.get('host') === '') {
    return 'DATABASE_URL has an empty parameter host. Leave it out, or set it to where the database is.';
  }
  if (isOfThisMachine(client.host)) return undefined;
  // `pg` says whether, or gives options of Node's TLS, or a text it did not understand; its types know only the first.
  const tls: unknown = client.ssl;
  const mode = parameters.get('sslmode');
  const isEncrypted = tls === true || (typeof tls === 'object' && tls !== null);
  if (!isEncrypted || (mode !== null && !INSISTS_ON_TLS.includes(mode) && mode !== 'no-verify')) {
    return (
      'DATABASE_URL (or PGHOST, where it names no host) leads to a database on another machine and does not say that ' +
      'the connection is to be encrypted. ' +
      'Add sslmode=verify-full to it, such as postgresql://user@host/database?sslmode=verify-full.'
    );
  }
  if (checksCertificate(tls)) return undefined;
  return (
    'The connection of DATABASE_URL would be encrypted, but to anybody who passes for the database. ' +
    'Set sslmode=verify-full in it, or sslmode=require without uselibpqcompat.'
  );
}

/** The parameters as they were written; those of `pg` are the last of each name. */
function parametersOf(connectionString: string): URLSearchParams {
  const [address = ''] = connectionString.split('#', 1);
  const start = address.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : address.slice(start + 1));
}

function isOfThisMachine(host: string): boolean {
  // A path is that of a socket.
  if (host.startsWith('/') || host.toLowerCase() === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

function checksCertificate(tls: true | object): boolean {
  return tls === true || !('rejectUnauthorized' in tls) || tls.rejectUnauthorized === true;
}
