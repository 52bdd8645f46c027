import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { exampleOf } from '../../contract/examples.ts';
import type { Operation } from '../../contract/operation.ts';
import { type ErrorCode, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { newKey } from '../../server/subjects/keys/authenticate.ts';
import { APPROVAL_BODIES } from './approval-causes.ts';
import { MOVE_IN_BODIES } from './move-in-causes.ts';
import {
  type Attempt,
  aboutId,
  byRequests,
  KEYED_IDS,
  type RealCause,
  type Result,
  runAll,
  twice,
  withQuery,
  wrongly,
} from './real-cause.ts';
import { send, toRequest } from './send.ts';
import { SHARED_CAUSES } from './shared-causes.ts';
import { SUPPORT_BODIES } from './support-causes.ts';
import { WEBHOOK_BODIES } from './webhook-causes.ts';
import { startDatabase, stopDatabase, type World } from './world.ts';

/** Invalid limits. The service must not read a misspelled limit as no limit. */
const BAD_LIMITS: readonly object[] = [
  { in: { dailyAmount: 1 } },
  { In: {} },
  { in: [] },
  { out: { daily_count: -1 } },
  { out: { monthly_amount: '5' } },
];

/** Invalid bodies, in addition to null for each required field. */
const BODIES: Readonly<Partial<Record<OperationId, readonly object[]>>> = {
  create_transfer: [
    { card_id: '' },
    { amount: true },
    { type: 'gift' },
    { type: 'card_to_card' },
    { destination_card_id: 'card_empty' },
    { cardId: 'x' },
    { metadata: { a: 1 } },
    { capture: 'later' },
    { expires_at: soon() },
    { expires_at: soon(), capture: 'automatic' },
    { expires_at: soon(91), capture: 'manual' },
    { expires_at: '2001-01-01T00:00:00Z', capture: 'manual' },
    { scheduled_for: '2001-01-01T00:00:00Z' },
    { scheduled_for: soon(367) },
    { scheduled_for: soon(2), capture: 'manual', expires_at: soon(1) },
    { scheduled_for: 'tomorrow' },
  ],
  explain_transfer: [{ type: 'card_to_card' }, { expires_at: soon() }],
  create_transfer_batch: [{ transfers: [] }, { transfers: {} }],
  capture_transfer: [{ amount: true }, { Amount: 1 }, { amount: null }, { amount: '' }],
  reverse_transfer: [{ amount: [] }, { amount: null }, { description: 'x'.repeat(256) }],
  update_transfer: [
    { metadata: '' },
    { metadata: { a: 1 } },
    { metadata: { '': 'x' } },
    { metadata: Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`name ${at}`, 'x'])) },
  ],
  create_card: [
    { currency: 'XXY' },
    { last_four: '1' },
    { card_id: `card_${'0'.repeat(32)}` },
    { metadata: { a: 1 } },
    ...BAD_LIMITS.map((limits) => ({ limits })),
  ],
  update_card: [
    { status: 'expired' },
    { status: null },
    { holder_reference: '' },
    { status: 'preactive' },
    { status: 'inactive', balance_to: 'funding' },
    { status: 'closed', balance_to: 'card_active' },
    { expires_on: '2030-02-30' },
    { metadata: { '': 'x' } },
    ...BAD_LIMITS.map((limits) => ({ limits })),
  ],
  ...WEBHOOK_BODIES,
  ...APPROVAL_BODIES,
  ...SUPPORT_BODIES,
  ...MOVE_IN_BODIES,
  create_program: [{ currency: 'XXY' }, { time_zone: 'Mars/Base' }, { metadata: [] }],
  update_program: [
    { name: 1 },
    { metadata: { a: 1 } },
    { limits: { maximum_balance: 1 } },
    ...BAD_LIMITS.map((card_limits) => ({ card_limits })),
  ],
  create_deposit: [{ currency: 'XXY' }, { reference: 'x'.repeat(256) }],
  create_withdrawal: [{ amount: [] }, { currency: 'XXY' }, { metadata: { a: null } }],
  change_switch: [
    { reason: null },
    { type: 'load' },
    { connector_id: '' },
    { connector_id: 'simulator', type: 'card_to_card' },
    { program_id: '' },
    { programs: 'prog_1' },
    { until: '2001-01-01T00:00:00Z' },
    { disabled: false, until: '2100-01-01T00:00:00Z' },
  ],
  create_key: [
    { expires_at: '2001-01-01T00:00:00Z' },
    { scopes: [] },
    { scopes: 'transfers:read' },
    { scopes: ['transfers:read', 'transfers:delete'] },
    { scopes: [1] },
    { scopes: ['operator'] },
    { role: 'viewer' },
    { scopes: undefined },
    { scopes: undefined, role: 'cashier' },
    { scopes: undefined, role: 'support' },
    { scopes: undefined, role: '' },
    { scopes: null },
    { program_id: '' },
    { all_programs: true },
  ],
  roll_key: [{ previous_until: 'tomorrow' }, { expires_at: 1 }],
  move_clock: [{ seconds_ahead: -1 }, { seconds_ahead: 315_360_001 }],
};

