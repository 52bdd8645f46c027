import { type Static, Type } from 'typebox';
import { CardLimits, CardLimitsPatch, ProgramLimits, ProgramLimitsPatch } from './limits.ts';
import { operation } from './operation.ts';
import {
  Amount,
  AmountSent,
  amountFrom,
  asOf,
  callersReference,
  currency,
  currencyCode,
  cursor,
  describedOrNull,
  freeText,
  idText,
  limit,
  line,
  literals,
  Metadata,
  MetadataPatch,
  metadataFilter,
  moment,
  nullable,
  pageOf,
  pendingApprovalId,
  programId,
  raw,
  Sum,
  text,
  textOrNull,
} from './schema-parts.ts';

const fundingLowThreshold = amountFrom(
  1,
  "The event funding.low is sent when the available funds in the program's currency fall below this amount, in minor units",
);

export const CreateProgramBody = Type.Object({
  name: line(100, 'Name of the card program'),
  currency: currencyCode('ISO 4217 code; the default currency of its cards'),
  time_zone: Type.Optional({
    ...text(
      64,
      'IANA name of the time zone in which its days begin, for limits and for the expiry of cards; UTC if omitted',
    ),
    'x-default': 'UTC',
  }),
  funding_low_threshold: Type.Optional(fundingLowThreshold),
  metadata: Type.Optional(Metadata),
});

/** The body of update_program, a merge patch. Amounts are in the currency of the program. */
export const UpdateProgramBody = Type.Object({
  name: Type.Optional(line(100, 'Name of the card program')),
  limits: Type.Optional(nullable(ProgramLimitsPatch)),
  card_limits: Type.Optional(nullable(CardLimitsPatch)),
  funding_low_threshold: Type.Optional(nullable(fundingLowThreshold)),
  metadata: Type.Optional(nullable(MetadataPatch)),
});

const FUNDING = 'The funding accounts, one for each currency: loads take money from them, and unloads return it';

const FundingRecord = Type.Object({
  currency,
  balance: Amount('Balance of the funding account'),
  available: Amount('Part of the balance that can be loaded onto cards: the balance without what is on hold'),
});

export const ProgramRecord = Type.Object({
  program_id: programId,
  name: Type.String({ description: 'Name of the card program' }),
  currency: Type.String({ description: 'ISO 4217 code of the default currency of its cards' }),
  time_zone: Type.String({
    description: 'IANA name of the time zone in which its days begin, for limits and for the expiry of cards',
  }),
  funding: Type.Array(FundingRecord, { description: FUNDING }),
  limits: describedOrNull(
    ProgramLimits,
    'Limits of the total of its loads (in) and unloads (out); null without limits',
  ),
  card_limits: describedOrNull(CardLimits, 'Limits of each of its cards; null without limits'),
  funding_low_threshold: nullable(
    Amount(
      'null if the event funding.low is never sent; otherwise, the event is sent when the available funds fall below this amount',
    ),
  ),
  metadata: Metadata,
  created_at: moment('When it was created'),
  pending_approval_id: pendingApprovalId,
});

/** A card program, with the balance of its funding at an instant if the request names one. */
export const ProgramAsOf = Type.Object({
  ...ProgramRecord.properties,
  funding: Type.Array(
    Type.Object({
      ...FundingRecord.properties,
      balance_as_of: Type.Optional(
        Amount(
          'Only with `as_of`: the balance at that instant, 0 before the account was created. All other fields are current',
        ),
      ),
    }),
    { description: FUNDING },
  ),
});

/** The body of create_deposit and create_withdrawal. */
export const FundingMovementBody = Type.Object({
  amount: AmountSent,
  currency: Type.Optional(currencyCode("ISO 4217 code; the program's currency if omitted")),
  description: Type.Optional(freeText(255, 'Free text, such as the bank reference')),
  reference: Type.Optional(
    callersReference(255, 'Your reference, unique among the deposits and withdrawals of the card program'),
  ),
  metadata: Type.Optional(Metadata),
});

export const FundingMovementRecord = Type.Object({
  movement_id: Type.String({ description: 'Id of the movement: dep_ or wd_ and 32 hex digits' }),
  program_id: programId,
  kind: literals(['deposit', 'withdrawal'], 'deposit: money was added to the funding; withdrawal: it was taken out'),
  amount: Amount('Amount that moved'),
  currency,
  balance: Amount('Balance of the funding account after it'),
  description: textOrNull('Free text of the request, such as the bank reference; null if there is none'),
  reference: textOrNull(
    'Your reference, unique among the deposits and withdrawals of the card program; null if there is none',
  ),
  metadata: Metadata,
  created_by: Type.String({
    description: 'The caller: `key_id` of the API key, id of the person, or `sandbox` without a key',
  }),
  created_at: moment('When it was created'),
});

