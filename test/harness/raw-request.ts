import { Agent, type ClientRequest, type IncomingHttpHeaders, request } from 'node:http';

/** One request as bytes would have it: nothing is added but what HTTP/1.1 demands. */
export type RawRequest = {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON, without a label; a string as it is. */
  readonly body?: object | string | undefined;
};

/** An answer as it came. */
export type RawAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The members of the body, in their order; none when it is no JSON object. */
  readonly members: Readonly<Record<string, unknown>>;
};

/** There was no whole answer. */
export class Silence extends Error {
  override readonly name = 'Silence';
  /** Whether the request was never sent: nobody listened, or the door closed before the connection was made. */
  readonly isRefused: boolean;
  /** Whether it was sent on a connection that had served others before. */
  readonly isReused: boolean;

  constructor(cause: Error, isReused: boolean) {
    super(`no whole answer: ${cause.message}`, { cause });
    this.isRefused = Reflect.get(cause, 'syscall') === 'connect';
    this.isReused = isReused;
  }
}

const TRANSFER_PATH = '/api/v0.1/core/transfer';

/** No answer takes longer: the service ends every request within 6 s of its own time, and a busy machine is slow. */
const SILENCE = 120_000;

/** Sends one request, by default to create_transfer. Rejects with {@link Silence} when there is no whole answer. */
export function sendRaw(baseUrl: string, raw: RawRequest, agent?: Agent): Promise<RawAnswer> {
  const { method = 'POST', path = TRANSFER_PATH, headers = {}, body } = raw;
  const content = typeof body === 'object' ? JSON.stringify(body) : body;
  return new Promise((resolve, reject) => {
    const length = content === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(content)) };
    const fail = (error: Error): void => reject(new Silence(error, sent.reusedSocket));
    const sent: ClientRequest = request(
      `${baseUrl}${path}`,
      { method, headers: { ...length, ...headers }, timeout: SILENCE, ...(agent === undefined ? {} : { agent }) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () => {
          if (!response.complete) return fail(new Error('the answer was cut short'));
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            members: membersOf(text),
          });
        });
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer at all')));
    sent.on('error', fail);
    sent.end(content);
  });
}

/** Members of a JSON object. */
export function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Connections that are kept, for callers that send a lot. */
export function keptConnections(most: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: most });
}
