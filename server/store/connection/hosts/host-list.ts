import { isIPv6 } from 'node:net';

// The hosts of DATABASE_URL in libpq's form, which `pg` cannot read: `h1:5432,h2/db` or `?host=h1,h2&port=5432,5433`, with
// `target_session_attrs`.

export type HostList = {
  /** For each host, the URL as if it named only this host. If the URL names one host or none, the URL itself. */
  readonly urls: readonly [string, ...string[]];
  /** Whether only a host that accepts writes may be used. */
  readonly mustWrite: boolean;
};

/** Thrown for a list of hosts that cannot be used. The message says what to set, and repeats no part of the address. */
export class HostListProblem extends Error {
  override readonly name = 'HostListProblem';
}

/** Splits a URL into scheme, user and hosts, path, and parameters. */
const PARTS = /^(postgres(?:ql)?:\/\/)([^/?#]*)([^?#]*)(?:\?([^#]*))?/;

/** The parameters that libpq reads as lists. All other parameters apply to all hosts. */
const OF_HOSTS: readonly string[] = ['host', 'port', 'target_session_attrs'];

const FORM =
  'Write postgresql://user@host1:5432,host2:5432/database, with an IPv6 address in brackets. ' +
  'In a user name or a password, write @ as %40, / as %2F and a comma as %2C.';

/**
 * Reads the hosts of a URL. Names, addresses and ports follow the rules of libpq: there is a port for each host, one for all hosts,
 * or none (5432). The parameters `host` and `port` take precedence. Throws {@link HostListProblem}.
 */
export function readHostList(url: string): HostList {
  const [, scheme = '', authority = '', path = '', query = ''] = PARTS.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  const userInfo = authority.slice(0, authority.lastIndexOf('@') + 1);
  const named = authority.slice(userInfo.length);
  const inParameter = parameters.getAll('host').at(-1) ?? '';
  const isList = (inParameter === '' ? named : inParameter).includes(',');
  const mustWrite = readTarget(parameters.getAll('target_session_attrs').at(-1), isList);
  if (!isList) return { urls: [url], mustWrite };
  if (OF_HOSTS.some((name) => parameters.getAll(name).length > 1)) {
    throw new HostListProblem(
      'DATABASE_URL names several hosts, and host, port or target_session_attrs more than once. Keep one of each.',
    );
  }
  const places = inParameter === '' ? named.split(',').map(readPlace) : placesOf(inParameter);
  const [first, ...more] = withPorts(places, parameters.get('port')).map((place) =>
    toUrl(`${scheme}${userInfo}${path}`, place, othersOf(query)),
  );
  if (first === undefined) throw new HostListProblem(FORM);
  return { urls: [first, ...more], mustWrite };
}

/** Returns a URL that names these hosts instead. If there are several, a host that accepts writes will be used. */
export function withHosts(url: string, hosts: readonly { readonly host: string; readonly port: number }[]): string {
  const [, scheme = '', authority = '', path = '', query = ''] = PARTS.exec(url) ?? [];
  const userInfo = authority.slice(0, authority.lastIndexOf('@') + 1);
  const place = { host: hosts.map(({ host }) => host).join(), port: hosts.map(({ port }) => port).join() };
  const target = hosts.length > 1 ? ['target_session_attrs=read-write'] : [];
  return toUrl(`${scheme}${userInfo}${path}`, place, [...othersOf(query), ...target]);
}

function othersOf(query: string): readonly string[] {
  const nameOf = (pair: string): string => [...new URLSearchParams(pair).keys()][0] ?? '';
  return query.split('&').filter((pair) => pair !== '' && !OF_HOSTS.includes(nameOf(pair)));
}

function toUrl(base: string, { host, port }: Place, others: readonly string[]): string {
  const own = new URLSearchParams({ host, ...(port === '' ? {} : { port }) });
  // A comma needs no escape, and the URL is easier to read without one.
  return `${base}?${[own.toString().replaceAll('%2C', ','), ...others].join('&')}`;
}

/**
 * Returns whether `target_session_attrs` requires a host that accepts writes. A value that requires a standby is refused, because
 * the service never reads money there.
 */
function readTarget(target: string | undefined, isList: boolean): boolean {
  switch (target) {
    case undefined:
      return isList;
    case 'read-write':
    case 'primary':
      return true;
    case 'any':
      if (!isList) return false;
      break;
    case 'read-only':
    case 'standby':
    case 'prefer-standby':
      break;
    default:
      throw new HostListProblem(
        'target_session_attrs of DATABASE_URL is not a value that PostgreSQL accepts. Set it to read-write, or remove it.',
      );
  }
  throw new HostListProblem(
    `target_session_attrs=${target} of DATABASE_URL could lead to a standby, which may lack or reorder what was committed: ` +
      'the service reads and moves money only where it can write. Set it to read-write, or remove it.',
  );
}

type Place = { readonly host: string; readonly port: string };

function readPlace(text: string): Place {
  const [, address, name = '', port = ''] = /^(?:\[([^\]]+)\]|([\w.%~-]+))(?::([0-9]*))?$/.exec(text) ?? [];
  if (address !== undefined && isIPv6(address.split('%', 1)[0] ?? '')) return { host: address, port };
  try {
    const host = decodeURIComponent(name);
    if (host !== '' && !host.includes('@')) return { host, port };
  } catch {
    // The string has a % that does not begin an escaped character.
  }
  throw new HostListProblem(`DATABASE_URL names several hosts, and one of them cannot be read. ${FORM}`);
}

function placesOf(list: string): readonly Place[] {
  return list.split(',').map((host) => {
    if (host !== '' && !/[@\s]/.test(host)) return { host, port: '' };
    throw new HostListProblem(
      `The parameter host of DATABASE_URL names several hosts, and one of them cannot be read. ${FORM}`,
    );
  });
}

function withPorts(places: readonly Place[], list: string | null): readonly Place[] {
  const ports = list?.split(',') ?? [];
  if (ports.length > 1 && ports.length !== places.length) {
    throw new HostListProblem(
      'The parameter port of DATABASE_URL does not have one port for each host. ' +
        'Write one for each host, or one for all.',
    );
  }
  const found = places.map(({ host, port }, index) => ({
    host,
    port: list === null ? port : ((ports.length === 1 ? ports[0] : ports[index]) ?? ''),
  }));
  if (found.every(({ port }) => port === '' || isPort(port))) return found;
  throw new HostListProblem('A port of DATABASE_URL is not a number from 1 to 65535.');
}

function isPort(text: string): boolean {
  return /^[0-9]{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}
