import type { ExampleRequest } from '../../contract/examples.ts';
import { RawConnection, type RawResponse } from '../harness/raw-connection.ts';

/** A request in the form that `send` accepts. A header can occur twice. */
export type RequestSpec = {
  readonly method: string;
  readonly path: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
};

/** Returns the bytes of a request. Adds `Host` and the length of the body if they are missing. */
export function bytesOf({ method, path, headers = [], body }: RequestSpec): string {
  const isCounted = body === undefined || headers.some(([name]) => name === 'Content-Length');
  const length: readonly (readonly [string, string])[] = isCounted
    ? []
    : [['Content-Length', String(Buffer.byteLength(body, 'latin1'))]];
  const lines = [['Host', 'localhost'] as const, ...headers, ...length].map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** Builds a request from an example of the contract, with additional headers. */
export function toRequest(example: ExampleRequest, more: Readonly<Record<string, string>> = {}): RequestSpec {
  const { method, path, body } = example;
  const headers = Object.entries({ ...example.headers, ...more });
  return { method, path, headers, ...(body === undefined ? {} : { body }) };
}

export async function send(url: string, request: RequestSpec): Promise<RawResponse> {
  const connection = await RawConnection.open(Number(new URL(url).port));
  try {
    connection.send(bytesOf(request));
    return await connection.next(request.method);
  } finally {
    connection.close();
  }
}

/** Sends requests in sequence, on one connection as long as the service keeps it open. Returns the responses. */
export async function sendAll(url: string, requests: readonly RequestSpec[]): Promise<readonly RawResponse[]> {
  const open = (): Promise<RawConnection> => RawConnection.open(Number(new URL(url).port));
  const responses: RawResponse[] = [];
  let connection = await open();
  try {
    for (const request of requests) {
      if (responses.at(-1)?.headers.get('connection') === 'close') {
        connection.close();
        connection = await open();
      }
      connection.send(bytesOf(request));
      responses.push(await connection.next(request.method));
    }
    return responses;
  } finally {
    connection.close();
  }
}
