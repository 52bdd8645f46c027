import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { signWebhook } from '../../sdk/webhook-signature.ts';

export type Call = 'send' | 'inquire' | 'reverse';

export type Order = {
  readonly attempt_id: string;
  readonly program_id: string;
  readonly transfer_id: string;
  readonly kind: 'push' | 'pull';
  readonly amount: number;
  readonly currency: string;
  readonly processor_token: string;
  readonly not_after: string;
  readonly repeat: boolean;
  readonly sandbox_behavior: string | null;
};

export type Returned = {
  /** The HTTP status; undefined if no complete answer arrived. */
  readonly status: number | undefined;
  /** The body, or the reason why there was no answer. */
  readonly text: string;
  /** The body, if it is a JSON object. */
  readonly record: Readonly<Record<string, unknown>> | undefined;
};

/** Signs a request. `text` is its method, path and body. The default signs as the contract demands. */
export type Signing = (id: string, text: string, secret: string) => Promise<Readonly<Record<string, string>>>;

/** The service reads at most this much of an answer. */
const MAX_ANSWER_BYTES = 65_536;
/** The service waits this long. If the answer comes later, the outcome is unknown to the service. */
const TIMEOUT_MILLISECONDS = 10_000;

export const signed: Signing = async (id, text, secret) => ({ ...(await signWebhook({ id, body: text }, secret)) });

/** Version v2 of signatures: as for webhooks, but the signed text begins with the method and the path. */
async function headersOf(signing: Signing, line: string, body: string, secret: string) {
  const headers = await signing(newId('msg'), `${line}.${body}`, secret);
  const { 'webhook-signature': signature } = headers;
  return signature === undefined ? headers : { ...headers, 'webhook-signature': signature.replaceAll('v1,', 'v2,') };
}

export type Adapter = {
  /** Makes a call. An object is sent as JSON, and a text unchanged. */
  readonly call: (call: Call, body: object | string, signing?: Signing) => Promise<Returned>;
  readonly health: () => Promise<Returned>;
};

/** Returns the adapter at a base URL. Like the service, it opens a separate connection for each request. */
export function adapterAt(url: string, secret: string, timeoutMilliseconds = TIMEOUT_MILLISECONDS): Adapter {
  const base = url.replace(/\/+$/, '');
  return {
    call: async (call, given, signing = signed) => {
      const body = typeof given === 'string' ? given : JSON.stringify(given);
      const headers = {
        'content-type': 'application/json',
        ...(await headersOf(signing, `POST /${call}`, body, secret)),
      };
      return send({ method: 'POST', url: `${base}/${call}`, headers, body, timeoutMilliseconds });
    },
    health: async () => {
      const headers = await headersOf(signed, 'GET /health', '', secret);
      return send({ method: 'GET', url: `${base}/health`, headers, timeoutMilliseconds });
    },
  };
}

/** A new id, such as `pat_` and 32 hexadecimal digits. */
export function newId(kind: string): string {
  return `${kind}_${crypto.randomUUID().replaceAll('-', '')}`;
}

type Outgoing = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMilliseconds: number;
};

function send({ method, url, headers, body, timeoutMilliseconds }: Outgoing): Promise<Returned> {
  const request = url.startsWith('https:') ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(timeoutMilliseconds);
    const fail = (error: Error): void => {
      const reason = signal.aborted
        ? `none within ${timeoutMilliseconds / 1000} seconds, the longest that the service waits`
        : error.message;
      resolve({ status: undefined, text: `no answer: ${reason}`, record: undefined });
    };
    const outgoing = request(url, { method, headers, agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('error', fail);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) outgoing.destroy(new Error(`more than ${MAX_ANSWER_BYTES} bytes`));
        else chunks.push(chunk);
      });
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode, text, record: recordIn(text) });
      });
    });
    outgoing.on('error', fail);
    outgoing.end(body);
  });
}

function recordIn(text: string): Returned['record'] {
  try {
    const value: unknown = parseJson(text);
    const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isRecord ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
