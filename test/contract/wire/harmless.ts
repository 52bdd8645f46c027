import type { Random } from '../../harness/random.ts';
import { bare, type Draft } from './draft.ts';

/** A change to a request. `apply` returns false if the change does not fit the request. */
export type Change = { readonly name: string; readonly apply: (made: Draft, random: Random) => boolean };

const hasBody = ({ members }: Draft): boolean => members !== undefined;
const header = (name: string, ...values: string[]): Change => ({
  name: `header ${name}`,
  apply: ({ headers }, random) => {
    headers.push([name, random.pick(values)]);
    return true;
  },
});

/** Returns whether a draft already has a header. Sending a header twice would be a fault. */
function has({ headers }: Draft, name: string): boolean {
  return headers.some(([sent]) => sent.toLowerCase() === name);
}

function find({ headers }: Draft, name: string): [string, string] | undefined {
  return headers.find(([sent]) => sent.toLowerCase() === name);
}

function relabel(made: Draft, value: string | undefined): boolean {
  if (!hasBody(made)) return false;
  made.headers = made.headers.filter(([name]) => name.toLowerCase() !== 'content-type');
  if (value !== undefined) made.headers.push(['Content-Type', value]);
  return true;
}

/** Changes that ordinary clients make. They must not change the response. */
export const HARMLESS: readonly Change[] = [
  {
    name: 'white space',
    apply: (made, random) => {
      const blank = () => random.pick(['', ' ', '\n  ', '\r\n', '\t']);
      Object.assign(made, {
        open: `${blank()}{${blank()}`,
        comma: `${blank()},${blank()}`,
        close: `${blank()}}${blank()}`,
      });
      made.colon = `${blank()}:${blank()}`;
      return hasBody(made);
    },
  },
  {
    name: 'chunks',
    apply: (made) =>
      hasBody(made) && made.version === 'HTTP/1.1' && Object.assign(made, { isChunked: true }) !== undefined,
  },
  { name: 'no media type', apply: (made) => relabel(made, undefined) },
  { name: "curl's media type", apply: (made) => relabel(made, 'application/x-www-form-urlencoded') },
  {
    name: 'a charset',
    apply: (made, random) =>
      relabel(made, `application/json; charset=${random.pick(['utf-8', 'UTF-8', '"utf-8"', 'UTF8'])}`),
  },
  {
    name: 'a slash after the path',
    apply: (made) => {
      if (made.target.includes('?')) return false;
      made.target += '/';
      return true;
    },
  },
  {
    name: 'the path in absolute form',
    apply: (made) => {
      made.target = `http://localhost${made.target}`;
      return true;
    },
  },
  {
    name: 'an unknown query parameter',
    apply: (made) => {
      made.target += `${made.target.includes('?') ? '&' : '?'}trace=1`;
      return true;
    },
  },
  {
    name: 'an unknown member',
    apply: ({ operation, members }, random) => {
      const { body } = operation;
      if (body === undefined || body.additionalProperties !== undefined) return false;
      const name = random.pick(['note', 'x', '', 'constructor', 'toString', 'ключ', '🎁', '\u0001']);
      if (members?.some(([known]) => bare(known) === name) !== false) return false;
      members.push([name, random.pick(['1', 'null', '"x"', '{"a":[1,2,{}]}', '1e999', '"\\ud83c\\udf81"'])]);
      return true;
    },
  },
  {
    name: 'members in a different order',
    apply: ({ members }) => members !== undefined && members.reverse().length > 1,
  },
  {
    name: 'an amount as a string',
    apply: ({ members }) => {
      const amount = members?.find(([name]) => name === 'amount');
      if (amount === undefined) return false;
      amount[1] = `"${amount[1].replaceAll('"', '')}"`;
      return true;
    },
  },
  {
    name: 'escaped names',
    apply: ({ members }) => {
      for (const member of members ?? []) {
        if (/^[a-z_]+$/.test(member[0])) member[0] = `"${escaped(member[0])}"`;
      }
      return members !== undefined;
    },
  },
  {
    name: 'a byte order mark',
    apply: (made) => {
      if (!hasBody(made)) return false;
      made.patches.push((body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]));
      return true;
    },
  },
  {
    name: 'an optional member that is null',
    apply: ({ operation, method, members }) => {
      const { body } = operation;
      // In a merge patch, null removes a value.
      if (method === 'PATCH') return false;
      const optional = ['description', 'currency'].find(
        (name) =>
          Object.hasOwn(body?.properties ?? {}, name) &&
          body?.required?.includes(name) !== true &&
          !Object.hasOwn(body?.['x-if-omitted'] ?? {}, name) &&
          members?.some(([known]) => bare(known) === name) === false,
      );
      if (optional === undefined) return false;
      members?.push([optional, 'null']);
      return true;
    },
  },
  {
    name: 'header names in different case',
    apply: ({ headers }) => {
      for (const one of headers) one[0] = one[0].toUpperCase();
      return true;
    },
  },
  {
    name: 'a key as a quoted string',
    apply: (made) => {
      const key = find(made, 'idempotency-key');
      if (key === undefined || key[1].startsWith('"')) return false;
      key[1] = `"${key[1]}"`;
      return true;
    },
  },
  { name: '100-continue', apply: (made) => !has(made, 'expect') && made.headers.push(['Expect', '100-continue']) > 0 },
  header('Accept', 'application/json', 'text/html', '*/*'),
  header('User-Agent', 'fuzz', 'curl/8'),
  header('Connection', 'keep-alive'),
  header('X-Request', 'a', '%00', '\xe9'),
  {
    name: "the client's request id",
    apply: (made) => !has(made, 'request-id') && made.headers.push(['Request-Id', 'mine-1']) > 0,
  },
  {
    name: 'HTTP/1.0',
    apply: (made) => {
      // Over HTTP/1.0, the service cannot mark the end of an export.
      if (made.isChunked || made.operation.responses.get(200)?.content?.['text/csv'] !== undefined) return false;
      Object.assign(made, { version: 'HTTP/1.0', closes: true });
      return true;
    },
  },
  {
    name: 'a request to close the connection',
    apply: (made) => {
      if (has(made, 'connection')) return false;
      made.headers.push(['Connection', 'close']);
      made.closes = true;
      return true;
    },
  },
];

function escaped(name: string): string {
  const [first = ''] = name;
  return `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`;
}
