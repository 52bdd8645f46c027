import { type Static, Type } from 'typebox';
import { KEY_SCOPES } from '../domain/scope.ts';
import { TRANSFER_TYPES } from '../domain/transfers/transfer.ts';
import { CardLimits, CardLimitsPatch, ProgramLimits, ProgramLimitsPatch } from './limit-schemas.ts';
import { Amount, AmountSent, literals, moment, refuseEmpty, removable, text } from './schema-parts.ts';

/** What create_program takes. */
export const CreateProgramBody = Type.Object({
  name: text(100, 'Name of the card program'),
  currency: Type.String({
    pattern: '^[A-Z]{3}$',
    description: 'ISO 4217 code of its cards, unless a card says otherwise',
  }),
  time_zone: Type.Optional(text(64, 'IANA name of the time zone in which its days begin; UTC if left out')),
});

/** What update_program takes, a merge patch: what is omitted stays. Amounts are in the currency of the program. */
export const UpdateProgramBody = Type.Object({
  name: Type.Optional(text(100, 'Name of the card program')),
  limits: Type.Optional(removable(ProgramLimitsPatch)),
  card_limits: Type.Optional(removable(CardLimitsPatch)),
});

/** A funding account of a program. */
const FundingRecord = Type.Object({
  currency: Type.String(),
  balance: Amount('Balance'),
  available: Amount('Available'),
});

/** A card program as the service answers with it. */
export const ProgramRecord = Type.Object({
  program_id: Type.String(),
  name: Type.String(),
  currency: Type.String(),
  time_zone: Type.String(),
  funding: Type.Array(FundingRecord),
  limits: Type.Union([ProgramLimits, Type.Null()]),
  card_limits: Type.Union([CardLimits, Type.Null()]),
  created_at: moment('When it was made'),
});

/** What create_deposit and create_withdrawal take. */
export const FundingMovementBody = Type.Object({
  amount: AmountSent,
  currency: Type.Optional(
    Type.String({ pattern: '^[A-Z]{3}$', description: "ISO 4217 code; the program's if left out" }),
  ),
  description: Type.Optional(text(255, 'Free text, such as the bank reference')),
});

/** A deposit or withdrawal as the service answers with it. */
export const FundingMovementRecord = Type.Object({
  movement_id: Type.String({ description: 'dep_ or wd_ and 32 hex digits' }),
  program_id: Type.String(),
  kind: literals(['deposit', 'withdrawal'], 'Which way the money went'),
  amount: Amount('What moved'),
  currency: Type.String(),
  balance: Amount('What the funding account has after it'),
  description: Type.Union([Type.String(), Type.Null()]),
  created_at: moment('When it was made'),
});

/** What change_switch takes. Scope: neither program_id nor type: the whole service; program_id; both. */
export const ChangeSwitchBody = Type.Object(
  {
    disabled: Type.Boolean({ description: 'true stops, false lets go on' }),
    reason: Type.Optional(text(500, 'Why; required to disable')),
    program_id: Type.Optional(text(255, 'Only this card program')),
    type: Type.Optional(literals(TRANSFER_TYPES, 'Only this type of transfer; needs program_id')),
    until: Type.Optional(Type.String({ format: 'date-time', description: 'When it opens again by itself' })),
  },
  {
    // An unknown member may have been meant to narrow the scope.
    additionalProperties: false,
    ...refuseEmpty({
      program_id: 'for the whole service',
      type: 'for all types of transfer',
      until: 'for a change without an end',
    }),
  },
);

/** One setting of the switch as the service answers with it. */
export const SwitchRecord = Type.Object({
  scope: literals(['service', 'program', 'transfer_type'], 'What the setting is about'),
  program_id: Type.Union([Type.String(), Type.Null()]),
  type: Type.Union([literals(TRANSFER_TYPES, 'Type of transfer'), Type.Null()]),
  disabled: Type.Boolean({ description: 'Whether it is disabled at this moment' }),
  reason: Type.Union([Type.String(), Type.Null()]),
  actor: Type.String({ description: 'Who changed it last' }),
  since: moment('When it was changed'),
  until: Type.Union([moment('When it opens again by itself'), Type.Null()]),
});

/** All settings of the switch. */
export const SwitchState = Type.Object({ data: Type.Array(SwitchRecord) });

/** The trial balance: the sum over all accounts of a currency is zero, and every balance equals its postings. */
export const TrialBalance = Type.Object({
  balanced: Type.Boolean({ description: 'Whether every sum below is zero and no account differs' }),
  postings_compared: Type.Boolean({ description: 'Whether every balance was compared with its postings in time' }),
  currencies: Type.Array(
    Type.Object({
      currency: Type.String(),
      accounts: Type.Integer(),
      sum: Type.Integer({ description: 'Sum of all balances, in minor units: zero' }),
      by_kind: Type.Array(Type.Object({ kind: Type.String(), accounts: Type.Integer(), balance: Type.Integer() })),
    }),
  ),
  differing_holds: Type.Integer({
    description: 'Accounts on which what is held, or on hold for them, is not the sum of the open holds: none',
  }),
  differing_accounts: Type.Array(
    Type.Object({ account_id: Type.String(), balance: Type.Integer(), postings: Type.Integer() }),
  ),
  drawn_up_at: moment('When'),
});

