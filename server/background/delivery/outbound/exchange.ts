/**
 * Reads an answer no further than `maxReadBytes`, which ends its connection, and gives the text of at most `maxKeptBytes`
 * that it begins with.
 */
export async function readStart(
  answer: AsyncIterable<Buffer>,
  maxReadBytes: number,
  maxKeptBytes: number,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= maxReadBytes) break;
  }
  // PostgreSQL stores no NUL. What replaces it, and what is not UTF-8, is longer: so the text is cut once more.
  const text = decodeStart(Buffer.concat(chunks), maxKeptBytes).replaceAll('\0', '\uFFFD');
  return decodeStart(Buffer.from(text), maxKeptBytes);
}

/** Decodes the first bytes, without a character that their end cuts off. */
function decodeStart(bytes: Uint8Array, maxBytes: number): string {
  return new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
}

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
