import { OPERATIONS, type OperationId } from '../../sdk/client.ts';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { newIdempotencyKey } from './client.ts';

/** The response that a sandbox was asked for. */
export type Provoked = {
  readonly status: number;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  /** The headers about the error, as lines. */
  readonly headers: readonly string[];
  readonly body: string;
};

/** The headers that integrators handle. */
const SHOWN = [
  'Error-Code',
  'Should-Retry',
  'Retry-After',
  'Money-Moved',
  'Transfer-Id',
  'Error-Field',
  'Allow',
  'Link',
];

/** Asks a sandbox to respond to an operation with an error. The request is not processed, so nothing in it has to exist. */
export async function provoke(
  operation: OperationId,
  provocation: string,
  programId: string | undefined,
): Promise<Provoked> {
  const { method, path, idempotency, program } = OPERATIONS[operation];
  const headers = new Headers({ Console: '1', 'Sandbox-Provoke': provocation });
  if (idempotency !== 'none') headers.set('Idempotency-Key', newIdempotencyKey());
  if (program && programId !== undefined) headers.set('Program-Id', programId);
  const url = path.replaceAll(/\{[a-z_]+\}/g, 'example');
  const response = await fetch(url, { method, headers, credentials: 'same-origin', cache: 'no-store' });
  const shown = SHOWN.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  return {
    status: response.status,
    code: response.headers.get('Error-Code') ?? undefined,
    requestId: response.headers.get('Request-Id') ?? undefined,
    headers: shown,
    body: pretty(await response.text()),
  };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(parseJson(text), null, 2);
  } catch {
    return text;
  }
}
