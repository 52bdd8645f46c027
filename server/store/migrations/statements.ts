/**
 * The statements of a text of SQL, in order, without comments and semicolons. Ignores semicolons and dashes in quoted names,
 * string literals and dollar quotes.
 */
export function splitStatements(text: string): readonly string[] {
  const statements: string[] = [];
  let statement = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === ';') {
      statements.push(statement);
      statement = '';
    } else statement += /^(--|\/\*)/.test(token) ? ' ' : token;
  }
  return [...statements, statement].map((one) => one.trim()).filter((one) => one !== '');
}

/** Comments, literals and quoted names as a whole, everything else character by character. Bodies in `E'…'` may escape quotes. */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?\*\/|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]*)\$[\s\S]*?\$\1\$|[\s\S]/g;

const CONCURRENT_CREATION =
  /^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?([a-z_][a-z0-9_]*)\s+on\s+([a-z_][a-z0-9_]*)/i;

/** The index and the table of a `create index concurrently`, or undefined for any other statement. */
export function concurrentIndexOf(statement: string): { readonly index: string; readonly table: string } | undefined {
  const [, index, table] = CONCURRENT_CREATION.exec(statement) ?? [];
  return index === undefined || table === undefined ? undefined : { index, table };
}
