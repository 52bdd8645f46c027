import { Agent, type ClientRequest, type IncomingHttpHeaders, request } from 'node:http';
import type { Socket } from 'node:net';

/** A request. Only the headers that HTTP/1.1 requires are added. */
export type RawRequest = {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON without a Content-Type. A string is sent unchanged. */
  readonly body?: object | string | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type RawResponse = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The fields of the body in order, or none if it is not a JSON object. */
  readonly fields: Readonly<Record<string, unknown>>;
};

/** Thrown if no complete response arrived. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
  /** Whether the connection failed, so that the request was never sent. */
  readonly isRefused: boolean;
  /** How long the connection had been idle since its last response, or undefined on a new connection. */
  readonly idleMilliseconds: number | undefined;

  constructor(cause: Error, idleMilliseconds: number | undefined) {
    super(`no complete response: ${cause.message}`, { cause });
    this.isRefused = Reflect.get(cause, 'syscall') === 'connect';
    this.idleMilliseconds = idleMilliseconds;
  }

  /** Whether the connection had carried another request before. */
  get isReused(): boolean {
    return this.idleMilliseconds !== undefined;
  }
}

/** The time of each connection's last response. The connection has been idle since then. */
const idleSince = new WeakMap<Socket, number>();

const TRANSFER_PATH = '/api/v0.1/core/transfer';

/** The service ends every request within 6 s by its own clock, but a busy machine is slower. */
const TIMEOUT_MILLISECONDS = 120_000;

/** Sends one request, by default to create_transfer. Rejects with {@link NoResponse}. */
export function sendRaw(baseUrl: string, raw: RawRequest, agent?: Agent): Promise<RawResponse> {
  const { method = 'POST', path = TRANSFER_PATH, headers = {}, body, signal } = raw;
  const content = typeof body === 'object' ? JSON.stringify(body) : body;
  return new Promise((resolve, reject) => {
    const length = content === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(content)) };
    let socket: Socket | undefined;
    let idleMilliseconds: number | undefined;
    const fail = (error: Error): void => reject(new NoResponse(error, idleMilliseconds));
    const sent: ClientRequest = request(
      `${baseUrl}${path}`,
      {
        method,
        headers: { ...length, ...headers },
        timeout: TIMEOUT_MILLISECONDS,
        ...(agent === undefined ? {} : { agent }),
        ...(signal === undefined ? {} : { signal }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () => {
          if (!response.complete) return fail(new Error('the response was cut short'));
          if (socket !== undefined) idleSince.set(socket, performance.now());
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            fields: fieldsOf(text),
          });
        });
      },
    );
    sent.on('socket', (assigned) => {
      socket = assigned;
      const since = idleSince.get(assigned);
      if (since !== undefined) idleMilliseconds = performance.now() - since;
    });
    sent.on('timeout', () => sent.destroy(new Error('no response at all')));
    sent.on('error', fail);
    sent.end(content);
  });
}

/** Returns the fields of a JSON object, or no fields for anything else. */
export function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/**
 * Closes an idle connection after this time, or earlier if the service asks for it. Node closes it a second before the
 * timeout in `Keep-Alive`, but only if the agent has a timeout. The value must differ from the requests' timeout.
 * Otherwise, Node would keep the idle timeout for the next request.
 */
const MAX_IDLE_MILLISECONDS = 60_000;

/**
 * Creates an agent that keeps connections alive, for callers with many requests. The agent stops using a connection
 * shortly before its timeout.
 */
export function keptConnections(maxConnections: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: maxConnections, timeout: MAX_IDLE_MILLISECONDS });
}
