import { type Static, Type } from 'typebox';
import { call } from '../error.ts';
import { FundingMovementRecord, ProgramRecord } from '../programs.ts';
import { DEMO_PROGRAM, EXAMPLE_TRANSFER_ID } from '../samples.ts';
import { Amount, programId, textOrNull } from '../schema-parts.ts';
import { eventType } from './definition.ts';

/** The schema of the data of funding.low. */
export const FundingLowRecord = Type.Object({
  program_id: programId,
  currency: Type.String({ description: 'ISO 4217 code: the currency of the program' }),
  available: Amount('Available funds after the change'),
  threshold: Amount('The funding_low_threshold of the program'),
  transfer_id: textOrNull(
    'The transfer that took the funds below the threshold, itself or by its reversal; null if it was a withdrawal or a new threshold',
  ),
  movement_id: textOrNull('The withdrawal that took the funds below the threshold; null if it was not a withdrawal'),
});

const PROGRAM = { data: ProgramRecord, subject: 'program_id', operation: 'get_program' } as const;
const DEMO = { params: { program_id: DEMO_PROGRAM } } as const;
const PAYROLL = { name: 'Payroll', funding: [{ currency: 'USD', balance: 5_000_000, available: 5_000_000 }] } as const;
const CARD_LIMITS = { card_limits: { maximum_balance: 500_000 } } as const;

const change = (body: object) => call('update_program', { ...DEMO, body });
const deposit = call('create_deposit', {
  ...DEMO,
  body: { amount: 1000 },
  headers: { 'Idempotency-Key': 'deposit-{unique}' },
});
const withdrawal = call('create_withdrawal', {
  ...DEMO,
  body: { amount: 1000 },
  headers: { 'Idempotency-Key': 'withdrawal-{unique}' },
});

export const PROGRAM_EVENTS = {
  'program.created': eventType({
    ...PROGRAM,
    summary: 'A card program was created.',
    sent: ['create_program succeeds. It is the first event of the program.'],
    example: { ...PAYROLL, funding: [{ currency: 'USD', balance: 0, available: 0 }] },
    sample: {
      reproduce: 'Create a card program.',
      request: call('create_program', { body: { name: 'Payroll', currency: 'USD' } }),
    },
  }),
  'program.updated': eventType({
    ...PROGRAM,
    summary: 'The name, the limits or the funding threshold of a card program was changed.',
    sent: ['update_program changes the program. A request that changes nothing causes no event.'],
    example: { ...PAYROLL, ...CARD_LIMITS },
    sample: {
      reproduce: 'Set a limit for each card of the demo program.',
      request: change(CARD_LIMITS),
      after: [change({ card_limits: null })],
    },
  }),
  'funding.deposited': eventType({
    summary: "Money was added to a program's funding.",
    sent: ['create_deposit succeeds.'],
    data: FundingMovementRecord,
    subject: 'movement_id',
    notes: ['No operation returns a deposit by its id. The event is its record.'],
    example: { amount: 5_000_000, balance: 5_000_000, description: 'Bank transfer of 31 January' },
    sample: { reproduce: 'Deposit 10.00 USD.', request: deposit },
  }),
  'funding.withdrawn': eventType({
    summary: "Money was withdrawn from a program's funding.",
    sent: ['create_withdrawal succeeds.'],
    data: FundingMovementRecord,
    subject: 'movement_id',
    notes: ['No operation returns a withdrawal by its id. The event is its record.'],
    example: {
      movement_id: 'wd_0196f5c2d9a97c05b8e1647f2d3a9c40',
      kind: 'withdrawal',
      amount: 25_000,
      balance: 4_975_000,
      description: null,
    },
    sample: { reproduce: 'Withdraw 10.00 USD.', request: withdrawal },
  }),
  'funding.low': eventType({
    summary: "A program's available funds fell below its funding_low_threshold.",
    sent: [
      'A transfer, a hold, the reversal of an unload, or a withdrawal takes the available funds (the balance without holds) from at or above the threshold to below it.',
      'update_program sets the threshold above the available funds, which were not low before.',
      'It is not sent again until the funds have been at or above the threshold.',
    ],
    data: FundingLowRecord,
    subject: 'program_id',
    operation: 'get_program',
    notes: [
      'It is written in the same transaction as its cause, after the event of that cause.',
      "Only the funding in the program's own currency is compared.",
      'transfer_id and movement_id are null if update_program caused it.',
      'A new program has no funds, but causes no such event.',
    ],
    example: { available: 249_000, threshold: 250_000, transfer_id: EXAMPLE_TRANSFER_ID, movement_id: null },
    sample: {
      reproduce: 'Set a threshold above the funds of the demo program.',
      request: change({ funding_low_threshold: 999_999_999_999 }),
      after: [change({ funding_low_threshold: null })],
    },
  }),
};

export type FundingLowRecord = Static<typeof FundingLowRecord>;
