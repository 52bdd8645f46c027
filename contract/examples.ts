import { parametersOf } from './operation.ts';
import { OPERATIONS, type OperationId } from './operations.ts';
import { sampleOf, sampleOfParameter } from './samples.ts';
import type { SchemaShape } from './schema-parts.ts';

/** A request in an example. Header names are spelled as on the wire. */
export type ExampleRequest = {
  readonly method: string;
  /** Path and query, already escaped. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** The headers of a signed request, as Standard Webhooks names them. */
const EXAMPLE_SIGNATURE = {
  'webhook-id': 'msg_0196f5c2d9a67d51a3b0c7e18f42d965',
  'webhook-timestamp': '1769851800',
  'webhook-signature': 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
} as const;

/**
 * A valid request for the operation. A sandbox accepts it unchanged once its path has real ids. A signed request also needs a new
 * signature.
 */
export function exampleOf(id: OperationId): ExampleRequest {
  const { method, query, body, idempotency, reach, example } = OPERATIONS[id];
  const required = new URLSearchParams(Object(query === undefined ? {} : sampleOf(query)));
  const path = `${examplePath(id)}${required.size === 0 ? '' : `?${required}`}`;
  const key = idempotency === 'none' ? {} : { 'Idempotency-Key': `example-${id.replaceAll('_', '-')}` };
  const headers: Readonly<Record<string, string>> = reach === 'connector' ? EXAMPLE_SIGNATURE : key;
  if (body === undefined) return { method, path, headers };
  return { method, path, headers, body: writtenJson(example.body ?? sampleOf(body)) };
}

/** The path of the operation with sample ids. */
export function examplePath(id: OperationId): string {
  const { path } = OPERATIONS[id];
  return parametersOf(path).reduce((filled, name) => filled.replace(`{${name}}`, sampleOfParameter(name)), path);
}

/** The option of curl that sends the key in a variable of the shell. */
const AUTHORIZATION = '-H "Authorization: Bearer $TRANSFER_SERVICE_KEY"';

/**
 * The request as a command for a POSIX shell. `base` is the address of the service, such as http://localhost:8080. `needsKey`
 * says whether the service accepts only requests with a key.
 */
export function curlOf(request: ExampleRequest, base: string, options = '', needsKey = false): string {
  const { method, path, headers, body } = request;
  const implied = body === undefined ? 'GET' : 'POST';
  const parts = [
    `curl ${options === '' ? '' : `${options} `}${method === implied ? '' : `-X ${method} `}${quoted(base + path)}`,
    ...(needsKey ? [AUTHORIZATION] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** JSON in one line with a space after each colon and comma. */
export function writtenJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writtenJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${writtenJson(inner)}`);
  return `{${members.join(', ')}}`;
}

/** Text as one word of a POSIX shell, quoted only where necessary. */
function quoted(text: string): string {
  return /^[A-Za-z0-9_.:/=@%-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The reply to {@link exampleOf}; for an export, one line. */
export function exampleReply(id: OperationId): unknown {
  const { reply, example } = OPERATIONS[id];
  const sample: object = Object(sampleOf(reply));
  const shown = example.reply ?? {};
  const items: unknown = Reflect.get(sample, 'data');
  // The example of a list describes one item, or contains the list itself.
  if (!Array.isArray(items) || Object.hasOwn(shown, 'data')) return { ...sample, ...echoOf(id, sample), ...shown };
  return { ...sample, data: items.map((item) => ({ ...item, ...shown })) };
}

/** The fields of the reply that follow from the request: sent fields unchanged, and null for the others. */
function echoOf(id: OperationId, sample: object): object {
  const { method, status, body: schema, reply } = OPERATIONS[id];
  const { headers, body = '{}' } = exampleOf(id);
  const isCreated = status === 201;
  if (!isCreated && method !== 'PATCH') return {};
  const unsent = isCreated ? Object.keys(schema?.properties ?? {}).filter((name) => isNullable(reply, name)) : [];
  const made = isCreated ? { metadata: {}, idempotency_key: headers['Idempotency-Key'] ?? null } : {};
  const echo: object = { ...Object.fromEntries(unsent.map((name) => [name, null])), ...made, ...JSON.parse(body) };
  return Object.fromEntries(Object.entries(echo).filter(([name]) => Object.hasOwn(sample, name)));
}

function isNullable(schema: object, name: string): boolean {
  const shape: SchemaShape = schema;
  return shape.properties?.[name]?.anyOf?.some(({ type }) => type === 'null') ?? false;
}

/** The first two lines of an export: the column names and one record. */
export function exampleFile(id: OperationId): string {
  const columns: readonly string[] = OPERATIONS[id].reply.required ?? [];
  const values = new Map(Object.entries(Object(exampleReply(id))));
  return `${columns.join(',')}\n${columns.map((name) => cell(values.get(name))).join(',')}\n`;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The field that a stream resumes from: `position`, or `number` for operators. */
export function resumeFieldOf(id: OperationId): 'position' | 'number' {
  return OPERATIONS[id].reach === 'operator' ? 'number' : 'position';
}

/** The example reply of a list as a stream of Server-Sent Events. */
export function exampleStream(id: OperationId): string {
  const items: unknown = Reflect.get(Object(exampleReply(id)), 'data');
  if (!Array.isArray(items)) return '';
  return items
    .map((item) => `id: ${item[resumeFieldOf(id)]}\nevent: ${item.type}\ndata: ${JSON.stringify(item)}\n\n`)
    .join('');
}
