/**
 * Returns what `JSON.parse` returns by its standard. V8 12.9 to 14.6 (Node 23 to 26.10) gives a name with an escape
 * sequence another name if an earlier text had one that begins with the same characters: after `{"X":1,"\\":2}` it
 * reads the name `"` in `{"X":1,"\"":2}` as a backslash (nodejs/node issue 63785). Here each such name is read alone.
 *
 * Unlike the reader of requests it refuses nothing that `JSON.parse` accepts: text that is stored has to stay readable.
 *
 * @throws {SyntaxError} The text is not JSON.
 */
export function parseJson(text: string): unknown {
  // A single search, because almost no text has an escape.
  if (!text.includes('\\')) return JSON.parse(text);
  const names = new Map<string, string>();
  const plain = withStandIns(text, names);
  return names.size === 0 ? JSON.parse(text) : withNames(JSON.parse(plain), names);
}

/** Stand-ins for names begin with it. It is for private use, so hardly any name does. */
const MARK = '\ue000';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The text with a stand-in for each name that has an escape, or begins like a stand-in. `names` gets the name of each. */
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

/** The index after the quote that ends the string, or the end of the text if none does. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

/** Whether a colon follows. Then the string that ends there is a name. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at += 1;
  return text.charAt(at) === ':';
}

function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withNames(item, names));
  // Also makes a member of __proto__, which an assignment would not.
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [names.get(name) ?? name, withNames(member, names)]),
  );
}
