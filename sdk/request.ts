import { movesMoney, OPERATIONS, type OperationId } from '../contract/operations.ts';
import { guardedMembers, isClosed } from '../contract/schema-parts.ts';
import { InvalidArgument } from './error.ts';

/** What can be said with every call. */
export type CallOptions = {
  /** The card program to act in, instead of the client's; an operator's key must name one. */
  readonly programId?: string | undefined;
  /** Your own name for the request; comes back as `Client-Request-Id`. To support, quote the request id of the answer. */
  readonly requestId?: string | undefined;
  /** Gives the call up. It then fails with a ConnectionFailure, because the service may have seen it already. */
  readonly signal?: AbortSignal | undefined;
};

/** What can be said with a call that takes an idempotency key. */
export type KeyedCallOptions = CallOptions & {
  /** 1 to 255 visible characters; generated if omitted, so that the client's own retries are safe. */
  readonly idempotencyKey?: string | undefined;
};

/** One call, before it is turned into HTTP. */
export type Asked = {
  /** Values of the path's parameters, by name. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: object | undefined;
  readonly body?: object | undefined;
  readonly options?: KeyedCallOptions | undefined;
};

/** One request, ready to be sent as often as it may be. */
export type PreparedRequest = {
  readonly operation: OperationId;
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Whether sending it twice does the same as sending it once. */
  readonly repeatable: boolean;
  readonly movesMoney: boolean;
  /** Whether the answer is a stream of comma-separated values instead of a record. */
  readonly isExport: boolean;
  readonly signal: AbortSignal | undefined;
};

/**
 * Turns a call into HTTP by the operation's line in the contract.
 * Throws {@link InvalidArgument} for what HTTP cannot carry; everything else is left to the service to judge.
 */
export function prepareRequest(
  client: { readonly baseUrl: string; readonly key: string | undefined; readonly programId: string | undefined },
  operation: OperationId,
  asked: Asked,
): PreparedRequest {
  const { method, path, idempotency, program, repeatable, csv } = OPERATIONS[operation];
  refuseUndefined(operation, asked.body ?? {});
  const options = asked.options ?? {};
  const idempotencyKey = idempotency === 'none' ? undefined : (options.idempotencyKey ?? newIdempotencyKey());
  const headers = new Headers({ accept: csv ? 'text/csv, application/json' : 'application/json' });
  if (client.key !== undefined) setHeader(headers, 'Authorization', `Bearer ${client.key}`, 'The API key');
  const programId = options.programId ?? client.programId;
  if (program && programId !== undefined) setHeader(headers, 'Program-Id', programId, 'programId');
  if (idempotencyKey !== undefined) setHeader(headers, 'Idempotency-Key', idempotencyKey, 'idempotencyKey');
  if (options.requestId !== undefined) setHeader(headers, 'Request-Id', options.requestId, 'requestId');
  if (asked.body !== undefined) headers.set('content-type', 'application/json');
  return {
    operation,
    url: `${client.baseUrl}${fillPath(path, asked.parameters ?? {})}${queryText(asked.query ?? {})}`,
    method,
    headers,
    body: asked.body === undefined ? undefined : jsonText(asked.body),
    idempotencyKey,
    repeatable: method === 'GET' || idempotencyKey !== undefined || repeatable === true,
    movesMoney: movesMoney(operation),
    isExport: csv === true,
    signal: options.signal,
  };
}

/**
 * JSON has no undefined, so such a member would be omitted. Where the service refuses unknown members because omitting
 * one does more, a misspelt property (`{ amount: order.amout }`) must not do that either.
 */
function refuseUndefined(operation: OperationId, members: object): void {
  const { body } = OPERATIONS[operation];
  if (body === undefined || !isClosed(body)) return;
  for (const [name, omitted] of Object.entries(guardedMembers(body))) {
    if (!(name in members) || Reflect.get(members, name) !== undefined) continue;
    throw new InvalidArgument(`${name} is undefined: give a value, or omit it ${omitted}.`);
  }
}

/** Not `crypto.randomUUID`: browsers hide that on pages that came by plain HTTP, as a console inside a network may. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function setHeader(headers: Headers, name: string, value: string, what: string): void {
  // Checked here because the platform's own message quotes the value, and a key is a secret.
  if (/[^\x20-\x7e]/.test(value)) {
    throw new InvalidArgument(`${what} holds a character that an HTTP header cannot carry, such as a line break.`);
  }
  headers.set(name, value);
}

function fillPath(path: string, parameters: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
    const value = parameters[name];
    // An empty id would turn the path into that of the list, and dots into that of something else.
    if (value === undefined || value === '' || value === '.' || value === '..') {
      throw new InvalidArgument(`${name} cannot be ${value === undefined ? 'left out' : `'${value}'`}.`);
    }
    return encodeURIComponent(value);
  });
}

function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    // Without its filter the query would select everything, and the service refuses an empty one.
    if (value === null || value === '')
      throw new InvalidArgument(`${name} cannot be empty in a query; omit it instead.`);
    parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/** JSON in which a bigint is an integer, to its last digit. */
function jsonText(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isFinite(value)) {
    // JSON has no word for it, and `null` would be answered with "missing".
    throw new InvalidArgument(`${value} cannot be sent: JSON has no such number.`);
  }
  if (Array.isArray(value)) return `[${value.map((item) => jsonText(item ?? null)).join(',')}]`;
  if (typeof value === 'object' && value !== null && !('toJSON' in value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${jsonText(member)}`).join(',')}}`;
  }
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new InvalidArgument(`A ${typeof value} cannot be sent as JSON.`);
  return text;
}
