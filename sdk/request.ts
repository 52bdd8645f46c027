import type { KeyedCallOptions, VersionedCallOptions } from './call.ts';
import { InvalidArgument } from './error.ts';
import type { OperationId } from './generated/operations.ts';
import { type ClientSettings, readLimits } from './settings.ts';
import { OPERATIONS } from './tables.ts';

/** The input of a call, of any operation. */
export type CallInput = {
  /** Values of the path's parameters, by name. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: (object & { readonly wait?: number | undefined }) | undefined;
  readonly body?: object | undefined;
  readonly options?: (KeyedCallOptions & VersionedCallOptions) | undefined;
};

/** A request that is ready to be sent, once or several times. */
export type PreparedRequest = {
  readonly operation: OperationId;
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Whether sending it twice has the same effect as sending it once. */
  readonly repeatable: boolean;
  readonly movesMoney: boolean;
  /** The expected response, if not an error record: a record, a stream of comma-separated values, or a stream of events. */
  readonly expects: 'record' | 'export' | 'stream';
  /** The maximum duration of one attempt. Longer if the request asks the service to wait. */
  readonly timeoutMilliseconds: number;
  readonly maxRetries: number;
  readonly signal: AbortSignal | undefined;
};

const ACCEPTED: Readonly<Record<PreparedRequest['expects'], string>> = {
  record: 'application/json',
  export: 'text/csv, application/json',
  stream: 'text/event-stream, application/json',
};

/**
 * Turns a call into an HTTP request. Throws {@link InvalidArgument} for values that HTTP or JSON cannot carry. The service
 * validates everything else.
 */
export function prepareRequest(
  client: Omit<ClientSettings, 'fetch' | 'warn'>,
  operation: OperationId,
  { params = {}, query = {}, body, options = {} }: CallInput,
  isStream = false,
): PreparedRequest {
  const { method, path, idempotency, program, repeatable, csv, movesMoney } = OPERATIONS[operation];
  refuseUndefined(operation, body ?? {});
  const { timeoutMilliseconds, maxRetries } = readLimits(options, client, query.wait);
  const idempotencyKey = idempotency === 'none' ? undefined : (options.idempotencyKey ?? newIdempotencyKey());
  const expects = isStream ? 'stream' : csv ? 'export' : 'record';
  const headers = new Headers({ accept: ACCEPTED[expects] });
  if (client.key !== undefined) setHeader(headers, 'Authorization', `Bearer ${client.key}`, 'The API key');
  const programId = options.programId ?? client.programId;
  if (program && programId !== undefined) setHeader(headers, 'Program-Id', programId, 'programId');
  if (idempotencyKey !== undefined) setHeader(headers, 'Idempotency-Key', idempotencyKey, 'idempotencyKey');
  if (options.ifMatch !== undefined) setHeader(headers, 'If-Match', options.ifMatch, 'ifMatch');
  if (options.requestId !== undefined) setHeader(headers, 'Request-Id', options.requestId, 'requestId');
  if (body !== undefined) headers.set('content-type', 'application/json');
  return {
    operation,
    url: `${client.baseUrl}${fillPath(path, params)}${queryText(query)}`,
    method,
    headers,
    body: body === undefined ? undefined : jsonText(body),
    idempotencyKey,
    repeatable: repeatable || idempotencyKey !== undefined,
    movesMoney,
    expects,
    timeoutMilliseconds,
    maxRetries,
    signal: options.signal,
  };
}

/**
 * Refuses an undefined value if a request without the field would do more. JSON omits undefined fields, and such a value is
 * usually a misspelled property, such as `{ amount: order.amout }`.
 */
function refuseUndefined(operation: OperationId, body: object): void {
  for (const [name, omitted] of Object.entries(OPERATIONS[operation].definedFields)) {
    if (!Object.hasOwn(body, name) || Reflect.get(body, name) !== undefined) continue;
    throw new InvalidArgument(`${name} is undefined: send a value, or omit it ${omitted}.`);
  }
}

/** Generates a key without `crypto.randomUUID`, because browsers provide that only on pages served over HTTPS. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function setHeader(headers: Headers, name: string, value: string, what: string): void {
  // Checked here because the platform's own message quotes the value, and a key is a secret.
  if (/[^\x20-\x7e]/.test(value)) {
    throw new InvalidArgument(
      `${what} contains a character that is not allowed in an HTTP header, such as a line break.`,
    );
  }
  headers.set(name, value);
}

function fillPath(path: string, parameters: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
    const value = parameters[name];
    // An empty id would make this the path of the list, and dots would make it the path of a different resource.
    if (value === undefined || value === '' || value === '.' || value === '..') {
      throw new InvalidArgument(`${name} cannot be ${value === undefined ? 'omitted' : `'${value}'`}.`);
    }
    return encodeURIComponent(value);
  });
}

function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    // An empty filter is not omitted, because that would select everything. The service rejects an empty filter, except for a
    // metadata value.
    if (value === null || (value === '' && name !== 'metadata_value'))
      throw new InvalidArgument(`${name} cannot be empty in a query; omit it instead.`);
    parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/** Serializes as JSON, with a bigint as an exact integer. */
function jsonText(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isFinite(value)) {
    // JSON.stringify would send null, which the service reports as missing.
    throw new InvalidArgument(`${value} cannot be sent: JSON has no such number.`);
  }
  if (Array.isArray(value)) return `[${value.map((item) => jsonText(item ?? null)).join(',')}]`;
  if (typeof value === 'object' && value !== null && !('toJSON' in value)) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${jsonText(field)}`).join(',')}}`;
  }
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new InvalidArgument(`A ${typeof value} cannot be sent as JSON.`);
  return text;
}
