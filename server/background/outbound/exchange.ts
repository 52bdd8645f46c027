/**
 * Reads an answer up to `maxReadBytes`; a longer one is cut off by closing its connection. Returns the beginning of its text,
 * at most `maxKeptBytes`.
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
  // PostgreSQL cannot store NUL. The replacements of it, and of what is not UTF-8, are longer, so the text is truncated again.
  const text = decodeStart(Buffer.concat(chunks), maxKeptBytes).replaceAll('\0', '\uFFFD');
  return decodeStart(Buffer.from(text), maxKeptBytes);
}

/** Decodes the first bytes, without a character that is cut off at their end. */
function decodeStart(bytes: Uint8Array, maxBytes: number): string {
  return new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
}

/** Headers that determine where a request goes and where it ends. */
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
