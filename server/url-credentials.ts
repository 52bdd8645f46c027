import { REDACTED } from '../domain/card-number.ts';

// Passwords in URLs, as settings and messages hold them. Whoever writes one by hand escapes it seldom, so what follows
// the :// counts as user name and password up to the last @, whatever stands between.

/** Within one line and a bound, since it looks through texts that callers send. */
const USER_INFO = /([a-z]*):\/\/([^\n]{0,1000})@/gi;
const USER_INFO_OF_SETTING = /([a-z]*):\/\/(.*)@/gis;

/** The address of a page with a whole host: an @ further on belongs to its path, or to the sentence around it. */
const PLAIN_HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?[/?#\s,;)]/i;

/** A URL in which nothing is left to guess: the user, its password, the rest of the address, the parameters. */
const WELL_FORMED =
  /^(postgres(?:ql)?:\/\/)(?:([\w.-]*)(:[^@:/?#\s]*)?@)?((?:[\w.%-]*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?:\/[\w.%-]*)?)(?:\?([^?#@\s]*))?$/i;

/** Text without the user names and passwords of the URLs in it, fit to be printed. */
export function withoutUrlCredentials(text: string): string {
  return text.includes('://') && text.includes('@') ? hide(text, USER_INFO) : text;
}

/** Whether the value of a setting may hold the user name or the password of a URL; the address of a database always may. */
export function holdsUrlCredentials(value: string): boolean {
  if (/postgres(?:ql)?:/i.test(value) || /:\/\/.*[?&]\w*password=/is.test(value)) return true;
  return hide(value, USER_INFO_OF_SETTING) !== value;
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

function hide(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (_, scheme: string, rest: string) => {
    const isPage = /^https?$/i.test(scheme) && PLAIN_HOST.test(rest);
    // Stacks name files, and a package may have an @ in its name.
    const isFile = /^file$/i.test(scheme) && rest.startsWith('/');
    return isPage || isFile ? `${scheme}://${hide(`${rest}@`, pattern)}` : `${scheme}://${REDACTED}@`;
  });
}
