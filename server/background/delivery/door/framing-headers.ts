/** They say where a request goes and where it ends. */
const FRAMING_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers with their names in lower case, without those that a caller must not choose. */
export function withoutFraming(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(lower.filter(([name]) => !FRAMING_HEADERS.has(name)));
}
