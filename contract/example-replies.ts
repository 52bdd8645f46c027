import { EXAMPLE_REQUEST_ID, sampleOf } from './example-requests.ts';
import { OPERATIONS, type OperationId } from './operations.ts';

const MADE = '2026-01-31T09:30:00.000Z';
const LATER = '2026-01-31T10:15:00.000Z';
const NEXT_DAY = '2026-02-01T00:00:00.000Z';
const TRANSFER = 'tr_0196f5c2d9a17b40a5d2c08e6f1b3a97';

const HELD = { capture: 'manual', expires_at: '2026-02-07T09:30:00.000Z', updated_at: LATER } as const;
const BACK = { amount: 250, description: 'One of four articles came back', created_at: LATER } as const;
const PROGRAM = { name: 'Payroll', funding: [{ currency: 'USD', balance: 5_000_000, available: 5_000_000 }] } as const;
const KEY = { name: 'Shop server', scopes: ['transfers:read', 'transfers:write'], last_used_at: LATER } as const;
const DISABLED = { disabled: true, program_id: null, reason: 'Maintenance' } as const;

/** A line of a statement. */
const POSTING = {
  sequence: 1,
  purpose: 'load',
  direction: 'in',
  amount: 1000,
  balance: 1000,
  currency: 'USD',
  transfer_id: TRANSFER,
  reversal_id: null,
  created_at: MADE,
} as const;

/** An error of the log. */
const ERROR = {
  operation: 'create_transfer',
  code: 'insufficient_funds',
  status: 409,
  type: 'Request Error',
  message: "The card 'card_empty' has 0.00 USD available, and the transfer is for 0.01 USD.",
  field: '/amount',
  method: 'POST',
  path: '/api/v0.1/core/transfer',
  card_id: 'card_empty',
  transfer_id: null,
  idempotency_key: null,
  money_moved: 'no',
  request: { amount: 1, card_id: 'card_empty', type: 'unload' },
} as const;
const CHECKS = { caller: 'program_key', checks: { account: 'card', available: '0', amount: '1' } } as const;

/** Limits of a card as they stand. */
const STANDING = {
  in: {
    allowed: true,
    code: null,
    most: 49_000,
    least: 1,
    limits: [{ name: 'daily_amount', set_by: 'card', value: 50_000, used: 1000, left: 49_000, frees_at: NEXT_DAY }],
  },
  out: {
    allowed: true,
    code: null,
    most: 1000,
    least: 1,
    limits: [{ name: 'maximum_amount', set_by: 'card', value: 10_000, used: null, left: null, frees_at: null }],
  },
  maximum_balance: { value: 200_000, set_by: 'card', left: 199_000 },
} as const;

const EXPLAINED = {
  would_succeed: true,
  first_failure: null,
  checks: [
    { name: 'service_enabled', outcome: 'passed', code: null, message: null, saw: { disabled: false } },
    { name: 'card_exists', outcome: 'passed', code: null, message: null, saw: { card_id: 'card_active' } },
  ],
} as const;

const BALANCED = {
  postings_compared: true,
  currencies: [
    {
      currency: 'USD',
      accounts: 3,
      sum: 0,
      by_kind: [
        { kind: 'card', accounts: 1, balance: 1000 },
        { kind: 'funding', accounts: 1, balance: 4_999_000 },
        { kind: 'world', accounts: 1, balance: -5_000_000 },
      ],
    },
  ],
} as const;

