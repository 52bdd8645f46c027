import type { AddressRules } from '../../foundation/networks.ts';
import type { SendError } from './send-failure.ts';

export type SenderSettings = {
  readonly rules: AddressRules;
  /** Certificates in PEM that are trusted in addition to Node's, or null: WEBHOOK_CA. */
  readonly ca: string | null;
};

/** A request to send. The sender adds Host, Content-Length and Connection. */
export type Outgoing = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for a GET. */
  readonly body: string;
  readonly signal?: AbortSignal;
  /** Called right before the request is written, which may be long after the call of `send`. False aborts it. */
  readonly isWanted?: () => boolean;
};

export type Answer = { readonly milliseconds: number; readonly address: string | null } & (
  | ({
      readonly status: number;
      /** The headers of these names, or null. */
      readonly retryAfter: string | null;
      readonly contentType: string | null;
      readonly date: string | null;
      readonly error: null;
    } & ReadBody)
  | {
      readonly error: SendError;
      readonly message: string;
      /** Whether a byte of the request may have left. False only if none was written to a connection. */
      readonly mayHaveLeft: boolean;
    }
);

export type Sender = {
  /** Sends a request and waits for the end of its answer. Follows no redirect and never rejects. */
  send(outgoing: Outgoing): Promise<Answer>;
  close(): void;
};

export type SendLimits = {
  /** For looking up the name, connecting and the TLS handshake together. */
  readonly connectTimeoutMilliseconds: number;
  /**
   * For the look-up of the other address family, IPv4 or IPv6, once there are addresses of one family. Some name servers
   * never answer queries about IPv6.
   */
  readonly otherFamilyMilliseconds: number;
  /** From the call to the last byte of the answer. */
  readonly answerTimeoutMilliseconds: number;
  /** Maximum bytes of an answer that are read. At this size, the connection closes. */
  readonly maxReadBytes: number;
  /** Maximum bytes of an answer that the caller gets. */
  readonly maxKeptBytes: number;
  /** Maximum age of a connection in use, so that a change of the name's addresses takes effect. */
  readonly maxConnectionMilliseconds: number;
  readonly maxIdleMilliseconds: number;
  /**
   * Over all hosts, for each of HTTP and HTTPS, because the process needs file descriptors for its own callers. With 0,
   * each request has a new connection and is never sent again. Otherwise, the other side may already have closed an idle
   * connection.
   */
  readonly maxIdleConnections: number;
  /** Name servers, or null for the system's. */
  readonly nameServers: readonly string[] | null;
  /** How long the system's name servers are used before they are read again. */
  readonly maxResolverMilliseconds: number;
  readonly hostsFile: string;
};

export const SEND_LIMITS: SendLimits = {
  connectTimeoutMilliseconds: 5_000,
  // Equals the timeout before a query is sent again.
  otherFamilyMilliseconds: 1_000,
  answerTimeoutMilliseconds: 15_000,
  maxReadBytes: 16_384,
  maxKeptBytes: 1_024,
  maxConnectionMilliseconds: 300_000,
  // Long enough for steady traffic. A server may close an idle connection sooner.
  maxIdleMilliseconds: 30_000,
  maxIdleConnections: 1_000,
  nameServers: null,
  maxResolverMilliseconds: 60_000,
  hostsFile: '/etc/hosts',
};

export type ReadBody = {
  /** The beginning of its text, at most `maxKeptBytes`, in a form that PostgreSQL can store. */
  readonly bodyStart: string;
  /** All of its bytes, or null if there are more than `maxKeptBytes`. */
  readonly body: Buffer | null;
};

/** Reads the body of an answer up to `maxReadBytes`. A longer one is cut off by closing its connection. */
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
  // PostgreSQL cannot store NUL. The replacements for NUL and for invalid UTF-8 are longer, so the text is truncated again.
  const text = decodeStart(read, maxKeptBytes).replaceAll('\0', '\uFFFD');
  const body = isWhole && bytes <= maxKeptBytes ? read : null;
  return { bodyStart: decodeStart(Buffer.from(text), maxKeptBytes), body };
}

/** Decodes the first bytes, without a character that is cut off at their end. */
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

/** Returns headers with lower-case names, without headers that a caller must not choose. */
export function withoutFraming(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(lower.filter(([name]) => !FRAMING_HEADERS.has(name)));
}
