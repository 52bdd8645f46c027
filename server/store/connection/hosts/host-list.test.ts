import pg from 'pg';
import { expect, test } from 'vitest';
import { HostListProblem, readHostList, withHosts } from './host-list.ts';

/** Returns the address and user that `pg` would use for each host. */
function placesOf(url: string): readonly string[] {
  return readHostList(url).urls.map((connectionString) => {
    const { host, port, user, password, database } = new pg.Client({ connectionString });
    return `${user}:${password} ${host} ${port} ${database}`;
  });
}

test.each<[string, readonly string[]]>([
  ['postgresql://u:p@h1:5433,h2:5434,h3/db', ['u:p h1 5433 db', 'u:p h2 5434 db', 'u:p h3 5432 db']],
  ['postgres://u:p@h1,h2:5434/db?sslmode=disable', ['u:p h1 5432 db', 'u:p h2 5434 db']],
  [
    'postgresql://u:p@[::1]:5433,[fe80::1],127.0.0.1:5434/db',
    ['u:p ::1 5433 db', 'u:p fe80::1 5432 db', 'u:p 127.0.0.1 5434 db'],
  ],
  ['postgresql://u:p@%2Frun%2Fone,%2Frun%2Ftwo:5433/db', ['u:p /run/one 5432 db', 'u:p /run/two 5433 db']],
  ['postgresql://u:p@/db?host=/run/one,h2', ['u:p /run/one 5432 db', 'u:p h2 5432 db']],
  ['postgresql://u:p@/db?host=h1,h2&port=5433,5434', ['u:p h1 5433 db', 'u:p h2 5434 db']],
  ['postgresql://u:p@/db?host=h1,::1&port=5433,', ['u:p h1 5433 db', 'u:p ::1 5432 db']],
  ['postgresql://u:p@h1,h2/db?port=5433', ['u:p h1 5433 db', 'u:p h2 5433 db']],
  ['postgresql://u:p@ignored/db?host=h1,h2', ['u:p h1 5432 db', 'u:p h2 5432 db']],
  ['postgresql://u:p%2Cq%40r%2Fs@h1,h2/db', ['u:p,q@r/s h1 5432 db', 'u:p,q@r/s h2 5432 db']],
  ['postgresql://u:p,q@h1,h2/db', ['u:p,q h1 5432 db', 'u:p,q h2 5432 db']],
])('reads each host of %s with its user, port and database', (url, expected) => {
  expect(placesOf(url)).toEqual(expected);
  expect(readHostList(url).mustWrite).toBe(true);
});

test('keeps the other parameters unchanged', () => {
  const { urls } = readHostList(
    'postgresql://u@h1,h2/db?sslrootcert=/a%2Cb&target_session_attrs=read-write&application_name=x',
  );
  expect(urls).toEqual([
    'postgresql://u@/db?host=h1&sslrootcert=/a%2Cb&application_name=x',
    'postgresql://u@/db?host=h2&sslrootcert=/a%2Cb&application_name=x',
  ]);
});

test.each([
  [
    'postgresql://u:p%40q@h1:5434/db?sslmode=require&target_session_attrs=any',
    'postgresql://u:p%40q@/db?host=h3&port=5435&sslmode=require',
  ],
  ['postgresql://u:p@/db?host=/run/one,h2&port=5433', 'postgresql://u:p@/db?host=h3&port=5435'],
])('replaces the host of %s', (url, expected) => {
  expect(withHosts(url, [{ host: 'h3', port: 5435 }])).toBe(expected);
  expect(placesOf(expected)).toEqual([expect.stringMatching(/ h3 5435 db$/)]);
});

test('writes several hosts into a URL', () => {
  const url = withHosts('postgresql://u:p@h1/db', [
    { host: 'h3', port: 5435 },
    { host: '/run/four', port: 5436 },
  ]);
  expect(placesOf(url)).toEqual(['u:p h3 5435 db', 'u:p /run/four 5436 db']);
  expect(readHostList(url).mustWrite).toBe(true);
});

test.each<[string, boolean]>([
  ['postgresql://u:p@h1:5432/db', false],
  ['postgresql://u:p,q@h1/db', false],
  ['postgresql:///db', false],
  ['postgresql://h1/db?target_session_attrs=any', false],
  ['postgresql://h1,h2/db?host=/run', false],
  ['postgresql://h1/db?target_session_attrs=read-write', true],
  ['postgresql://h1/db?target_session_attrs=primary', true],
])('uses %s unchanged', (url, mustWrite) => {
  expect(readHostList(url)).toEqual({ urls: [url], mustWrite });
});

test.each<[string, string]>([
  ['postgresql://h1,h2/db?target_session_attrs=any', 'could lead to a standby'],
  ['postgresql://h1/db?target_session_attrs=standby', 'could lead to a standby'],
  ['postgresql://h1,h2/db?target_session_attrs=read-only', 'could lead to a standby'],
  ['postgresql://h1,h2/db?target_session_attrs=prefer-standby', 'could lead to a standby'],
  ['postgresql://h1,h2/db?target_session_attrs=geheim', 'not a value that PostgreSQL accepts'],
  ['postgresql://u:geheim@h1,,h2/db', 'one of them cannot be read'],
  ['postgresql://u:geheim,/more@h1/db', 'one of them cannot be read'],
  ['postgresql://u:geheim@h1,h2%/db', 'one of them cannot be read'],
  ['postgresql://u:geheim@h1,[h2]/db', 'one of them cannot be read'],
  ['postgresql://u:geheim@h1:0,h2/db', 'a number from 1 to 65535'],
  ['postgresql://u:geheim@h1,h2:65536/db', 'a number from 1 to 65535'],
  ['postgresql://u:geheim@h1,h2,h3/db?port=1,2', 'does not have one port for each host'],
  ['postgresql://u:geheim@/db?host=h1,h2&port=x', 'a number from 1 to 65535'],
  ['postgresql://u:geheim@/db?host=h1,h2&host=h3,h4', 'Keep one of each'],
  ['postgresql://u:geheim@/db?host=h1,', 'one of them cannot be read'],
])('refuses %s', (url, sentence) => {
  expect(() => readHostList(url)).toThrow(HostListProblem);
  expect(() => readHostList(url)).toThrow(sentence);
  expect(() => readHostList(url)).not.toThrow('geheim');
});
