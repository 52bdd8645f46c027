import type {
  AuditEntryRecord,
  CardLimitsRecord,
  CardRecord,
  ErrorCounts,
  FundingMovementRecord,
  InspectedErrorRecord,
  KeyRecord,
  LoggedErrorRecord,
  PostingRecord,
  ProgramRecord,
  ReversalRecord,
  StatementPage,
  SwitchRecord,
  TrialBalance,
} from '../../sdk/client.ts';

export const CARD: CardRecord = {
  card_id: 'card_active',
  program_id: 'prog_1',
  status: 'active',
  currency: 'USD',
  balance: 2500,
  held: 0,
  available: 2500,
  incoming: 0,
  holder_reference: null,
  last_four: null,
  expires_on: null,
  limits: null,
  created_at: '2030-01-31T12:00:00.000Z',
  updated_at: '2030-01-31T12:00:00.000Z',
};
export const PROGRAM: ProgramRecord = {
  program_id: 'prog_1',
  name: 'Gifts',
  currency: 'JPY',
  time_zone: 'UTC',
  funding: [{ currency: 'JPY', balance: 1200, available: 1000 }],
  limits: null,
  card_limits: null,
  created_at: '2030-01-31T12:00:00.000Z',
};
export const SETTING: SwitchRecord = {
  scope: 'service',
  program_id: null,
  type: null,
  disabled: true,
  reason: 'maintenance',
  actor: 'key_1',
  since: '2030-01-31T12:00:00.000Z',
  until: null,
};
export const KEY: KeyRecord = {
  key_id: 'key_1',
  name: 'shop',
  program_id: null,
  scopes: ['transfers:read', 'operator'],
  shown_as: 'ts_abcd',
  created_at: '2030-01-31T12:00:00.000Z',
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  replaced_by: null,
};
export const AUDIT_ENTRY: AuditEntryRecord = {
  entry_id: 'aud_1',
  position: 7,
  created_at: '2030-01-31T12:00:00.000Z',
  actor: 'key_1',
  action: 'change_switch',
  program_id: null,
  subject_id: 'service',
  request_id: 'req_1',
  details: { disabled: true },
  previous_hash: '00',
  hash: '11',
};
export const MOVEMENT: FundingMovementRecord = {
  movement_id: 'dep_1',
  program_id: 'prog_1',
  kind: 'deposit',
  amount: 500,
  currency: 'USD',
  balance: 500,
  description: null,
  created_at: '2030-01-31T12:00:00.000Z',
};
export const TRIAL_BALANCE: TrialBalance = {
  balanced: true,
  postings_compared: true,
  currencies: [
    {
      currency: 'USD',
      accounts: 3,
      sum: 0,
      by_kind: [
        { kind: 'world', accounts: 1, balance: -2500 },
        { kind: 'card', accounts: 2, balance: 2500 },
      ],
    },
  ],
  differing_holds: 0,
  differing_accounts: [],
  drawn_up_at: '2030-01-31T12:00:00.000Z',
};

export const LOGGED_ERROR: LoggedErrorRecord = {
  request_id: 'req_1',
  created_at: '2030-01-31T12:00:00.000Z',
  operation: 'create_transfer',
  code: 'insufficient_funds',
  status: 409,
  type: 'Request Error',
  message: 'The card has less.',
  field: '/amount',
  method: 'POST',
  path: '/api/v0.1/core/transfer',
  card_id: 'card_empty',
  transfer_id: null,
  idempotency_key: null,
  money_moved: 'no',
  request: { amount: '1', card_id: 'card_empty' },
};
export const INSPECTED_ERROR: InspectedErrorRecord = {
  ...LOGGED_ERROR,
  program_id: 'prog_1',
  caller: 'program_key',
  checks: { available: '0' },
  causes: [
    { name: 'OperationFailure', message: 'the database failed', stack: ['at readRows (transaction.ts:11)'] },
    { name: 'Error', message: 'connect ECONNREFUSED', stack: [] },
  ],
};
export const COUNTED: ErrorCounts['data'][number] = {
  start: '2030-01-31T12:00:00.000Z',
  code: 'card_not_found',
  type: 'Request Error',
  count: 12,
};

export const REVERSAL: ReversalRecord = {
  reversal_id: 'rev_1',
  transfer_id: 'tr_1',
  program_id: 'prog_1',
  amount: 400,
  currency: 'USD',
  status: 'completed',
  description: 'returned',
  created_at: '2030-01-31T12:00:00.000Z',
};
export const CARD_LIMITS: CardLimitsRecord = {
  card_id: 'card_active',
  program_id: 'prog_1',
  currency: 'USD',
  balance: 2500,
  available: 2500,
  incoming: 100,
  in: {
    allowed: true,
    code: null,
    most: 45_000,
    least: 1,
    limits: [
      {
        name: 'daily_amount',
        set_by: 'program_card',
        value: 50_000,
        used: 5000,
        left: 45_000,
        frees_at: '2030-02-01T00:00:00.000Z',
      },
      { name: 'daily_count', set_by: 'card', value: 5, used: 1, left: 4, frees_at: '2030-02-01T00:00:00.000Z' },
    ],
  },
  out: {
    allowed: true,
    code: null,
    most: 2500,
    least: 100,
    limits: [{ name: 'minimum_amount', set_by: 'card', value: 100, used: null, left: null, frees_at: null }],
  },
  maximum_balance: { value: 200_000, set_by: 'card', left: 197_400 },
  evaluated_at: '2030-01-31T12:00:00.000Z',
};
const POSTING: PostingRecord = {
  sequence: 2,
  purpose: 'unload',
  direction: 'out',
  amount: 500,
  balance: 2500,
  currency: 'USD',
  transfer_id: 'tr_2',
  reversal_id: null,
  created_at: '2030-01-31T12:00:00.000Z',
};
export const STATEMENT: StatementPage = {
  data: [
    POSTING,
    { ...POSTING, sequence: 1, purpose: 'load', direction: 'in', amount: 3000, balance: 3000, transfer_id: 'tr_1' },
  ],
  next_cursor: null,
  card_id: 'card_active',
  currency: 'USD',
  opening_balance: 0,
  closing_balance: 2500,
};
