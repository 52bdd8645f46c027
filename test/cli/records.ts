import type {
  CardLimitsRecord,
  CardRecord,
  FundingMovementRecord,
  PostingRecord,
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
  connector_id: null,
  metadata: {},
  created_at: '2030-01-31T12:00:00.000Z',
  updated_at: '2030-01-31T12:00:00.000Z',
};
export const SETTING: SwitchRecord = {
  scope: 'service',
  program_id: null,
  type: null,
  connector_id: null,
  disabled: true,
  reason: 'maintenance',
  actor: 'key_1',
  since: '2030-01-31T12:00:00.000Z',
  until: null,
};
export const MOVEMENT: FundingMovementRecord = {
  movement_id: 'dep_1',
  program_id: 'prog_1',
  kind: 'deposit',
  amount: 500,
  currency: 'USD',
  balance: 500,
  description: null,
  reference: null,
  metadata: {},
  created_by: 'key_1',
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
  as_of: null,
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
  description: null,
  reference: null,
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
