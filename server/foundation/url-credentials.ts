import { REDACTED } from '../../domain/cards/card-number.ts';

// Handles passwords in URLs. They are often not percent-encoded, so everything from the :// to the last @ counts as user name and
// password.

/** Maximum number of characters from the :// to the @. There is a limit because text from callers is searched too. */
const MAX_USER_INFO_LENGTH = 1_000;

/** An http URL with a complete host. If an @ follows, it belongs to the path or to the surrounding text. */
const PLAIN_HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?[/?#\s,;)]/i;

const HOST = String.raw`(?:[\w.%-]*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?`;

/** A database URL that is unambiguous: the user, the password, the rest of the address, the parameters. */
const WELL_FORMED = new RegExp(
  String.raw`^(postgres(?:ql)?:\/\/)(?:([\w.-]*)(:[^@:/?#\s]*)?@)?(${HOST}(?:,${HOST})*(?:\/[\w.%-]*)?)(?:\?([^?#@\s]*))?$`,
  'i',
);

/** Removes the user names and passwords of URLs from some text, so that it is safe to print. */
export function withoutUrlCredentials(text: string): string {
  return text.includes('://') && text.includes('@') ? hide(text, MAX_USER_INFO_LENGTH) : text;
}

/** Returns whether the value of a setting can contain the user name or password of a URL. A database URL always can. */
export function holdsUrlCredentials(value: string): boolean {
  if (/postgres(?:ql)?:/i.test(value) || /:\/\/.*[?&]\w*password=/is.test(value)) return true;
  const line = value.replaceAll('\n', ' ');
  return hide(line, line.length) !== line;
}

/** Returns a database URL without its password. A malformed URL is not shown, because its password cannot be located. */
export function shownDatabaseUrl(url: string): string {
  const found = WELL_FORMED.exec(url);
  if (found === null) return 'postgresql://*** (not shown, since it is not well-formed)';
  const [, scheme = '', user, password, address = '', parameters] = found;
  const userInfo = user === undefined ? '' : `${user}${password === undefined ? '' : ':***'}@`;
  return `${scheme}${userInfo}${address}${parameters === undefined ? '' : `?${shownParameters(parameters)}`}`;
}

function shownParameters(parameters: string): string {
  // A percent-encoded name could be the name of any parameter, so it is not shown.
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

/** Hides everything between a :// and the last @ of its line, which is at most `most` characters away. */
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

/**
 * Returns whether the text after a scheme has no user name: it is the address of a page, or a file in a stack trace. An
 * @ in it may be part of a package name.
 */
function isPlain(scheme: string, rest: string): boolean {
  if (/(?:^|[^a-z])https?$/i.test(scheme)) return PLAIN_HOST.test(rest);
  return /(?:^|[^a-z])file$/i.test(scheme) && rest.startsWith('/');
}
