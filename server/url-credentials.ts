import { REDACTED } from '../domain/cards/card-number.ts';

// Passwords in URLs, as settings and messages hold them. Whoever writes one by hand escapes it seldom, so what follows
// the :// counts as user name and password up to the last @, whatever stands between.

/** Characters from the :// to the @, at most: the texts of callers are looked through, too. */
const USER_INFO_MOST = 1_000;

/** The address of a page with a whole host: an @ further on belongs to its path, or to the sentence around it. */
const PLAIN_HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?[/?#\s,;)]/i;

/** A URL in which nothing is left to guess: the user, its password, the rest of the address, the parameters. */
const WELL_FORMED =
  /^(postgres(?:ql)?:\/\/)(?:([\w.-]*)(:[^@:/?#\s]*)?@)?((?:[\w.%-]*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?:\/[\w.%-]*)?)(?:\?([^?#@\s]*))?$/i;

/** Text without the user names and passwords of the URLs in it, fit to be printed. */
export function withoutUrlCredentials(text: string): string {
  return text.includes('://') && text.includes('@') ? hide(text, USER_INFO_MOST) : text;
}

/** Whether the value of a setting may hold the user name or the password of a URL; the address of a database always may. */
export function holdsUrlCredentials(value: string): boolean {
  if (/postgres(?:ql)?:/i.test(value) || /:\/\/.*[?&]\w*password=/is.test(value)) return true;
  const line = value.replaceAll('\n', ' ');
  return hide(line, line.length) !== line;
}

/** The URL of a database without its password. One that is not well-formed is not shown: nobody knows where it stands. */
export function shownDatabaseUrl(url: string): string {
  const found = WELL_FORMED.exec(url);
  if (found === null) return 'postgresql://*** (not shown, since it is not well-formed)';
  const [, scheme = '', user, password, address = '', parameters] = found;
  const userInfo = user === undefined ? '' : `${user}${password === undefined ? '' : ':***'}@`;
  return `${scheme}${userInfo}${address}${parameters === undefined ? '' : `?${shownParameters(parameters)}`}`;
}

function shownParameters(parameters: string): string {
  // A name that is percent-encoded may be anything.
  const isShown = (name: string): boolean => /^\w+$/.test(name) && !/pass/i.test(name);
  return parameters
    .split('&')
    .map((parameter) => {
      const [name = '', value] = parameter.split('=', 2);
      if (value === undefined) return '***';
      return isShown(name) ? parameter : `${name}=***`;
    })
    .join('&');
}

/** Hides what stands between a :// and the last @ of its line, which is at most `most` characters away. */
function hide(text: string, most: number): string {
  let shown = '';
  let copied = 0;
  const last = text.lastIndexOf('@');
  for (let at = text.indexOf('://'); at !== -1 && at < last; at = text.indexOf('://', at + 1)) {
    const start = at + 3;
    const line = text.slice(start, start + most).split('\n', 1)[0] ?? '';
    const length = line.lastIndexOf('@');
    if (start < copied || length === -1 || isPlain(text.slice(Math.max(0, at - 6), at), line)) continue;
    shown += text.slice(copied, start) + REDACTED;
    copied = start + length;
  }
  return shown + text.slice(copied);
}

/** Whether what follows a scheme has no user: a page, or a file, as stacks name it; a package may have an @ in its name. */
function isPlain(scheme: string, rest: string): boolean {
  if (/(?:^|[^a-z])https?$/i.test(scheme)) return PLAIN_HOST.test(rest);
  return /(?:^|[^a-z])file$/i.test(scheme) && rest.startsWith('/');
}