/** The trial balance: the accounts of a currency sum to zero, and every balance equals the sum of its postings. */
export const TrialBalance = Type.Object({
  balanced: Type.Boolean({ description: 'Whether every sum is zero and no account differs' }),
  postings_compared: Type.Boolean({
    description: 'Whether every balance was compared with its postings within the time limit',
  }),
  currencies: Type.Array(
    Type.Object({
      currency,
      accounts: Type.Integer({ description: 'Number of accounts in the currency' }),
      sum: Sum('Sum of all balances, in minor units: zero'),
      by_kind: Type.Array(
        Type.Object({
          kind: Type.String({
            description:
              'card, clearing (the money of cards at processors), funding, suspense, loss, or world (everything outside of the service)',
          }),
          accounts: Type.Integer({ description: 'Number of accounts of the kind' }),
          balance: Sum('Sum of their balances, in minor units'),
        }),
        { description: 'The number and the sum for each kind of account' },
      ),
    }),
    { description: 'The accounts, by currency' },
  ),
  differing_holds: Type.Integer({
    description: 'Number of accounts whose held or incoming amount is not the sum of their open holds: zero',
  }),
  differing_accounts: Type.Array(
    Type.Object({
      account_id: Type.String({ description: 'Id of the account' }),
      balance: Amount('Balance of the account'),
      postings: Sum('Sum of its postings, in minor units'),
    }),
    { description: 'Accounts whose balance is not the sum of their postings: none, if the books are right' },
  ),
  drawn_up_at: moment('When it was computed'),
  as_of: nullable(
    moment(
      'The instant of the balances, which are then sums of postings and compared with nothing; null for the current balances',
    ),
  ),
});

const PATH = '/api/v0.1/operator/program';
const ONE = `${PATH}/{program_id}`;

const PERIOD = {
  created_from: Type.Optional(moment('Only deposits and withdrawals at or after this time')),
  created_to: Type.Optional(moment('Only deposits and withdrawals before this time')),
};

const LIMITS = { limits: { in: { daily_amount: 10_000_000 } }, card_limits: { maximum_balance: 500_000 } } as const;
const PAYROLL = {
  name: 'Payroll',
  funding: [{ currency: 'USD', balance: 5_000_000, available: 5_000_000 }],
  metadata: {},
} as const;