/** Invalid queries, in addition to one query for each value from `badValues`. */
const QUERIES: Readonly<Partial<Record<OperationId, readonly string[]>>> = {
  list_transfers: ['maximum_amount=1e3', 'created_from=yesterday'],
  list_postings: ['created_to=2030-01-31'],
  export_postings: ['created_to=2030-01-31'],
  list_events: ['after=0&wait=26', 'wait=1', 'type=nothing', 'type=*', 'after=99999999'],
  search_events: ['wait=1', 'type=nothing.*', 'program_id=x'],
  list_webhook_attempts: ['event_id=x'],
  list_failed_attempts: ['status=600'],
  list_operator_failed_attempts: ['program_id=x'],
  list_operator_webhooks: ['program_id=x'],
  list_errors: ['code=nothing', 'operation=x'],
  list_funding_movements: ['cursor=wd_1'],
  search_funding_movements: ['program_id=x', 'kind=x', 'cursor=wd_1'],
  preview_switch: ['type=load', 'program_id=x&type=x', 'program_id=x&program_id=y'],
  search_errors: ['program_id=x'],
  list_move_ins: ['program_id=x'],
  list_comparisons: ['program_id=x'],
  list_differences: ['reason=x', 'cursor=dif_0', 'cursor=x'],
  search_attempts: ['program_id=x', 'status=lost', 'unsettled_at=2030-01-31T12:00:00Z'],
  list_breaks: ['program_id=x', 'kind=x', 'settlement_file_id=x'],
  list_approvals: ['program_id=x'],
  search_cases: ['program_id=x', 'code=x', 'incident_id=x'],
  search: ['q=%20', 'program_id=prog_1', 'q=x&program_id=x'],
  count_errors: ['code=x'],
  list_audit_entries: ['action=get_transfer', 'program_id=prog_1'],
  verify_audit: ['after=9007199254740991'],
};

function malformed(id: OperationId): readonly Attempt[] {
  const { path, query, body }: Operation = OPERATIONS[id];
  const required = new URL(exampleOf(id).path, 'http://localhost').search.slice(1);
  const parameters = Object.entries(query?.properties ?? {}).flatMap(([name, shape]) =>
    badValues(name, shape).map((value) => `${required}&${name}=${value}`),
  );
  const fields = ((body?.required ?? []) as readonly string[]).filter((name) => name !== 'metadata');
  return [
    ...(path.includes('{') ? [controlCharacter(id)] : []),
    ...(body === undefined
      ? twice(id)
      : wrongly(id, ...fields.map((name) => ({ [name]: null })), ...(BODIES[id] ?? []))),
    ...[...parameters, ...(QUERIES[id] ?? [])].map((text) => withQuery(id, text)),
  ];
}

/** Returns values that a parameter does not allow. A name of metadata is invalid without a value, and vice versa. */
function badValues(name: string, shape: Shape): readonly (string | number)[] {
  if (name === 'cursor' || name.startsWith('metadata_')) return ['', 'x'];
  if (shape.enum !== undefined || shape.format !== undefined) return ['', 'gone'];
  if (shape.type === 'integer') return ['x', (shape.minimum ?? 0) - 1, (shape.maximum ?? 0) + 1];
  return ['', shape.pattern === undefined ? 'x'.repeat((shape.maxLength ?? 0) + 1) : '%20'];
}

type Shape = {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
};

function controlCharacter(operation: OperationId): Attempt {
  return aboutId(operation, 'a\0b');
}

function soon(days = 1): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}

/** Operations that still work without the database if the key was valid a moment ago. */
const READS_STATUS: readonly OperationId[] = ['get_status', 'get_overview'];

/**
 * Calls an operation of a live service while the database is stopped. The service cannot look up the key, but it must
 * not respond with a 401.
 */
function failing(operation: OperationId): RealCause {
  const request = toRequest(exampleOf(operation));
  return {
    run: async ({ live, operatorKey }) => {
      const code = `unknown_${operation}` as const;
      const headers = [
        ...(request.headers ?? []),
        // A key that was valid a moment ago can still read the status.
        ['Authorization', `Bearer ${READS_STATUS.includes(operation) ? newKey().key : operatorKey}`],
        ['Program-Id', DEMO_PROGRAM],
      ] as const;
      return runAll(live.url, code, [{ operation, request: { ...request, headers } }]);
    },
  };
}

/** Starts a database server whose files are missing. The sandbox reports the failure at the time limit. */
async function runVanishedLedger({ sandbox, dataDirectory }: World): Promise<readonly Result[]> {
  const [ledger, away] = [join(dataDirectory, 'postgresql'), join(dataDirectory, 'away')];
  await stopDatabase(sandbox.url);
  await rename(ledger, away);
  try {
    const request = { method: 'POST', path: OPERATIONS.start_database.path };
    return await runAll(sandbox.url, 'unknown_start_database', [{ operation: 'start_database', request }]);
  } finally {
    await rename(away, ledger);
    await startDatabase(sandbox.url);
  }
}

/** Causes of the codes, in addition to their samples. */
export const REAL_CAUSES: Readonly<Partial<Record<ErrorCode, RealCause>>> = {
  ...SHARED_CAUSES,
  ...(Object.fromEntries(KEYED_IDS.map((id) => [`${id}_schema`, byRequests(`${id}_schema`, malformed(id))])) as Record<
    `${OperationId}_schema`,
    RealCause
  >),
  ...(Object.fromEntries(
    KEYED_IDS.filter((id) => OPERATIONS[id].reach !== 'sandbox').map((id) => [`unknown_${id}`, failing(id)]),
  ) as Partial<Record<ErrorCode, RealCause>>),
};

/** A second cause of `unknown_start_database`: the start itself fails. */
export const VANISHED_LEDGER: RealCause = { run: runVanishedLedger };

/** Returns whether the sandbox is ready again after all tests. */
export async function isReady({ sandbox }: World): Promise<boolean> {
  return (await send(sandbox.url, { method: 'GET', path: '/health/ready' })).status === 200;
}