/** Members in which an example of a reply differs from what its schema alone would make of it. */
const SHOWN: Partial<Record<OperationId, Readonly<Record<string, unknown>>>> = {
  explain_transfer: EXPLAINED,
  create_transfer_batch: {
    data: [
      {
        index: 0,
        idempotency_key: 'example-row-1',
        status: 201,
        transfer: sampleOf(OPERATIONS.get_transfer.reply, false),
        error: null,
        money_moved: 'yes',
        replayed: false,
      },
    ],
  },
  capture_transfer: { ...HELD, captured_amount: 600, completed_at: LATER },
  cancel_transfer: { ...HELD, captured_amount: 0, status: 'canceled', completed_at: null },
  reverse_transfer: BACK,
  get_reversal: BACK,
  list_reversals: BACK,
  update_transfer: { updated_at: LATER },
  export_transfers: { description: 'Salary, January', metadata: {} },
  create_card: { card_id: 'employee-7', balance: 0, available: 0, holder_reference: 'employee 7' },
  update_card: {
    limits: { in: { daily_amount: 50_000 }, out: { maximum_amount: 10_000 }, maximum_balance: 200_000 },
    updated_at: LATER,
  },
  get_card_limits: STANDING,
  list_postings: { data: [POSTING], opening_balance: 0 },
  export_postings: POSTING,
  get_error: ERROR,
  list_errors: ERROR,
  search_errors: { ...ERROR, ...CHECKS },
  inspect_error: { ...ERROR, ...CHECKS, causes: [] },
  count_errors: {
    from: '2026-01-31T00:00:00.000Z',
    to: NEXT_DAY,
    data: [{ start: '2026-01-31T09:00:00.000Z', code: 'insufficient_funds', type: 'Request Error', count: 12 }],
    dropped: 0,
  },
  create_program: { ...PROGRAM, funding: [{ currency: 'USD', balance: 0, available: 0 }] },
  get_program: PROGRAM,
  list_programs: PROGRAM,
  update_program: {
    ...PROGRAM,
    limits: { in: { daily_amount: 10_000_000 } },
    card_limits: { maximum_balance: 500_000 },
  },
  create_deposit: { amount: 5_000_000, balance: 5_000_000, description: 'Bank transfer of 31 January' },
  create_withdrawal: {
    movement_id: 'wd_0196f5c2d9a97c05b8e1647f2d3a9c40',
    kind: 'withdrawal',
    amount: 25_000,
    balance: 4_975_000,
  },
  get_switch: DISABLED,
  change_switch: DISABLED,
  get_trial_balance: BALANCED,
  create_key: { ...KEY, last_used_at: null },
  roll_key: { ...KEY, last_used_at: null },
  list_keys: KEY,
  revoke_key: { ...KEY, revoked_at: LATER },
  list_audit_entries: {
    actor: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
    action: 'change_switch',
    program_id: null,
    subject_id: 'service',
    request_id: EXAMPLE_REQUEST_ID,
    details: { scope: 'service', disabled: true, reason: 'Maintenance' },
  },
  move_clock: { now: '2026-02-01T09:30:00.000Z' },
  stop_database: { state: 'stopped' },
};

/** What the operation answers with when all is well, made from its schema; for lines of a file, one of them. */
export function exampleReply(id: OperationId): unknown {
  const sample: object = Object(sampleOf(OPERATIONS[id].reply, false));
  const shown = SHOWN[id] ?? {};
  const items: unknown = Reflect.get(sample, 'data');
  // What is shown of a list is one item of it, unless it has the list itself.
  if (!Array.isArray(items) || Object.hasOwn(shown, 'data')) return { ...sample, ...shown };
  return { ...sample, data: items.map((item) => ({ ...item, ...shown })) };
}

/** The names of the columns of an answer that is a file of comma-separated values, in their order. */
export function columnsOf(id: OperationId): readonly string[] {
  const { csv, reply } = OPERATIONS[id];
  const properties: unknown = csv === true ? Reflect.get(reply, 'properties') : undefined;
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

/** The beginning of such a file: the line of names, and one line more. */
export function exampleFile(id: OperationId): string {
  const columns = columnsOf(id);
  const values = new Map(Object.entries(Object(exampleReply(id))));
  return `${columns.join(',')}\n${columns.map((name) => cell(values.get(name))).join(',')}\n`;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
