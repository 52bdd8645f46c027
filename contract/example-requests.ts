import { OPERATIONS, type OperationId, parametersOf } from './operations.ts';

/** A request as an example shows it. Header names are written as they are sent. */
export type ExampleRequest = {
  readonly method: string;
  /** Path and query, escaped as they are sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Id of the sandbox's demo program on the wire; it is the same in every sandbox. */
export const DEMO_PROGRAM = 'prog_019000000000700080000000000000de';

/** Id of a request that stands in examples; no service ever gave it. */
export const EXAMPLE_REQUEST_ID = 'req_0196f5c2d9a27c3e8b1f4a6d7e905b13';

/** An example of each member that has a name of its own; the rest are made from their schema. */
const VALUES: Readonly<Record<string, unknown>> = {
  amount: 1000,
  captured_amount: 1000,
  reversed_amount: 0,
  held: 0,
  incoming: 0,
  sum: 0,
  differing_holds: 0,
  dropped: 0,
  seconds_ahead: 86_400,
  card_id: 'card_active',
  idempotency_key: 'example-row-1',
  program_id: DEMO_PROGRAM,
  transfer_id: 'tr_0196f5c2d9a17b40a5d2c08e6f1b3a97',
  reversal_id: 'rev_0196f5c2d9a87b21c4d09e5f3a6b8172',
  key_id: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
  entry_id: 'aud_0196f5c2d9a67b04913ce85f02d7ab61',
  position: 42,
  previous_hash: '5f0c7d8e21b9463af1d05e92c8a74b36e9d2f1087c5ab3640d9e8f71b2c6a354',
  hash: 'a4e19b0752dc8f36610b7ae95d2c40f8e3716ba82d95cf047e1d3a6b84f2c795',
  movement_id: 'dep_0196f5c2d9a47e62a7f5031bd9ce6f83',
  account_id: '0196f5c2-d9a5-7f73-88a6-142ce0df7094',
  request_id: EXAMPLE_REQUEST_ID,
  currency: 'USD',
  time_zone: 'UTC',
  reference: 'invoice 1',
  last_four: '4242',
  expires_on: '2030-12-31',
  actor: 'operator',
  shown_as: 'ts_7Qm2Lk…',
  key: 'ts_7Qm2Lk_…',
  next_cursor: null,
  limit: 20,
  metadata: { order: 'A-1042' },
};

/** Members that an example of a body shows although they may be left out: without them it would say nothing. */
const SHOWN: Partial<Record<OperationId, Readonly<Record<string, unknown>>>> = {
  create_card: { card_id: 'employee-7', holder_reference: 'employee 7', last_four: '4242' },
  create_program: { name: 'Payroll', currency: 'USD' },
  create_deposit: { amount: 5_000_000, description: 'Bank transfer of 31 January' },
  create_withdrawal: { amount: 25_000 },
  change_switch: { disabled: true, reason: 'Maintenance' },
  create_key: { name: 'Shop server', program_id: DEMO_PROGRAM, scopes: ['transfers:write', 'transfers:read'] },
  roll_key: { previous_until: '2100-01-31T09:30:00Z' },
  capture_transfer: { amount: 600 },
  reverse_transfer: { amount: 250, description: 'One of four articles came back' },
  update_card: { limits: { in: { daily_amount: 50_000 }, out: { maximum_amount: 10_000 }, maximum_balance: 200_000 } },
  update_program: { limits: { in: { daily_amount: 10_000_000 } }, card_limits: { maximum_balance: 500_000 } },
};

type Shape = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly $ref?: string;
  readonly format?: string;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
};

/** A request that the operation takes; in a sandbox it can be sent as it is, once the ids in its path are real ones. */
export function exampleOf(id: OperationId): ExampleRequest {
  const { method, body, idempotency } = OPERATIONS[id];
  const path = examplePath(id);
  const key: Readonly<Record<string, string>> =
    idempotency === 'none' ? {} : { 'Idempotency-Key': `example-${method === 'POST' ? id.replaceAll('_', '-') : id}` };
  if (body === undefined) return { method, path, headers: key };
  return { method, path, headers: key, body: writtenJson(SHOWN[id] ?? sampleOf(body, true)) };
}

/** A way to call the operation that is valid as far as its path goes. */
export function examplePath(id: OperationId): string {
  const { path } = OPERATIONS[id];
  return parametersOf(path).reduce(
    (filled, name) => filled.replace(`{${name}}`, String(VALUES[name] ?? `${name}_1`)),
    path,
  );
}

/** The request as a command for a POSIX shell. `base` is the address of the service, such as http://localhost:8080. */
export function curlOf(request: ExampleRequest, base: string, options = ''): string {
  const { method, path, headers, body } = request;
  const implied = body === undefined ? 'GET' : 'POST';
  const parts = [
    `curl ${options === '' ? '' : `${options} `}${method === implied ? '' : `-X ${method} `}${quoted(base + path)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** JSON as a person writes it in one line: with a blank after each colon and comma. */
export function writtenJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writtenJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${writtenJson(inner)}`);
  return `{${members.join(', ')}}`;
}

/** Text as one word of a POSIX shell, in quotes only where it needs them. */
function quoted(text: string): string {
  return /^[A-Za-z0-9_.:/=@%-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A value that fits a schema: of objects all members, or only those that are required. */
export function sampleOf(schema: object, requiredOnly: boolean, name = ''): unknown {
  const shape: Shape = schema;
  if (Object.hasOwn(VALUES, name) && shape.properties === undefined) return VALUES[name];
  if (shape.enum !== undefined) return shape.enum.find((word) => name === 'status' && isUsual(word)) ?? shape.enum[0];
  if (shape.anyOf !== undefined) return sampleOfUnion(shape.anyOf, requiredOnly, name);
  if (shape.format === 'date-time') return '2026-01-31T09:30:00.000Z';
  if (shape.type === 'boolean') return name === 'balanced';
  if (shape.type === 'integer') return 1000;
  if (shape.type === 'array') return name === 'differing_accounts' ? [] : [sampleOf(shape.items ?? {}, requiredOnly)];
  if (shape.type === 'object') {
    const names = requiredOnly ? (shape.required ?? []) : Object.keys(shape.properties ?? {});
    return Object.fromEntries(
      names.map((inner) => [inner, sampleOf(shape.properties?.[inner] ?? {}, requiredOnly, inner)]),
    );
  }
  return `${name.replaceAll('_', ' ')}`;
}

/** The state that most transfers, and most cards, are in. */
function isUsual(status: unknown): boolean {
  return status === 'completed' || status === 'active';
}

/** Where null is allowed it is the usual case, but for the moments and names that every finished thing has. */
function sampleOfUnion(shapes: readonly Shape[], requiredOnly: boolean, name: string): unknown {
  const isGiven = name === 'completed_at' || !shapes.some(({ type }) => type === 'null');
  const shape = shapes.find(({ type }) => type !== 'null');
  return isGiven && shape !== undefined ? sampleOf(shape, requiredOnly, name) : null;
}
