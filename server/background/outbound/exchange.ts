/** The body of an answer. */
export type ReadBody = {
  /** The beginning of its text, at most `maxKeptBytes`, as PostgreSQL can store it. */
  readonly bodyStart: string;
  /** All of its bytes, or null if they are more than `maxKeptBytes`. */
  readonly body: Buffer | null;
};

/** Reads the body of an answer up to `maxReadBytes`; a longer one is cut off by closing its connection. */
export async function readBody(
  answer: AsyncIterable<Buffer>,
  maxReadBytes: number,
  maxKeptBytes: number,
): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let isWhole = true;
  for await (const chunk of answer) {
    chunks.push(chunk);
    bytes += chunk.length;
    isWhole = bytes < maxReadBytes;
    if (!isWhole) break;
  }
  const read = Buffer.concat(chunks);
  // PostgreSQL cannot store NUL. The replacements of it, and of what is not UTF-8, are longer, so the text is truncated again.
  const text = decodeStart(read, maxKeptBytes).replaceAll('\0', '\uFFFD');
  const body = isWhole && bytes <= maxKeptBytes ? read : null;
  return { bodyStart: decodeStart(Buffer.from(text), maxKeptBytes), body };
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
