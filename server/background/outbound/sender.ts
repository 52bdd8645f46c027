import type { AddressRules } from '../../foundation/networks.ts';
import type { SendError } from './send-failure.ts';

export type SenderSettings = {
  readonly rules: AddressRules;
  /** Certificates in PEM that are trusted in addition to Node's (WEBHOOK_CA), or null. */
  readonly ca: string | null;
};

/** A request to send. The sender adds Host, Content-Length and Connection. */
export type Outgoing = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body. Empty for a GET. */
  readonly body: string;
  readonly signal?: AbortSignal;
  /**
   * Called right before the request is written. That may be long after the call of `send`. If it returns false, the request is
   * aborted.
   */
  readonly isWanted?: () => boolean;
};

export type Answer = { readonly milliseconds: number; readonly address: string | null } & (
  | ({
      readonly status: number;
      /** The Retry-After header, or null. */
      readonly retryAfter: string | null;
      readonly contentType: string | null;
      readonly date: string | null;
      readonly error: null;
    } & ReadBody)
  | {
      readonly error: SendError;
      readonly message: string;
      /** Whether a byte of the request may have left. False only if no byte was written to a connection. */
      readonly mayHaveLeft: boolean;
    }
);

export type Sender = {
  /** Sends a request and waits for the end of its answer. Follows no redirect and never rejects. */
  send(outgoing: Outgoing): Promise<Answer>;
  close(): void;
};

export type SendLimits = {
  /** Time limit for the look-up of the name, the connection and the TLS handshake together. */
  readonly connectTimeoutMilliseconds: number;
  /**
   * Time limit for the look-up of the second address family, once the look-up of the first (IPv4 or IPv6) has found addresses.
   * Some name servers never answer queries about IPv6.
   */
  readonly otherFamilyMilliseconds: number;
  /** Time limit from the call to the last byte of the answer. */
  readonly answerTimeoutMilliseconds: number;
  /** Maximum number of bytes of an answer that are read. At this size, the connection is closed. */
  readonly maxReadBytes: number;
  /** Maximum number of bytes of an answer that the caller gets. */
  readonly maxKeptBytes: number;
  /** Maximum age of a connection in use. It makes sure that changes of the name's addresses take effect. */
  readonly maxConnectionMilliseconds: number;
  readonly maxIdleMilliseconds: number;
  /**
   * Maximum number of idle connections to all hosts together, for each of HTTP and HTTPS. It leaves file descriptors for the
   * process's own callers. If it is 0, each request has a new connection and is never sent again. Otherwise, if the
   * other side has already closed an idle connection, the request is sent again on a new one.
   */
  readonly maxIdleConnections: number;
  /** The name servers. Null for the system's. */
  readonly nameServers: readonly string[] | null;
  /** How long the system's name servers are used before they are read again. */
  readonly maxResolverMilliseconds: number;
  readonly hostsFile: string;
};

export const SEND_LIMITS: SendLimits = {
  connectTimeoutMilliseconds: 5_000,
  // Equal to the timeout before a query is sent again.
  otherFamilyMilliseconds: 1_000,
  answerTimeoutMilliseconds: 15_000,
  maxReadBytes: 16_384,
  maxKeptBytes: 1_024,
  maxConnectionMilliseconds: 300_000,
  // Long enough for steady traffic. Servers may close idle connections sooner.
  maxIdleMilliseconds: 30_000,
  maxIdleConnections: 1_000,
  nameServers: null,
  maxResolverMilliseconds: 60_000,
  hostsFile: '/etc/hosts',
};

export type ReadBody = {
  /** The beginning of the body as text, at most `maxKeptBytes`, in a form that PostgreSQL can store. */
  readonly bodyStart: string;
  /** All bytes of the body. Null if there are more than `maxKeptBytes`. */
  readonly body: Buffer | null;
};

/** Reads the body of an answer up to `maxReadBytes`. If it is longer, closes the connection. */
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
  // PostgreSQL cannot store NUL. The replacements for NUL and invalid UTF-8 are longer, so the text is truncated again.
  const text = decodeStart(read, maxKeptBytes).replaceAll('\0', '\uFFFD');
  const body = isWhole && bytes <= maxKeptBytes ? read : null;
  return { bodyStart: decodeStart(Buffer.from(text), maxKeptBytes), body };
}

/** Decodes the first bytes. A character that is cut off at the end is omitted. */
function decodeStart(bytes: Uint8Array, maxBytes: number): string {
  return new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
}

/** Headers that determine the destination and the end of a request. */
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

/** Returns the headers with lower-case names, and without headers that a caller must not choose. */
export function withoutFraming(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(lower.filter(([name]) => !FRAMING_HEADERS.has(name)));
}