export const PROGRAMS = [
  operation({
    id: 'create_program',
    method: 'POST',
    path: PATH,
    summary: 'Create a card program',
    reach: 'operator',
    scope: 'programs:write',
    body: CreateProgramBody,
    status: 201,
    reply: ProgramRecord,
    location: ONE,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists'],
    failure: 'The program could not be created',
    example: {
      body: { name: 'Payroll', currency: 'USD' },
      reply: { ...PAYROLL, funding: [{ currency: 'USD', balance: 0, available: 0 }] },
    },
  }),
  operation({
    id: 'list_programs',
    method: 'GET',
    path: PATH,
    summary: 'List card programs, newest first, or find them by metadata',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ limit, cursor, ...metadataFilter('card programs') }),
    reply: pageOf(ProgramRecord),
    failure: 'The programs could not be listed',
    example: { reply: PAYROLL },
  }),
  operation({
    id: 'get_program',
    method: 'GET',
    path: ONE,
    summary: 'Get a card program and its funding, now or at an instant in the past',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ as_of: Type.Optional(asOf) }),
    reply: ProgramAsOf,
    errors: ['program_not_found'],
    failure: 'The program could not be read',
    example: { reply: PAYROLL },
  }),
  operation({
    id: 'update_program',
    method: 'PATCH',
    path: ONE,
    summary: 'Update the name, the limits and the metadata of a card program',
    reach: 'operator',
    scope: 'programs:write',
    body: UpdateProgramBody,
    reply: ProgramRecord,
    audit: 'always',
    errors: ['program_not_found', 'precondition_failed'],
    failure: 'The program could not be updated',
    example: { body: LIMITS, reply: { ...PAYROLL, ...LIMITS } },
  }),
  operation({
    id: 'create_deposit',
    method: 'POST',
    path: `${ONE}/deposit`,
    summary: "Add money to a program's funding",
    reach: 'operator',
    scope: 'funding:write',
    body: FundingMovementBody,
    status: 201,
    reply: FundingMovementRecord,
    location: ONE,
    movesMoney: true,
    idempotency: 'required',
    audit: 'always',
    errors: ['invalid_amount', 'program_not_found', 'idempotency_key_exists', 'duplicate_reference', 'limit_exceeded'],
    failure: 'The deposit could not be created',
    example: {
      body: { amount: 5_000_000, description: 'Bank transfer of 31 January' },
      reply: { amount: 5_000_000, balance: 5_000_000, description: 'Bank transfer of 31 January', metadata: {} },
    },
  }),
  operation({
    id: 'create_withdrawal',
    method: 'POST',
    path: `${ONE}/withdrawal`,
    summary: "Withdraw money from a program's funding",
    reach: 'operator',
    scope: 'funding:write',
    body: FundingMovementBody,
    status: 201,
    reply: FundingMovementRecord,
    location: ONE,
    movesMoney: true,
    idempotency: 'required',
    audit: 'always',
    errors: [
      'invalid_amount',
      'program_not_found',
      'idempotency_key_exists',
      'duplicate_reference',
      'insufficient_funds',
      'operator_limit_exceeded',
    ],
    failure: 'The withdrawal could not be created',
    example: {
      body: { amount: 25_000 },
      reply: {
        movement_id: 'wd_0196f5c2d9a97c05b8e1647f2d3a9c40',
        kind: 'withdrawal',
        amount: 25_000,
        balance: 4_975_000,
        metadata: {},
      },
    },
  }),
  operation({
    id: 'list_funding_movements',
    method: 'GET',
    path: `${ONE}/movement`,
    summary:
      "List the deposits and withdrawals of a program's funding, newest first, or find them by reference or metadata",
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      reference: Type.Optional(text(255, 'Only the deposit or withdrawal with this reference')),
      ...metadataFilter('deposits and withdrawals'),
    }),
    reply: pageOf(FundingMovementRecord),
    errors: ['program_not_found'],
    failure: 'The movements could not be listed',
    example: {
      reply: { amount: 5_000_000, balance: 5_000_000, description: 'Bank transfer of 31 January', metadata: {} },
    },
  }),
  operation({
    id: 'search_funding_movements',
    method: 'GET',
    path: '/api/v0.1/operator/movement',
    summary: 'List the deposits and withdrawals of all card programs, newest first, for example those of one day',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      kind: Type.Optional(literals(['deposit', 'withdrawal'], 'Only deposits, or only withdrawals')),
      program_id: Type.Optional(idText('prog', 'Only deposits and withdrawals of this card program')),
      ...PERIOD,
    }),
    reply: pageOf(FundingMovementRecord),
    failure: 'The movements could not be searched',
    example: {
      reply: {
        movement_id: 'wd_0196f5c2d9a97c05b8e1647f2d3a9c40',
        kind: 'withdrawal',
        amount: 25_000,
        balance: 4_975_000,
        description: 'Returned to the bank account of the client',
        metadata: {},
      },
    },
  }),
  operation({
    id: 'export_funding_movements',
    method: 'GET',
    path: `${ONE}/movement/export`,
    summary: "Export the deposits and withdrawals of a program's funding as comma-separated values, oldest first",
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ ...PERIOD, raw }),
    csv: true,
    reply: FundingMovementRecord,
    errors: ['program_not_found'],
    failure: 'The movements could not be exported',
    example: {
      reply: { amount: 5_000_000, balance: 5_000_000, description: 'Bank transfer of 31 January', metadata: {} },
    },
  }),
  operation({
    id: 'get_trial_balance',
    method: 'GET',
    path: '/api/v0.1/operator/trial-balance',
    summary: 'Compute the trial balance, now or at an instant in the past',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ as_of: Type.Optional(asOf) }),
    reply: TrialBalance,
    failure: 'The trial balance could not be computed',
    example: {
      reply: {
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
      },
    },
  }),
] as const;

export type ProgramRecord = Static<typeof ProgramRecord>;
export type ProgramAsOf = Static<typeof ProgramAsOf>;
export type FundingMovementRecord = Static<typeof FundingMovementRecord>;
export type TrialBalance = Static<typeof TrialBalance>;
