import type { SchemaShape } from './schema-parts.ts';

/** Id of the sandbox's demo program on the wire; it is the same in every sandbox. */
export const DEMO_PROGRAM = 'prog_019000000000700080000000000000de';

/** The request id in examples. No service ever issued it. */
export const EXAMPLE_REQUEST_ID = 'req_0196f5c2d9a27c3e8b1f4a6d7e905b13';

export const EXAMPLE_TRANSFER_ID = 'tr_0196f5c2d9a17b40a5d2c08e6f1b3a97';

export const EXAMPLE_EVENT_ID = 'evt_0196f5c2d9a57e08b3c7f21d6a490001';

export const EXAMPLE_CASE_ID = 'case_0196f5c2d9a67d50b1e8a7043c95f2d6';

export const EXAMPLE_INCIDENT_ID = 'inc_0196f5c2d9a67d52840fd6a92c7be135';

export const EXAMPLE_ATTEMPT_ID = 'pat_0196f5c2d9a67c44bd7083a1e95f24c6';

export const EXAMPLE_NOTICE = {
  notice_id: 'evt_4711',
  attempt_id: EXAMPLE_ATTEMPT_ID,
  status: 'approved',
  amount: 1000,
  currency: 'USD',
  processor_reference: 'card_push_transfer_1',
  code: null,
  retry_after_seconds: null,
} as const;

/** A line of a settlement file. */
export const EXAMPLE_LINE = {
  attempt_id: EXAMPLE_ATTEMPT_ID,
  kind: 'push',
  amount: 1000,
  currency: 'USD',
  settled_on: '2026-01-31',
} as const;

/** A line of a move-in. */
export const EXAMPLE_MOVE_IN_CARD = { kind: 'card', card_id: 'card-4711', balance: 12_500 } as const;

export const EXAMPLE_TIME = '2026-01-31T09:30:00.000Z';

/** The time of later changes in examples. */
export const EXAMPLE_LATER = '2026-01-31T10:15:00.000Z';

/** Sample values by field name, for every operation. Other values are derived from the schema. */
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
  transfer_id: EXAMPLE_TRANSFER_ID,
  reversal_id: 'rev_0196f5c2d9a87b21c4d09e5f3a6b8172',
  key_id: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
  session_id: 'ses_0196f5c2d9a37e04a1b8c5d60f927e31',
  person_id: 'per_0196f5c2d9a38d11a6e4f2a90c8d5e73',
  approval_id: 'apr_0196f5c2d9b17e3285d0c4a961f8be27',
  created_by: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
  entry_id: 'aud_0196f5c2d9a67b04913ce85f02d7ab61',
  event_id: EXAMPLE_EVENT_ID,
  webhook_id: 'wh_0196f5c2d9a67c41b8e93d05f7a1c264',
  secret_id: 'sec_0196f5c2d9a67c42a19d5be7043f8c10',
  replay_id: 'rpl_0196f5c2d9a67c43964be2d7180fa35c',
  attempt_id: EXAMPLE_ATTEMPT_ID,
  connector_id: 'increase',
  break_id: 'brk_0196f5c2d9a67d51b0c7e18f42d965a3',
  file_id: 'stl_0196f5c2d9a67d53a1c8e07f42b965d1',
  move_in_id: 'mvi_0196f5c2d9a67d53a1c8e07f42b965d1',
  comparison_id: 'cmp_0196f5c2d9a67d53a1c8e07f42b965d2',
  case_id: EXAMPLE_CASE_ID,
  message_id: 'msg_0196f5c2d9a67d51a3b0c7e18f42d965',
  incident_id: EXAMPLE_INCIDENT_ID,
  position: 42,
  number: 1042,
  previous_hash: '5f0c7d8e21b9463af1d05e92c8a74b36e9d2f1087c5ab3640d9e8f71b2c6a354',
  hash: 'a4e19b0752dc8f36610b7ae95d2c40f8e3716ba82d95cf047e1d3a6b84f2c795',
  movement_id: 'dep_0196f5c2d9a47e62a7f5031bd9ce6f83',
  account_id: '0196f5c2-d9a5-7f73-88a6-142ce0df7094',
  request_id: EXAMPLE_REQUEST_ID,
  currency: 'USD',
  time_zone: 'UTC',
  reference: 'invoice 1',
  q: 'order-17',
  last_four: '4242',
  expires_on: '2030-12-31',
  actor: 'operator',
  shown_as: 'ts_7Qm2Lk…',
  key: 'ts_7Qm2Lk_…',
  next_cursor: null,
  limit: 20,
  metadata: { order: 'A-1042' },
};

/** The sample value of a path parameter. */
export function sampleOfParameter(name: string): string {
  return String(VALUES[name] ?? `${name}_1`);
}

/** A value that fits a schema. Objects have only their required fields. */
export function sampleOf(schema: object, name = ''): unknown {
  const shape: SchemaShape = schema;
  if (Object.hasOwn(VALUES, name) && shape.properties === undefined) return VALUES[name];
  if (shape.enum !== undefined) return shape.enum.find((word) => name === 'status' && isUsual(word)) ?? shape.enum[0];
  if (shape.anyOf !== undefined) return sampleOfUnion(shape.anyOf, name);
  if (shape.format === 'date-time') return EXAMPLE_TIME;
  if (shape.type === 'boolean') return name === 'balanced';
  if (shape.type === 'integer') return 1000;
  if (shape.type === 'array') return name === 'differing_accounts' ? [] : [sampleOf(shape.items ?? {})];
  if (shape.type === 'object') {
    const names = shape.required ?? [];
    return Object.fromEntries(names.map((inner) => [inner, sampleOf(shape.properties?.[inner] ?? {}, inner)]));
  }
  return `${name.replaceAll('_', ' ')}`;
}

/** The status that most transfers, and most cards, have. */
function isUsual(status: unknown): boolean {
  return status === 'completed' || status === 'active';
}

/** A nullable field is null, except the completion time of a transfer. */
function sampleOfUnion(shapes: readonly SchemaShape[], name: string): unknown {
  const isGiven = name === 'completed_at' || !shapes.some(({ type }) => type === 'null');
  const shape = shapes.find(({ type }) => type !== 'null');
  return isGiven && shape !== undefined ? sampleOf(shape, name) : null;
}
