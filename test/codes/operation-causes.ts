import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { exampleOf } from '../../contract/examples.ts';
import type { ErrorCode } from '../../contract/operations.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { newKey } from '../../server/keys/api-key.ts';
import {
  type Attempt,
  about,
  byRequests,
  type RealCause,
  type Result,
  runAll,
  twice,
  withQuery,
  wrongly,
} from './real-cause.ts';
import { send, toRequest } from './send.ts';
import { SHARED_CAUSES } from './shared-causes.ts';
import { WEBHOOK_SCHEMA_CAUSES } from './webhook-causes.ts';
import { startDatabase, stopDatabase, type World } from './world.ts';

/** Limits that are none: one that was misspelt must not come to mean no limit. */
const BAD_LIMITS: readonly object[] = [
  { in: { dailyAmount: 1 } },
  { In: {} },
  { in: [] },
  { out: { daily_count: -1 } },
  { out: { monthly_amount: '5' } },
];

/** Requests of the wrong form, by operation. */
const SCHEMA_CAUSES: Readonly<Record<OperationId, readonly Attempt[]>> = {
  create_transfer: wrongly(
    'create_transfer',
    { amount: null },
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
  ),
  get_transfer: [...twice('get_transfer'), controlCharacter('get_transfer')],
  list_transfers: [
    ...['limit=0', 'limit=101', 'limit=x', 'cursor=x', 'status=gone', 'type=gift', 'minimum_amount=0'],
    ...['maximum_amount=1e3', 'created_from=yesterday', 'created_to=x', 'metadata_name=a', 'metadata_value=a'],
  ].map((query) => withQuery('list_transfers', query)),
  explain_transfer: wrongly('explain_transfer', { amount: null }, { type: 'card_to_card' }, { expires_at: soon() }),
  create_transfer_batch: wrongly('create_transfer_batch', { transfers: null }, { transfers: [] }, { transfers: {} }),
  capture_transfer: [
    ...wrongly('capture_transfer', { amount: true }, { Amount: 1 }, { amount: null }, { amount: '' }),
    controlCharacter('capture_transfer'),
  ],
  cancel_transfer: [...twice('cancel_transfer'), controlCharacter('cancel_transfer')],
  reverse_transfer: wrongly('reverse_transfer', { amount: [] }, { amount: null }, { description: 'x'.repeat(256) }),
  update_transfer: wrongly(
    'update_transfer',
    { metadata: '' },
    { metadata: { a: 1 } },
    { metadata: { '': 'x' } },
    { metadata: Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`name ${at}`, 'x'])) },
  ),
  export_transfers: ['status=gone', 'type=gift', 'created_from=x', 'metadata_name=a', 'maximum_amount=0', '%zz'].map(
    (query) => withQuery('export_transfers', query),
  ),
  list_reversals: ['limit=0', 'cursor=x'].map((query) => withQuery('list_reversals', query)),
  get_reversal: [...twice('get_reversal'), controlCharacter('get_reversal')],
  get_transfer_timeline: [...twice('get_transfer_timeline'), controlCharacter('get_transfer_timeline')],
  list_likely_duplicates: ['limit=0', 'cursor=x', 'window_seconds=0', 'window_seconds=3601', 'window_seconds=x'].map(
    (query) => withQuery('list_likely_duplicates', query),
  ),
  create_card: wrongly(
    'create_card',
    { currency: 'XXY' },
    { last_four: '1' },
    { card_id: `card_${'0'.repeat(32)}` },
    ...BAD_LIMITS.map((limits) => ({ limits })),
  ),
  erase_card_holder: [...twice('erase_card_holder'), controlCharacter('erase_card_holder')],
  update_card: wrongly(
    'update_card',
    { status: 'expired' },
    { status: null },
    { holder_reference: '' },
    { status: 'preactive' },
    { status: 'inactive', balance_to: 'funding' },
    { status: 'closed', balance_to: 'card_active' },
    { expires_on: '2030-02-30' },
    ...BAD_LIMITS.map((limits) => ({ limits })),
  ),
  get_card_limits: [...twice('get_card_limits'), controlCharacter('get_card_limits')],
  list_postings: ['limit=0', 'cursor=x', 'created_from=x', 'created_to=2030-01-31'].map((query) =>
    withQuery('list_postings', query),
  ),
  export_postings: ['created_from=x', 'created_to=2030-01-31', '%zz'].map((query) =>
    withQuery('export_postings', query),
  ),
  get_card: [...twice('get_card'), controlCharacter('get_card')],
  list_cards: ['limit=0', 'cursor=x', 'status=gone', 'last_four=42', 'card_id_prefix=%20'].map((query) =>
    withQuery('list_cards', query),
  ),
  list_holds: ['limit=0', 'cursor=x'].map((query) => withQuery('list_holds', query)),
  list_events: [
    ...['limit=0', 'cursor=x', 'after=-1', 'after=0&wait=26', 'wait=1', 'type=nothing', 'type=*', 'after=99999999'],
  ].map((query) => withQuery('list_events', query)),
  get_event: twice('get_event'),
  search_events: ['limit=0', 'cursor=x', 'after=x', 'wait=1', 'type=nothing.*', 'program_id=x'].map((query) =>
    withQuery('search_events', query),
  ),
  inspect_event: twice('inspect_event'),
  ...WEBHOOK_SCHEMA_CAUSES,
  get_error: twice('get_error'),
  list_errors: ['limit=0', 'code=nothing', 'operation=x', 'created_from=x'].map((query) =>
    withQuery('list_errors', query),
  ),
  create_program: wrongly('create_program', { name: null }, { currency: 'XXY' }, { time_zone: 'Mars/Base' }),
  get_program: twice('get_program'),
  update_program: wrongly(
    'update_program',
    { name: 1 },
    { limits: { maximum_balance: 1 } },
    ...BAD_LIMITS.map((card_limits) => ({ card_limits })),
  ),
  list_programs: ['limit=0', 'cursor=x'].map((query) => withQuery('list_programs', query)),
  create_deposit: wrongly('create_deposit', { amount: null }, { currency: 'XXY' }),
  create_withdrawal: wrongly('create_withdrawal', { amount: [] }, { currency: 'XXY' }),
  list_funding_movements: ['limit=0', 'cursor=x', 'cursor=wd_1'].map((query) =>
    withQuery('list_funding_movements', query),
  ),
  get_switch: twice('get_switch'),
  get_status: twice('get_status'),
  get_overview: twice('get_overview'),
  change_switch: wrongly(
    'change_switch',
    { disabled: null },
    { reason: null },
    { type: 'load' },
    { program_id: '' },
    { programs: 'prog_1' },
    { until: '2001-01-01T00:00:00Z' },
    { disabled: false, until: '2100-01-01T00:00:00Z' },
  ),
  preview_switch: ['type=load', 'program_id=', 'program_id=x&type=x', 'program_id=x&program_id=y'].map((query) =>
    withQuery('preview_switch', query),
  ),
  get_trial_balance: twice('get_trial_balance'),
  create_key: wrongly(
    'create_key',
    { name: null },
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
  ),
  roll_key: wrongly('roll_key', { previous_until: 'tomorrow' }, { expires_at: 1 }),
  list_keys: ['limit=0', 'cursor=x'].map((query) => withQuery('list_keys', query)),
  revoke_key: twice('revoke_key'),
  create_session: twice('create_session'),
  get_session: twice('get_session'),
  delete_session: twice('delete_session'),
  list_sessions: ['limit=0', 'cursor=x'].map((query) => withQuery('list_sessions', query)),
  revoke_session: twice('revoke_session'),
  inspect_error: twice('inspect_error'),
  get_request: twice('get_request'),
  search_errors: ['limit=0', 'program_id=x', 'type=x'].map((query) => withQuery('search_errors', query)),
  search: ['q=', 'q=%20', 'program_id=prog_1', 'q=x&program_id=x', 'q=x&created_from=x'].map((query) =>
    withQuery('search', query),
  ),
  count_errors: ['interval=week', 'from=x', 'code=x'].map((query) => withQuery('count_errors', query)),
  list_audit_entries: ['limit=0', 'cursor=x', 'action=get_transfer', 'created_from=x'].map((query) =>
    withQuery('list_audit_entries', query),
  ),
  verify_audit: ['after=-1', 'after=x', 'after=9007199254740991'].map((query) => withQuery('verify_audit', query)),
  move_clock: wrongly('move_clock', { seconds_ahead: null }, { seconds_ahead: -1 }, { seconds_ahead: 315_360_001 }),
  stop_database: twice('stop_database'),
  start_database: twice('start_database'),
};