/** What create_key takes. */
export const CreateKeyBody = Type.Object(
  {
    name: text(100, 'What the key is for'),
    scopes: Type.Array(literals(KEY_SCOPES, 'One thing that it may do'), {
      minItems: 1,
      description: 'What it may do; nothing is granted by default, and `operator` needs `all_programs`',
    }),
    program_id: Type.Optional(
      text(255, 'The card program that it is bound to; required unless `all_programs` is true'),
    ),
    all_programs: Type.Optional(
      Type.Boolean({
        description:
          'true for a key that is bound to no card program and can act in all of them; not with `program_id`',
      }),
    ),
    expires_at: Type.Optional(Type.String({ format: 'date-time', description: 'When it stops working' })),
  },
  {
    // An unknown member may have been meant to say when the key expires.
    additionalProperties: false,
    ...refuseEmpty({
      program_id: "and send 'all_programs': true for a key that can act in all card programs",
      all_programs: "and send 'program_id'",
      expires_at: 'for a key that does not expire',
    }),
  },
);

/** What roll_key takes. */
export const RollKeyBody = Type.Object(
  {
    previous_until: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'Until when the old key works on: 24 hours if left out, and never longer than it was to work anyway',
      }),
    ),
    expires_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'When the new key stops working; if left out, it is given as long as the old one was',
      }),
    ),
  },
  {
    // An unknown member may have been meant to say when either key stops working.
    additionalProperties: false,
    ...refuseEmpty({
      previous_until: 'to let the old key work for 24 hours',
      expires_at: 'to give the new key as long as the old one had',
    }),
  },
);

/** An API key without its secret. */
export const KeyRecord = Type.Object({
  key_id: Type.String(),
  name: Type.String(),
  program_id: Type.Union([Type.String(), Type.Null()]),
  scopes: Type.Array(literals(KEY_SCOPES, 'One thing that it may do'), { description: 'What it may do' }),
  shown_as: Type.String({ description: 'The part of the key that is not secret' }),
  created_at: moment('When it was made'),
  expires_at: Type.Union([moment('When it stops working'), Type.Null()]),
  revoked_at: Type.Union([moment('When it was revoked'), Type.Null()]),
  last_used_at: Type.Union([moment('When it was last used, to about a minute'), Type.Null()]),
  replaced_by: Type.Union([Type.String({ description: 'key_id of the key that takes its place' }), Type.Null()]),
});

/** A new API key: the only answer that ever holds the secret. */
export const NewKeyRecord = Type.Object({
  ...KeyRecord.properties,
  key: Type.Union([
    Type.String({
      description: 'The key with its secret: in the first response only, because the secret is not stored',
    }),
    Type.Null(),
  ]),
  key_omitted: Type.Union([
    Type.String({ description: 'Only when an Idempotency-Key is replayed: why `key` is null, and what to do' }),
    Type.Null(),
  ]),
});

/** What move_clock takes. */
export const MoveClockBody = Type.Object({
  seconds_ahead: Type.Integer({
    minimum: 0,
    maximum: 315_360_000,
    description:
      'How far the clock of the sandbox is to be ahead of the time of day: 0 to ten years. It may go back; what was done ' +
      'meanwhile stays done, with its times.',
  }),
});

/** The clock of the sandbox. */
export const ClockRecord = Type.Object({
  now: moment('What time it is in the sandbox'),
  seconds_ahead: Type.Integer({ description: 'How far that is ahead of the time of day' }),
});

/** The state of the sandbox's database server. */
export const DatabaseState = Type.Object({
  state: literals(['running', 'starting', 'stopped', 'failed'], 'The server'),
});

/** The body of create_program after reading. */
export type CreateProgramBody = Static<typeof CreateProgramBody>;
/** The body of create_deposit and create_withdrawal after reading. */
export type FundingMovementBody = Static<typeof FundingMovementBody>;
/** The body of change_switch after reading. */
export type ChangeSwitchBody = Static<typeof ChangeSwitchBody>;
/** The body of create_key after reading. */
export type CreateKeyBody = Static<typeof CreateKeyBody>;
/** The body of roll_key after reading. */
export type RollKeyBody = Static<typeof RollKeyBody>;
/** A card program on the wire. */
export type ProgramRecord = Static<typeof ProgramRecord>;
/** A deposit or withdrawal on the wire. */
export type FundingMovementRecord = Static<typeof FundingMovementRecord>;
/** A setting of the switch on the wire. */
export type SwitchRecord = Static<typeof SwitchRecord>;
/** A key on the wire. */
export type KeyRecord = Static<typeof KeyRecord>;
/** The trial balance on the wire. */
export type TrialBalance = Static<typeof TrialBalance>;
/** A key on the wire, with its secret. */
export type NewKeyRecord = Static<typeof NewKeyRecord>;
/** All settings of the switch on the wire. */
export type SwitchState = Static<typeof SwitchState>;
/** The state of the sandbox's database server on the wire. */
export type DatabaseState = Static<typeof DatabaseState>;
/** The body of update_program after reading. */
export type UpdateProgramBody = Static<typeof UpdateProgramBody>;
/** The body of move_clock after reading. */
export type MoveClockBody = Static<typeof MoveClockBody>;
/** The clock of the sandbox on the wire. */
export type ClockRecord = Static<typeof ClockRecord>;
