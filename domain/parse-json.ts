/**
 * Parses JSON as the standard defines `JSON.parse`. V8 12.9 to 14.6 (Node 23 to 26.10) can misread a name with an escape
 * sequence, if JSON that was parsed earlier had a name that begins with the same characters. After `{"X":1,"\\":2}` it reads the
 * name `"` in `{"X":1,"\"":2}` as a backslash (nodejs/node issue 63785). This function reads each such name alone.
 *
 * Unlike the reader of requests, it refuses nothing that `JSON.parse` accepts, because stored text has to stay readable.
 *
 * @throws {SyntaxError} The text is not JSON.
 */
export function parseJson(text: string): unknown {
  // A single search, because escapes are very rare.
  if (!text.includes('\\')) return JSON.parse(text);
  const names = new Map<string, string>();
  const plain = withStandIns(text, names);
  return names.size === 0 ? JSON.parse(text) : withNames(JSON.parse(plain), names);
}

/** The first character of stand-ins for names. Unicode reserves it for private use, so names hardly ever begin with it. */
const MARK = '\ue000';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Replaces each name that has an escape, or begins like a stand-in, by a stand-in. `names` receives the name of each. */
function withStandIns(text: string, names: Map<string, string>): string {
  let plain = '';
  let copied = 0;
  for (let start = text.indexOf('"'); start !== -1; ) {
    const end = endOfString(text, start);
    const string = text.slice(start, end);
    if ((string.includes('\\') || string.startsWith(MARK, 1)) && isName(text, end)) {
      const standIn = `${MARK}${names.size}`;
      names.set(standIn, JSON.parse(string));
      plain += `${text.slice(copied, start)}"${standIn}"`;
      copied = end;
    }
    start = text.indexOf('"', end);
  }
  return plain + text.slice(copied);
}

/** The index after the quote that ends the string, or the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

/** Whether a colon follows. The string that ends there is then a name. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at += 1;
  return text.charAt(at) === ':';
}

function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withNames(item, names));
  // Also creates a member __proto__, unlike an assignment.
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [names.get(name) ?? name, withNames(member, names)]),
  );
}