function controlCharacter(operation: OperationId): Attempt {
  return about(operation, 'a\0b', OPERATIONS[operation].body === undefined ? undefined : {});
}

/** A moment some days ahead. */
function soon(days = 1): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}

/** Served without the database to a key that was valid lately. */
const READS_STATUS: readonly OperationId[] = ['get_status', 'get_overview'];

/** Every operation of a live service while the database is stopped: the key cannot be looked up, which is no 401. */
function failing(operation: OperationId): RealCause {
  const request = toRequest(exampleOf(operation));
  return {
    run: async ({ live, operatorKey }) => {
      const code = `unknown_${operation}` as const;
      const headers = [
        ...(request.headers ?? []),
        // A key that was valid lately may still read the status.
        ['Authorization', `Bearer ${READS_STATUS.includes(operation) ? newKey().key : operatorKey}`],
        ['Program-Id', DEMO_PROGRAM],
      ] as const;
      return runAll(live.url, code, [{ operation, request: { ...request, headers } }]);
    },
  };
}

/** A server that does not start because its files are not there: the sandbox says so when its time is up. */
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

/** Causes of the codes besides their samples. */
export const REAL_CAUSES: Readonly<Partial<Record<ErrorCode, RealCause>>> = {
  ...SHARED_CAUSES,
  ...(Object.fromEntries(
    OPERATION_IDS.map((id) => [`${id}_schema`, byRequests(`${id}_schema`, SCHEMA_CAUSES[id])]),
  ) as Record<`${OperationId}_schema`, RealCause>),
  ...(Object.fromEntries(
    OPERATION_IDS.filter((id) => OPERATIONS[id].reach !== 'sandbox').map((id) => [`unknown_${id}`, failing(id)]),
  ) as Partial<Record<ErrorCode, RealCause>>),
};

/** A second cause of `unknown_start_database`: the start itself. */
export const VANISHED_LEDGER: RealCause = { run: runVanishedLedger };

/** Whether the sandbox responses again, after all that. */
export async function isWell({ sandbox }: World): Promise<boolean> {
  return (await send(sandbox.url, { method: 'GET', path: '/health/ready' })).status === 200;
}
